#include "manager/workload_meter.h"

#include <fmt/format.h>

#include "manager/scrape_testing.h"

namespace phalanx::manager {
namespace {

constexpr std::string_view kQueue =
    R"({cluster_queue="all",priority_class="high",replica_role="leader"})";
constexpr std::string_view kLocal =
    R"({name="main",namespace="ml",priority_class="high",replica_role="leader"})";

class WorkloadMeterTest : public ScrapeFixture {
 protected:
  // Of the Workload ml/train, created a minute before now_.
  void tell_status(std::string_view status, bool counts = true) {
    tell(fmt::format(
             "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {{name: train, "
             "namespace: ml, uid: {}, creationTimestamp: '2026-01-01T00:00:00Z'}}, spec: "
             "{{queueName: main, priorityClassRef: {{group: kueue.x-k8s.io, kind: "
             "WorkloadPriorityClass, name: high}}, podSets: [{{name: main, count: 1, template: "
             "{{spec: {{containers: [{{name: c, image: i}}]}}}}}}]}}, status: {{{}}}}}",
             uid_, status),
         counts);
  }
  static std::string condition(std::string_view type, bool holds, std::string_view time,
                               std::string_view reason = "Why") {
    return fmt::format(
        "{{type: {}, status: '{}', lastTransitionTime: '2026-01-01T{}Z', reason: {}, message: m}}",
        type, holds ? "True" : "False", time, reason);
  }
  static std::string admission(const std::string& conditions) {
    return "admission: {clusterQueue: all, podSetAssignments: [{name: main, count: 1}]}, "
           "conditions: [" +
           conditions + "]";
  }
  static std::string name(std::string_view metric, std::string_view labels) {
    return fmt::format("kueue_{}{}", metric, labels);
  }

  const api::ObjectKey train_{api::Kind::kWorkload, "ml", "train"};
  std::string uid_ = "uid-train";
};

TEST_F(WorkloadMeterTest, AdmissionIsCountedOnceAndMeasured) {
  tell_status("");
  const std::string reserved = condition("QuotaReserved", true, "00:01:00");
  tell_status(admission(reserved));
  now_ += std::chrono::seconds(30);
  const std::string admitted = reserved + ", " + condition("Admitted", true, "00:01:30");
  tell_status(admission(admitted));
  tell_status(admission(admitted));
  expect({{name("quota_reserved_workloads_total", kQueue), "1"},
          {name("quota_reserved_wait_time_seconds_sum", kQueue), "60"},
          {name("admitted_workloads_total", kQueue), "1"},
          {name("local_queue_admitted_workloads_total", kLocal), "1"},
          {name("admission_wait_time_seconds_sum", kQueue), "90"},
          {name("local_queue_admission_wait_time_seconds_sum", kLocal), "90"}});
  EXPECT_FALSE(series().contains(name("admission_checks_wait_time_seconds_sum", kQueue)));
}

TEST_F(WorkloadMeterTest, ChecksAreWaitedForWhereThereAreSome) {
  tell_status("");
  const std::string reserved = condition("QuotaReserved", true, "00:01:00");
  const std::string checks =
      ", admissionChecks: [{name: nodes, state: Ready, lastTransitionTime: "
      "'2026-01-01T00:01:30Z', message: m}]";
  tell_status(admission(reserved) + checks);
  now_ += std::chrono::seconds(30);
  tell_status(admission(reserved + ", " + condition("Admitted", true, "00:01:30")) + checks);
  expect({{name("admission_checks_wait_time_seconds_sum", kQueue), "30"}});
}

// With the quota it is told that it is evicted no more, at this very moment.
TEST_F(WorkloadMeterTest, WhoComesBackHasWaitedSinceThen) {
  tell_status("");
  tell_status("conditions: [" + condition("QuotaReserved", false, "00:00:20") + ", " +
              condition("Evicted", true, "00:00:15") + ", " +
              condition("Requeued", true, "00:00:20") + "]");
  tell_status(admission(condition("QuotaReserved", true, "00:01:00") + ", " +
                        condition("Evicted", false, "00:01:00") + ", " +
                        condition("Requeued", false, "00:01:00") + ", " +
                        condition("Admitted", true, "00:01:00")));
  expect({{name("quota_reserved_wait_time_seconds_sum", kQueue), "40"},
          {name("admission_wait_time_seconds_sum", kQueue), "40"}});
}

TEST_F(WorkloadMeterTest, WhatWentBetweenTwoLivesIsForgotten) {
  const std::string admitted = admission(condition("QuotaReserved", true, "00:01:00") + ", " +
                                         condition("Admitted", true, "00:01:00"));
  tell_status(admitted);
  workloads_.begin_life();
  tell_status(admitted);
  workloads_.all_listed();
  tell_status(admitted);
  expect({{name("admitted_workloads_total", kQueue), "1"}});
  workloads_.begin_life();
  workloads_.all_listed();  // it was not among it
  tell_status(admitted);
  expect({{name("admitted_workloads_total", kQueue), "2"}});
}

TEST_F(WorkloadMeterTest, WhatWasThereBeforeIsNotCounted) {
  const std::string admitted =
      condition("QuotaReserved", true, "00:00:10") + ", " + condition("Admitted", true, "00:00:10");
  tell_status(admission(admitted), false);
  tell_status(admission(admitted));
  EXPECT_FALSE(series().contains(name("admitted_workloads_total", kQueue)));
  tell_status(admission(admitted + ", " + condition("PodsReady", true, "00:01:00")));
  expect({{name("admitted_until_ready_wait_time_seconds_sum", kQueue), "50"},
          {name("ready_wait_time_seconds_sum", kQueue), "60"}});
}

TEST_F(WorkloadMeterTest, RecoveryIsNoStart) {
  const std::string admitted = condition("QuotaReserved", true, "00:00:10") + ", " +
                               condition("Admitted", true, "00:00:10") + ", ";
  tell_status(admission(admitted + condition("PodsReady", true, "00:00:20")), false);
  tell_status(admission(admitted + condition("PodsReady", false, "00:00:40", "WaitForRecovery")));
  tell_status(admission(admitted + condition("PodsReady", true, "00:01:00", "Recovered")));
  expect({{"phalanx_recovery_seconds_sum", "20"}, {"phalanx_recovery_seconds_count", "1"}});
  EXPECT_FALSE(series().contains(name("ready_wait_time_seconds_sum", kQueue)));
}

TEST_F(WorkloadMeterTest, EvictionsAreCountedByReason) {
  const std::string held = condition("QuotaReserved", true, "00:00:10") + ", " +
                           condition("Admitted", true, "00:00:10") + ", " +
                           condition("PodsReady", true, "00:00:20");
  tell_status(admission(held), false);
  const std::string stats =
      "schedulingStats: {evictions: [{reason: PodsReadyTimeout, underlyingCause: WaitForStart, "
      "count: 1}]}";
  const std::string evicted = condition("Evicted", true, "00:01:00", "PodsReadyTimeout");
  tell_status(admission(held + ", " + evicted) + ", " + stats);
  now_ += std::chrono::seconds(5);
  tell_status("conditions: [" + condition("QuotaReserved", false, "00:01:05") + ", " + evicted +
              "], " + stats);
  const std::string why =
      R"({cluster_queue="all",priority_class="high",reason="PodsReadyTimeout",replica_role="leader",)"
      R"(underlying_cause="WaitForStart"})";
  expect({{name("evicted_workloads_total", why), "1"},
          {name("evicted_workloads_once_total", why), "1"},
          {name("pods_ready_to_evicted_time_seconds_sum",
                R"({cluster_queue="all",reason="PodsReadyTimeout",replica_role="leader",)"
                R"(underlying_cause="WaitForStart"})"),
           "40"},
          {name("workload_eviction_latency_seconds_sum",
                R"({cluster_queue="all",reason="PodsReadyTimeout",replica_role="leader"})"),
           "5"}});
  // For the same reason again: counted, but not as another one that it happened to.
  tell_status(
      "schedulingStats: {evictions: [{reason: PodsReadyTimeout, underlyingCause: "
      "WaitForStart, count: 3}]}");
  expect({{name("evicted_workloads_once_total", why), "1"}});
}

TEST_F(WorkloadMeterTest, TheEndIsCounted) {
  const std::string admitted =
      condition("QuotaReserved", true, "00:00:10") + ", " + condition("Admitted", true, "00:00:10");
  tell_status(admission(admitted), false);
  tell_status(admission(admitted + ", " + condition("Finished", true, "00:01:00")) +
              ", accumulatedPastExecutionTimeSeconds: 100");
  expect({{name("finished_workloads_total", kQueue), "1"},
          {name("execution_time_seconds_sum", kQueue), "150"},
          {name("local_queue_execution_time_seconds_count", kLocal), "1"}});
}

TEST_F(WorkloadMeterTest, AnotherOneOfTheSameNameBeginsAnew) {
  const std::string reserved = admission(condition("QuotaReserved", true, "00:01:00"));
  tell_status(reserved);
  workloads_.saw(core::ObjectDeleted{train_, uid_, version_});
  tell_status(reserved);
  expect({{name("quota_reserved_workloads_total", kQueue), "2"}});
  workloads_.saw(core::Listed{api::Kind::kWorkload, version_, {}});
  tell_status(reserved);
  expect({{name("quota_reserved_workloads_total", kQueue), "3"}});
  uid_ = "another";
  tell_status(reserved);
  expect({{name("quota_reserved_workloads_total", kQueue), "4"}});
}

// Answers to writes come ahead of the watch, which tells all of it once more.
TEST_F(WorkloadMeterTest, WhatTheWatchTellsLateIsNotCountedAgain) {
  const std::string reserved = condition("QuotaReserved", true, "00:01:00");
  const std::string admitted = reserved + ", " + condition("Admitted", true, "00:01:00");
  for (int i = 0; i < 2; ++i) {
    version_ = 9;
    tell_status(admission(reserved));
    version_ = 11;
    tell_status(admission(admitted));
  }
  expect({{name("quota_reserved_workloads_total", kQueue), "1"},
          {name("admitted_workloads_total", kQueue), "1"},
          {name("local_queue_admitted_workloads_total", kLocal), "1"}});
}

TEST_F(WorkloadMeterTest, ADeletionThatIsToldLateIsOfTheOneBefore) {
  const std::string reserved = admission(condition("QuotaReserved", true, "00:01:00"));
  tell_status(reserved);
  const core::ObjectDeleted late{train_, uid_, version_};
  uid_ = "another";
  tell_status(reserved);
  workloads_.saw(late);
  tell_status(reserved);
  expect({{name("quota_reserved_workloads_total", kQueue), "2"}});
}

TEST_F(WorkloadMeterTest, AListSaysNothingAboutWhatIsNewer) {
  const std::string reserved = admission(condition("QuotaReserved", true, "00:01:00"));
  version_ = 9;
  tell_status(reserved);
  workloads_.saw(core::Listed{api::Kind::kWorkload, 9, {}});
  tell_status(reserved);
  expect({{name("quota_reserved_workloads_total", kQueue), "1"}});
}

// Versions may begin anew, with a cluster that was restored: a new core does not mind.
TEST_F(WorkloadMeterTest, ANewCoreTakesInAnyVersion) {
  const std::string reserved = condition("QuotaReserved", true, "00:01:00");
  version_ = 9;
  tell_status(admission(reserved));
  workloads_.begin_life();
  version_ = 3;
  tell_status(admission(reserved));
  tell_status(admission(reserved + ", " + condition("Admitted", true, "00:01:00")));
  expect({{name("quota_reserved_workloads_total", kQueue), "1"},
          {name("admitted_workloads_total", kQueue), "1"}});
}

TEST_F(WorkloadMeterTest, SeriesOfQueuesGoWithThem) {
  tell("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: team}}");
  tell(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: all}, spec: "
      "{cohortName: team, namespaceSelector: {}}}");
  tell(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: main, namespace: "
      "ml}, spec: {clusterQueue: all}}");
  const std::string admitted = admission(condition("QuotaReserved", true, "00:01:00") + ", " +
                                         condition("Admitted", true, "00:01:00"));
  const std::string of_queue = name("admitted_workloads_total", kQueue);
  const std::string of_local = name("local_queue_admitted_workloads_total", kLocal);
  const std::string of_cohort =
      name("cohort_subtree_admitted_workloads_total",
           R"({cohort="team",priority_class="high",replica_role="leader"})");
  tell_status(admitted);
  workloads_.decided({{{"preempt", "InClusterQueue", "all"}, 2}}, Role::kLeader,
                     std::chrono::microseconds(10));
  // ClusterQueues belong to the cohort still, with or without an object.
  step({core::ObjectDeleted{{api::Kind::kCohort, "", "team"}}});
  workloads_.forget_gone_queues(core_.state());
  expect({{of_queue, "1"}, {of_local, "1"}, {of_cohort, "1"}});
  step({core::ObjectDeleted{{api::Kind::kLocalQueue, "ml", "main"}}});
  workloads_.forget_gone_queues(core_.state());
  for (const auto& [name, value] : series()) EXPECT_FALSE(name.contains("local_queue")) << name;
  expect({{of_queue, "1"}, {of_cohort, "1"}});
  step({core::Listed{api::Kind::kClusterQueue, version_, {}}});
  workloads_.forget_gone_queues(core_.state());
  for (const auto& [name, value] : series()) {
    EXPECT_FALSE(name.contains(R"(cluster_queue="all")")) << name;
    EXPECT_FALSE(name.contains(R"(cohort="team")")) << name;
  }
  // What is counted of them afterwards begins anew, and goes as well.
  uid_ = "another";
  tell_status(admitted);
  expect({{of_queue, "1"}, {of_local, "1"}});
  workloads_.forget_gone_queues(core_.state());
  EXPECT_FALSE(series().contains(of_queue));
}

TEST_F(WorkloadMeterTest, DecisionsTellAttemptsAndPreemptions) {
  workloads_.decided({{{"admit", "", ""}, 3}, {{"refuse", "", ""}, 1}}, Role::kLeader,
                     std::chrono::microseconds(10));
  workloads_.decided({{{"preempt", "InClusterQueue", "all"}, 2}}, Role::kLeader,
                     std::chrono::microseconds(10));
  workloads_.decided({{{"start", "", ""}, 2}}, Role::kLeader, std::chrono::microseconds(10));
  expect({{R"(kueue_admission_attempts_total{replica_role="leader",result="success"})", "1"},
          {R"(kueue_admission_attempts_total{replica_role="leader",result="inadmissible"})", "1"},
          {R"(kueue_preempted_workloads_total{preempting_cluster_queue="all",)"
           R"(reason="InClusterQueue",replica_role="leader"})",
           "2"}});
}

}  // namespace
}  // namespace phalanx::manager
