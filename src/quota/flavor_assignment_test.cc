#include "quota/flavor_assignment.h"

#include "quota/flavor_testing.h"

namespace phalanx::quota::testing {
namespace {

using FlavorAssignmentTest = FlavorTest;

TEST_F(FlavorAssignmentTest, TakesTheFirstFlavorThatWillDo) {
  flavor("small");
  flavor("large");
  queue({{"small", 1000}, {"large", 9000}});
  const auto assigned = assign({pods(2, 1000)});
  ASSERT_TRUE(assigned);
  EXPECT_EQ(assigned->fit, Fit::kFits);
  EXPECT_FALSE(assigned->borrows);
  const FlavorChoice& choice = assigned->choices.front();
  EXPECT_EQ(choice.flavors.at("cpu"), "large");
  EXPECT_EQ(choice.usage.at("cpu"), 2000);
  EXPECT_FALSE(choice.topology);
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
  // Whoever went, that would not be enough: nobody is asked.
  market_.others["a"] = Fit::kReclaims;
  EXPECT_FALSE(assign({pods(5, 1000)}));
  EXPECT_TRUE(assign({pods(2, 1000)}));
}

TEST_F(FlavorAssignmentTest, WhatTheCohortLendsIsThereToo) {
  flavor("a");
  queue({{"a", 4000}});
  lender_.groups.push_back(group("cpu", {{"a", 3000}}));
  reserved_[{"a", "cpu"}] = 3000;
  const auto assigned = assign({pods(4, 1000)});
  ASSERT_TRUE(assigned);
  EXPECT_TRUE(assigned->borrows);
  EXPECT_FALSE(assign({pods(1, 1000)})->borrows);
  lent_[{"a", "cpu"}] = 2000;
  EXPECT_EQ(refusal({pods(4, 1000)}),
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
            "a, 2 more needed");
}

TEST_F(FlavorAssignmentTest, LaterPodSetsSeeWhatEarlierOnesTook) {
  flavor("a");
  queue({{"a", 4000}});
  EXPECT_TRUE(assign({pods(2, 1000), pods(2, 1000, "second")}));
  const auto refused = assign({pods(2, 1000), pods(3, 1000, "second")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().pod_set, 1U);
}

TEST_F(FlavorAssignmentTest, TaintsSelectorsAndAffinityDecide) {
  flavor("spot").node_taints.push_back({"spot", "true", "NoSchedule"});
  flavor("on-demand");
  queue({{"spot", 9000}, {"on-demand", 9000}});
  EXPECT_EQ(flavor_of({pods(1, 1000)}), "on-demand");
  placement::PodSet tolerant = pods(1, 1000);
  tolerant.tolerations.push_back({"spot", true, "", ""});
  EXPECT_EQ(flavor_of({tolerant}), "spot");
  tolerant.node_selector["pool"] = "on-demand";
  EXPECT_EQ(flavor_of({tolerant}), "on-demand");
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
  EXPECT_EQ(flavor_of({pods(1, 1000)}), "plain");
  placement::PodSet placed = pods(1, 1000);
  placed.topology.emplace().required = "rack";
  const auto racks = assign({placed});
  EXPECT_EQ(racks->choices.front().flavors.at("cpu"), "racks");
  EXPECT_EQ(racks->choices.front().topology_flavor, "racks");
  EXPECT_TRUE(racks->choices.front().topology);
  EXPECT_EQ(market_.charged, 1);
  queue_.groups[0].flavors.pop_back();
  EXPECT_EQ(refusal({placed}),
            "couldn't assign flavors to pod set main: Flavor \"plain\" does not support "
            "TopologyAwareScheduling");
}

TEST_F(FlavorAssignmentTest, TheImplicitDefaultAppliesWhereAllFlavorsHaveATopology) {
  flavor("racks", "default");
  queue({{"racks", 9000}});
  EXPECT_TRUE(assign({pods(1, 1000)})->choices.front().topology);
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
  market_.full.insert("full");
  EXPECT_EQ(assign({pods(1, 1000)})->choices.front().topology_flavor, "free");
  market_.full.insert("free");
  const auto refused = assign({pods(1, 1000)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().obstacle(), Obstacle::kTopology);
  EXPECT_EQ(market_.charged, 0);
}

TEST_F(FlavorAssignmentTest, PodsMayBeAQuota) {
  flavor("a");
  queue_.groups.push_back({{"cpu", "pods"}, {{"a", {{"cpu", 90'000}, {"pods", 3}}}}});
  EXPECT_EQ(assign({pods(3, 1)})->choices.front().usage.at("pods"), 3);
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
  ignore_undeclared_ = true;
  const auto assigned = assign({pod_set});
  ASSERT_TRUE(assigned);
  EXPECT_EQ(assigned->choices.front().usage, (api::ResourceAmounts{{"cpu", 1}}));
  // Pods of which nothing is counted still go to a flavor's nodes.
  pod_set.requests.erase("cpu");
  EXPECT_EQ(assign({pod_set})->choices.front().flavors.at("pods"), "a");
  EXPECT_TRUE(assign({pod_set})->choices.front().usage.empty());
}

TEST_F(FlavorAssignmentTest, WithoutPodsNothingIsTaken) {
  flavor("a");
  queue({{"a", 0}});
  const auto assigned = assign({pods(0, 1000)});
  ASSERT_TRUE(assigned);
  EXPECT_TRUE(assigned->choices.front().flavors.empty());
}

TEST_F(FlavorAssignmentTest, AMissingFlavorIsSaid) {
  queue({{"gone", 9000}});
  EXPECT_EQ(refusal({pods(1, 1)}),
            "couldn't assign flavors to pod set main: flavor gone not found");
}

TEST_F(FlavorAssignmentTest, PodSetsOfAGroupGetTheSameFlavor) {
  flavor("small", "default");
  flavor("large", "default");
  queue({{"small", 2000}, {"large", 9000}});
  placement::PodSet leader = pods(1, 1000, "leader");
  placement::PodSet workers = pods(3, 1000, "workers");
  // Each for itself: the leader fits into the small one.
  leader.topology.emplace().required = "rack";
  workers.topology.emplace().required = "rack";
  auto assigned = assign({leader, workers});
  EXPECT_EQ(assigned->choices[0].flavors.at("cpu"), "small");
  EXPECT_EQ(assigned->choices[1].flavors.at("cpu"), "large");
  leader.topology->group_name = workers.topology->group_name = "gang";
  assigned = assign({leader, workers});
  ASSERT_TRUE(assigned);
  for (const FlavorChoice& choice : assigned->choices) {
    EXPECT_EQ(choice.flavors.at("cpu"), "large");
    EXPECT_TRUE(choice.topology);
  }
  EXPECT_EQ(assigned->choices[0].usage.at("cpu"), 1000);
  EXPECT_EQ(assigned->choices[1].usage.at("cpu"), 3000);
  EXPECT_EQ(market_.charged, 1);
}

// Cpus and gpus come from groups of their own.
class TwoGroupsTest : public FlavorTest {
 protected:
  TwoGroupsTest() {
    pod_set_ = pods(2, 1000);
    pod_set_.requests["gpu"] = 1;
    pod_set_.topology.emplace().required = "rack";
  }

  placement::PodSet pod_set_;
};

TEST_F(TwoGroupsTest, BothMayBeOfOneTopology) {
  flavor("cores", "default");
  flavor("cards", "default");
  queue_.groups = {group("cpu", {{"cores", 9000}}), group("gpu", {{"cards", 8}})};
  const auto assigned = assign({pod_set_});
  ASSERT_TRUE(assigned);
  const FlavorChoice& choice = assigned->choices.front();
  EXPECT_EQ(choice.flavors,
            (std::map<std::string, std::string>{{"cpu", "cores"}, {"gpu", "cards"}}));
  EXPECT_EQ(choice.usage, (api::ResourceAmounts{{"cpu", 2000}, {"gpu", 2}}));
  EXPECT_EQ(choice.topology_flavor, "cores");
  EXPECT_EQ(market_.placed_with, (std::vector<std::string>{"cores", "cards"}));
  EXPECT_EQ(market_.charged, 1);
}

TEST_F(TwoGroupsTest, TheFlavorsOfOneMayHaveNone) {
  flavor("cores");
  flavor("cards", "default");
  queue_.groups = {group("cpu", {{"cores", 9000}}), group("gpu", {{"cards", 8}})};
  const auto assigned = assign({pod_set_});
  ASSERT_TRUE(assigned);
  EXPECT_EQ(assigned->choices.front().topology_flavor, "cards");
  EXPECT_EQ(market_.placed_with, (std::vector<std::string>{"cards", "cores"}));
}

TEST_F(TwoGroupsTest, TwoTopologiesDoNotGoTogether) {
  flavor("cores", "default");
  flavor("cards", "other");
  flavor("more-cards", "default");
  queue_.groups = {group("cpu", {{"cores", 9000}}), group("gpu", {{"cards", 8}})};
  EXPECT_EQ(refusal({pod_set_}),
            "couldn't assign flavors to pod set main: flavor cards is of topology \"other\", but "
            "flavor cores of the same pods is of topology \"default\"");
  queue_.groups[1] = group("gpu", {{"cards", 8}, {"more-cards", 8}});
  const auto assigned = assign({pod_set_});
  ASSERT_TRUE(assigned);
  EXPECT_EQ(assigned->choices.front().flavors.at("gpu"), "more-cards");
}

TEST_F(TwoGroupsTest, RoomIsAskedForWhenAllFlavorsAreKnown) {
  flavor("cores", "default");
  flavor("cards", "default");
  queue_.groups = {group("cpu", {{"cores", 9000}}), group("gpu", {{"cards", 1}})};
  EXPECT_FALSE(assign({pod_set_}));  // too few cards
  EXPECT_TRUE(market_.placed_with.empty());
}

TEST_F(TwoGroupsTest, TheWorseAnswerOfTheTwoCounts) {
  flavor("cores", "default");
  flavor("cards", "default");
  queue_.groups = {group("cpu", {{"cores", 9000}}), group("gpu", {{"cards", 2}})};
  reserved_[{"cards", "gpu"}] = 2;
  market_.others = {{"cores", Fit::kFits}, {"cards", Fit::kPreempts}};
  const auto assigned = assign({pod_set_});
  ASSERT_TRUE(assigned);
  EXPECT_EQ(assigned->fit, Fit::kPreempts);
  EXPECT_FALSE(assigned->choices.front().topology);
  EXPECT_EQ(market_.charged, 0);
  EXPECT_EQ(assigned->why.text("main"),
            "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor "
            "cards, 2 more needed");
}

}  // namespace
}  // namespace phalanx::quota::testing
