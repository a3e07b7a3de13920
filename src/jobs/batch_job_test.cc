#include "jobs/batch_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strict_json.h"
#include "base/yaml.h"

namespace phalanx::jobs {
namespace {

core::Job read(std::string_view spec, std::string_view status = "{}") {
  const std::string text =
      "{metadata: {name: train, namespace: ml, uid: u}, spec: " + std::string(spec) +
      ", status: " + std::string(status) + "}";
  const json::value document = parse_documents(text).value().front().value;
  DecodeStatus decode;
  core::Job job = BatchJobAdapter().read(JsonReader(&document, "", decode));
  EXPECT_TRUE(decode.ok()) << decode.error()->message;
  return job;
}

std::string spec_with(std::string_view fields, std::string_view metadata = "{}",
                      std::string_view pod_fields = "") {
  return "{" + std::string(fields) + ", template: {metadata: " + std::string(metadata) +
         ", spec: {" + std::string(pod_fields) + "containers: [{name: c}]}}}";
}

TEST(BatchJobTest, OnePodSetOfThePodsThatRunAtATime) {
  const core::Job job = read(spec_with("parallelism: 8, completions: 3, suspend: true"));
  ASSERT_EQ(job.pod_sets.size(), 1U);
  EXPECT_EQ(job.pod_sets[0].name, "main");
  EXPECT_EQ(job.pod_sets[0].count, 3);
  EXPECT_TRUE(job.suspended);
  EXPECT_FALSE(job.started);
  EXPECT_TRUE(job.pod_sets[0].document.is_object());
}

TEST(BatchJobTest, PodsAreReclaimableWhenTheyWillNotBeReplaced) {
  const auto reclaimable = [](std::string_view fields, int succeeded) {
    return read(spec_with(fields), "{succeeded: " + std::to_string(succeeded) + "}")
        .pod_sets[0]
        .reclaimable;
  };
  EXPECT_EQ(reclaimable("parallelism: 3, completions: 10", 7), 0);
  EXPECT_EQ(reclaimable("parallelism: 3, completions: 10", 8), 1);
  EXPECT_EQ(reclaimable("parallelism: 3, completions: 10", 10), 3);
  EXPECT_EQ(reclaimable("parallelism: 4, completions: 4", 1), 1);
  EXPECT_EQ(reclaimable("parallelism: 1, completions: 4", 1), 0);
}

TEST(BatchJobTest, PodsAreReadyAlsoWhileTheirSuccessIsNotCountedYet) {
  const auto ready = [](std::string_view fields, const std::string& status) {
    return read(spec_with(fields), status).pods_ready;
  };
  EXPECT_FALSE(ready("parallelism: 3, completions: 3", "{ready: 2}"));
  EXPECT_TRUE(ready("parallelism: 3, completions: 3", "{ready: 3}"));
  EXPECT_TRUE(ready("parallelism: 3, completions: 3", "{ready: 1, succeeded: 2}"));
  EXPECT_TRUE(ready("parallelism: 3, completions: 3",
                    "{ready: 1, succeeded: 1, uncountedTerminatedPods: {succeeded: [u1]}}"));
  EXPECT_FALSE(ready("parallelism: 3, completions: 3",
                     "{ready: 2, failed: 1, uncountedTerminatedPods: {failed: [u1]}}"));
}

TEST(BatchJobTest, FinishesWithTheWordsOfTheJob) {
  const core::Job complete =
      read(spec_with("parallelism: 1"), "{conditions: [{type: Complete, status: 'True'}]}");
  EXPECT_TRUE(complete.finished && complete.succeeded);
  EXPECT_EQ(complete.finish_message, "Job finished successfully");
  EXPECT_TRUE(complete.pod_sets[0].document.is_null()) << "no longer needed";
  const core::Job failed = read(spec_with("parallelism: 1"),
                                "{conditions: [{type: Failed, status: 'True', message: why}]}");
  EXPECT_TRUE(failed.finished && !failed.succeeded);
  EXPECT_EQ(failed.finish_message, "why");
}

TEST(BatchJobTest, AnnotationsThatMakeNoSenseAreAProblemOfTheJobAlone) {
  const core::Job job = read(spec_with(
      "parallelism: 1", "{annotations: {kueue.x-k8s.io/podset-unconstrained-topology: maybe}}"));
  EXPECT_NE(job.problem.find("podset-unconstrained-topology"), std::string::npos);
}

// Also of a Job that no webhook has seen. What is taken must not become too much for those who
// convert lists of Workloads, each with its managers' copy.
TEST(BatchJobTest, ATemplateWithAMapOfThousandsIsAProblem) {
  const auto map_of = [](int entries) {
    std::string text = "{";
    for (int i = 0; i < entries; ++i) text += fmt::format("{}\"k{}\":\"\"", i == 0 ? "" : ",", i);
    return text + "}";
  };
  const auto job_with = [&](int entries) {
    return read(spec_with("parallelism: 1, suspend: true", "{}",
                          "nodeSelector: " + map_of(entries) + ", "));
  };
  EXPECT_EQ(job_with(1000).problem, "");
  EXPECT_TRUE(job_with(1001).problem.starts_with("spec.template.spec.nodeSelector: "));
  std::string list = "[0";
  for (int i = 0; i < 200; ++i) list += "," + map_of(1001);
  EXPECT_TRUE(parse_strict_json(list + "]").has_value());
}

TEST(BatchJobTest, WhatAStartPutsInAStopTakesOutAgain) {
  const std::string user_wrote =
      spec_with("parallelism: 1", "{labels: {a: b}, annotations: {x: y}}",
                "nodeSelector: {disk: ssd}, tolerations: [{key: mine, operator: Exists}], ");
  const core::Job job = read(user_wrote);
  core::Injection injection;
  injection.labels["kueue.x-k8s.io/podset"] = "main";
  injection.annotations["kueue.x-k8s.io/workload"] = "w";
  injection.node_selector["pool"] = "gpu";
  injection.tolerations.push_back(json::object{{"key", "gpu"}, {"operator", "Exists"}});
  injection.scheduling_gates.push_back(json::object{{"name", "kueue.x-k8s.io/topology"}});
  const BatchJobAdapter adapter;
  EXPECT_EQ(
      json::serialize(adapter.start_patch(job, std::span(&injection, 1))),
      R"({"spec":{"suspend":false,"template":{"metadata":{"labels":{"kueue.x-k8s.io/podset":"main"},)"
      R"("annotations":{"kueue.x-k8s.io/workload":"w"}},"spec":{"nodeSelector":{"pool":"gpu"},)"
      R"("tolerations":[{"key":"mine","operator":"Exists"},{"key":"gpu","operator":"Exists"}],)"
      R"("schedulingGates":[{"name":"kueue.x-k8s.io/topology"}]}}}})");
  const core::Job started = read(spec_with(
      "parallelism: 1",
      "{labels: {a: b, kueue.x-k8s.io/podset: main}, annotations: {x: y, kueue.x-k8s.io/workload: "
      "w}}",
      "nodeSelector: {disk: ssd, pool: gpu}, tolerations: [{key: mine, operator: Exists}, {key: "
      "gpu, operator: Exists}], schedulingGates: [{name: kueue.x-k8s.io/topology}], "));
  const core::Original original{&job.pod_sets[0].pod_template};
  const auto restored = adapter.restore_patch(started, std::span(&original, 1));
  ASSERT_TRUE(restored);
  EXPECT_EQ(
      json::serialize(*restored),
      R"({"spec":{"template":{"metadata":{"labels":{"kueue.x-k8s.io/podset":null},)"
      R"("annotations":{"kueue.x-k8s.io/workload":null}},"spec":{"nodeSelector":{"pool":null},)"
      R"("tolerations":[{"key":"mine","operator":"Exists"}],"schedulingGates":null}}}})");
  EXPECT_FALSE(adapter.restore_patch(job, std::span(&original, 1)));
}

// Kueue's Workloads do not have them, and no API server lets them go.
TEST(BatchJobTest, LabelsOfTheJobControllerStayWhateverTheWorkloadSays) {
  const core::Job job = read(spec_with(
      "parallelism: 1",
      "{labels: {batch.kubernetes.io/job-name: j, job-name: j, kueue.x-k8s.io/podset: main}}"));
  const core::Job written = read(spec_with("parallelism: 1"));
  const core::Original original{&written.pod_sets[0].pod_template};
  const BatchJobAdapter adapter;
  const auto restored = adapter.restore_patch(job, std::span(&original, 1));
  ASSERT_TRUE(restored);
  EXPECT_EQ(json::serialize(*restored),
            R"({"spec":{"template":{"metadata":{"labels":{"kueue.x-k8s.io/podset":null}}}}})");
  const core::Job restarted =
      read(spec_with("parallelism: 1", "{labels: {batch.kubernetes.io/job-name: j, job-name: j}}"));
  EXPECT_FALSE(adapter.restore_patch(restarted, std::span(&original, 1)));
}

}  // namespace
}  // namespace phalanx::jobs
