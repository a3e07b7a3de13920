#include "sim/cluster_rules.h"

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

class ClusterRulesTest : public ApiServerTest {};

TEST_F(ClusterRulesTest, NodesRegisterWithTheirStatus) {
  const Stored node = make(R"(
apiVersion: v1
kind: Node
metadata: {name: n, labels: {zone: a}}
spec: {taints: [{key: a, effect: NoSchedule}]}
status: {allocatable: {cpu: 4, memory: 16Gi}}
)");
  EXPECT_EQ(integer_at(*node, {"status", "allocatable", "cpu"}), 4);
}

TEST_F(ClusterRulesTest, NodesAreChecked) {
  const auto create = [&](std::string_view fields) {
    return create_refusal("{apiVersion: v1, kind: Node, metadata: {name: n}, " +
                          std::string(fields) + "}");
  };
  EXPECT_TRUE(contains(create("spec: {taints: [{key: a, effect: Never}]}"),
                       "spec.taints[0].effect: \"Never\""));
  EXPECT_TRUE(contains(create("spec: {taints: [{key: a, effect: NoSchedule}, {key: a, value: b, "
                              "effect: NoSchedule}]}"),
                       "a with effect NoSchedule stands twice"));
  EXPECT_TRUE(contains(create("spec: {unschedulable: maybe}"), "spec.unschedulable"));
  EXPECT_TRUE(contains(create("status: {allocatable: {cpu: lots}}"), "status.allocatable"));
  EXPECT_TRUE(contains(create("status: {conditions: [{type: Ready, status: Fine}]}"),
                       "status.conditions[0].status"));
}

TEST_F(ClusterRulesTest, NodesCanBeCordonedAndTainted) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  EXPECT_EQ(refusal(merge(node_key("n"),
                          "{metadata: {labels: {a: b}}, spec: {unschedulable: true, "
                          "taints: [{key: a, effect: NoExecute}]}}")),
            "");
  EXPECT_TRUE(
      contains(refusal(merge(node_key("n"), "status: {capacity: {cpu: x}}", {.status = true})),
               "status.capacity"));
}

TEST_F(ClusterRulesTest, NamespacesHaveAPhaseAndTheirName) {
  const Stored created = make("{apiVersion: v1, kind: Namespace, metadata: {name: ml}}");
  EXPECT_EQ(string_at(*created, {"status", "phase"}), "Active");
  EXPECT_EQ(string_at(*created, {"metadata", "labels", "kubernetes.io/metadata.name"}), "ml");
  EXPECT_TRUE(
      contains(create_refusal("{apiVersion: v1, kind: Namespace, metadata: {name: ml.team}}"),
               "metadata.name: \"ml.team\" is no name"));
}

TEST_F(ClusterRulesTest, PriorityClasses) {
  const auto create = [&](std::string_view name, std::string_view fields) {
    return create_refusal(
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: "
        "{name: " +
        std::string(name) + "}, " + std::string(fields) + "}");
  };
  EXPECT_TRUE(contains(create("a", ""), "value: is required"));
  EXPECT_TRUE(contains(create("a", "value: 1000000001"), "only the system's own classes"));
  EXPECT_TRUE(contains(create("system-mine", "value: 5"), "metadata.name"));
  EXPECT_TRUE(contains(create("a", "value: 5, preemptionPolicy: Odd"), "preemptionPolicy"));
  EXPECT_EQ(create("a", "value: 1000000000, globalDefault: true"), "");
  EXPECT_TRUE(contains(create("b", "value: 5, globalDefault: true"),
                       "PriorityClass a is the default already"));
  EXPECT_TRUE(contains(refusal(merge({api::Kind::kPriorityClass, "", "a"}, "value: 7")),
                       "value: cannot be changed"));
}

TEST_F(ClusterRulesTest, RuntimeClasses) {
  const auto create = [&](std::string_view fields) {
    return create_refusal(
        "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: vm}, " +
        std::string(fields) + "}");
  };
  EXPECT_TRUE(contains(create("overhead: {}"), "handler: is required"));
  EXPECT_TRUE(contains(create("handler: Kata"), "handler: \"Kata\""));
  EXPECT_TRUE(contains(create("handler: kata, overhead: {podFixed: {cpu: lots}}"), "lots"));
  EXPECT_EQ(create("handler: kata, overhead: {podFixed: {cpu: 250m}}"), "");
  EXPECT_TRUE(contains(refusal(merge({api::Kind::kRuntimeClass, "", "vm"}, "handler: runc")),
                       "handler: cannot be changed"));
}

TEST_F(ClusterRulesTest, EventsAreAboutSomething) {
  EXPECT_TRUE(contains(create_refusal("{apiVersion: v1, kind: Event, metadata: {name: e}}"),
                       "involvedObject: is required"));
  EXPECT_TRUE(contains(create_refusal("{apiVersion: v1, kind: Event, metadata: {name: e}, "
                                      "involvedObject: {kind: Job}, type: Bad}"),
                       "type: \"Bad\""));
  EXPECT_EQ(create_refusal("{apiVersion: v1, kind: Event, metadata: {name: e}, "
                           "involvedObject: {kind: Job}, type: Normal}"),
            "");
}

TEST_F(ClusterRulesTest, AllProblemsAreNamedAtOnce) {
  const std::string text = create_refusal(
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: system-a, labels: "
      "{'-': x}}, value: 5, preemptionPolicy: Odd}");
  EXPECT_TRUE(contains(text, "metadata.name"));
  EXPECT_TRUE(contains(text, "metadata.labels[-]"));
  EXPECT_TRUE(contains(text, "preemptionPolicy"));
}

}  // namespace
}  // namespace phalanx::sim
