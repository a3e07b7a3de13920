#include "sim/pod_rules.h"

#include <fmt/format.h>

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

class PodRulesTest : public ApiServerTest {
 protected:
  static constexpr std::string_view kGated = R"(
apiVersion: v1
kind: Pod
metadata: {name: gated}
spec:
  schedulingGates: [{name: a.example/one}, {name: a.example/two}]
  nodeSelector: {zone: a}
  containers: [{name: main, image: busybox}]
)";
  std::string change(const std::string& name, std::string_view text) {
    return refusal(merge(pod_key(name), text));
  }
  std::string json_patch(const std::string& name, std::string_view text) {
    return refusal(server_.patch(pod_key(name), PatchType::kJson, from_yaml(text)));
  }
};

TEST_F(PodRulesTest, Defaults) {
  const Stored pod = make(kPod);
  EXPECT_EQ(string_at(*pod, {"spec", "restartPolicy"}), "Always");
  EXPECT_EQ(integer_at(*pod, {"spec", "terminationGracePeriodSeconds"}), 30);
  EXPECT_EQ(string_at(*pod, {"spec", "schedulerName"}), "default-scheduler");
  EXPECT_EQ(integer_at(*pod, {"spec", "priority"}), 0);
  EXPECT_EQ(string_at(*pod, {"status", "phase"}), "Pending");
  EXPECT_EQ(find_condition(*pod, "PodScheduled"), nullptr);
}

TEST_F(PodRulesTest, LimitsAreTheRequestsThatAreMissing) {
  const Stored pod = make(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: main
    resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}
)");
  const json::value& container = array_at(*pod, {"spec", "containers"})->front();
  EXPECT_EQ(integer_at(container, {"resources", "requests", "cpu"}), 1);
  EXPECT_EQ(string_at(container, {"resources", "requests", "memory"}), "1Gi");
}

TEST_F(PodRulesTest, TheOverheadIsThatOfTheRuntimeClass) {
  make(
      "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: vm}, handler: kata, "
      "overhead: {podFixed: {cpu: 250m}}}");
  make("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: plain}, handler: runc}");
  const auto pod = [](std::string_view name, std::string_view spec) {
    return fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}}}, spec: {{{}, containers: [{{name: c}}]"
        "}}}}",
        name, spec);
  };
  EXPECT_EQ(string_at(*make(pod("a", "runtimeClassName: vm")), {"spec", "overhead", "cpu"}),
            "250m");
  make(pod("b", "runtimeClassName: vm, overhead: {cpu: 0.25}"));
  EXPECT_EQ(find_at(*make(pod("c", "runtimeClassName: plain")), {"spec", "overhead"}), nullptr);
  EXPECT_TRUE(contains(create_refusal(pod("d", "runtimeClassName: vm, overhead: {cpu: 1}")),
                       "spec.overhead: is not that of RuntimeClass vm"));
  EXPECT_TRUE(contains(create_refusal(pod("d", "overhead: {cpu: 1}")),
                       "spec.overhead: is for a RuntimeClass to say"));
  EXPECT_TRUE(contains(create_refusal(pod("d", "runtimeClassName: none")),
                       "there is no RuntimeClass \"none\""));
}

TEST_F(PodRulesTest, ContainersMustBeThereAndHaveNames) {
  constexpr std::string_view kHead = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: ";
  const auto create = [&](std::string_view spec) {
    return create_refusal(std::string(kHead) + std::string(spec) + "}");
  };
  EXPECT_TRUE(contains(create("{}"), "422 Invalid: Pod default/p: spec.containers: must hold"));
  EXPECT_TRUE(contains(create("{containers: []}"), "spec.containers: must hold at least one"));
  EXPECT_TRUE(contains(create("{containers: [{}]}"), "spec.containers[0].name: is required"));
  EXPECT_TRUE(contains(create("{containers: [{name: A}]}"), "spec.containers[0].name: \"A\""));
  EXPECT_TRUE(contains(create("{containers: [{name: a}], initContainers: [{name: a}]}"),
                       "spec.initContainers[0].name: \"a\" stands twice"));
  EXPECT_TRUE(contains(create("[]"), "spec: must be an object"));
  EXPECT_TRUE(contains(create("null"), "spec"));
}

TEST_F(PodRulesTest, FieldsThatDecidePlacementAreChecked) {
  const auto create = [&](std::string_view fields) {
    return create_refusal(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: "
        "[{name: main}], " +
        std::string(fields) + "}}");
  };
  EXPECT_TRUE(contains(create("restartPolicy: Sometimes"), "spec.restartPolicy"));
  EXPECT_TRUE(contains(create("nodeSelector: {a/b/c: x}"), "spec.nodeSelector[a/b/c]"));
  EXPECT_TRUE(contains(create("nodeSelector: {a: 5}"), "spec.nodeSelector[a]: must be a string"));
  EXPECT_TRUE(contains(create("tolerations: [{key: a, operator: Sometimes}]"),
                       "spec.tolerations[0].operator"));
  EXPECT_TRUE(contains(create("schedulingGates: [{name: a}, {name: a}]"),
                       "spec.schedulingGates[1].name: \"a\" stands twice"));
  EXPECT_TRUE(
      contains(create("terminationGracePeriodSeconds: -1"), "spec.terminationGracePeriodSeconds"));
  EXPECT_TRUE(contains(create("activeDeadlineSeconds: 0"), "spec.activeDeadlineSeconds"));
  EXPECT_TRUE(contains(create("nodeName: n, schedulingGates: [{name: a}]"), "spec.nodeName"));
  EXPECT_EQ(create("nodeName: n"), "");
}

TEST_F(PodRulesTest, RequestsStayWithinLimits) {
  const auto create = [&](std::string_view resources) {
    return create_refusal(
        "{apiVersion: v1, kind: Pod, metadata: {generateName: p}, spec: "
        "{containers: [{name: main, resources: " +
        std::string(resources) + "}]}}");
  };
  EXPECT_TRUE(contains(create("{requests: {cpu: 2}, limits: {cpu: 1}}"),
                       "spec.containers[0].resources.requests[cpu]: is 2, more than the limit"));
  EXPECT_TRUE(contains(create("{requests: {a.example/gpu: 1}, limits: {a.example/gpu: 2}}"),
                       "requests[a.example/gpu]: must equal the limit of 2"));
  EXPECT_TRUE(contains(create("{requests: {cpu: much}}"), "\"much\" is not a quantity"));
  EXPECT_EQ(create("{requests: {cpu: 1}, limits: {cpu: 2}}"), "");
}

TEST_F(PodRulesTest, AGatedPodSaysWhyItWaits) {
  const Stored pod = make(kGated);
  const json::object* scheduled = find_condition(*pod, "PodScheduled");
  ASSERT_NE(scheduled, nullptr);
  EXPECT_EQ(string_field(*scheduled, "status"), "False");
  EXPECT_EQ(string_field(*scheduled, "reason"), "SchedulingGated");
  EXPECT_EQ(string_field(*scheduled, "lastTransitionTime"), "2026-01-31T08:00:00Z");
}

TEST_F(PodRulesTest, GatesOfAHookCountAsWell) {
  server_.add_mutating_hook([](AdmissionRequest& request) -> ApiResult<void> {
    if (request.operation == Operation::kCreate) {
      ensure_object(*request.object, {"spec"})["schedulingGates"] =
          json::array{json::object{{"name", "a.example/gate"}}};
    }
    return {};
  });
  EXPECT_NE(find_condition(*make(kPod), "PodScheduled"), nullptr);
}

TEST_F(PodRulesTest, GatesCanOnlyBeRemoved) {
  make(kGated);
  EXPECT_EQ(change("gated", "spec: {schedulingGates: [{name: a.example/two}]}"), "");
  EXPECT_TRUE(contains(change("gated", "spec: {schedulingGates: [{name: a.example/one}]}"),
                       "spec.schedulingGates: gates can only be removed"));
  EXPECT_EQ(change("gated", "spec: {schedulingGates: null}"), "");
  EXPECT_TRUE(contains(change("gated", "spec: {schedulingGates: [{name: a.example/two}]}"),
                       "spec.schedulingGates"));
}

TEST_F(PodRulesTest, TheChoiceOfNodesCanBeNarrowedWhileGated) {
  make(kGated);
  EXPECT_TRUE(contains(change("gated", "spec: {nodeSelector: {zone: b}}"),
                       "spec.nodeSelector: can only be narrowed"));
  EXPECT_TRUE(contains(change("gated", "spec: {nodeSelector: null}"), "can only be narrowed"));
  EXPECT_EQ(change("gated", "spec: {nodeSelector: {rack: r1}}"), "");
  // Opening the gates and the last narrowing in one write, as admission does.
  EXPECT_EQ(change("gated", "spec: {nodeSelector: {host: h1}, schedulingGates: null}"), "");
  EXPECT_TRUE(
      contains(change("gated", "spec: {nodeSelector: {more: x}}"),
               "spec.nodeSelector: can only be changed while the pod has scheduling gates"));
}

TEST_F(PodRulesTest, AffinityCanBeNarrowedWhileGated) {
  make(kGated);
  const auto required = [](std::string_view terms) {
    return "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "{nodeSelectorTerms: " +
           std::string(terms) + "}}}}";
  };
  constexpr std::string_view kOne = "{key: a, operator: Exists}";
  constexpr std::string_view kTwo = "{key: b, operator: Exists}";
  const auto term = [](std::string_view text) {
    return "{matchExpressions: [" + std::string(text) + "]}";
  };
  EXPECT_EQ(change("gated", required("[" + term(kOne) + "]")), "");
  EXPECT_EQ(
      change("gated", required("[" + term(std::string(kOne) + ", " + std::string(kTwo)) + "]")),
      "");
  EXPECT_TRUE(contains(change("gated", required("[" + term(kTwo) + "]")),
                       "spec.affinity: can only be narrowed"));
  EXPECT_TRUE(
      contains(change("gated", required("[" + term(std::string(kOne) + ", " + std::string(kTwo)) +
                                        ", " + term(kOne) + "]")),
               "spec.affinity: can only be narrowed"));
  EXPECT_TRUE(contains(change("gated", "spec: {affinity: {podAffinity: {x: y}}}"),
                       "spec.affinity: can only be narrowed"));
}

TEST_F(PodRulesTest, MostOfASpecIsFixed) {
  make(kPod);
  EXPECT_TRUE(contains(change("p", "spec: {nodeName: n}"), "spec.nodeName: is set by binding"));
  EXPECT_TRUE(contains(change("p", "spec: {restartPolicy: Never}"),
                       "spec.restartPolicy: cannot be changed"));
  EXPECT_TRUE(contains(json_patch("p", "[{op: add, path: /spec/containers/-, value: {name: b}}]"),
                       "spec.containers: only the images can be changed"));
  EXPECT_EQ(json_patch("p", "[{op: replace, path: /spec/containers/0/image, value: other}]"), "");
}

TEST_F(PodRulesTest, TolerationsCanBeAdded) {
  make(kPod);
  EXPECT_EQ(change("p", "spec: {tolerations: [{key: a, operator: Exists}]}"), "");
  EXPECT_EQ(change("p",
                   "spec: {tolerations: [{key: b, operator: Exists}, "
                   "{key: a, operator: Exists, tolerationSeconds: 5}]}"),
            "");
  EXPECT_TRUE(contains(change("p", "spec: {tolerations: [{key: b, operator: Exists}]}"),
                       "spec.tolerations: can only be added to"));
}

TEST_F(PodRulesTest, TheDeadlineCanBeLowered) {
  make(kPod);
  EXPECT_EQ(change("p", "spec: {activeDeadlineSeconds: 100}"), "");
  EXPECT_EQ(change("p", "spec: {activeDeadlineSeconds: 50}"), "");
  EXPECT_TRUE(contains(change("p", "spec: {activeDeadlineSeconds: 51}"),
                       "spec.activeDeadlineSeconds: can only be set or lowered"));
  EXPECT_TRUE(
      contains(change("p", "spec: {activeDeadlineSeconds: null}"), "spec.activeDeadlineSeconds"));
}

TEST_F(PodRulesTest, BindingGivesTheNode) {
  make(kPod);
  advance(std::chrono::seconds(5));
  EXPECT_EQ(refusal(server_.bind(pod_key("p"), "n1")), "");
  const Stored pod = server_.get(pod_key("p"));
  EXPECT_EQ(string_at(*pod, {"spec", "nodeName"}), "n1");
  EXPECT_TRUE(condition_is_true(*pod, "PodScheduled"));
  EXPECT_EQ(string_field(*find_condition(*pod, "PodScheduled"), "lastTransitionTime"),
            "2026-01-31T08:00:05Z");
  EXPECT_TRUE(contains(refusal(server_.bind(pod_key("p"), "n2")),
                       "409 Conflict: Pod default/p: is already bound to node n1"));
}

TEST_F(PodRulesTest, SomePodsCannotBeBound) {
  make(kGated);
  EXPECT_TRUE(contains(refusal(server_.bind(pod_key("gated"), "n")), "409 Conflict"));
  EXPECT_TRUE(contains(refusal(server_.bind(pod_key("none"), "n")), "404 NotFound"));
  EXPECT_TRUE(contains(refusal(server_.bind(pod_key("gated"), "")), "422 Invalid"));
  make(
      "{apiVersion: v1, kind: Pod, metadata: {name: going, finalizers: [a/b]}, "
      "spec: {containers: [{name: main}]}}");
  ASSERT_TRUE(server_.remove(pod_key("going")));
  EXPECT_TRUE(contains(refusal(server_.bind(pod_key("going"), "n")), "is being deleted"));
}

TEST_F(PodRulesTest, StatusHasAPhaseAndGoodConditions) {
  make(kPod);
  EXPECT_TRUE(contains(refusal(merge(pod_key("p"), "status: {phase: Odd}", {.status = true})),
                       "status.phase: \"Odd\""));
  EXPECT_TRUE(contains(refusal(merge(pod_key("p"), "status: {conditions: [{type: A, status: yes}]}",
                                     {.status = true})),
                       "status.conditions[0].status"));
  EXPECT_EQ(string_at(*set_status(pod_key("p"), "status: {phase: Running}"), {"status", "phase"}),
            "Running");
}

TEST_F(PodRulesTest, PriorityComesFromTheClass) {
  make(
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, "
      "value: 1000, preemptionPolicy: Never}");
  const auto pod = [](std::string_view name, std::string_view fields) {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + std::string(name) +
           "}, spec: {containers: [{name: main}], " + std::string(fields) + "}}";
  };
  const Stored high = make(pod("a", "priorityClassName: high"));
  EXPECT_EQ(integer_at(*high, {"spec", "priority"}), 1000);
  EXPECT_EQ(string_at(*high, {"spec", "preemptionPolicy"}), "Never");
  EXPECT_EQ(
      integer_at(*make(pod("b", "priorityClassName: system-node-critical")), {"spec", "priority"}),
      2'000'001'000);
  EXPECT_TRUE(contains(create_refusal(pod("c", "priorityClassName: none")),
                       "403 Forbidden: Pod default/c: spec.priorityClassName: there is no"));
  EXPECT_TRUE(contains(create_refusal(pod("c", "priority: 5")), "403 Forbidden"));
  make(
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, "
      "value: 7, globalDefault: true}");
  const Stored usual = make(pod("d", ""));
  EXPECT_EQ(integer_at(*usual, {"spec", "priority"}), 7);
  EXPECT_EQ(string_at(*usual, {"spec", "priorityClassName"}), "usual");
}

}  // namespace
}  // namespace phalanx::sim
