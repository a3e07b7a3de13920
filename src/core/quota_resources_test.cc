#include "core/quota_resources.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/yaml.h"
#include "core/state.h"
#include "core/workload_status.h"

namespace phalanx::core {
namespace {

using api::ResourceAmounts;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(QuotaResourcesTest, WithoutRulesEverythingCountsAsItIs) {
  const ResourceAmounts requests{{"cpu", 1500}, {"nvidia.com/gpu", 2}};
  EXPECT_EQ(counted({}, requests), requests);
  EXPECT_FALSE(counts_differently({}, "cpu"));
}

TEST(QuotaResourcesTest, ExcludedPrefixesDoNotCount) {
  QuotaResources resources;
  resources.excluded_prefixes = {"networking.example.com/"};
  EXPECT_EQ(counted(resources, {{"cpu", 1}, {"networking.example.com/vpc", 4}}),
            (ResourceAmounts{{"cpu", 1}}));
  EXPECT_TRUE(counts_differently(resources, "networking.example.com/vpc"));
  EXPECT_FALSE(counts_differently(resources, "networking.example.org/vpc"));
}

TEST(QuotaResourcesTest, OutputsCountForEachUnitOfTheInput) {
  QuotaResources resources;
  resources.transformations = {{"mig-1g", false, "", {{"gpu-memory", 5}, {"credits", 10}}},
                               {"mig-2g", true, "", {{"gpu-memory", 10}}}};
  EXPECT_EQ(counted(resources, {{"mig-1g", 2}, {"mig-2g", 1}, {"credits", 3}}),
            (ResourceAmounts{{"gpu-memory", 20}, {"credits", 23}, {"mig-2g", 1}}));
  for (const char* resource : {"mig-1g", "mig-2g", "gpu-memory", "credits"}) {
    EXPECT_TRUE(counts_differently(resources, resource)) << resource;
  }
  EXPECT_FALSE(counts_differently(resources, "cpu"));
}

TEST(QuotaResourcesTest, CpuIsTakenInWholeUnitsRoundedUp) {
  QuotaResources resources;
  resources.transformations = {{"cpu", false, "", {{"credits", 7}}}};
  EXPECT_EQ(counted(resources, {{"cpu", 1001}}), (ResourceAmounts{{"credits", 14}}));
  EXPECT_EQ(counted(resources, {{"cpu", 2000}}), (ResourceAmounts{{"credits", 14}}));
  EXPECT_EQ(counted(resources, {{"cpu", 0}}), (ResourceAmounts{{"credits", 0}}));
}

TEST(QuotaResourcesTest, AnotherResourceMayMultiply) {
  QuotaResources resources;
  resources.transformations = {{"rate", false, "cpu", {{"credits", 3}}}};
  EXPECT_EQ(counted(resources, {{"rate", 2}, {"cpu", 1500}}),
            (ResourceAmounts{{"cpu", 1500}, {"credits", 12}}));
  EXPECT_EQ(counted(resources, {{"rate", 2}}), (ResourceAmounts{{"credits", 6}}));
}

// Outputs are not looked at once more: no rule can feed itself.
TEST(QuotaResourcesTest, OutputsAreNoInputs) {
  QuotaResources resources;
  resources.transformations = {{"a", false, "", {{"b", 2}}}, {"b", false, "", {{"a", 2}}}};
  EXPECT_EQ(counted(resources, {{"a", 1}}), (ResourceAmounts{{"b", 2}}));
}

TEST(QuotaResourcesTest, WhatIsTooMuchStaysVeryMuch) {
  QuotaResources resources;
  resources.transformations = {{"a", true, "b", {{"c", kMost}}}};
  EXPECT_EQ(counted(resources, {{"a", kMost}, {"b", kMost}}).at("c"), kMost);
}

// What was admitted says what a pod takes on its node, but not where quota counts otherwise.
TEST(QuotaResourcesTest, NodesHoldWhatPodsReallyAskFor) {
  State state;
  state.configuration.resources.transformations = {{"e.com/mig", false, "", {{"e.com/memory", 5}}}};
  const json::value document = parse_documents(R"(
metadata: {name: w, namespace: ml}
spec:
  podSets:
  - count: 2
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1, e.com/mig: 2}}}]}}
status:
  admission:
    clusterQueue: team
    podSetAssignments:
    - {count: 2, flavors: {cpu: f, e.com/memory: f}, resourceUsage: {cpu: 4, e.com/memory: 20}}
  conditions: [{type: QuotaReserved, status: "True"}, {type: Admitted, status: "True"}]
)")
                                   .value()
                                   .front()
                                   .value;
  DecodeStatus status;
  const auto holding = holding_of(
      state, derive_workload(state, api::read_workload(JsonReader(&document, "", status))));
  ASSERT_TRUE(status.ok()) << status.error()->message;
  ASSERT_TRUE(holding);
  EXPECT_EQ(holding->pod_sets[0].per_pod, (ResourceAmounts{{"cpu", 2000}, {"e.com/mig", 2}}));
  EXPECT_EQ(holding->reservation.usage.at({"f", "e.com/memory"}), 20);
}

}  // namespace
}  // namespace phalanx::core
