#include <gtest/gtest.h>

#include <limits>

#include "base/yaml.h"
#include "core/state.h"

namespace phalanx::core {
namespace {

constexpr int32_t kMost = std::numeric_limits<int32_t>::max();

class DeriveWorkloadTest : public testing::Test {
 protected:
  WorkloadState derive(std::string_view pod_fields, std::string_view pod_set_fields = "count: 2",
                       std::string_view boost = "0", int32_t priority = 0) {
    const std::string text =
        "{metadata: {name: w, namespace: ml, annotations: {kueue.x-k8s.io/priority-boost: '" +
        std::string(boost) + "'}}, spec: {priority: " + std::to_string(priority) + ", podSets: [{" +
        std::string(pod_set_fields) + ", template: {spec: {" + std::string(pod_fields) +
        "containers: [{name: c, resources: {requests: {cpu: 1, example.com/mig: 2}}}]}}}]}}";
    const json::value document = parse_documents(text).value().front().value;
    DecodeStatus status;
    api::Workload object = api::read_workload(JsonReader(&document, "", status));
    EXPECT_TRUE(status.ok()) << status.error()->message;
    return derive_workload(state_, std::move(object));
  }

  State state_;
};

TEST_F(DeriveWorkloadTest, TheOverheadOfTheRuntimeComesOnTop) {
  state_.runtime_classes["vm"].overhead = {{"cpu", 250}, {"memory", 64}};
  const auto requests = [&](std::string_view fields) {
    return derive(fields).request.pod_sets[0].requests;
  };
  EXPECT_EQ(requests("").at("cpu"), 1000);
  EXPECT_EQ(requests("runtimeClassName: vm, ").at("cpu"), 1250);
  EXPECT_EQ(requests("runtimeClassName: vm, ").at("memory"), 64);
  EXPECT_EQ(requests("runtimeClassName: vm, overhead: {cpu: 100m}, ").at("cpu"), 1100);
  EXPECT_EQ(requests("runtimeClassName: other, ").at("cpu"), 1000);
  EXPECT_EQ(derive("runtimeClassName: vm, ").quota_requests[0].at("cpu"), 1250);
}

TEST_F(DeriveWorkloadTest, ARuntimeClassThatIsNotThereIsNamed) {
  EXPECT_EQ(missing_runtime_class(state_, derive("")), nullptr);
  const WorkloadState workload = derive("runtimeClassName: vm, ");
  ASSERT_NE(missing_runtime_class(state_, workload), nullptr);
  EXPECT_EQ(*missing_runtime_class(state_, workload), "vm");
  state_.runtime_classes["vm"] = {};
  EXPECT_EQ(missing_runtime_class(state_, workload), nullptr);
}

TEST_F(DeriveWorkloadTest, QuotaCountsInItsOwnWayAndNodesDoNot) {
  state_.configuration.resources.transformations = {
      {"example.com/mig", false, "", {{"example.com/memory", 5}}}};
  const WorkloadState workload = derive("");
  EXPECT_EQ(workload.quota_requests[0],
            (api::ResourceAmounts{{"cpu", 1000}, {"example.com/memory", 10}}));
  EXPECT_EQ(workload.request.pod_sets[0].requests,
            (api::ResourceAmounts{{"cpu", 1000}, {"example.com/mig", 2}}));
}

TEST_F(DeriveWorkloadTest, ABoostCountsIfTheGateIsOn) {
  EXPECT_EQ(derive("", "count: 2", "7", 5).priority, 5);
  state_.configuration.priority_boost = true;
  EXPECT_EQ(derive("", "count: 2", "7", 5).priority, 12);
  EXPECT_EQ(derive("", "count: 2", "-7", 5).priority, -2);
  EXPECT_EQ(derive("", "count: 2", "7", kMost - 3).priority, kMost);
}

TEST_F(DeriveWorkloadTest, TheShapeSaysAllThatDecides) {
  const std::string plain = derive("").shape;
  EXPECT_EQ(derive("").shape, plain);
  EXPECT_NE(derive("", "count: 2, minCount: 1").shape, plain);
  EXPECT_NE(derive("", "count: 2", "0", 9).shape, plain);
  state_.configuration.resources.excluded_prefixes = {"example.com/"};
  EXPECT_NE(derive("").shape, plain);
}

}  // namespace
}  // namespace phalanx::core
