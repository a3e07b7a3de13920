#include "api/queueing.h"

#include <gtest/gtest.h>

#include "api/limit_range.h"
#include "base/yaml.h"

namespace phalanx::api {
namespace {

template <typename Read>
auto read(std::string_view yaml, Read read_object, std::string* problem = nullptr) {
  const json::value document = parse_documents(yaml).value().front().value;
  DecodeStatus status;
  auto object = read_object(JsonReader(&document, "", status));
  if (problem != nullptr) {
    *problem = status.ok() ? "" : status.error()->message;
  } else {
    EXPECT_TRUE(status.ok()) << status.error()->message;
  }
  return object;
}

TEST(ClusterQueueTest, ReadsGroupsPoliciesAndStatus) {
  const ClusterQueue queue = read(R"(
metadata: {name: team, uid: u, resourceVersion: "7", generation: 2}
spec:
  queueingStrategy: StrictFIFO
  stopPolicy: HoldAndDrain
  namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [a, b]}]}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: gpu
      resources: [{name: cpu, nominalQuota: 8}, {name: memory, nominalQuota: 64Gi}]
status:
  pendingWorkloads: 3
  flavorsUsage: [{name: gpu, resources: [{name: cpu, total: "2"}]}]
  conditions: [{type: Active, status: "True", reason: Ready, lastTransitionTime: "2026-01-01T00:00:00Z"}]
)",
                                  read_cluster_queue);
  EXPECT_EQ(queue.meta.resource_version, 7U);
  EXPECT_EQ(queue.strategy, QueueingStrategy::kStrictFifo);
  EXPECT_EQ(queue.stop_policy, StopPolicy::kHoldAndDrain);
  EXPECT_TRUE(queue.namespace_selector->matches({{"team", "b"}}));
  EXPECT_FALSE(queue.namespace_selector->matches({}));
  ASSERT_NE(queue.group_of("memory"), nullptr);
  EXPECT_EQ(queue.group_of("memory")->flavors[0].find("cpu")->nominal, 8000);
  EXPECT_EQ(queue.group_of("nvidia.com/gpu"), nullptr);
  EXPECT_EQ(queue.status.pending, 3);
  EXPECT_EQ(queue.status.usage[0].totals.at("cpu"), 2000);
  EXPECT_TRUE(holds(queue.status.conditions, "Active"));
}

TEST(ClusterQueueTest, ASelectorThatIsAbsentIsNotOneThatIsEmpty) {
  const auto selector = [](std::string_view spec) {
    return read("{metadata: {name: q}, spec: " + std::string(spec) + "}", read_cluster_queue)
        .namespace_selector;
  };
  EXPECT_FALSE(selector("{}"));
  EXPECT_FALSE(selector("{namespaceSelector: null}"));
  ASSERT_TRUE(selector("{namespaceSelector: {}}"));
  EXPECT_TRUE(selector("{namespaceSelector: {}}")->matches({}));
}

TEST(ClusterQueueTest, NamesTheFieldThatIsWrong) {
  std::string problem;
  read(R"({metadata: {name: q}, spec: {resourceGroups: [{coveredResources: [cpu],
           flavors: [{name: f, resources: [{name: cpu, nominalQuota: much}]}]}]}})",
       read_cluster_queue, &problem);
  EXPECT_TRUE(problem.starts_with("spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: "))
      << problem;
  read("{metadata: {name: q}, spec: {stopPolicy: Stop}}", read_cluster_queue, &problem);
  EXPECT_EQ(problem, "spec.stopPolicy: \"Stop\" is not None, Hold or HoldAndDrain");
}

TEST(ResourceFlavorTest, KeepsTolerationsAsWritten) {
  const ResourceFlavor flavor = read(R"(
metadata: {name: gpu}
spec:
  nodeLabels: {pool: gpu}
  topologyName: default
  tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}]
)",
                                     read_resource_flavor);
  EXPECT_EQ(flavor.topology_name, "default");
  EXPECT_TRUE(flavor.tolerations[0].exists);
  EXPECT_EQ(json::serialize(flavor.toleration_documents),
            R"([{"key":"gpu","operator":"Exists","effect":"NoSchedule"}])");
}

TEST(LimitRangeTest, ADefaultLimitIsADefaultRequestToo) {
  const LimitRange range = read(R"(
metadata: {name: l, namespace: ml}
spec:
  limits:
  - {type: Container, default: {cpu: "2", memory: 1Gi}, defaultRequest: {cpu: "1"}}
  - {type: Pod, max: {cpu: "9"}}
)",
                                read_limit_range);
  EXPECT_EQ(range.defaults.requests.at("cpu"), 1000);
  EXPECT_EQ(range.defaults.requests.at("memory"), 1 << 30);
  EXPECT_EQ(range.defaults.limits.at("cpu"), 2000);
}

TEST(ConditionTest, TheTimeChangesOnlyWhenTheAnswerDoes) {
  Conditions conditions;
  const Time first(std::chrono::seconds(1));
  const Time later(std::chrono::seconds(9));
  EXPECT_TRUE(set_condition(conditions, {"Admitted", false, "A", "m", 1, first}));
  EXPECT_FALSE(set_condition(conditions, {"Admitted", false, "A", "m", 1, later}));
  EXPECT_TRUE(set_condition(conditions, {"Admitted", false, "A", "other", 1, later}));
  EXPECT_EQ(conditions[0].changed, first);
  EXPECT_TRUE(set_condition(conditions, {"Admitted", true, "A", "m", 1, later}));
  EXPECT_EQ(conditions[0].changed, later);
  EXPECT_EQ(conditions.size(), 1U);
}

TEST(ObjectMetaTest, ReadsOwnersFinalizersAndTimes) {
  const ObjectMeta meta = read(R"(
metadata:
  name: w
  namespace: ml
  deletionTimestamp: "2026-01-01T00:00:05Z"
  finalizers: [a, b]
  ownerReferences: [{kind: X, name: x, uid: "1"}, {kind: Job, name: j, uid: "2", controller: true}]
)",
                               read_object_meta);
  EXPECT_EQ(meta.full_name(), "ml/w");
  EXPECT_TRUE(meta.deleted);
  EXPECT_TRUE(meta.has_finalizer("b"));
  EXPECT_FALSE(meta.has_finalizer("c"));
  ASSERT_NE(meta.controller(), nullptr);
  EXPECT_EQ(meta.controller()->uid, "2");
}

}  // namespace
}  // namespace phalanx::api
