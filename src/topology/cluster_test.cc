#include "topology/cluster.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace phalanx::topology {
namespace {

const std::string kHost{api::kHostnameLabel};
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

api::Node make_node(const std::string& name, const std::string& block, const std::string& rack,
                    int64_t cpu_milli = 4000) {
  api::Node node;
  node.name = name;
  node.labels = {{"block", block}, {"rack", rack}, {kHost, name}};
  node.allocatable = {{"cpu", cpu_milli}, {"pods", 10}};
  return node;
}

TreeSpec by_host() {
  return {"hosts", {"block", "rack", kHost}, {}, {}};
}
TreeSpec by_rack() {
  return {"racks", {"block", "rack"}, {}, {}};
}

class ClusterTest : public ::testing::Test {
 protected:
  void put(const api::Node& node) {
    const auto put = cluster_.put_node(node);
    EXPECT_TRUE(put.has_value()) << (put ? "" : put.error().message);
  }

  // What is free of a resource in the domain that the values name; nullopt without such a domain.
  std::optional<int64_t> free(TreeId tree, const std::vector<std::string>& values,
                              const std::string& resource = "cpu") {
    const auto leaf = cluster_.find_leaf(tree, values);
    if (!leaf) return std::nullopt;
    const auto column = cluster_.tree(tree).free(cluster_.find_resource(resource));
    return column.empty() ? 0 : column[*leaf];
  }

  // All paths of a level, in the order of the tree.
  std::vector<std::string> paths(TreeId id, int level) {
    const DomainTree& tree = cluster_.tree(id);
    std::vector<std::string> result;
    for (uint32_t domain = 0; domain < tree.size(level); ++domain) {
      std::string text;
      for (const std::string& value : cluster_.path(tree, level, domain)) text += "/" + value;
      result.push_back(text);
    }
    return result;
  }

  // Every number of every column of the tree.
  std::vector<std::vector<int64_t>> columns(TreeId id) {
    const DomainTree& tree = cluster_.tree(id);
    std::vector<std::vector<int64_t>> all;
    for (size_t index = 0; index < cluster_.resource_count(); ++index) {
      const auto free_column = tree.free(ResourceId(index));
      const auto used_column = tree.used(ResourceId(index));
      all.emplace_back(free_column.begin(), free_column.end());
      all.emplace_back(used_column.begin(), used_column.end());
    }
    return all;
  }

  RequestVector cpu(int64_t milli) { return cluster_.make_request({{"cpu", milli}}); }

  Cluster cluster_;
};

using Paths = std::vector<std::string>;

TEST_F(ClusterTest, DomainsStandInPathOrder) {
  const TreeId id = cluster_.add_tree(by_host());
  put(make_node("n4", "b2", "r1"));
  put(make_node("n2", "b1", "r2"));
  put(make_node("n10", "b1", "r1"));
  put(make_node("n1", "b1", "r1"));
  EXPECT_EQ(paths(id, 0), (Paths{"/b1", "/b2"}));
  EXPECT_EQ(paths(id, 1), (Paths{"/b1/r1", "/b1/r2", "/b2/r1"}));
  EXPECT_EQ(paths(id, 2), (Paths{"/b1/r1/n1", "/b1/r1/n10", "/b1/r2/n2", "/b2/r1/n4"}));
  const DomainTree& tree = cluster_.tree(id);
  EXPECT_EQ(tree.children(0, 0).begin, 0U);
  EXPECT_EQ(tree.children(0, 0).end, 2U);
  EXPECT_EQ(tree.leaves(0, 0).size(), 3U);
  EXPECT_EQ(tree.leaves(-1, 0).size(), 4U);
  EXPECT_EQ(tree.parent(1, 2), 1U);
  EXPECT_EQ(tree.ancestor(2, 3, 0), 1U);
  EXPECT_EQ(tree.active_leaf_count(), 4U);
}

TEST_F(ClusterTest, AValueIsADomainOnlyTogetherWithItsParents) {
  const TreeId id = cluster_.add_tree(by_host());
  put(make_node("n1", "b1", "r1"));
  put(make_node("n2", "b2", "r1"));
  put(make_node("n3", "b1", "r1"));
  EXPECT_EQ(paths(id, 1), (Paths{"/b1/r1", "/b2/r1"}));
  EXPECT_EQ(cluster_.tree(id).leaves(1, 0).size(), 2U);
}

TEST_F(ClusterTest, AnEmptyValueIsAValue) {
  const TreeId id = cluster_.add_tree(by_host());
  put(make_node("n1", "b1", ""));
  EXPECT_EQ(paths(id, 2), (Paths{"/b1//n1"}));
}

TEST_F(ClusterTest, NodesThatTakeNoPartAreCountedByReason) {
  TreeSpec spec = by_host();
  spec.node_labels = {{"pool", "gpu"}};
  const TreeId id = cluster_.add_tree(spec);
  const auto put_with = [&](const std::string& name, auto change) {
    api::Node node = make_node(name, "b1", "r1");
    node.labels["pool"] = "gpu";
    change(node);
    put(node);
  };
  put_with("good", [](api::Node&) {});
  put_with("no-block", [](api::Node& node) { node.labels.erase("block"); });
  put_with("no-rack", [](api::Node& node) { node.labels.erase("rack"); });
  put_with("other", [](api::Node& node) { node.labels["pool"] = "cpu"; });
  put_with("sick", [](api::Node& node) { node.ready = false; });
  put_with("cordoned", [](api::Node& node) { node.unschedulable = true; });
  // Those that take no pods now have their place all the same: pods may be there.
  EXPECT_EQ(paths(id, 2), (Paths{"/b1/r1/cordoned", "/b1/r1/good", "/b1/r1/sick"}));
  EXPECT_EQ(cluster_.tree(id).active_leaf_count(), 1U);
  const std::vector<std::string> sick{"sick"};
  EXPECT_FALSE(cluster_.find_leaf(id, sick));
  EXPECT_TRUE(cluster_.find_any_leaf(id, sick));
  const LeftOutNodes left_out = cluster_.left_out(id);
  EXPECT_EQ(left_out.lacking_level, (std::vector<uint32_t>{1, 1, 0}));
  EXPECT_EQ(left_out.other_flavor, 1U);
  EXPECT_EQ(left_out.not_ready, 1U);
  EXPECT_EQ(left_out.unschedulable, 1U);
}

TEST_F(ClusterTest, TreesOnTheSameNodesShareOneAccount) {
  const TreeId hosts = cluster_.add_tree(by_host());
  const TreeId racks = cluster_.add_tree(by_rack());
  const TreeId flat = cluster_.add_tree({"flat", {kHost}, {}, {}});
  put(make_node("n1", "b1", "r1"));
  put(make_node("n2", "b1", "r1", 1000));
  EXPECT_EQ(free(hosts, {"n1"}), 4000);
  EXPECT_EQ(free(racks, {"b1", "r1"}), 5000);

  cluster_.add_usage("a", hosts, cpu(500), {{{"n1"}, 2}});
  EXPECT_EQ(free(flat, {"n1"}), 3000);
  EXPECT_EQ(free(flat, {"n1"}, "pods"), 8);
  EXPECT_EQ(free(racks, {"b1", "r1"}), 4000);
  cluster_.put_pod("p", "n1", {{"cpu", 100}});
  EXPECT_EQ(free(hosts, {"n1"}), 2900);
  EXPECT_EQ(free(racks, {"b1", "r1"}), 3900);
  {
    const Attempt attempt(cluster_);
    cluster_.charge(flat, *cluster_.find_leaf(flat, std::vector<std::string>{"n1"}), cpu(900), 1);
    EXPECT_EQ(free(hosts, {"n1"}), 2000);
    EXPECT_EQ(free(racks, {"b1", "r1"}), 3000);
  }
  cluster_.remove_usage("a");
  cluster_.remove_pod("p");
  EXPECT_EQ(free(hosts, {"n1"}), 4000);
  EXPECT_EQ(free(racks, {"b1", "r1"}), 5000);
}

TEST_F(ClusterTest, AggregateTopologiesAddNodesUp) {
  const TreeId racks = cluster_.add_tree(by_rack());
  api::Node unnamed = make_node("n1", "b1", "r1");
  unnamed.labels.erase(kHost);
  put(unnamed);
  put(make_node("n2", "b1", "r1", 1000));
  put(make_node("n3", "b1", "r2", 500));
  EXPECT_EQ(free(racks, {"b1", "r1"}), 5000);
  EXPECT_EQ(free(racks, {"b1", "r1"}, "pods"), 20);
  cluster_.add_usage("a", racks, cpu(100), {{{"b1", "r1"}, 3}, {{"b9", "r9"}, 1}});
  EXPECT_EQ(free(racks, {"b1", "r1"}), 4700);
  EXPECT_EQ(free(racks, {"b1"}), std::nullopt);
  EXPECT_EQ(free(racks, {"r1"}), std::nullopt);
  // A rack that comes later finds its usage waiting.
  put(make_node("n9", "b9", "r9", 1000));
  EXPECT_EQ(free(racks, {"b9", "r9"}), 900);
  EXPECT_EQ(free(racks, {"b1", "r1"}), 4700);
  cluster_.remove_node("n2");
  EXPECT_EQ(free(racks, {"b1", "r1"}), 3700);
  cluster_.remove_usage("a");
  EXPECT_EQ(free(racks, {"b1", "r1"}), 4000);
  EXPECT_EQ(free(racks, {"b9", "r9"}), 1000);
}

TEST_F(ClusterTest, FreeMayBeNegative) {
  const TreeId hosts = cluster_.add_tree(by_host());
  put(make_node("n1", "b1", "r1", 1000));
  cluster_.put_pod("p", "n1", {{"cpu", 800}, {"memory", 7}});
  cluster_.add_usage("a", hosts, cpu(500), {{{"n1"}, 1}});
  EXPECT_EQ(free(hosts, {"n1"}), -300);
  EXPECT_EQ(free(hosts, {"n1"}, "memory"), -7);
  cluster_.remove_pod("p");
  EXPECT_EQ(free(hosts, {"n1"}), 500);
  EXPECT_EQ(free(hosts, {"n1"}, "memory"), 0);
}

TEST_F(ClusterTest, PodsAndUsageMayComeBeforeTheirNode) {
  const TreeId hosts = cluster_.add_tree(by_host());
  cluster_.put_pod("p", "n1", {{"cpu", 100}});
  cluster_.add_usage("a", hosts, cpu(200), {{{"n1"}, 2}});
  EXPECT_EQ(free(hosts, {"n1"}), std::nullopt);
  put(make_node("n1", "b1", "r1"));
  EXPECT_EQ(free(hosts, {"n1"}), 3500);
  cluster_.remove_node("n1");
  EXPECT_EQ(free(hosts, {"n1"}), std::nullopt);
  cluster_.remove_pod("p");
  put(make_node("n1", "b1", "r1"));
  EXPECT_EQ(free(hosts, {"n1"}), 3600);
  EXPECT_EQ(free(hosts, {"n1"}, "pods"), 8);
}

TEST_F(ClusterTest, APodThatIsPutAgainReplacesItself) {
  const TreeId hosts = cluster_.add_tree(by_host());
  put(make_node("n1", "b1", "r1"));
  put(make_node("n2", "b1", "r1"));
  cluster_.put_pod("p", "n1", {{"cpu", 100}});
  cluster_.put_pod("p", "n1", {{"cpu", 300}});
  EXPECT_EQ(free(hosts, {"n1"}), 3700);
  cluster_.put_pod("p", "n2", {{"cpu", 300}});
  EXPECT_EQ(free(hosts, {"n1"}), 4000);
  EXPECT_EQ(free(hosts, {"n2"}, "pods"), 9);
  cluster_.remove_pod("unknown");
}

TEST_F(ClusterTest, APodMayComeBeforeItsNodeOrHaveNone) {
  const TreeId hosts = cluster_.add_tree(by_host());
  put(make_node("n1", "b1", "r1"));
  cluster_.put_pod("p", "n2", {{"cpu", 100}});
  cluster_.put_pod("q", "n2", {{"cpu", 200}});
  cluster_.put_pod("q", "n2", {{"cpu", 300}});
  cluster_.put_pod("r", "n2", {{"cpu", 400}});
  cluster_.remove_pod("r");
  put(make_node("n2", "b1", "r1"));
  EXPECT_EQ(free(hosts, {"n2"}), 3600);
  EXPECT_EQ(free(hosts, {"n2"}, "pods"), 8);
  cluster_.put_pod("p", "n3", {{"cpu", 100}});
  EXPECT_EQ(free(hosts, {"n2"}), 3700) << "it has left for a node that there is not";
  cluster_.put_pod("p", "n1", {{"cpu", 100}});
  EXPECT_EQ(free(hosts, {"n1"}), 3900);
  put(make_node("n3", "b1", "r1"));
  EXPECT_EQ(free(hosts, {"n3"}), 4000) << "and it is somewhere else";
}

// Kubelets write every few minutes, and a hundred thousand of them must not wake anybody.
TEST_F(ClusterTest, WhatSaysNothingNewChangesNothing) {
  const TreeId hosts = cluster_.add_tree(by_host());
  api::Node node = make_node("n1", "b1", "r1");
  node.allocatable["hugepages-1Gi"] = 0;
  EXPECT_EQ(cluster_.put_node(node), true);
  cluster_.put_pod("p", "n1", {{"cpu", 100}});
  EXPECT_EQ(free(hosts, {"n1"}), 3900);
  const uint64_t labels = cluster_.label_version();
  const uint64_t gains = cluster_.tree(hosts).gains();
  EXPECT_EQ(cluster_.put_node(node), false);
  cluster_.put_pod("p", "n1", {{"cpu", 100}});
  EXPECT_EQ(cluster_.label_version(), labels);
  EXPECT_EQ(cluster_.tree(hosts).gains(), gains);
  node.allocatable["cpu"] = 5000;
  EXPECT_EQ(cluster_.put_node(node), false) << "its place is the same";
  EXPECT_EQ(free(hosts, {"n1"}), 4900);
  node.allocatable.erase("cpu");
  EXPECT_EQ(cluster_.put_node(node), false);
  EXPECT_EQ(free(hosts, {"n1"}), -100);
}

TEST_F(ClusterTest, ANodeIsToldAsItWasPut) {
  api::Node node = make_node("n1", "b1", "r1");
  node.unschedulable = true;
  node.taints = {{"dedicated", "gpu", "NoSchedule"}};
  put(node);
  const NodeId id = cluster_.find_node("n1");
  EXPECT_EQ(cluster_.node_with_host("n1"), id);
  const auto told = cluster_.node(id);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->name, "n1");
  EXPECT_EQ(told->labels, node.labels);
  EXPECT_EQ(told->allocatable, node.allocatable);
  EXPECT_EQ(told->taints, node.taints);
  EXPECT_TRUE(told->unschedulable);
  EXPECT_TRUE(told->ready);
  cluster_.remove_node("n1");
  EXPECT_FALSE(cluster_.node(id));
  EXPECT_FALSE(cluster_.present(id));
  EXPECT_FALSE(cluster_.node_with_host("n1").valid());
  EXPECT_FALSE(cluster_.find_node("unknown").valid());
}

TEST_F(ClusterTest, ANodeThatIsNotReadyComesBackWithItsAccount) {
  const TreeId hosts = cluster_.add_tree(by_host());
  api::Node node = make_node("n1", "b1", "r1");
  put(node);
  put(make_node("n2", "b1", "r1"));
  EXPECT_EQ(cluster_.tree(hosts).active_leaf_count(), 2U);
  const uint64_t structure = cluster_.tree(hosts).structure();

  node.ready = false;
  put(node);
  EXPECT_EQ(free(hosts, {"n1"}), std::nullopt);
  EXPECT_EQ(cluster_.tree(hosts).active_leaf_count(), 1U);
  cluster_.put_pod("p", "n1", {{"cpu", 100}});
  cluster_.add_usage("a", hosts, cpu(50), {{{"n1"}, 1}});
  node.ready = true;
  put(node);
  EXPECT_EQ(free(hosts, {"n1"}), 3850);
  EXPECT_EQ(cluster_.tree(hosts).structure(), structure) << "rebuilt for nothing";

  node.unschedulable = true;
  put(node);
  EXPECT_EQ(free(hosts, {"n1"}), std::nullopt);
}

TEST_F(ClusterTest, ARelabelledNodeMovesWithItsAccount) {
  const TreeId hosts = cluster_.add_tree(by_host());
  const TreeId racks = cluster_.add_tree(by_rack());
  put(make_node("n1", "b1", "r1"));
  put(make_node("n2", "b1", "r1"));
  cluster_.add_usage("a", hosts, cpu(1000), {{{"n1"}, 1}});
  EXPECT_EQ(free(racks, {"b1", "r1"}), 7000);
  put(make_node("n1", "b2", "r1", 5000));
  EXPECT_EQ(paths(hosts, 2), (Paths{"/b1/r1/n2", "/b2/r1/n1"}));
  EXPECT_EQ(free(hosts, {"n1"}), 4000);
  EXPECT_EQ(free(racks, {"b1", "r1"}), 4000);
  EXPECT_EQ(free(racks, {"b2", "r1"}), 4000);
  // Usage is booked by hostname: it stays with the name, not with the node.
  api::Node renamed = make_node("n1", "b2", "r1", 5000);
  renamed.labels[kHost] = "other";
  put(renamed);
  EXPECT_EQ(free(hosts, {"other"}), 5000);
  EXPECT_EQ(free(hosts, {"n1"}), std::nullopt);
  EXPECT_EQ(cluster_.hostname_of("n1"), "other");
  // A node that loses a level takes no part any more.
  renamed.labels.erase("rack");
  put(renamed);
  EXPECT_EQ(free(hosts, {"other"}), std::nullopt);
  EXPECT_EQ(free(racks, {"b2", "r1"}), std::nullopt);
}

TEST_F(ClusterTest, TwoNodesMayNotShareAHostname) {
  put(make_node("n1", "b1", "r1"));
  api::Node twin = make_node("n2", "b1", "r1");
  twin.labels[kHost] = "n1";
  const auto refused = cluster_.put_node(twin);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("\"n1\" is also the hostname of node n1"),
            std::string::npos);
  cluster_.remove_node("n1");
  EXPECT_TRUE(cluster_.put_node(twin).has_value());
}

TEST_F(ClusterTest, ChangedAllocatableReplacesTheOld) {
  const TreeId hosts = cluster_.add_tree(by_host());
  api::Node node = make_node("n1", "b1", "r1");
  node.allocatable["nvidia.com/gpu"] = 8;
  put(node);
  EXPECT_EQ(free(hosts, {"n1"}, "nvidia.com/gpu"), 8);
  put(make_node("n1", "b1", "r1", 1000));
  EXPECT_EQ(free(hosts, {"n1"}, "nvidia.com/gpu"), 0);
  EXPECT_EQ(free(hosts, {"n1"}), 1000);
}

TEST_F(ClusterTest, AnAttemptLeavesNoTrace) {
  const TreeId hosts = cluster_.add_tree(by_host());
  const TreeId racks = cluster_.add_tree(by_rack());
  for (int number = 0; number < 6; ++number) {
    put(make_node("n" + std::to_string(number), "b1", "r" + std::to_string(number % 2)));
  }
  cluster_.add_usage("a", hosts, cpu(300), {{{"n1"}, 2}, {{"n3"}, 1}});
  const auto before = std::pair(columns(hosts), columns(racks));
  std::mt19937_64 random(1);
  {
    Attempt outer(cluster_);
    cluster_.charge(hosts, 0, cpu(100), 3);
    const auto outer_state = std::pair(columns(hosts), columns(racks));
    for (int round = 0; round < 50; ++round) {
      const Attempt inner(cluster_);
      for (int charge = 0; charge < 5; ++charge) {
        const bool by_racks = random() % 4 == 0;
        cluster_.charge(by_racks ? racks : hosts, random() % (by_racks ? 2 : 6),
                        cpu(static_cast<int64_t>(random() % 5000)),
                        static_cast<int64_t>(random() % 7) - 3);
      }
    }
    EXPECT_EQ(std::pair(columns(hosts), columns(racks)), outer_state);
    outer.roll_back();
    EXPECT_EQ(std::pair(columns(hosts), columns(racks)), before);
    cluster_.charge(hosts, 1, cpu(100), 1);
  }
  EXPECT_EQ(std::pair(columns(hosts), columns(racks)), before);
}

TEST_F(ClusterTest, ReadersLearnWhichLeavesChanged) {
  const TreeId hosts = cluster_.add_tree(by_host());
  put(make_node("n1", "b1", "r1"));
  put(make_node("n2", "b1", "r1"));
  const DomainTree& tree = cluster_.tree(hosts);
  const uint64_t position = tree.position();
  cluster_.put_pod("p", "n2", {{"cpu", 1}});
  auto changes = tree.changes_since(position);
  ASSERT_TRUE(changes.has_value());
  ASSERT_FALSE(changes->empty());
  for (const uint32_t leaf : *changes) EXPECT_EQ(leaf, 1U);
  EXPECT_TRUE(tree.changes_since(tree.position())->empty());
  // Too long ago: everything may have changed.
  for (int round = 0; round < 20000; ++round) cluster_.put_pod("p", "n1", {{"cpu", round}});
  EXPECT_FALSE(tree.changes_since(position).has_value());
  const uint64_t structure = tree.structure();
  put(make_node("n3", "b1", "r1"));
  EXPECT_NE(cluster_.tree(hosts).structure(), structure);
}

TEST_F(ClusterTest, NamesWhoUsesALeaf) {
  const TreeId hosts = cluster_.add_tree(by_host());
  const TreeId racks = cluster_.add_tree(by_rack());
  put(make_node("n1", "b1", "r1"));
  put(make_node("n2", "b1", "r1"));
  cluster_.add_usage("b", hosts, cpu(1), {{{"n1"}, 2}});
  cluster_.add_usage("a", hosts, cpu(1), {{{"n1"}, 1}, {{"n2"}, 4}});
  cluster_.add_usage("a", hosts, cpu(2), {{{"n1"}, 1}});
  cluster_.add_usage("c", racks, cpu(1), {{{"b1", "r1"}, 5}});
  using Users = std::vector<std::pair<std::string, int64_t>>;
  const auto users = [&](TreeId tree, DomainRange leaves) {
    const LeafUse use{leaves, cluster_.find_resource("pods")};
    Users result;
    const auto all = cluster_.workloads_in(tree, std::span(&use, 1), 3);
    for (const auto& share : all[0].most) {
      result.emplace_back(share.workload, share.pods);
    }
    return result;
  };
  EXPECT_EQ(users(hosts, {0, 1}), (Users{{"a", 2}, {"b", 2}}));
  EXPECT_EQ(users(hosts, {1, 2}), (Users{{"a", 4}}));
  EXPECT_EQ(users(hosts, {0, 2}), (Users{{"a", 6}, {"b", 2}}));
  EXPECT_EQ(users(racks, {0, 1}), (Users{{"a", 6}, {"c", 5}, {"b", 2}}));
}

TEST_F(ClusterTest, HugeAmountsNeitherWrapNorStick) {
  const TreeId hosts = cluster_.add_tree(by_host());
  put(make_node("n1", "b1", "r1", kMax));
  const auto most = free(hosts, {"n1"});
  EXPECT_GE(most, int64_t{1} << 50);
  for (int i = 0; i < 1000; ++i) {
    cluster_.put_pod("p" + std::to_string(i), "n1", {{"cpu", kMax}});
  }
  EXPECT_LT(free(hosts, {"n1"}), 0);
  for (int i = 0; i < 1000; ++i) cluster_.remove_pod("p" + std::to_string(i));
  EXPECT_EQ(free(hosts, {"n1"}), most);
}

}  // namespace
}  // namespace phalanx::topology
