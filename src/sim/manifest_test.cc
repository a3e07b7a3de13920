#include "sim/manifest.h"

#include "sim/api_server_testing.h"
#include "sim/document.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kListed = R"(
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  uid: 1a2b
  resourceVersion: "7"
  labels: {team: a, job-name: train}
spec:
  parallelism: 2
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: 1a2b}}
  template:
    metadata: {labels: {app: x, controller-uid: 1a2b, batch.kubernetes.io/job-name: train}}
status: {active: 2}
)";

TEST(ManifestTest, AListedJobLosesWhatWasGenerated) {
  json::value job = from_yaml(kListed);
  drop_generated_fields(job);
  EXPECT_EQ(job, from_yaml("{apiVersion: batch/v1, kind: Job, metadata: {name: train, labels: "
                           "{team: a}}, spec: {parallelism: 2, template: {metadata: {labels: "
                           "{app: x}}}}}"));
}

// What people write by hand is theirs, and so is a selector that they chose.
TEST(ManifestTest, WhatWasWrittenByHandStays) {
  json::value written = from_yaml(kListed);
  erase_at(written, {"metadata", "uid"});
  erase_at(written, {"metadata", "resourceVersion"});
  const json::value before = written;
  drop_generated_fields(written);
  EXPECT_EQ(written, before);
  json::value chosen = from_yaml(kListed);
  chosen.at("spec").as_object()["manualSelector"] = true;
  drop_generated_fields(chosen);
  EXPECT_NE(find_at(chosen, {"spec", "selector"}), nullptr);
  EXPECT_EQ(find_at(chosen, {"status"}), nullptr);
}

TEST(ManifestTest, ConditionsAreCompletedNotChanged) {
  json::value node = from_yaml(
      "{kind: Node, status: {conditions: [{type: Ready, status: 'True'}, {type: Full, status: "
      "'False', reason: Room, message: m, lastTransitionTime: '2025-01-01T00:00:00Z'}]}}");
  complete_conditions(node, parse_time("2026-01-31T08:00:00Z").value());
  EXPECT_EQ(node,
            from_yaml("{kind: Node, status: {conditions: [{type: Ready, status: 'True', reason: "
                      "Given, message: '', lastTransitionTime: '2026-01-31T08:00:00Z'}, {type: "
                      "Full, status: 'False', reason: Room, message: m, lastTransitionTime: "
                      "'2025-01-01T00:00:00Z'}]}}"));
}

TEST(ManifestTest, AnnotationsOfPodsAndJobsAreChecked) {
  const auto problem = [](std::string_view text) {
    const auto checked = check_run_annotations(from_yaml(text));
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(problem("{kind: Pod, metadata: {annotations: {phalanx.dev/run-for: 5m, "
                    "phalanx.dev/exit-code: '3'}}}"),
            "");
  EXPECT_EQ(problem("{kind: Pod, metadata: {annotations: {phalanx.dev/exit-code: '-1'}}}"),
            "metadata.annotations[phalanx.dev/exit-code]: \"-1\" is no exit code; write 0 to 255");
  EXPECT_EQ(
      problem("{apiVersion: batch/v1, kind: Job, spec: {template: {metadata: {annotations: "
              "{phalanx.dev/run-for: ever}}}}}"),
      "spec.template.metadata.annotations[phalanx.dev/run-for]: \"ever\" is no duration; write "
      "it like 90s, 10m or 1h30m");
}

}  // namespace
}  // namespace phalanx::sim
