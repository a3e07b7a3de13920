#include "sim/provisioning_rules.h"

#include <fmt/format.h>

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

class ProvisioningRulesTest : public ApiServerTest {
 protected:
  std::string create_request(std::string_view spec) {
    return create_refusal(
        "{apiVersion: autoscaling.x-k8s.io/v1, kind: ProvisioningRequest, metadata: {name: r, "
        "namespace: default}, " +
        std::string(spec) + "}");
  }
  static std::string pod_sets(int number) {
    std::string text;
    for (int i = 0; i < number; ++i)
      text += fmt::format("{{podTemplateRef: {{name: t{}}}, count: 1}},", i);
    return "[" + text + "]";
  }

  const api::ObjectKey key_{api::Kind::kProvisioningRequest, "default", "r"};
};

TEST_F(ProvisioningRulesTest, RequestsAreChecked) {
  EXPECT_TRUE(contains(create_request(""), "spec.provisioningClassName"));
  EXPECT_TRUE(
      contains(create_request("spec: {provisioningClassName: A, podSets: " + pod_sets(1) + "}"),
               "spec.provisioningClassName: \"A\""));
  EXPECT_TRUE(contains(create_request("spec: {provisioningClassName: c, podSets: []}"),
                       "spec.podSets: must hold at least one"));
  EXPECT_TRUE(
      contains(create_request("spec: {provisioningClassName: c, podSets: " + pod_sets(33) + "}"),
               "spec.podSets: holds 33 pod sets, but may hold at most 32"));
  EXPECT_TRUE(contains(
      create_request("spec: {provisioningClassName: c, podSets: [{podTemplateRef: {name: t}}]}"),
      "spec.podSets[0].count: is required"));
  EXPECT_TRUE(contains(create_request("spec: {provisioningClassName: c, podSets: [{podTemplateRef: "
                                      "{name: t}, count: 0}]}"),
                       "spec.podSets[0].count"));
  EXPECT_TRUE(contains(
      create_request("spec: {provisioningClassName: c, podSets: [{podTemplateRef: {}, count: 1}]}"),
      "spec.podSets[0].podTemplateRef.name"));
  std::string parameters;
  for (int i = 0; i < 101; ++i) parameters += fmt::format("p{}: x,", i);
  EXPECT_TRUE(contains(create_request("spec: {provisioningClassName: c, podSets: " + pod_sets(1) +
                                      ", parameters: {" + parameters + "}}"),
                       "spec.parameters: holds 101 entries"));
  EXPECT_TRUE(contains(create_request("spec: {provisioningClassName: c, podSets: " + pod_sets(1) +
                                      ", parameters: {a: " + std::string(256, 'x') + "}}"),
                       "spec.parameters.a: has 256 characters, but may have at most 255"));
  EXPECT_EQ(create_request("spec: {provisioningClassName: c, podSets: " + pod_sets(32) +
                           ", parameters: {a: " + std::string(255, 'x') + "}}"),
            "");
}

TEST_F(ProvisioningRulesTest, RequestsAreAnsweredButNotChanged) {
  ASSERT_EQ(create_request("spec: {provisioningClassName: c, podSets: " + pod_sets(1) + "}"), "");
  EXPECT_TRUE(contains(refusal(merge(key_, "spec: {provisioningClassName: d}")),
                       "spec: cannot be changed"));
  EXPECT_EQ(refusal(merge(key_, "metadata: {labels: {a: b}}")), "");
  set_status(key_, "status: {conditions: [{type: Provisioned, status: 'True'}]}");
  EXPECT_TRUE(contains(
      refusal(merge(key_, "status: {conditions: [{type: Failed, status: Yes}]}", {.status = true})),
      "status.conditions[0].status"));
}

TEST_F(ProvisioningRulesTest, PodTemplatesHoldPods) {
  const auto create = [&](std::string_view pod_template) {
    return create_refusal(
        "{apiVersion: v1, kind: PodTemplate, metadata: {name: t, namespace: default}, template: " +
        std::string(pod_template) + "}");
  };
  EXPECT_TRUE(contains(create("{}"), "template.spec"));
  EXPECT_TRUE(contains(create("{spec: {containers: []}}"), "template.spec.containers"));
  EXPECT_TRUE(contains(create("{metadata: {labels: {a: b c}}, spec: {containers: [{name: c, image: "
                              "i}]}}"),
                       "template.metadata.labels"));
  EXPECT_EQ(create("{spec: {containers: [{name: c, image: i}]}}"), "");
  const Stored stored = server_.get({api::Kind::kPodTemplate, "default", "t"});
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(string_at(*stored, {"template", "spec", "schedulerName"}), "default-scheduler");
}

}  // namespace
}  // namespace phalanx::sim
