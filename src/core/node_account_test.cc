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

TEST_F(NodeAccountTest, APodMayBecomeAWorkloadsAndAgainNobodys) {
  hold(1, 0);
  Pod foreign = pod("n1");
  foreign.workload.clear();
  account_.put_pod("ml/p1", foreign);
  EXPECT_EQ(free_cpu("n1"), 6000);
  account_.put_pod("ml/p1", pod("n1"));
  EXPECT_EQ(free_cpu("n1"), 7000) << "the promise covers it";
  EXPECT_EQ(account_.live_pods("ml/w"), 1);
  account_.put_pod("ml/p1", foreign);
  EXPECT_EQ(free_cpu("n1"), 6000);
  EXPECT_EQ(account_.live_pods("ml/w"), 0);
  foreign.phase = PodPhase::kSucceeded;
  account_.put_pod("ml/p1", foreign);
  EXPECT_EQ(free_cpu("n1"), 7000);
}

TEST_F(NodeAccountTest, APodThatIsNotBoundTakesItsSlotAndNothingElse) {
  Pod waiting = pod("", PodPhase::kPending);
  waiting.node_selector["kubernetes.io/hostname"] = "n2";
  waiting.requests["cpu"] = 7000;
  account_.put_pod("ml/p1", waiting);
  EXPECT_EQ(free_cpu("n2"), 8000) << "anybody can make such a pod";
  hold(0, 1);
  EXPECT_EQ(free_cpu("n2"), 7000);
  EXPECT_TRUE(account_.drift("ml/w").empty());
  hold(1, 0);
  EXPECT_EQ(free_cpu("n2"), 8000);
  EXPECT_TRUE(account_.drift("ml/w").empty()) << "it is not there yet";
  waiting.node_name = "n2";
  account_.put_pod("ml/p1", waiting);
  EXPECT_EQ(free_cpu("n2"), 1000);
  EXPECT_EQ(account_.drift("ml/w").size(), 1);
}

TEST_F(NodeAccountTest, OnlyPodsOfItsControllerAreAWorkloads) {
  Pod own = pod("n1");
  own.controller = "j1";
  Pod stranger = pod("n1");
  stranger.controller = "j2";
  hold(1, 0);
  account_.put_pod("ml/a", stranger);
  account_.put_pod("ml/b", own);
  EXPECT_EQ(account_.live_pods("ml/w"), 2) << "one cannot tell yet";
  account_.set_controller("ml/w", "j1");
  EXPECT_EQ(account_.live_pods("ml/w"), 1);
  EXPECT_EQ(free_cpu("n1"), 6000) << "the promise, and the stranger by itself";
  EXPECT_TRUE(account_.drift("ml/w").empty());
  account_.remove_pod("ml/b");
  EXPECT_EQ(account_.live_pods("ml/w"), 0);
  EXPECT_EQ(free_cpu("n1"), 6000) << "the slot is not the stranger's";
  account_.put_pod("ml/b", own);
  account_.remove_pod("ml/a");
  EXPECT_EQ(free_cpu("n1"), 7000);
  account_.put_pod("ml/a", stranger);
  account_.set_controller("ml/w", "j2");
  EXPECT_EQ(account_.live_pods("ml/w"), 1);
  EXPECT_EQ(free_cpu("n1"), 6000);
  account_.set_controller("ml/w", "");
  EXPECT_EQ(account_.live_pods("ml/w"), 2);
}

TEST_F(NodeAccountTest, APodMayAskForMoreThanItsSlotWhereThatMuchIsLeft) {
  hold(2, 0);
  Pod waiting = pod("", PodPhase::kPending);
  waiting.gated = true;
  waiting.requests["cpu"] = 7000;
  account_.put_pod("ml/p1", waiting);
  EXPECT_EQ(account_.excess_of("ml/p1", "n1"), std::nullopt) << "6 beyond its slot, 6 are left";
  waiting.requests["cpu"] = 7001;
  account_.put_pod("ml/p1", waiting);
  EXPECT_EQ(account_.excess_of("ml/p1", "n1"), "cpu");
  waiting.requests = {{"cpu", 1000}, {"nvidia.com/gpu", 1}};
  account_.put_pod("ml/p1", waiting);
  EXPECT_EQ(account_.excess_of("ml/p1", "n1"), "nvidia.com/gpu");
  waiting.requests = {{"cpu", 500}};
  account_.put_pod("ml/p1", waiting);
  EXPECT_EQ(account_.excess_of("ml/p1", "n1"), std::nullopt);
}

// A sum that ends at 64 bits cannot be taken back.
TEST_F(NodeAccountTest, AbsurdRequestsChangeNothingForOthers) {
  Pod foreign = pod("n2");
  foreign.workload.clear();
  account_.put_pod("kube-system/d", foreign);
  foreign.requests["cpu"] = INT64_MAX;
  account_.put_pod("other/absurd", foreign);
  account_.put_pod("other/absurd-2", foreign);
  EXPECT_LT(free_cpu("n2"), 0);
  account_.remove_pod("other/absurd");
  EXPECT_LT(free_cpu("n2"), 0);
  account_.remove_pod("other/absurd-2");
  EXPECT_EQ(free_cpu("n2"), 7000);
  account_.remove_pod("kube-system/d");
  EXPECT_EQ(free_cpu("n2"), 8000);
}

TEST_F(NodeAccountTest, PodsMayNameResourcesThatAreNot) {
  Pod foreign = pod("n1");
  foreign.workload.clear();
  for (int i = 0; i < 1000; ++i) foreign.requests["example.com/" + std::to_string(i)] = 1;
  account_.put_pod("other/p", foreign);
  EXPECT_LE(account_.cluster().resource_count(), 128);
  EXPECT_EQ(free_cpu("n1"), 7000);
  account_.remove_pod("other/p");
  EXPECT_EQ(free_cpu("n1"), 8000);
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

// Whoever came first has the hostname, in whatever order that is told.
TEST_F(NodeAccountTest, TheFirstOfTwoNodesTakesTheHostnameFromTheSecond) {
  api::Node twin;
  twin.name = "elder";
  twin.labels["kubernetes.io/hostname"] = "n1";
  twin.allocatable = {{"cpu", 1000}};
  api::Node younger = twin;
  younger.name = "n1";
  younger.allocatable = {{"cpu", 8000}};
  ASSERT_TRUE(account_.put_node(younger, Time(std::chrono::seconds(20))));
  hold(1, 0);
  account_.put_pod("ml/p1", pod("n1"));
  EXPECT_TRUE(account_.put_node(twin, Time(std::chrono::seconds(10))));
  EXPECT_EQ(free_cpu("n1"), 0) << "its capacity, less what was promised on the hostname";
  EXPECT_FALSE(account_.put_node(younger, Time(std::chrono::seconds(20)))) << "it waits";
  twin.labels["kubernetes.io/hostname"] = "n3";
  EXPECT_TRUE(account_.put_node(twin, Time(std::chrono::seconds(10))));
  EXPECT_EQ(free_cpu("n1"), 7000) << "the other one is back as it was";
  EXPECT_EQ(free_cpu("n3"), 1000);
  account_.remove_node("n1");
  EXPECT_TRUE(account_.put_node(younger, Time(std::chrono::seconds(30))));
  EXPECT_EQ(free_cpu("n1"), 7000);
}

// A node that is left out is still in its rack.
TEST_F(NodeAccountTest, PodsOnANodeThatIsLeftOutAreWhereItsLabelsSay) {
  account_.set_tree("racks", topology::TreeSpec{"r", {"rack"}, {}, {}});
  api::Node elder;
  elder.name = "elder";
  elder.labels = {{"kubernetes.io/hostname", "same"}, {"rack", "r1"}};
  elder.allocatable = {{"cpu", 8000}, {"pods", 100}};
  api::Node younger = elder;
  younger.name = "younger";
  ASSERT_TRUE(account_.put_node(elder, Time(std::chrono::seconds(10))));
  EXPECT_FALSE(account_.put_node(younger, Time(std::chrono::seconds(20))));
  api::TopologyAssignment assignment{{"rack"}, {}};
  assignment.domains.push_back({{"r1"}, 1});
  account_.hold("ml/w", {{"main", {{"cpu", 1000}}, "racks", assignment}});
  account_.put_pod("ml/p1", pod("younger"));
  EXPECT_TRUE(account_.drift("ml/w").empty());
  EXPECT_TRUE(account_.take_drifted().empty());
  EXPECT_FALSE(account_.put_node(younger, Time(std::chrono::seconds(20))));
  EXPECT_TRUE(account_.take_drifted().empty()) << "nothing new was told";
  younger.labels["rack"] = "r2";
  EXPECT_FALSE(account_.put_node(younger, Time(std::chrono::seconds(20))));
  EXPECT_EQ(account_.drift("ml/w"), (std::vector<Drift>{{"main", "r2", 0, 1}}));
}

// They wait in the order in which they came, and with what was told of them meanwhile.
TEST_F(NodeAccountTest, OfThreeNodesWithOneHostnameTheNextFollows) {
  api::Node node;
  node.labels["kubernetes.io/hostname"] = "same";
  const auto put = [&](const char* name, int64_t cpu, int created) {
    node.name = name;
    node.allocatable = {{"cpu", cpu}, {"pods", 100}};
    return account_.put_node(node, Time(std::chrono::seconds(created))).has_value();
  };
  EXPECT_TRUE(put("a", 1000, 1));
  EXPECT_FALSE(put("c", 3000, 3));
  EXPECT_FALSE(put("b", 2000, 2));
  EXPECT_FALSE(put("b", 2500, 2));
  account_.remove_node("a");
  EXPECT_EQ(free_cpu("same"), 2500);
  node.labels["kubernetes.io/hostname"] = "another";
  EXPECT_TRUE(put("b", 2500, 2));
  EXPECT_EQ(free_cpu("same"), 3000);
  EXPECT_EQ(free_cpu("another"), 2500);
  account_.remove_node("c");
  node.labels["kubernetes.io/hostname"] = "same";
  EXPECT_TRUE(put("a", 1000, 9));
  EXPECT_EQ(free_cpu("same"), 1000);
}

}  // namespace
}  // namespace phalanx::core
