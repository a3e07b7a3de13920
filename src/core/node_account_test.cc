#include "core/node_account.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

class NodeAccountTest : public testing::Test {
 protected:
  NodeAccountTest() {
    for (const char* name : {"n1", "n2"}) put_node(name);
    account_.set_tree("gpu", spec());
  }

  static topology::TreeSpec spec() { return {"t", {"kubernetes.io/hostname"}, {}, {}}; }

  void put_node(const std::string& name) {
    api::Node node;
    node.name = name;
    node.labels["kubernetes.io/hostname"] = name;
    node.allocatable = {{"cpu", 8000}, {"pods", 100}};
    ASSERT_TRUE(account_.put_node(node));
  }

  int64_t free_cpu(const std::string& host) {
    topology::Cluster& cluster = account_.cluster();
    const TreeId tree = *account_.tree_of("gpu");
    const std::vector<std::string> values{host};
    return cluster.tree(tree).free(cluster.find_resource("cpu"))[*cluster.find_leaf(tree, values)];
  }

  void hold(int32_t on_n1, int32_t on_n2) {
    api::TopologyAssignment assignment{{"kubernetes.io/hostname"}, {}};
    if (on_n1 > 0) assignment.domains.push_back({{"n1"}, on_n1});
    if (on_n2 > 0) assignment.domains.push_back({{"n2"}, on_n2});
    account_.hold("ml/w", {{"main", {{"cpu", 1000}}, "gpu", assignment}});
  }

  static Pod pod(const std::string& node, PodPhase phase = PodPhase::kRunning) {
    Pod result;
    result.node_name = node;
    result.phase = phase;
    result.requests = {{"cpu", 1000}};
    result.workload = "ml/w";
    result.pod_set = "main";
    return result;
  }

  NodeAccount account_;
};

TEST_F(NodeAccountTest, APodIsCountedOnceWhetherPromisedOrThere) {
  hold(2, 0);
  EXPECT_EQ(free_cpu("n1"), 6000);
  account_.put_pod("ml/p1", pod("n1"));
  account_.put_pod("ml/p2", pod("n1"));
  EXPECT_EQ(free_cpu("n1"), 6000);
  EXPECT_EQ(account_.live_pods("ml/w"), 2);
  EXPECT_TRUE(account_.drift("ml/w").empty());
}

TEST_F(NodeAccountTest, WhatWasPromisedIsFreeOnlyWhenThePodsAreGone) {
  hold(2, 0);
  account_.put_pod("ml/p1", pod("n1"));
  account_.release("ml/w");
  EXPECT_EQ(free_cpu("n1"), 7000);
  account_.put_pod("ml/p1", pod("n1", PodPhase::kFailed));
  EXPECT_EQ(free_cpu("n1"), 8000);
  account_.remove_pod("ml/p1");
  EXPECT_EQ(free_cpu("n1"), 8000);
}

TEST_F(NodeAccountTest, APodElsewhereThanAssignedIsDriftAndCosts) {
  hold(1, 1);
  account_.put_pod("ml/p1", pod("n1"));
  account_.put_pod("ml/p2", pod("n1"));
  EXPECT_EQ(account_.drift("ml/w"), (std::vector<Drift>{{"main", "n1", 1, 2}}));
  EXPECT_EQ(account_.take_drifted(), std::set<std::string>{"ml/w"});
  EXPECT_EQ(free_cpu("n1"), 6000);
  EXPECT_EQ(free_cpu("n2"), 7000);
  account_.remove_pod("ml/p1");  // the other one takes its slot
  EXPECT_TRUE(account_.drift("ml/w").empty());
  EXPECT_EQ(account_.take_drifted(), std::set<std::string>{"ml/w"});
  EXPECT_EQ(free_cpu("n1"), 7000);
}

TEST_F(NodeAccountTest, APodThatAsksForMoreThanWasPromisedCostsTheDifference) {
  hold(1, 0);
  Pod large = pod("n1");
  large.requests["cpu"] = 3000;
  account_.put_pod("ml/p1", large);
  EXPECT_EQ(free_cpu("n1"), 5000);
  EXPECT_TRUE(account_.drift("ml/w").empty());
  account_.remove_pod("ml/p1");
  EXPECT_EQ(free_cpu("n1"), 7000);
}

TEST_F(NodeAccountTest, PodsOfOthersCountByThemselves) {
  Pod foreign = pod("n2");
  foreign.workload.clear();
  account_.put_pod("kube-system/d", foreign);
  EXPECT_EQ(free_cpu("n2"), 7000);
  account_.remove_pod("kube-system/d");
  EXPECT_EQ(free_cpu("n2"), 8000);
}

TEST_F(NodeAccountTest, APodThatIsFreeToBeBoundCountsWhereItMustGo) {
  Pod waiting = pod("", PodPhase::kPending);
  waiting.node_selector["kubernetes.io/hostname"] = "n2";
  account_.put_pod("ml/p1", waiting);
  EXPECT_EQ(free_cpu("n2"), 7000);
  waiting.gated = true;
  account_.put_pod("ml/p1", waiting);
  EXPECT_EQ(free_cpu("n2"), 8000);
}

TEST_F(NodeAccountTest, NodesAndTreesMayComeAndGoUnderWorkloads) {
  hold(2, 0);
  account_.put_pod("ml/p1", pod("n1"));
  account_.remove_node("n1");
  put_node("n1");
  EXPECT_EQ(free_cpu("n1"), 6000);
  EXPECT_TRUE(account_.set_tree("gpu", std::nullopt));
  EXPECT_FALSE(account_.tree_of("gpu"));
  EXPECT_TRUE(account_.set_tree("gpu", spec()));
  EXPECT_FALSE(account_.set_tree("gpu", spec()));
  EXPECT_EQ(free_cpu("n1"), 6000);
}

TEST_F(NodeAccountTest, ASecondNodeWithTheSameHostnameWaitsForIt) {
  api::Node twin;
  twin.name = "other";
  twin.labels["kubernetes.io/hostname"] = "n1";
  twin.allocatable = {{"cpu", 1000}};
  EXPECT_FALSE(account_.put_node(twin));
  EXPECT_EQ(free_cpu("n1"), 8000);
  account_.remove_node("n1");
  EXPECT_EQ(free_cpu("n1"), 1000) << "now it has the hostname for itself";
}

}  // namespace
}  // namespace phalanx::core
