#include "sim/resource_rules.h"

#include <gtest/gtest.h>

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

TEST(ResourceRulesTest, NamesAreOfKubernetesOrHaveADomain) {
  for (const std::string_view good :
       {"cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "nvidia.com/gpu"}) {
    EXPECT_EQ(problem_of_resource_name(good), "");
  }
  EXPECT_EQ(problem_of_resource_name("CPU"),
            "\"CPU\" is no resource of Kubernetes, and others have a domain, as in "
            "nvidia.com/gpu; did you mean `cpu`?");
  EXPECT_NE(problem_of_resource_name("a b"), "");
}

class ResourceRulesOfServerTest : public ApiServerTest {
 protected:
  std::string pod(std::string_view resources) {
    return create_refusal(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, "
        "resources: " +
        std::string(resources) + "}]}}");
  }
  std::string node(std::string_view capacity) {
    return create_refusal("{apiVersion: v1, kind: Node, metadata: {name: n}, status: {capacity: " +
                          std::string(capacity) + "}}");
  }
};

TEST_F(ResourceRulesOfServerTest, AmountsFitAndAreWhole) {
  EXPECT_TRUE(contains(pod("{requests: {nvidia.com/gpu: 1.5}, limits: {nvidia.com/gpu: 1.5}}"),
                       "spec.containers[0].resources.requests[nvidia.com/gpu]: \"1.5\" is not a "
                       "whole number"));
  EXPECT_TRUE(contains(pod("{requests: {memory: 1e30}}"),
                       "resources.requests[memory]: \"1e+30\" is too large"));
  EXPECT_TRUE(contains(pod("{limits: {CPU: 1}}"), "resources.limits[CPU]: \"CPU\" is no resource"));
  EXPECT_TRUE(
      contains(node("{nvidia.com/gpu: '0.5'}"), "status.capacity[nvidia.com/gpu]: \"0.5\""));
  EXPECT_TRUE(contains(node("{memory: '16Ei'}"), "status.capacity[memory]: \"16Ei\" is too large"));
  EXPECT_TRUE(contains(create_refusal("{apiVersion: v1, kind: LimitRange, metadata: {name: l}, "
                                      "spec: {limits: [{type: Container, max: {cpu: '1e30'}}]}}"),
                       "spec.limits[0].max[cpu]: \"1e30\" is too large"));
}

TEST_F(ResourceRulesOfServerTest, WhatCannotBeOvercommittedHasALimit) {
  for (const std::string name : {"nvidia.com/gpu", "hugepages-2Mi"}) {
    const std::string asked = "{requests: {" + name + ": 2}";
    EXPECT_TRUE(contains(pod(asked + "}"), "spec.containers[0].resources.requests[" + name +
                                               "]: must have an equal limit"));
    EXPECT_TRUE(contains(pod(asked + ", limits: {" + name + ": 3}}"), "must equal the limit of"));
  }
  EXPECT_EQ(pod("{requests: {cpu: 2, nvidia.com/gpu: 2, kubernetes.io/batch: 2}, "
                "limits: {nvidia.com/gpu: 2}}"),
            "");
}

TEST_F(ResourceRulesOfServerTest, WhatNodesOfRealClustersHaveIsTaken) {
  EXPECT_EQ(node("{cpu: 95500m, memory: '1.5Gi', attachable-volumes-gce-pd: '127', pods: 110}"),
            "");
}

}  // namespace
}  // namespace phalanx::sim
