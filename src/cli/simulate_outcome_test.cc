// What a run says of workloads that are not well, and of input that is wrong.
#include <signal.h>

#include "cli/simulate_testing.h"

namespace phalanx::cli {
namespace {

class SimulateOutcomeTest : public SimulateTest {
 protected:
  static std::string timeline(std::string_view events) {
    return fmt::format("---\n{{apiVersion: phalanx.dev/v1, kind: Timeline, events: [{}]}}\n",
                       events);
  }
};

TEST_F(SimulateOutcomeTest, APodOnABadNodeDoesNotRun) {
  const std::string input =
      timeline("{at: 3m, node: r1-h1, becomes: NotReady}, {at: 4m, node: r1-h1, becomes: Ready}") +
      manifest({"a", 2});
  const json::value document = simulate_json(input, {"--until", "3m30s"});
  EXPECT_EQ(events_of(document, "ml/a"), "0s submitted; 0s admitted; 1s started; 3m lost");
  const json::value record = workload(document, "ml/a");
  EXPECT_EQ(record.at("podsRunning").to_number<int>(), 1);
  EXPECT_EQ(record.at("podsNeeded").to_number<int>(), 2);
  EXPECT_EQ(record.at("message").as_string(), "node r1-h1 is NotReady");
  expect_parts(simulate(input, {"--until", "3m30s"}).out,
               {"lost       ml/a     1 of 2 pods run: node r1-h1 is NotReady",
                "running, 1 of 2 pods  rack r1: 2 hosts; node r1-h1 is NotReady"});
  EXPECT_EQ(events_of(simulate_json(input), "ml/a"),
            "0s submitted; 0s admitted; 1s started; 3m lost; 4m started; 10m1s finished");
}

TEST_F(SimulateOutcomeTest, APodThatFailedIsMissed) {
  std::string job = manifest({"a", 2});
  job.replace(job.find("backoffLimit: 0"), 15, "backoffLimit: 3");
  const json::value document =
      simulate_json(timeline("{at: 3m, pod: ml/a-0-*, becomes: Failed}") + job);
  EXPECT_EQ(events_of(document, "ml/a"),
            "0s submitted; 0s admitted; 1s started; 3m lost; 3m11s started; 13m11s finished");
}

TEST_F(SimulateOutcomeTest, AGangUnderWhichANodeIsDrainedMoves) {
  std::string job = manifest({"a", 1});
  job.replace(job.find("backoffLimit: 0"), 15, "backoffLimit: 3");
  const std::string input = timeline("{at: 3m, node: r1-h1, becomes: Drained}") + job;
  EXPECT_EQ(events_of(simulate_json(input), "ml/a"),
            "0s submitted; 0s admitted; 1s started; 3m moved; 3m lost; 3m11s started; 13m11s "
            "finished");
  expect_parts(simulate(input).out, {"moved      ml/a     from r1-h1 to r1-h2"});
}

// Rounds of pods that follow each other are no loss.
TEST_F(SimulateOutcomeTest, PodsThatSucceedAreNotMissed) {
  std::string job = manifest({"a", 2});
  job.replace(job.find("completions: 2"), 14, "completions: 3");
  EXPECT_EQ(events_of(simulate_json(job), "ml/a"),
            "0s submitted; 0s admitted; 1s started; 20m2s finished");
}

TEST_F(SimulateOutcomeTest, AJobWhosePodsAreRefusedIsStuck) {
  const std::string input = manifest({"a", 2}) + R"(---
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: ml}
spec: {limits: [{type: Container, max: {nvidia.com/gpu: 2}}]}
)";
  const json::value document = simulate_json(input, {"--until", "1h"});
  EXPECT_EQ(events_of(document, "ml/a"), "0s submitted; 0s admitted; 0s stuck");
  EXPECT_EQ(workload(document, "ml/a").at("state").as_string(), "admitted");
  EXPECT_EQ(workload(document, "ml/a").at("podsRunning").to_number<int>(), 0);
  expect_parts(simulate(input, {"--until", "1h"}).out,
               {"admitted, 0 of 2 pods", "cannot make pods:", "nvidia.com/gpu"});
}

TEST_F(SimulateOutcomeTest, AJobWhosePriorityClassIsMissingIsSetAside) {
  std::string job = manifest({"a", 2});
  const std::string never = "restartPolicy: Never";
  job.replace(job.find(never), never.size(), never + "\n      priorityClassName: high");
  EXPECT_EQ(events_of(simulate_json(job), "ml/a"), "0s submitted; 0s set aside");
  expect_parts(simulate(job).out, {"set aside", "PriorityClass high of its pods doesn't exist"});
}

TEST_F(SimulateOutcomeTest, JobsWithoutPodsAreShown) {
  expect_parts(simulate(manifest({"none", 0})).out, {"ml/none", "finished"});
  std::string job = manifest({"idle", 2});
  job.replace(job.find("parallelism: 2"), 14, "parallelism: 0");
  expect_parts(simulate(job).out, {"ml/idle", "it asks for no pods"});
}

// One vocabulary with phalanx explain.
TEST_F(SimulateOutcomeTest, WhatIsInNoQueueIsSetAside) {
  TestJob lost{"lost"};
  lost.labels = "kueue.x-k8s.io/queue-name: mains";
  const json::value document = simulate_json(manifest(lost));
  EXPECT_EQ(events_of(document, "ml/lost"), "0s submitted; 0s set aside");
  EXPECT_EQ(workload(document, "ml/lost").at("state").as_string(), "set aside");
  expect_parts(std::string(workload(document, "ml/lost").at("message").as_string()),
               {"LocalQueue ml/mains doesn't exist; create it", "did you mean `main`?"});
}

TEST_F(SimulateOutcomeTest, AnnotationsThatMakeNoSenseAreBadInput) {
  const auto failure = [&](const std::string& annotation) {
    TestJob job{"a"};
    job.topology = annotation;
    const Ran ran = simulate(manifest(job));
    EXPECT_EQ(ran.code, kBadInput);
    return ran.err;
  };
  const std::string place = "jobs.yaml: line 2: Job ml/a: spec.template.metadata.annotations";
  expect_parts(failure("phalanx.dev/terminates-after: soon"),
               {place, "[phalanx.dev/terminates-after]: \"soon\" is no duration; write it like"});
  expect_parts(failure("phalanx.dev/exit-code: '256'"),
               {place, "[phalanx.dev/exit-code]: \"256\" is no exit code; write 0 to 255"});
  const Ran empty = simulate(manifest({"a", 1, 4, "''"}));
  EXPECT_EQ(empty.code, kBadInput);
  expect_parts(empty.err, {place, "[phalanx.dev/run-for]: \"\" is no duration"});
  // Also of what a Timeline brings.
  const Ran late =
      simulate(timeline("{at: 1m, apply: {apiVersion: v1, kind: Pod, metadata: {name: p, "
                        "annotations: {phalanx.dev/run-for: x}}, spec: {containers: [{name: c, "
                        "image: i}]}}}"));
  EXPECT_EQ(late.code, kBadInput);
  expect_parts(late.err, {"events[0]", "[phalanx.dev/run-for]"});
}

// What has happened so far is worth a report, and the exit code says that it is not all.
TEST_F(SimulateOutcomeTest, ASignalEndsTheRunWithAReport) {
  sigset_t mask;
  sigset_t old;
  sigemptyset(&mask);
  sigaddset(&mask, SIGINT);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &mask, &old), 0);
  ASSERT_EQ(raise(SIGINT), 0);  // it waits until somebody listens
  const Ran ran = simulate(manifest({"a"}), {"--speed", "1", "-o", "json"});
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &old, nullptr), 0);
  EXPECT_EQ(ran.code, 128 + SIGINT);
  const auto document = parse_json(ran.out);
  ASSERT_TRUE(document) << ran.out;
  EXPECT_EQ(document->at("ended").as_string(), "interrupted");
}

TEST_F(SimulateOutcomeTest, TheSameObjectTwiceIsAMistake) {
  const Ran ran = simulate(manifest({"a"}) + manifest({"a", 2}));
  EXPECT_EQ(ran.code, kBadInput);
  expect_parts(ran.err, {"jobs.yaml: line 16: Job ml/a: is there already, from ",
                         "jobs.yaml: line 2: Job ml/a; remove one of them"});
  const Ran node = simulate("---\n{apiVersion: v1, kind: Node, metadata: {name: r1-h1}}\n");
  EXPECT_EQ(node.code, kBadInput);
  expect_parts(node.err, {"Node r1-h1: is there already, from --nodes"});
}

TEST_F(SimulateOutcomeTest, ManyObjectsOfAnUnknownKindAreCounted) {
  std::string secrets;
  for (int i = 0; i < 8; ++i) {
    secrets += fmt::format("---\n{{apiVersion: v1, kind: Secret, metadata: {{name: s{}}}}}\n", i);
  }
  expect_parts(simulate(secrets).err, {"Secret s0: skipped", "Secret s4: skipped",
                                       "phalanx: skipped 3 more of kind v1 Secret\n"});
}

// Cut down by hand, as examples/cluster.yaml is.
TEST_F(SimulateOutcomeTest, ConditionsMayLackWhatPeopleLeaveOut) {
  const Ran ran = simulate(
      "---\n{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 4}, "
      "conditions: [{type: Ready, status: 'True'}]}}\n"
      "---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w, namespace: "
      "ml}, spec: {podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, "
      "image: i}]}}}]}, status: {conditions: [{type: Finished, status: 'True'}]}}\n");
  EXPECT_EQ(ran.code, kDone) << ran.err;
  expect_parts(ran.out, {"ml/w", "finished"});
}

}  // namespace
}  // namespace phalanx::cli
