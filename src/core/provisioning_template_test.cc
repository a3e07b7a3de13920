#include "core/provisioning_template.h"

#include "base/json_path.h"
#include "core/provisioning_testing.h"

namespace phalanx::core {
namespace {

class ProvisioningTemplateTest : public ProvisioningFixture {
 protected:
  // The template of a pod set with this spec, and with these fields of its metadata.
  json::value made_of(std::string_view spec, std::string_view metadata = "") {
    WorkloadText text;
    text.pod_sets = fmt::format(
        "{{name: main, count: 1, template: {{metadata: {{{}}}, spec: {{{}}}}}}}", metadata, spec);
    text.assignments = "{name: main, flavors: {cpu: spot}, resourceUsage: {cpu: 1}, count: 1}";
    tell_workload(text);
    const WorkloadState& workload = *core_.state().workload(std::string(kWorkload));
    return template_for_autoscaler(core_.state(), "ml", workload.object.pod_sets.front(), nullptr);
  }
  static json::value parsed(std::string_view yaml) {
    return parse_documents(yaml).value().front().value;
  }
  // What a pod that is simulated from the template takes is what quota counts.
  void expect_agreement(const json::value& made) {
    DecodeStatus status;
    const JsonReader spec = JsonReader(&made, "", status).object("spec");
    const WorkloadState& workload = *core_.state().workload(std::string(kWorkload));
    EXPECT_EQ(api::read_pod_spec(spec).requests, workload.request.pod_sets.front().requests);
    for (const api::ContainerResources& container : api::read_pod_resources(spec).containers) {
      EXPECT_GE(container.requests.size(), container.limits.size());
    }
  }
  void tell_limit_range(std::string_view name, std::string_view limits) {
    tell(fmt::format(
        "{{apiVersion: v1, kind: LimitRange, metadata: {{name: {}, namespace: ml}}, spec: "
        "{{limits: [{{type: Container, {}}}]}}}}",
        name, limits));
  }
};

TEST_F(ProvisioningTemplateTest, LimitsAreRequestsWhereThereAreNone) {
  const json::value made = made_of(
      "initContainers: [{name: i, image: i, resources: {limits: {memory: 2Gi}}}], containers: "
      "[{name: c, image: i, resources: {limits: {cpu: 4, memory: 1Gi}, requests: {cpu: 2}}}]");
  EXPECT_EQ(
      made.at("spec"),
      parsed("initContainers: [{name: i, image: i, resources: {limits: {memory: 2Gi}, requests: "
             "{memory: 2Gi}}}]\n"
             "containers: [{name: c, image: i, resources: {limits: {cpu: 4, memory: 1Gi}, "
             "requests: {cpu: 2, memory: 1Gi}}}]"));
  expect_agreement(made);
}

TEST_F(ProvisioningTemplateTest, DefaultsOfTheNamespaceComeLast) {
  tell_limit_range("a", "defaultRequest: {cpu: 500m, memory: 1Gi}");
  tell_limit_range("b", "default: {cpu: 3, example.com/gpu: 1}");
  const json::value made = made_of(
      "containers: [{name: c, image: i}, {name: d, image: i, resources: {limits: {cpu: 2}, "
      "requests: {memory: 2Gi}}}], initContainers: [{name: i, image: i, restartPolicy: Always}]");
  const json::value defaulted = parsed(
      "{limits: {cpu: '3', example.com/gpu: '1'}, requests: {cpu: 500m, memory: 1Gi, "
      "example.com/gpu: '1'}}");
  EXPECT_EQ(made.at("spec").at("containers").at(0).at("resources"), defaulted);
  EXPECT_EQ(made.at("spec").at("initContainers").at(0).at("resources"), defaulted);
  EXPECT_EQ(made.at("spec").at("containers").at(1).at("resources"),
            parsed("{limits: {cpu: 2, example.com/gpu: '1'}, requests: {cpu: 2, memory: 2Gi, "
                   "example.com/gpu: '1'}}"));
  expect_agreement(made);
}

TEST_F(ProvisioningTemplateTest, LimitsOfTheWholePodAreItsRequests) {
  tell_limit_range("a", "defaultRequest: {cpu: 1}");
  const json::value made =
      made_of("containers: [{name: c, image: i}], resources: {limits: {cpu: 6}}");
  EXPECT_EQ(made.at("spec").at("resources"), parsed("{limits: {cpu: 6}, requests: {cpu: 6}}"));
  expect_agreement(made);
}

TEST_F(ProvisioningTemplateTest, OverheadIsThatOfTheRuntimeClass) {
  tell(
      "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata, "
      "overhead: {podFixed: {cpu: 250m, memory: 100Mi}}}");
  const std::string pod =
      "runtimeClassName: kata, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]";
  json::value made = made_of(pod);
  EXPECT_EQ(made.at("spec").at("overhead"), parsed("{cpu: 250m, memory: 100Mi}"));
  expect_agreement(made);
  made = made_of(pod + ", overhead: {cpu: 1}");
  EXPECT_EQ(made.at("spec").at("overhead"), parsed("{cpu: 1}"));
  expect_agreement(made);
}

TEST_F(ProvisioningTemplateTest, WhatIsCompleteStaysAsItIs) {
  const std::string spec =
      "containers: [{name: c, image: i, resources: {claims: [{name: x}], requests: {cpu: 1}}}], "
      "schedulingGates: [{name: example.com/hold}], unknownField: {a: [1]}";
  const std::string metadata = "annotations: {a: b}, labels: {l: m}";
  EXPECT_EQ(made_of(spec, metadata),
            parsed(fmt::format("{{metadata: {{{}}}, spec: {{{}}}}}", metadata, spec)));
}

TEST_F(ProvisioningTemplateTest, MarksOfAnEarlierStartAreLeftOut) {
  const std::string containers =
      "containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]";
  json::value made = made_of(
      containers + ", schedulingGates: [{name: kueue.x-k8s.io/topology}, {name: example.com/hold}]",
      "annotations: {autoscaling.x-k8s.io/consume-provisioning-request: old, "
      "autoscaling.x-k8s.io/provisioning-class-name: old, kept: x}");
  EXPECT_EQ(made, parsed(fmt::format("{{metadata: {{annotations: {{kept: x}}}}, spec: {{{}, "
                                     "schedulingGates: [{{name: example.com/hold}}]}}}}",
                                     containers)));
  made = made_of(containers + ", schedulingGates: [{name: kueue.x-k8s.io/topology}]");
  EXPECT_EQ(find_at(made, {"spec", "schedulingGates"}), nullptr);
}

}  // namespace
}  // namespace phalanx::core
