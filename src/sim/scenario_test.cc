#include "sim/scenario.h"

#include "sim/script_backend.h"
#include "sim/testing.h"

namespace phalanx::sim {
namespace {

// Two racks of one host, and a Job of two pods that fill them.
std::string given_and_started() {
  std::string given = queues_manifest() + node_manifest("h0", "r0") + node_manifest("h1", "r1");
  for (size_t at = 0; (at = given.find('\n', at)) != std::string::npos; at += 3) {
    given.replace(at, 1, "\n  ");
  }
  return "given: |\n  " + given + R"(
steps:
- apply:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: train, namespace: ml, labels: {kueue.x-k8s.io/queue-name: main}}
    spec:
      parallelism: 2
      completions: 2
      completionMode: Indexed
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: i, resources: {requests: {cpu: "4"}}}]
- run: 5s
)";
}

Result<Scenario> read(const std::string& text) {
  const auto documents =
      parse_documents("apiVersion: phalanx.dev/v1\nkind: Scenario\nmetadata: {name: s}\n" + text);
  EXPECT_TRUE(documents) << documents.error().message;
  return read_scenario(documents->front().value);
}

std::string problem_of(const std::string& text) {
  const auto scenario = read(text);
  return scenario ? "" : scenario.error().message;
}

// What the scenario that runs a Job says when these expectations follow; "" if they hold.
std::string after_start(const std::string& expectation) {
  const auto scenario = read(given_and_started() + "- then:\n  - " + expectation + "\n");
  if (!scenario) return scenario.error().message;
  EmbeddedBackend backend;
  const auto done = run_scenario(*scenario, backend);
  return done ? "" : done.error().message;
}

TEST(ReadScenarioTest, NamesStepAndField) {
  EXPECT_EQ(problem_of("stepps: []"), "stepps: unknown field; did you mean `steps`?");
  EXPECT_EQ(problem_of("steps: []"), "steps: must be a list with at least one step");
  EXPECT_EQ(problem_of("steps: [{run: 1s}, {rnu: 1s}]"),
            "step 2: rnu: unknown field; did you mean `run`?");
  EXPECT_EQ(problem_of("steps: [{thn: []}]"), "step 1: thn: unknown field; did you mean `then`?");
  EXPECT_EQ(problem_of("steps: [{then: [{absnt: Job a}]}]"),
            "step 1: then[0]: absnt: unknown field; did you mean `absent`?");
  EXPECT_EQ(problem_of("steps: [{then: [{object: Job a, hsa: {}}]}]"),
            "step 1: then[0]: hsa: unknown field; did you mean `has`?");
  EXPECT_EQ(problem_of("steps: [{then: [{event: {about: Job a, raeson: b}}]}]"),
            "step 1: then[0]: raeson: unknown field; did you mean `reason`?");
  EXPECT_EQ(problem_of("steps: [{then: [{count: many pods a}]}]"),
            "step 1: then[0]: count: \"many pods a\" must be like 4 pods ml/train-*");
  EXPECT_EQ(problem_of("steps: [{then: [{account: false}]}]"),
            "step 1: then[0]: account: must be true; leave it out otherwise");
  EXPECT_NE(problem_of("given: 3\nsteps: [{run: 1s}]").find("given: must be a manifest"),
            std::string::npos);
  EXPECT_EQ(problem_of("steps: [{then: [{object: Job a, conditions: {Admitted: maybe}}]}]"),
            "step 1: then[0]: conditions.Admitted: must be True, False or Unknown, and may go on "
            "with a reason, like \"False WaitingForQuota\"");
}

TEST(ValuePathTest, ReadsDotsAndBrackets) {
  EXPECT_EQ(*parse_value_path("metadata.labels[a.b/c].d"),
            (ValuePath{"metadata", "labels", "a.b/c", "d"}));
  EXPECT_EQ(*parse_value_path("a[0][x]"), (ValuePath{"a", "0", "x"}));
  for (const char* bad : {"", ".a", "a.", "a..b", "a[", "a[]", "a[b]c"}) {
    EXPECT_FALSE(parse_value_path(bad)) << bad;
  }
}

TEST(ValuePathTest, FindsListElementsByNameTypeKeyOrIndex) {
  const auto document = parse_json(
      R"({"list": [{"name": "a", "v": 1}, {"type": "b", "v": 2}, {"key": "c", "v": 3}], "n": null})");
  const auto at = [&](const char* path) {
    const json::value* value = find_value(*document, *parse_value_path(path));
    return value == nullptr ? "absent" : json::serialize(*value);
  };
  EXPECT_EQ(at("list[a].v"), "1");
  EXPECT_EQ(at("list.b.v"), "2");
  EXPECT_EQ(at("list[c].v"), "3");
  EXPECT_EQ(at("list[1].v"), "2");
  EXPECT_EQ(at("list[3].v"), "absent");
  EXPECT_EQ(at("list.x"), "absent");
  EXPECT_EQ(at("n"), "absent");
}

TEST(RunScenarioTest, ComparesValues) {
  EXPECT_EQ(after_start("{object: Job ml/train, has: {spec.suspend: false, spec.parallelism: 2}}"),
            "");
  EXPECT_EQ(after_start("{object: Job ml/train, has: {spec.parallelism: 3}}"),
            "step 3: Job ml/train: spec.parallelism: expected 3, is 2");
  EXPECT_EQ(after_start("{object: Job ml/train, has: {spec.none: 3}}"),
            "step 3: Job ml/train: spec.none: expected 3, is absent");
  EXPECT_EQ(after_start("{object: Job ml/train, lacks: [spec.none]}"), "");
  EXPECT_EQ(after_start("{object: Job ml/train, lacks: [spec.parallelism]}"),
            "step 3: Job ml/train: spec.parallelism: expected absent, is 2");
  EXPECT_EQ(after_start("{object: Workload ml/job-train-*, contains: "
                        "{status.conditions.QuotaReserved.message: ClusterQueue team}}"),
            "");
  EXPECT_EQ(after_start("{object: Job ml/train, contains: {metadata.name: rain drops}}"),
            "step 3: Job ml/train: metadata.name: expected to contain \"rain drops\", is "
            "\"train\"");
  EXPECT_EQ(after_start("{object: Job ml/tain, has: {}}"), "step 3: there is no Job ml/tain");
}

TEST(RunScenarioTest, ComparesConditions) {
  EXPECT_EQ(after_start("{object: Workload ml/job-train-*, conditions: {Admitted: True, "
                        "QuotaReserved: True QuotaReserved}}"),
            "");
  EXPECT_EQ(after_start("{object: Workload ml/job-train-*, conditions: {Admitted: False}}"),
            "step 3: Workload ml/job-train-*: condition Admitted: expected False, is True Admitted "
            "(The workload is admitted)");
  EXPECT_EQ(after_start("{object: Workload ml/job-train-*, conditions: {Evicted: False}}"),
            "step 3: Workload ml/job-train-*: condition Evicted: expected False, is absent");
}

TEST(RunScenarioTest, Counts) {
  EXPECT_EQ(after_start("{count: 2 pods ml/train-*, where: {status.phase: Running}}"), "");
  EXPECT_EQ(after_start("{count: 0 pods ml/train-*, where: {status.phase: Failed}}"), "");
  EXPECT_EQ(after_start("{count: 3 pods ml/train-*}"),
            "step 3: count of Pod ml/train-*: expected 3, is 2");
  EXPECT_EQ(after_start("{absent: Job ml/other}"), "");
  EXPECT_EQ(after_start("{absent: Job ml/*}"),
            "step 3: Job ml/*: expected absent, but there is train");
}

TEST(RunScenarioTest, LooksWherePodsAre) {
  EXPECT_EQ(
      after_start(
          "{placed: ml/train, at: {0: h0, 1: h1}, on: {h0: 1, h1: 1}, "
          "within: {cloud.provider.com/node-group: tas}, same: cloud.provider.com/node-group}"),
      "");
  EXPECT_NE(after_start("{placed: ml/train, at: {0: h1, 1: h0}}").find("expected on h1, is on h0"),
            std::string::npos);
  EXPECT_NE(after_start("{placed: ml/train, at: {0: h0}}").find("`at` does not name it"),
            std::string::npos);
  EXPECT_NE(after_start("{placed: ml/train, at: {\"train-*\": h0}}").find("expected on h0"),
            std::string::npos);
  EXPECT_NE(after_start("{placed: ml/train, at: {0: h0, 1: h1, 2: h1}}").find("no such pod"),
            std::string::npos);
  EXPECT_NE(after_start("{placed: ml/train, on: {h0: 2}}").find("expected {\"h0\": 2}"),
            std::string::npos);
  EXPECT_NE(after_start("{placed: ml/train, same: [cloud.provider.com/node-group, "
                        "cloud.provider.com/topology-rack]}")
                .find("which differ in cloud.provider.com/topology-rack"),
            std::string::npos);
  EXPECT_NE(after_start("{placed: ml/train, within: {cloud.provider.com/topology-rack: r0}}")
                .find("expected \"r0\""),
            std::string::npos);
  EXPECT_EQ(after_start("{placed: ml/other}"), "step 3: pods of Job ml/other: there are none");
}

TEST(RunScenarioTest, ReadsEventsAndTheJournal) {
  EXPECT_EQ(after_start("{event: {about: Job ml/train, reason: Started, count: 1}}"), "");
  EXPECT_EQ(after_start("{event: {about: Job ml/train, reason: Stopped}}"),
            "step 3: events Stopped about Job ml/train: there is none");
  EXPECT_EQ(after_start("{event: {about: Job ml/train, reason: Started, message: nothing}}"),
            "step 3: events Started about Job ml/train with \"nothing\": there is none");
  EXPECT_EQ(after_start("{journal: {decision: admit, object: Workload ml/*, count: 1}}"), "");
  EXPECT_EQ(after_start("{journal: {decision: admit, object: Workload other/*}}"),
            "step 3: decisions admit about Workload other/* in the journal: there is none");
  EXPECT_EQ(after_start("{journal: {decision: admit, count: 2}}"),
            "step 3: decisions admit about * in the journal: expected 2, is 1");
}

TEST(RunScenarioTest, ChecksTheAccountOnRequest) {
  EXPECT_EQ(after_start("{account: true}"), "");
  EXPECT_EQ(after_start("{no-overcommit: true}"), "");
}

TEST(RunScenarioTest, FailsOnOvercommitWhoeverCausedIt) {
  const auto scenario = read(given_and_started() +
                             "- {patch: Node h0, with: {status: {allocatable: {cpu: 2}}}, status: "
                             "true}\n");
  ASSERT_TRUE(scenario) << scenario.error().message;
  EmbeddedBackend backend;
  const auto done = run_scenario(*scenario, backend);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message,
            "step 3: Node h0 is over-committed: its pods take 4 of cpu, it has 2");
}

TEST(RunScenarioTest, TellsWhichPartFailed) {
  const auto scenario =
      read("given: {apiVersion: v1, kind: Namespace, metadata: {name: A}}\nsteps: [{run: 1s}]");
  ASSERT_TRUE(scenario) << scenario.error().message;
  EmbeddedBackend backend;
  const auto done = run_scenario(*scenario, backend);
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().message.starts_with("given: Namespace A: ")) << done.error().message;
}

}  // namespace
}  // namespace phalanx::sim
