#include "api/provisioning.h"

#include <gtest/gtest.h>

#include "base/yaml.h"

namespace phalanx::api {
namespace {

// What `read` makes of the YAML; its problem, if it has one, goes to `problem`.
template <typename Read>
auto read_as(Read read, std::string_view yaml, std::string* problem = nullptr) {
  const json::value document = parse_documents(yaml).value().front().value;
  DecodeStatus status;
  auto result = read(JsonReader(&document, "", status));
  if (problem != nullptr) {
    *problem = status.ok() ? "" : status.error()->message;
  } else {
    EXPECT_TRUE(status.ok()) << status.error()->message;
  }
  return result;
}

TEST(ProvisioningTest, AConfigHasDefaults) {
  const auto config = read_as(read_provisioning_request_config,
                              "{metadata: {name: c}, spec: {provisioningClassName: queued}}");
  EXPECT_EQ(config.meta.name, "c");
  EXPECT_EQ(config.class_name, "queued");
  EXPECT_TRUE(config.parameters.empty());
  EXPECT_TRUE(config.managed_resources.empty());
  EXPECT_EQ(config.retry, (RetryStrategy{60, 3, 1800}));
  EXPECT_EQ(config.merge_policy, PodSetMergePolicy::kNone);
  EXPECT_TRUE(config.node_selector.empty());
}

TEST(ProvisioningTest, AConfigIsReadWhole) {
  const auto config = read_as(read_provisioning_request_config, R"(
metadata: {name: c}
spec:
  provisioningClassName: queued
  parameters: {a: b}
  managedResources: [nvidia.com/gpu]
  retryStrategy: {backoffBaseSeconds: 1, backoffLimitCount: 0, backoffMaxSeconds: 9}
  podSetMergePolicy: IdenticalWorkloadSchedulingRequirements
  podSetUpdates:
    nodeSelector: [{key: pool, valueFromProvisioningClassDetail: NodePool}]
)");
  EXPECT_EQ(config.parameters.at("a"), "b");
  EXPECT_EQ(config.managed_resources, std::vector<std::string>{"nvidia.com/gpu"});
  EXPECT_EQ(config.retry, (RetryStrategy{1, 0, 9}));
  EXPECT_EQ(config.merge_policy, PodSetMergePolicy::kIdenticalRequirements);
  ASSERT_EQ(config.node_selector.size(), 1U);
  EXPECT_EQ(config.node_selector.front(), (NodeSelectorUpdate{"pool", "NodePool"}));
}

TEST(ProvisioningTest, AConfigThatMakesNoSenseIsTold) {
  std::string problem;
  read_as(read_provisioning_request_config, "{metadata: {name: c}, spec: {}}", &problem);
  EXPECT_TRUE(problem.contains("spec.provisioningClassName")) << problem;
  read_as(read_provisioning_request_config,
          "{metadata: {name: c}, spec: {provisioningClassName: q, podSetMergePolicy: Some}}",
          &problem);
  EXPECT_TRUE(problem.contains("podSetMergePolicy: \"Some\" is not")) << problem;
}

TEST(ProvisioningTest, ARequestIsReadWhole) {
  const auto request = read_as(read_provisioning_request, R"(
metadata: {name: r, namespace: ml}
spec:
  provisioningClassName: queued
  parameters: {ValidUntilSeconds: "60"}
  podSets: [{podTemplateRef: {name: t}, count: 4}, {podTemplateRef: {name: u}, count: 1}]
status:
  conditions: [{type: Provisioned, status: "True", reason: R, message: done}]
  provisioningClassDetails: {NodePool: p7}
)");
  EXPECT_EQ(request.meta.full_name(), "ml/r");
  EXPECT_EQ(request.class_name, "queued");
  EXPECT_EQ(request.parameters.at("ValidUntilSeconds"), "60");
  EXPECT_EQ(request.pod_sets, (std::vector<ProvisionedPodSet>{{"t", 4}, {"u", 1}}));
  EXPECT_TRUE(holds(request.conditions, "Provisioned"));
  EXPECT_EQ(request.class_details.at("NodePool"), "p7");
}

TEST(ProvisioningTest, ARequestForNoPodsIsTold) {
  std::string problem;
  read_as(read_provisioning_request,
          "{metadata: {name: r}, spec: {provisioningClassName: q, podSets: [{podTemplateRef: "
          "{name: t}, count: 0}]}}",
          &problem);
  EXPECT_TRUE(problem.contains("spec.podSets[0].count")) << problem;
}

}  // namespace
}  // namespace phalanx::api
