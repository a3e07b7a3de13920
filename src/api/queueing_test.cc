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

TEST(ClusterQueueTest, ReadsCohortLimitsAndPolicies) {
  const ClusterQueue queue = read(R"(
metadata: {name: team}
spec:
  cohortName: all
  fairSharing: {weight: "1.5"}
  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}
  admissionChecksStrategy: {admissionChecks: [{name: budget}, {name: capacity, onFlavors: [spot]}]}
  flavorFungibility:
    {whenCanBorrow: TryNextFlavor, whenCanPreempt: MayStopSearch, preference: PreemptionOverBorrowing}
  preemption:
    withinClusterQueue: LowerOrNewerEqualPriority
    reclaimWithinCohort: Any
    borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: -5}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: spot, resources: [{name: cpu, nominalQuota: 8, borrowingLimit: 2, lendingLimit: "500m"}]}
    - {name: base, resources: [{name: cpu, nominalQuota: 8}]}
)",
                                  read_cluster_queue);
  EXPECT_EQ(queue.cohort, "all");
  EXPECT_EQ(queue.weight_milli, 1500);
  EXPECT_TRUE(queue.usage_based_admission);
  ASSERT_EQ(queue.admission_checks.size(), 2U);
  EXPECT_EQ(queue.admission_checks[0].name, "budget");
  EXPECT_TRUE(queue.admission_checks[0].on_flavors.empty());
  EXPECT_EQ(queue.admission_checks[1].on_flavors, std::vector<std::string>{"spot"});
  EXPECT_TRUE(queue.fungibility.next_when_can_borrow);
  EXPECT_FALSE(queue.fungibility.next_when_can_preempt);
  EXPECT_TRUE(queue.fungibility.preemption_over_borrowing);
  EXPECT_EQ(queue.preemption.within_cluster_queue, PreemptionPolicy::kLowerOrNewerEqualPriority);
  EXPECT_EQ(queue.preemption.reclaim_within_cohort, PreemptionPolicy::kAny);
  EXPECT_TRUE(queue.preemption.borrow_within_cohort);
  EXPECT_EQ(queue.preemption.max_priority_threshold, -5);
  const ResourceQuota* spot = queue.groups[0].flavors[0].find("cpu");
  EXPECT_EQ(spot->borrowing_limit, 2000);
  EXPECT_EQ(spot->lending_limit, 500);
  EXPECT_FALSE(queue.groups[0].flavors[1].find("cpu")->borrowing_limit);
}

TEST(ClusterQueueTest, WhatIsNotSaidIsKueuesDefault) {
  const ClusterQueue queue = read("{metadata: {name: q}, spec: {}}", read_cluster_queue);
  EXPECT_EQ(queue.cohort, "");
  EXPECT_EQ(queue.weight_milli, 1000);
  EXPECT_FALSE(queue.usage_based_admission);
  EXPECT_FALSE(queue.fungibility.next_when_can_borrow);
  EXPECT_TRUE(queue.fungibility.next_when_can_preempt);
  EXPECT_FALSE(queue.fungibility.preemption_over_borrowing);
  EXPECT_EQ(queue.preemption.within_cluster_queue, PreemptionPolicy::kNever);
  EXPECT_EQ(queue.preemption.reclaim_within_cohort, PreemptionPolicy::kNever);
  EXPECT_FALSE(queue.preemption.borrow_within_cohort);
}

TEST(ClusterQueueTest, PoliciesAreOfTheWordsThatThereAre) {
  const auto problem_of = [](std::string_view spec) {
    std::string problem;
    read("{metadata: {name: q}, spec: " + std::string(spec) + "}", read_cluster_queue, &problem);
    return problem;
  };
  EXPECT_EQ(problem_of("{preemption: {withinClusterQueue: Any}}"),
            "spec.preemption.withinClusterQueue: \"Any\" is not Never, LowerPriority or "
            "LowerOrNewerEqualPriority");
  EXPECT_EQ(problem_of("{preemption: {reclaimWithinCohort: Always}}"),
            "spec.preemption.reclaimWithinCohort: \"Always\" is not Never, LowerPriority or Any");
  EXPECT_EQ(problem_of("{flavorFungibility: {whenCanBorrow: Borrow}}"),
            "spec.flavorFungibility.whenCanBorrow: \"Borrow\" is not MayStopSearch or "
            "TryNextFlavor");
  EXPECT_EQ(problem_of("{queueingStrategy: FIFO}"),
            "spec.queueingStrategy: \"FIFO\" is not BestEffortFIFO or StrictFIFO");
  EXPECT_TRUE(problem_of("{fairSharing: {weight: -1}}").starts_with("spec.fairSharing.weight: "));
}

TEST(QueueStatusTest, SaysWhatIsBorrowedAndForgetsNothing) {
  constexpr std::string_view kWritten = R"(
metadata: {name: q}
status:
  flavorsUsage: [{name: f, resources: [{name: cpu, total: 2, borrowed: 500m}, {name: memory, total: 1Gi, borrowed: 0}]}]
  fairSharing: {weightedShare: 250}
)";
  const QueueStatus status = read(kWritten, read_cluster_queue).status;
  EXPECT_EQ(status.usage[0].borrowed, (ResourceAmounts{{"cpu", 500}}));
  EXPECT_EQ(status.weighted_share, 250);
  const json::object written = queue_status_json(status, status, true);
  EXPECT_EQ(json::serialize(written.at("flavorsUsage")),
            R"([{"name":"f","resources":[{"name":"cpu","total":"2","borrowed":"500m"},)"
            R"({"name":"memory","total":"1Gi","borrowed":"0"}]}])");
  EXPECT_EQ(json::serialize(written.at("fairSharing")), R"({"weightedShare":250})");
  EXPECT_FALSE(json::serialize(queue_status_json(status, status, false)).contains("borrowed"));
  EXPECT_TRUE(queue_status_json({}, status, true).at("fairSharing").is_null());
}

TEST(QueueStatusTest, RecentUsageIsReplacedAsAWhole) {
  const LocalQueue queue = read(R"(
metadata: {name: q, namespace: ml}
spec: {clusterQueue: c, fairSharing: {weight: 2}}
status:
  fairSharing:
    weightedShare: 0
    admissionFairSharingStatus: {consumedResources: {cpu: 1500m, memory: 1Gi}, lastUpdate: "2026-01-01T00:00:05Z"}
)",
                                read_local_queue);
  EXPECT_EQ(queue.weight_milli, 2000);
  EXPECT_FALSE(queue.status.weighted_share);  // 0 only because something must stand there
  ASSERT_TRUE(queue.status.recent_usage);
  EXPECT_EQ(queue.status.recent_usage->consumed,
            (ResourceAmounts{{"cpu", 1500}, {"memory", 1 << 30}}));
  QueueStatus next = queue.status;
  next.recent_usage->consumed = {{"cpu", 2000}};
  EXPECT_EQ(json::serialize(queue_status_json(next, queue.status, false).at("fairSharing")),
            R"({"weightedShare":0,"admissionFairSharingStatus":{"consumedResources":)"
            R"({"cpu":"2","memory":null},"lastUpdate":"2026-01-01T00:00:05Z"}})");
}

TEST(CohortTest, ReadsParentQuotasAndShare) {
  const Cohort cohort = read(R"(
metadata: {name: half}
spec:
  parentName: all
  fairSharing: {weight: 500m}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4, lendingLimit: 1}]}]
status: {fairSharing: {weightedShare: 7}}
)",
                             read_cohort);
  EXPECT_EQ(cohort.parent, "all");
  EXPECT_EQ(cohort.weight_milli, 500);
  EXPECT_EQ(cohort.groups[0].flavors[0].find("cpu")->lending_limit, 1000);
  EXPECT_EQ(cohort.weighted_share, 7);
}

TEST(AdmissionCheckTest, ReadsWhoChecks) {
  EXPECT_EQ(read("{metadata: {name: a}, spec: {controllerName: kueue.x-k8s.io/multikueue}}",
                 read_admission_check)
                .controller_name,
            "kueue.x-k8s.io/multikueue");
  std::string problem;
  read("{metadata: {name: a}, spec: {}}", read_admission_check, &problem);
  EXPECT_TRUE(problem.starts_with("spec.controllerName: ")) << problem;
}

TEST(RuntimeClassTest, ReadsTheOverhead) {
  EXPECT_EQ(read("{metadata: {name: vm}, handler: kata, overhead: {podFixed: {cpu: 250m}}}",
                 read_runtime_class)
                .overhead,
            (ResourceAmounts{{"cpu", 250}}));
  EXPECT_TRUE(read("{metadata: {name: runc}, handler: runc}", read_runtime_class).overhead.empty());
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
