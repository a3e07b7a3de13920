#include "sim/job_controller.h"

#include <algorithm>
#include <map>

#include "sim/cluster_testing.h"

namespace phalanx::sim {
namespace {

class JobControllerTest : public ClusterTest {
 protected:
  using Strings = std::vector<std::string>;

  [[nodiscard]] std::vector<Stored> pods_in(std::string_view wanted) const {
    std::vector<Stored> found;
    for (const Stored& pod : pods()) {
      if (string_at(*pod, {"status", "phase"}) == wanted && !is_deleted(*pod)) {
        found.push_back(pod);
      }
    }
    return found;
  }
  // Completion indexes of pods that have not ended and are not being deleted.
  [[nodiscard]] std::vector<int> active_indexes() const {
    std::vector<int> indexes;
    for (const Stored& pod : pods()) {
      if (is_terminal(*pod) || is_deleted(*pod)) continue;
      indexes.push_back(std::stoi(std::string(annotation_of(*pod, kCompletionIndexKey))));
    }
    std::ranges::sort(indexes);
    return indexes;
  }
  // Ends a running pod with this phase, as a kubelet would report it.
  void end(const Stored& pod, std::string_view phase) {
    set_status(*key_of(*pod), "{status: {phase: " + std::string(phase) + "}}");
  }
  [[nodiscard]] bool tracked(const Stored& pod) const {
    return has_finalizer(*pod, kJobTrackingFinalizer);
  }
};

TEST_F(JobControllerTest, AnIndexedJobRunsToItsEnd) {
  add_node("n1", "cpu: 2");
  add_node("n2", "cpu: 1");
  add_job("train", "completionMode: Indexed, completions: 3, parallelism: 3");
  settle();
  EXPECT_EQ(job_status("train", "active"), "3");
  EXPECT_EQ(job_status("train", "ready"), "0");
  EXPECT_EQ(job_status("train", "startTime"), "\"2026-01-31T08:00:00Z\"");
  run_for_seconds(1);
  EXPECT_EQ(job_status("train", "ready"), "3");
  run_for_seconds(10);
  EXPECT_EQ(job_status("train", "active"), "");
  EXPECT_EQ(job_status("train", "ready"), "0");
  EXPECT_EQ(job_status("train", "succeeded"), "3");
  EXPECT_EQ(job_status("train", "completedIndexes"), "\"0-2\"");
  EXPECT_EQ(job_status("train", "uncountedTerminatedPods"), "{}");
  EXPECT_EQ(job_status("train", "completionTime"), "\"2026-01-31T08:00:11Z\"");
  EXPECT_EQ(conditions(job_key("train")), (Strings{"SuccessCriteriaMet=True(CompletionsReached)",
                                                   "Complete=True(CompletionsReached)"}));
  ASSERT_EQ(pods().size(), 3U) << "pods of a finished Job are kept";
  for (const Stored& pod : pods()) EXPECT_FALSE(tracked(pod));
  EXPECT_TRUE(simulation_.quiet());
}

TEST_F(JobControllerTest, PodsAreMadeFromTheTemplate) {
  make(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  template:
    metadata:
      labels: {app: x}
      annotations: {note: y}
    spec:
      restartPolicy: Never
      nodeSelector: {pool: a}
      schedulingGates: [{name: example.com/gate}]
      unknownField: kept
      containers: [{name: main, image: i}]
)");
  settle();
  ASSERT_EQ(pods().size(), 2U);
  const json::value& pod = *pods()[1];
  const std::string name(string_at(pod, {"metadata", "name"}));
  EXPECT_TRUE(name.starts_with("train-1-") && name.size() == 13) << name;
  EXPECT_EQ(string_at(pod, {"metadata", "labels", "app"}), "x");
  EXPECT_EQ(string_at(pod, {"metadata", "labels", kCompletionIndexKey}), "1");
  EXPECT_EQ(string_at(pod, {"metadata", "labels", "batch.kubernetes.io/job-name"}), "train");
  EXPECT_EQ(string_at(pod, {"metadata", "labels", "batch.kubernetes.io/controller-uid"}),
            uid_of(*get(job_key("train"))));
  EXPECT_EQ(annotation_of(pod, "note"), "y");
  EXPECT_EQ(annotation_of(pod, kCompletionIndexKey), "1");
  EXPECT_EQ(string_at(pod, {"spec", "hostname"}), "train-1");
  EXPECT_EQ(string_at(pod, {"spec", "nodeSelector", "pool"}), "a");
  EXPECT_EQ(list_field(pod, {"spec", "schedulingGates"}).size(), 1U);
  EXPECT_TRUE(tracked(pods()[1]));
  const auto owner = controller_of(pod);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->uid, uid_of(*get(job_key("train"))));
  EXPECT_TRUE(owner->blocks_deletion);
}

TEST_F(JobControllerTest, ParallelismLimitsHowManyRunAtOnce) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 5, parallelism: 2");
  settle();
  EXPECT_EQ(pods().size(), 2U);
  run_for_seconds(11);
  EXPECT_EQ(job_status("train", "succeeded"), "2");
  EXPECT_EQ(job_status("train", "active"), "2");
  run_for_seconds(11);
  EXPECT_EQ(job_status("train", "active"), "1") << "only one completion is left";
  run_for_seconds(11);
  EXPECT_EQ(condition(job_key("train"), "Complete"), "True");
  EXPECT_EQ(job_status("train", "completedIndexes"), "");
}

TEST_F(JobControllerTest, TheLowestMissingIndexIsNext) {
  add_node("n1", "cpu: 8");
  add_job("train", "completionMode: Indexed, completions: 6, parallelism: 3", "");
  run_for_seconds(1);
  EXPECT_EQ(active_indexes(), (std::vector{0, 1, 2}));
  for (const Stored& pod : pods()) {
    const bool second = annotation_of(*pod, kCompletionIndexKey) == "1";
    if (!second) end(pod, "Succeeded");
  }
  settle();
  EXPECT_EQ(job_status("train", "completedIndexes"), "\"0,2\"");
  EXPECT_EQ(active_indexes(), (std::vector{1, 3, 4}));
}

TEST_F(JobControllerTest, WithoutCompletionsOneSuccessEndsTheCreation) {
  add_node("n1", "cpu: 8");
  // Defaulting would set completions for a Job that has neither.
  add_job("queue", "parallelism: 3", "");
  run_for_seconds(1);
  ASSERT_EQ(find_at(*get(job_key("queue")), {"spec", "completions"}), nullptr);
  end(pods()[0], "Succeeded");
  settle();
  EXPECT_EQ(job_status("queue", "active"), "2");
  EXPECT_EQ(condition(job_key("queue"), "Complete"), "");
  end(pods_in("Running")[0], "Succeeded");
  end(pods_in("Running")[0], "Succeeded");
  settle();
  EXPECT_EQ(job_status("queue", "succeeded"), "3");
  EXPECT_EQ(condition(job_key("queue"), "Complete"), "True");
}

TEST_F(JobControllerTest, ASuspendedJobHasNoPodsAndResumesWithANewStart) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 2, parallelism: 2, suspend: true", "");
  settle();
  EXPECT_TRUE(pods().empty());
  EXPECT_EQ(conditions(job_key("train")), Strings{"Suspended=True(JobSuspended)"});
  EXPECT_EQ(job_status("train", "startTime"), "");
  run_for_seconds(10);
  merge(job_key("train"), "{spec: {suspend: false}}");
  settle();
  EXPECT_EQ(conditions(job_key("train")), Strings{"Suspended=False(JobResumed)"});
  EXPECT_EQ(job_status("train", "startTime"), "\"2026-01-31T08:00:10Z\"");
  EXPECT_EQ(pods().size(), 2U);
  run_for_seconds(10);

  merge(job_key("train"), "{spec: {suspend: true}}");
  settle();
  EXPECT_EQ(job_status("train", "active"), "");
  EXPECT_EQ(job_status("train", "terminating"), "2");
  EXPECT_EQ(job_status("train", "startTime"), "\"2026-01-31T08:00:10Z\"");
  run_for_seconds(1);
  EXPECT_TRUE(pods().empty());
  EXPECT_EQ(job_status("train", "terminating"), "0");
  EXPECT_EQ(job_status("train", "failed"), "") << "suspended pods have not failed";
  run_for_seconds(9);
  merge(job_key("train"), "{spec: {suspend: false}}");
  settle();
  EXPECT_EQ(job_status("train", "startTime"), "\"2026-01-31T08:00:30Z\"");
  EXPECT_EQ(job_status("train", "active"), "2") << "without delay";
}

TEST_F(JobControllerTest, FailedPodsAreReplacedAfterADelayThatDoubles) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 1, parallelism: 1, backoffLimit: 3", "");
  run_for_seconds(1);
  end(pods_in("Running")[0], "Failed");
  settle();
  EXPECT_EQ(job_status("train", "failed"), "1");
  EXPECT_EQ(job_status("train", "active"), "");
  run_for_seconds(9);
  EXPECT_EQ(pods().size(), 1U);
  run_for_seconds(1);
  EXPECT_EQ(pods().size(), 2U);
  run_for_seconds(1);
  end(pods_in("Running")[0], "Failed");
  run_for_seconds(19);
  EXPECT_EQ(pods().size(), 2U) << "the second time 20 s";
  run_for_seconds(1);
  EXPECT_EQ(pods().size(), 3U);
}

TEST_F(JobControllerTest, TheDelaySurvivesARestart) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 1, parallelism: 1, backoffLimit: 3",
          "phalanx.dev/run-for: 5s, phalanx.dev/exit-code: '1'");
  run_for_seconds(6);
  ASSERT_EQ(job_status("train", "failed"), "1");
  restart();
  run_for_seconds(9);
  EXPECT_EQ(pods().size(), 1U);
  run_for_seconds(1);
  EXPECT_EQ(pods().size(), 2U);
}

TEST_F(JobControllerTest, MoreFailuresThanTheLimitFailTheJob) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 2, parallelism: 2, backoffLimit: 1", "");
  run_for_seconds(1);
  end(pods_in("Running")[0], "Failed");
  run_for_seconds(20);
  EXPECT_EQ(condition(job_key("train"), "FailureTarget"), "");
  end(pods_in("Running")[0], "Failed");
  settle();
  EXPECT_EQ(conditions(job_key("train")), Strings{"FailureTarget=True(BackoffLimitExceeded)"});
  EXPECT_EQ(job_status("train", "terminating"), "1");
  run_for_seconds(1);
  EXPECT_EQ(conditions(job_key("train")), (Strings{"FailureTarget=True(BackoffLimitExceeded)",
                                                   "Failed=True(BackoffLimitExceeded)"}));
  EXPECT_EQ(job_status("train", "failed"), "3") << "the pod that was stopped, too";
  EXPECT_EQ(job_status("train", "completionTime"), "");
  EXPECT_TRUE(simulation_.quiet());
}

TEST_F(JobControllerTest, RestartsInPlaceCountTowardsTheLimit) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 1, parallelism: 1, backoffLimit: 2",
          "phalanx.dev/run-for: 5s, phalanx.dev/exit-code: '1'", "OnFailure");
  run_for_seconds(1 + 5 + 10 + 5 + 19);
  EXPECT_EQ(condition(job_key("train"), "FailureTarget"), "");
  run_for_seconds(2);
  EXPECT_EQ(condition(job_key("train"), "Failed", "reason"), "BackoffLimitExceeded");
}

TEST_F(JobControllerTest, ADeadlineFailsTheJob) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 1, parallelism: 1, activeDeadlineSeconds: 30", "");
  run_for_seconds(29);
  EXPECT_EQ(job_status("train", "active"), "1");
  run_for_seconds(1);
  EXPECT_EQ(condition(job_key("train"), "FailureTarget", "reason"), "DeadlineExceeded");
  run_for_seconds(1);
  EXPECT_EQ(condition(job_key("train"), "Failed", "reason"), "DeadlineExceeded");
}

TEST_F(JobControllerTest, SuspensionStopsTheDeadline) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 1, parallelism: 1, activeDeadlineSeconds: 30", "");
  run_for_seconds(20);
  merge(job_key("train"), "{spec: {suspend: true}}");
  run_for_seconds(100);
  merge(job_key("train"), "{spec: {suspend: false}}");
  run_for_seconds(29);
  EXPECT_EQ(condition(job_key("train"), "FailureTarget"), "");
  run_for_seconds(1);
  EXPECT_EQ(condition(job_key("train"), "FailureTarget"), "True");
}

TEST_F(JobControllerTest, ADeletedPodCountsAsFailedAtOnceAndIsReplaced) {
  add_node("n1", "cpu: 8");
  add_job("train", "completionMode: Indexed, completions: 1, parallelism: 1",
          "phalanx.dev/terminates-after: 25s");
  run_for_seconds(1);
  remove(*key_of(*pods()[0]));
  settle();
  EXPECT_EQ(job_status("train", "failed"), "1");
  EXPECT_EQ(job_status("train", "terminating"), "1");
  run_for_seconds(10);
  EXPECT_EQ(job_status("train", "active"), "1") << "while the old one is still ending";
  EXPECT_EQ(pods().size(), 2U);
  run_for_seconds(15);
  EXPECT_EQ(pods().size(), 1U);
  EXPECT_EQ(job_status("train", "failed"), "1");
}

TEST_F(JobControllerTest, ReplacementCanWaitForTheEnd) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 1, parallelism: 1, podReplacementPolicy: Failed",
          "phalanx.dev/terminates-after: 25s");
  run_for_seconds(1);
  remove(*key_of(*pods()[0]));
  run_for_seconds(24);
  EXPECT_EQ(job_status("train", "failed"), "");
  EXPECT_EQ(pods().size(), 1U);
  run_for_seconds(1);
  EXPECT_EQ(job_status("train", "failed"), "1");
  run_for_seconds(10);
  EXPECT_EQ(job_status("train", "active"), "1");
}

TEST_F(JobControllerTest, ParallelismScalesUpAndDown) {
  add_node("n1", "cpu: 2");
  add_job("train", "completionMode: Indexed, completions: 6, parallelism: 2", "");
  run_for_seconds(1);
  merge(job_key("train"), "{spec: {parallelism: 4}}");
  settle();
  EXPECT_EQ(active_indexes(), (std::vector{0, 1, 2, 3}));
  merge(job_key("train"), "{spec: {parallelism: 2}}");
  settle();
  EXPECT_EQ(active_indexes(), (std::vector{0, 1})) << "those that do not run yet go first";
  merge(job_key("train"), "{spec: {parallelism: 1}}");
  run_for_seconds(2);
  EXPECT_EQ(active_indexes(), std::vector{0});
  EXPECT_EQ(job_status("train", "failed"), "");
  merge(job_key("train"), "{spec: {parallelism: 0}}");
  run_for_seconds(2);
  EXPECT_TRUE(pods().empty());
}

TEST_F(JobControllerTest, AnElasticIndexedJobShrinksFromTheTop) {
  add_node("n1", "cpu: 8");
  add_job("train", "completionMode: Indexed, completions: 4, parallelism: 4", "");
  run_for_seconds(1);
  merge(job_key("train"), "{spec: {completions: 2, parallelism: 2}}");
  run_for_seconds(2);
  EXPECT_EQ(active_indexes(), (std::vector{0, 1}));
  for (const Stored& pod : pods()) end(pod, "Succeeded");
  settle();
  EXPECT_EQ(condition(job_key("train"), "Complete"), "True");
}

TEST_F(JobControllerTest, OfTwoPodsOfOneIndexTheOneThatCameFartherIsKept) {
  add_node("n1", "cpu: 8");
  add_job("train", "completionMode: Indexed, completions: 2, parallelism: 2", "");
  run_for_seconds(1);
  json::value twin = *pods()[0];
  for (const std::string_view field : {"uid", "resourceVersion", "generateName"}) {
    erase_at(twin, {"metadata", field});
  }
  erase_at(twin, {"spec", "nodeName"});
  ensure_object(twin, {"metadata"})["name"] = "another";
  ASSERT_TRUE(server_.create(twin));
  run_for_seconds(2);
  EXPECT_FALSE(exists(pod_key("another")));
  EXPECT_EQ(active_indexes(), (std::vector{0, 1}));
  EXPECT_EQ(job_status("train", "failed"), "");
}

TEST_F(JobControllerTest, JobsOfOtherControllersAreLeftAlone) {
  add_job("mine", "managedBy: kubernetes.io/job-controller");
  add_job("theirs", "managedBy: example.com/other");
  settle();
  ASSERT_EQ(pods().size(), 1U);
  EXPECT_EQ(controller_of(*pods()[0])->name, "mine");
  EXPECT_EQ(job_status("theirs", "startTime"), "");
}

TEST_F(JobControllerTest, AFinishedJobIsDeletedAfterItsTimeToLive) {
  add_node("n1", "cpu: 8");
  add_job("train", "ttlSecondsAfterFinished: 60");
  run_for_seconds(11);
  ASSERT_EQ(condition(job_key("train"), "Complete"), "True");
  run_for_seconds(30);
  restart();
  run_for_seconds(29);
  EXPECT_TRUE(exists(job_key("train")));
  run_for_seconds(1);
  EXPECT_FALSE(exists(job_key("train")));
  EXPECT_TRUE(pods().empty());
}

TEST_F(JobControllerTest, PodsOfADeletedJobLoseTheirFinalizerAndGo) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 2, parallelism: 2", "");
  run_for_seconds(1);
  remove(job_key("train"));
  settle();
  EXPECT_FALSE(exists(job_key("train")));
  run_for_seconds(1);
  EXPECT_TRUE(pods().empty());
}

TEST_F(JobControllerTest, ForegroundDeletionEndsThePodsFirst) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 2, parallelism: 2", "");
  run_for_seconds(1);
  remove(job_key("train"), Propagation::kForeground);
  settle();
  EXPECT_TRUE(exists(job_key("train")));
  EXPECT_EQ(pods().size(), 2U) << "nothing is created for a Job that is being deleted";
  run_for_seconds(1);
  EXPECT_TRUE(pods().empty());
  EXPECT_FALSE(exists(job_key("train")));
}

TEST_F(JobControllerTest, OrphanedPodsLoseTheirFinalizer) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 1", "");
  run_for_seconds(1);
  remove(job_key("train"), Propagation::kOrphan);
  settle();
  EXPECT_FALSE(exists(job_key("train")));
  ASSERT_EQ(pods().size(), 1U);
  EXPECT_FALSE(tracked(pods()[0]));
  EXPECT_FALSE(is_deleted(*pods()[0]));
}

TEST_F(JobControllerTest, NoCompletionsAreReachedAtOnce) {
  add_job("empty", "completions: 0");
  settle();
  EXPECT_TRUE(pods().empty());
  EXPECT_EQ(condition(job_key("empty"), "Complete"), "True");
}

// Where the counting stands when the controller stops, and starts again.
TEST_F(JobControllerTest, APodIsCountedOnceWhereverTheControllerStops) {
  add_node("n1", "cpu: 8");
  add_job("train", "completions: 2, parallelism: 2, backoffLimit: 5", "");
  run_for_seconds(1);
  simulation_.replace(actors_.job_controller, nullptr);
  const Stored pod = pods()[0];
  end(pod, "Failed");
  // Stopped after the uid was written.
  set_status(job_key("train"),
             "{status: {uncountedTerminatedPods: {failed: [" + std::string(uid_of(*pod)) + "]}}}");
  restart();
  settle();
  EXPECT_EQ(job_status("train", "failed"), "1");
  EXPECT_EQ(job_status("train", "uncountedTerminatedPods"), "{}");

  // Stopped after the finalizer was removed.
  run_for_seconds(11);
  simulation_.replace(actors_.job_controller, nullptr);
  const Stored second = pods_in("Running")[0];
  end(second, "Failed");
  set_status(job_key("train"), "{status: {uncountedTerminatedPods: {failed: [" +
                                   std::string(uid_of(*second)) + "]}}}");
  merge(*key_of(*second), "{metadata: {finalizers: null}}");
  restart();
  settle();
  EXPECT_EQ(job_status("train", "failed"), "2");
}

TEST(IndexSetTest, WritesAndReadsRanges) {
  EXPECT_EQ(format_indexes({}), "");
  EXPECT_EQ(format_indexes({0, 1, 2, 3, 5}), "0-3,5");
  EXPECT_EQ(format_indexes({1, 2, 4, 6, 7}), "1,2,4,6,7");
  EXPECT_EQ(parse_indexes("0-3,5", 10), (IndexSet{0, 1, 2, 3, 5}));
  EXPECT_EQ(parse_indexes("0-9999999999,3", 3), (IndexSet{0, 1, 2}));
  EXPECT_EQ(parse_indexes("x,1-,-2,4", 10), IndexSet{4});
}

TEST_F(JobControllerTest, SaysOnceWhyPodsAreRefused) {
  make(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {parallelism: 2, template: "
      "{spec: {restartPolicy: Never, priorityClassName: high, containers: [{name: c, image: "
      "i}]}}}}");
  run_for(std::chrono::hours(1));
  const Listing events = server_.list(api::Kind::kEvent);
  ASSERT_EQ(events.items.size(), 1U);
  EXPECT_EQ(string_at(*events.items[0], {"reason"}), kFailedCreate);
  EXPECT_TRUE(string_at(*events.items[0], {"message"})
                  .starts_with("cannot make pods: spec.priorityClassName: there is no "
                               "PriorityClass \"high\""));
  // It goes on by itself as soon as it can.
  make("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1}");
  run_for(std::chrono::minutes(10));
  EXPECT_EQ(pods().size(), 2U);
}

}  // namespace
}  // namespace phalanx::sim
