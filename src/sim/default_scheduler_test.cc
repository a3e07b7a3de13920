#include "sim/default_scheduler.h"

#include "sim/cluster_testing.h"

namespace phalanx::sim {
namespace {

class DefaultSchedulerTest : public ClusterTest {
 protected:
  [[nodiscard]] std::string why_not(const std::string& pod) const {
    EXPECT_EQ(node_of(pod), "");
    EXPECT_EQ(condition(pod_key(pod), "PodScheduled", "reason"), "Unschedulable");
    return condition(pod_key(pod), "PodScheduled", "message");
  }
};

TEST_F(DefaultSchedulerTest, TakesTheNodeThatIsLeastFullThenTheFirstByName) {
  add_node("a", "cpu: 4");
  add_node("b", "cpu: 8");
  add_node("c", "cpu: 8");
  for (const std::string name : {"p1", "p2", "p3"}) {
    add_pod(name, "", "", "cpu: 4");
    settle();
  }
  EXPECT_EQ(node_of("p1"), "b");
  EXPECT_EQ(node_of("p2"), "c");
  EXPECT_EQ(node_of("p3"), "a") << "all would be full, the first by name is taken";
}

TEST_F(DefaultSchedulerTest, LeavesAloneWhatIsNotForIt) {
  add_node("a");
  add_pod("gated", "schedulingGates: [{name: example.com/gate}]");
  add_pod("other", "schedulerName: phalanx");
  add_pod("named", "schedulerName: default-scheduler");
  settle();
  EXPECT_EQ(node_of("gated"), "");
  EXPECT_EQ(node_of("other"), "");
  EXPECT_EQ(node_of("named"), "a");
  merge(pod_key("gated"), "{spec: {schedulingGates: null}}");
  settle();
  EXPECT_EQ(node_of("gated"), "a");
}

TEST_F(DefaultSchedulerTest, SaysWhyAPodFitsNowhere) {
  add_node("big", "cpu: 8, nvidia.com/gpu: 0");
  add_node("cordoned", "cpu: 8, nvidia.com/gpu: 8");
  merge(node_key("cordoned"), "{spec: {unschedulable: true}}");
  add_node("small", "cpu: 1, nvidia.com/gpu: 1");
  add_node("tainted", "cpu: 8, nvidia.com/gpu: 8");
  merge(node_key("tainted"), "{spec: {taints: [{key: pool, value: x, effect: NoSchedule}]}}");
  add_pod("p", "", "", "cpu: 2, nvidia.com/gpu: 2");
  settle();
  EXPECT_EQ(why_not("p"),
            "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {pool: "
            "x}, 1 node(s) were unschedulable, 2 Insufficient nvidia.com/gpu.");
}

TEST_F(DefaultSchedulerTest, WithoutNodesThereIsNoRoom) {
  add_pod("p");
  settle();
  EXPECT_EQ(why_not("p"), "0/0 nodes are available.");
}

TEST_F(DefaultSchedulerTest, TheReasonIsWrittenOnceAndTheNextLookComesWithAChange) {
  add_node("a", "cpu: 1");
  add_pod("first", "", "phalanx.dev/run-for: 10s", "cpu: 1");
  settle();
  add_pod("second", "", "", "cpu: 1");
  settle();
  EXPECT_EQ(why_not("second"), "0/1 nodes are available: 1 Insufficient cpu.");
  const uint64_t version = server_.resource_version();
  merge(pod_key("second"), "{metadata: {annotations: {x: y}}}");
  settle();
  EXPECT_EQ(server_.resource_version(), version + 1);
  run_for_seconds(11);
  EXPECT_EQ(node_of("second"), "a") << "the first has ended";
}

TEST_F(DefaultSchedulerTest, ANewNodeIsTakenUp) {
  add_pod("p", "", "", "cpu: 1");
  settle();
  add_node("a", "cpu: 1");
  settle();
  EXPECT_EQ(node_of("p"), "a");
  EXPECT_EQ(condition(pod_key("p"), "PodScheduled"), "True");
}

TEST_F(DefaultSchedulerTest, HigherPriorityFirstThenTheOlder) {
  make("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 9}");
  add_pod("a-young", "", "", "cpu: 1");
  add_pod("old", "", "", "cpu: 1");
  run_for_seconds(5);
  remove(pod_key("a-young"));
  add_pod("a-young", "", "", "cpu: 1");
  add_pod("z-high", "priorityClassName: high, priority: 9", "", "cpu: 1");
  settle();
  add_node("one", "cpu: 1");
  settle();
  EXPECT_EQ(node_of("z-high"), "one");
  add_node("two", "cpu: 1");
  settle();
  EXPECT_EQ(node_of("old"), "two");
  EXPECT_EQ(node_of("a-young"), "");
}

TEST_F(DefaultSchedulerTest, SelectorsAndAffinityDecide) {
  add_node("a", "cpu: 4", "labels: {zone: east, kubernetes.io/hostname: host-a}");
  add_node("b", "cpu: 4", "labels: {zone: west, kubernetes.io/hostname: host-b}");
  add_node("c", "cpu: 4");
  const auto affinity = [](const std::string& term) {
    return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "{nodeSelectorTerms: [" +
           term + "]}}}";
  };
  add_pod("by-label", "nodeSelector: {zone: west}");
  add_pod("by-host", "nodeSelector: {kubernetes.io/hostname: host-b}");
  add_pod("wrong-host", "nodeSelector: {kubernetes.io/hostname: host-x}");
  add_pod("by-both", "nodeSelector: {kubernetes.io/hostname: host-a, zone: west}");
  add_pod(
      "by-term",
      affinity("{matchExpressions: [{key: zone, operator: Exists}, {key: zone, operator: NotIn, "
               "values: [west]}]}"));
  add_pod("by-name", affinity("{matchFields: [{key: metadata.name, operator: In, values: [c]}]}"));
  add_pod("either", affinity("{matchExpressions: [{key: zone, operator: In, values: [north]}]}, "
                             "{matchExpressions: [{key: zone, operator: In, values: [west]}]}"));
  settle();
  EXPECT_EQ(node_of("by-label"), "b");
  EXPECT_EQ(node_of("by-host"), "b");
  EXPECT_EQ(node_of("by-term"), "a");
  EXPECT_EQ(node_of("by-name"), "c");
  EXPECT_EQ(node_of("either"), "b");
  const std::string nobody =
      "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.";
  EXPECT_EQ(why_not("wrong-host"), nobody);
  EXPECT_EQ(why_not("by-both"), nobody);
}

TEST_F(DefaultSchedulerTest, TolerationsOpenTaintedNodes) {
  add_node("a");
  merge(node_key("a"), "{spec: {unschedulable: true, taints: [{key: pool, effect: NoExecute}]}}");
  add_pod("plain");
  add_pod("tolerant", "tolerations: [{operator: Exists}]");
  settle();
  EXPECT_EQ(node_of("plain"), "");
  EXPECT_EQ(node_of("tolerant"), "a");
}

TEST_F(DefaultSchedulerTest, ALostNodeGetsNoPods) {
  add_node("a", "cpu: 4", "annotations: {phalanx.dev/kubelet: not-ready}");
  add_node("b", "cpu: 4", "annotations: {phalanx.dev/kubelet: down}");
  add_pod("p");
  settle();
  EXPECT_EQ(why_not("p"),
            "0/2 nodes are available: 2 node(s) had untolerated taint "
            "{node.kubernetes.io/not-ready: }.");
}

TEST_F(DefaultSchedulerTest, UsageIsRightAfterARestart) {
  add_node("a", "cpu: 2, pods: 3");
  add_pod("p1", "", "", "cpu: 1");
  add_pod("p2", "", "", "cpu: 1");
  run_for_seconds(2);
  restart();
  add_pod("p3", "", "", "cpu: 1");
  add_pod("p4");
  settle();
  EXPECT_EQ(node_of("p4"), "a");
  add_pod("p5");
  settle();
  EXPECT_EQ(why_not("p5"), "0/1 nodes are available: 1 Too many pods.");
  EXPECT_EQ(why_not("p3"), "0/1 nodes are available: 1 Insufficient cpu.");
}

}  // namespace
}  // namespace phalanx::sim
