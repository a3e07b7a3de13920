#include "sim/node_lifecycle.h"

#include "sim/cluster_testing.h"

namespace phalanx::sim {
namespace {

using std::chrono::milliseconds;

class NodeLifecycleTest : public ClusterTest {
 protected:
  void set_kubelet(const std::string& node, const std::string& state) {
    merge(node_key(node), "{metadata: {annotations: {phalanx.dev/kubelet: " + state + "}}}");
    settle();
  }
  // "key:effect " for every taint.
  [[nodiscard]] std::string taints(const std::string& node) const {
    std::string text;
    const Stored found = get(node_key(node));
    for (const json::value& taint : list_field(*found, {"spec", "taints"})) {
      text += std::string(string_at(taint, {"key"})) + ":" +
              std::string(string_at(taint, {"effect"})) + " ";
    }
    return text;
  }

  static constexpr std::string_view kUnreachable =
      "node.kubernetes.io/unreachable:NoSchedule node.kubernetes.io/unreachable:NoExecute ";
  static constexpr std::string_view kNotReady =
      "node.kubernetes.io/not-ready:NoSchedule node.kubernetes.io/not-ready:NoExecute ";
};

TEST_F(NodeLifecycleTest, ANewNodeIsReadyAtOnce) {
  add_node("n1", "cpu: 4");
  settle();
  const Stored node = get(node_key("n1"));
  EXPECT_EQ(conditions(node_key("n1")), std::vector<std::string>{"Ready=True(KubeletReady)"});
  EXPECT_EQ(string_at(*node, {"metadata", "labels", "kubernetes.io/hostname"}), "n1");
  EXPECT_EQ(json::serialize(*find_at(*node, {"status", "allocatable"})),
            R"({"cpu":4,"pods":"110"})");
  EXPECT_EQ(*find_at(*node, {"status", "capacity"}), *find_at(*node, {"status", "allocatable"}));
  EXPECT_EQ(taints("n1"), "");
  EXPECT_TRUE(simulation_.quiet()) << "heartbeats are not written";
}

TEST_F(NodeLifecycleTest, WhatTheNodeSaysStays) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: h}}}");
  set_status(node_key("n1"), "{status: {capacity: {cpu: 8, pods: 5}}}");
  settle();
  const Stored node = get(node_key("n1"));
  EXPECT_EQ(string_at(*node, {"metadata", "labels", "kubernetes.io/hostname"}), "h");
  EXPECT_EQ(json::serialize(*find_at(*node, {"status", "allocatable"})), R"({"cpu":8,"pods":5})");
}

TEST_F(NodeLifecycleTest, AKubeletThatIsDownIsMissedAfterTheGracePeriod) {
  add_node("n1");
  settle();
  run_for(milliseconds(500));
  set_kubelet("n1", "down");
  run_for(milliseconds(39'999));
  EXPECT_EQ(condition(node_key("n1"), "Ready"), "True");
  EXPECT_EQ(taints("n1"), "");
  run_for(milliseconds(1));
  EXPECT_EQ(conditions(node_key("n1")),
            std::vector<std::string>{"Ready=Unknown(NodeStatusUnknown)"});
  EXPECT_EQ(taints("n1"), kUnreachable);

  set_kubelet("n1", "null");
  EXPECT_EQ(condition(node_key("n1"), "Ready"), "True");
  EXPECT_EQ(taints("n1"), "");
  EXPECT_EQ(annotation_of(*get(node_key("n1")), kKubeletStoppedAnnotation), "");
}

TEST_F(NodeLifecycleTest, AShortAbsenceIsNotNoticed) {
  add_node("n1");
  settle();
  set_kubelet("n1", "down");
  run_for_seconds(30);
  set_kubelet("n1", "null");
  run_for_seconds(30);
  set_kubelet("n1", "down");
  run_for_seconds(30);
  EXPECT_EQ(condition(node_key("n1"), "Ready"), "True") << "the grace period begins anew";
}

TEST_F(NodeLifecycleTest, TheGracePeriodSurvivesARestart) {
  add_node("n1");
  settle();
  set_kubelet("n1", "down");
  run_for_seconds(30);
  restart();
  run_for_seconds(10);
  EXPECT_EQ(condition(node_key("n1"), "Ready"), "Unknown");
}

TEST_F(NodeLifecycleTest, AKubeletThatIsNotReadySaysSoAtOnce) {
  add_node("n1");
  settle();
  set_kubelet("n1", "not-ready");
  EXPECT_EQ(conditions(node_key("n1")), std::vector<std::string>{"Ready=False(KubeletNotReady)"});
  EXPECT_EQ(taints("n1"), kNotReady);
  set_kubelet("n1", "down");
  run_for_seconds(40);
  EXPECT_EQ(taints("n1"), kUnreachable) << "one kind of taint follows the other";
  set_kubelet("n1", "null");
  EXPECT_EQ(taints("n1"), "");
}

TEST_F(NodeLifecycleTest, AConditionOfSomebodyElseIsHeeded) {
  add_node("n1");
  settle();
  set_status(node_key("n1"),
             "{status: {conditions: [{type: Ready, status: 'False', reason: Test}]}}");
  settle();
  EXPECT_EQ(conditions(node_key("n1")), std::vector<std::string>{"Ready=False(Test)"});
  EXPECT_EQ(taints("n1"), kNotReady);
  set_status(node_key("n1"),
             "{status: {conditions: [{type: Ready, status: 'True', reason: Test}]}}");
  settle();
  EXPECT_EQ(taints("n1"), "");
}

TEST_F(NodeLifecycleTest, ACordonedNodeIsTaintedAndOtherTaintsStay) {
  add_node("n1");
  merge(node_key("n1"),
        "{spec: {unschedulable: true, taints: [{key: gpu, value: a100, effect: NoSchedule}]}}");
  settle();
  EXPECT_EQ(taints("n1"), "gpu:NoSchedule node.kubernetes.io/unschedulable:NoSchedule ");
  merge(node_key("n1"), "{spec: {unschedulable: null}}");
  settle();
  EXPECT_EQ(taints("n1"), "gpu:NoSchedule ");
}

TEST_F(NodeLifecycleTest, PodsLeaveALostNodeAfterTheirToleration) {
  add_node("n1");
  add_pod("usual", "nodeName: n1");
  add_pod("short",
          "nodeName: n1, tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, "
          "effect: NoExecute, tolerationSeconds: 60}]");
  add_pod("ever", "nodeName: n1, tolerations: [{operator: Exists}]");
  run_for_seconds(2);
  set_kubelet("n1", "down");
  run_for_seconds(40 + 59);
  EXPECT_FALSE(is_deleted(*get(pod_key("short"))));
  run_for_seconds(1);
  EXPECT_TRUE(is_deleted(*get(pod_key("short"))));
  EXPECT_EQ(condition(pod_key("short"), "DisruptionTarget", "reason"), "DeletionByTaintManager");
  restart();
  run_for_seconds(239);
  EXPECT_FALSE(is_deleted(*get(pod_key("usual"))));
  run_for_seconds(1);
  EXPECT_TRUE(is_deleted(*get(pod_key("usual"))));
  run_for_seconds(10'000);
  EXPECT_FALSE(is_deleted(*get(pod_key("ever"))));
  EXPECT_TRUE(exists(pod_key("usual"))) << "nobody ends it there";
  set_kubelet("n1", "null");
  EXPECT_FALSE(exists(pod_key("usual")));
  EXPECT_EQ(phase("ever"), "Running");
}

TEST_F(NodeLifecycleTest, ANodeThatComesBackInTimeKeepsItsPods) {
  add_node("n1");
  add_pod("p", "nodeName: n1");
  run_for_seconds(2);
  set_kubelet("n1", "down");
  run_for_seconds(200);
  set_kubelet("n1", "null");
  run_for_seconds(1000);
  EXPECT_EQ(phase("p"), "Running");
}

TEST_F(NodeLifecycleTest, ATaintOfSomebodyElseEvictsAtOnceOrInTime) {
  add_node("n1");
  add_pod("plain", "nodeName: n1");
  add_pod("patient",
          "nodeName: n1, tolerations: [{key: drain, operator: Exists, tolerationSeconds: 30}]");
  run_for_seconds(2);
  merge(node_key("n1"), "{spec: {taints: [{key: drain, effect: NoExecute}]}}");
  settle();
  EXPECT_TRUE(is_deleted(*get(pod_key("plain"))));
  run_for_seconds(20);
  EXPECT_FALSE(exists(pod_key("plain")));
  restart();
  EXPECT_EQ(phase("patient"), "Running");
  run_for_seconds(10);
  EXPECT_TRUE(is_deleted(*get(pod_key("patient")))) << "counted from when the taint was added";
}

}  // namespace
}  // namespace phalanx::sim
