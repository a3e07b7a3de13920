#include "quota/flavor_assignment.h"

#include <gtest/gtest.h>

#include <set>

namespace phalanx::quota {
namespace {

class FlavorAssignmentTest : public testing::Test {
 protected:
  api::ResourceFlavor& flavor(const std::string& name, const std::string& topology = "") {
    api::ResourceFlavor& added = flavors_[name];
    added.meta.name = name;
    added.node_labels["pool"] = name;
    added.topology_name = topology;
    return added;
  }

  // One resource group of cpu with these flavors and their quotas.
  void queue(const std::vector<std::pair<std::string, int64_t>>& quotas) {
    api::ResourceGroup group{{"cpu"}, {}};
    for (const auto& [name, nominal] : quotas) group.flavors.push_back({name, {{"cpu", nominal}}});
    queue_.groups.push_back(std::move(group));
  }

  static placement::PodSet pods(int32_t count, int64_t cpu) {
    placement::PodSet pod_set;
    pod_set.name = "main";
    pod_set.count = count;
    pod_set.requests["cpu"] = cpu;
    return pod_set;
  }

  std::expected<std::vector<FlavorChoice>, Refused> assign(
      const std::vector<placement::PodSet>& pod_sets) {
    FlavorAssigner assigner(
        queue_, reserved_,
        [&](const std::string& name) {
          const auto found = flavors_.find(name);
          return found == flavors_.end() ? nullptr : &found->second;
        },
        [&](const api::ResourceFlavor& tried, const std::vector<size_t>& unit)
            -> std::expected<std::vector<api::TopologyAssignment>, std::string> {
          if (full_.contains(tried.meta.name)) return std::unexpected("no room");
          return std::vector<api::TopologyAssignment>(unit.size(), {{"rack"}, {{{"r1"}, 1}}});
        });
    return assigner.assign({"ml/w", pod_sets, {}, false});
  }

  std::string refusal(const std::vector<placement::PodSet>& pod_sets) {
    const auto result = assign(pod_sets);
    EXPECT_FALSE(result);
    return result ? "" : result.error().text("main");
  }

  api::ClusterQueue queue_;
  Usage reserved_;
  std::map<std::string, api::ResourceFlavor> flavors_;
  std::set<std::string> full_;  // flavors whose topology has no room
};

TEST_F(FlavorAssignmentTest, TakesTheFirstFlavorThatWillDo) {
  flavor("small");
  flavor("large");
  queue({{"small", 1000}, {"large", 9000}});
  const auto choices = assign({pods(2, 1000)});
  ASSERT_TRUE(choices);
  EXPECT_EQ(choices->front().flavors.at("cpu"), "large");
  EXPECT_EQ(choices->front().usage.at("cpu"), 2000);
  EXPECT_FALSE(choices->front().topology);
}

TEST_F(FlavorAssignmentTest, TellsQuotaThatIsUsedFromQuotaThatIsTooSmall) {
  flavor("a");
  queue({{"a", 4000}});
  reserved_[{"a", "cpu"}] = 3000;
  EXPECT_EQ(refusal({pods(2, 1000)}),
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
            "a, 1 more needed");
  EXPECT_EQ(assign({pods(2, 1000)}).error().obstacle(), Obstacle::kWaitingForQuota);
  EXPECT_EQ(refusal({pods(5, 1000)}),
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor a, "
            "previously considered podsets requests (0) + current podset request (5) > maximum "
            "capacity (4)");
  EXPECT_EQ(assign({pods(5, 1000)}).error().obstacle(), Obstacle::kExceedsQuota);
}

TEST_F(FlavorAssignmentTest, LaterPodSetsSeeWhatEarlierOnesTook) {
  flavor("a");
  queue({{"a", 4000}});
  placement::PodSet second = pods(2, 1000);
  second.name = "second";
  EXPECT_TRUE(assign({pods(2, 1000), second}));
  second.count = 3;
  const auto refused = assign({pods(2, 1000), second});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().pod_set, 1U);
}

TEST_F(FlavorAssignmentTest, TaintsSelectorsAndAffinityDecide) {
  flavor("spot").node_taints.push_back({"spot", "true", "NoSchedule"});
  flavor("on-demand");
  queue({{"spot", 9000}, {"on-demand", 9000}});
  EXPECT_EQ(assign({pods(1, 1000)})->front().flavors.at("cpu"), "on-demand");
  placement::PodSet tolerant = pods(1, 1000);
  tolerant.tolerations.push_back({"spot", true, "", ""});
  EXPECT_EQ(assign({tolerant})->front().flavors.at("cpu"), "spot");
  tolerant.node_selector["pool"] = "on-demand";
  EXPECT_EQ(assign({tolerant})->front().flavors.at("cpu"), "on-demand");
  tolerant.node_selector["pool"] = "other";
  EXPECT_EQ(refusal({tolerant}),
            "couldn't assign flavors to pod set main: flavor on-demand doesn't match node "
            "affinity, flavor spot doesn't match node affinity");
  tolerant.node_selector = {{"unknown-to-flavors", "x"}};
  EXPECT_TRUE(assign({tolerant}));
}

TEST_F(FlavorAssignmentTest, PodsArePlacedByATopologyExactlyIfTheFlavorHasOne) {
  flavor("plain");
  flavor("racks", "default");
  queue({{"plain", 9000}, {"racks", 9000}});
  const auto plain = assign({pods(1, 1000)});
  EXPECT_EQ(plain->front().flavors.at("cpu"), "plain");
  placement::PodSet placed = pods(1, 1000);
  placed.topology.emplace().required = "rack";
  const auto racks = assign({placed});
  EXPECT_EQ(racks->front().flavors.at("cpu"), "racks");
  EXPECT_EQ(racks->front().topology_flavor, "racks");
  EXPECT_TRUE(racks->front().topology);
  queue_.groups[0].flavors.pop_back();
  EXPECT_EQ(refusal({placed}),
            "couldn't assign flavors to pod set main: Flavor \"plain\" does not support "
            "TopologyAwareScheduling");
}

TEST_F(FlavorAssignmentTest, TheImplicitDefaultAppliesWhereAllFlavorsHaveATopology) {
  flavor("racks", "default");
  queue({{"racks", 9000}});
  EXPECT_TRUE(assign({pods(1, 1000)})->front().topology);
  flavor("plain");
  queue_.groups[0].flavors.push_back({"plain", {{"cpu", 0}}});
  const auto refused = assign({pods(1, 1000)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().refusals.front().text,
            "Flavor \"racks\" supports only TopologyAwareScheduling");
}

TEST_F(FlavorAssignmentTest, AFlavorWithoutRoomGivesWayToTheNext) {
  flavor("full", "default");
  flavor("free", "default");
  queue({{"full", 9000}, {"free", 9000}});
  full_.insert("full");
  EXPECT_EQ(assign({pods(1, 1000)})->front().topology_flavor, "free");
  full_.insert("free");
  const auto refused = assign({pods(1, 1000)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().obstacle(), Obstacle::kTopology);
}

TEST_F(FlavorAssignmentTest, PodsMayBeAQuota) {
  flavor("a");
  queue_.groups.push_back({{"cpu", "pods"}, {{"a", {{"cpu", 90'000}, {"pods", 3}}}}});
  EXPECT_EQ(assign({pods(3, 1)})->front().usage.at("pods"), 3);
  EXPECT_FALSE(assign({pods(4, 1)}));
}

TEST_F(FlavorAssignmentTest, AResourceThatTheQueueDoesNotHaveIsNamed) {
  flavor("a");
  queue({{"a", 9000}});
  placement::PodSet pod_set = pods(1, 1);
  pod_set.requests["nvidia.com/gpu"] = 1;
  EXPECT_EQ(refusal({pod_set}),
            "couldn't assign flavors to pod set main: resource nvidia.com/gpu unavailable in "
            "ClusterQueue");
}

}  // namespace
}  // namespace phalanx::quota
