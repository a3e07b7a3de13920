// A Job that was admitted with fewer pods than it asks for: started so, in step while it runs, and
// brought back to what its user wrote.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json_path.h"
#include "base/yaml.h"
#include "core/job_controller.h"
#include "jobs/batch_job.h"

namespace phalanx::jobs {
namespace {

json::value document_of(std::string_view yaml) {
  return parse_documents(yaml).value().front().value;
}

class PartialAdmissionTest : public testing::Test {
 protected:
  PartialAdmissionTest() { state_.adapters = &adapters_; }

  // `spec` without the template; a job that was started bears our mark.
  void put_job(const std::string& annotations, const std::string& spec, bool marked) {
    const json::value document = document_of(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ml, uid: j, labels: "
        "{kueue.x-k8s.io/queue-name: main}, annotations: {" +
        annotations + "}}, spec: {" + spec + ", template: {metadata: {labels: {app: x" +
        (marked ? ", kueue.x-k8s.io/podset: main" : "") + "}}, spec: {containers: [{name: c}]}}}}");
    const auto object = core::decode_object(document, adapters_);
    ASSERT_TRUE(object) << object.error().message;
    state_.jobs[key_] = std::get<core::Job>(object->body);
    state_.job_of_id[core::job_id(key_.namespace_, "j")] = key_;
  }

  // Of the job as its user wrote it, with 8 pods; `count` is what was admitted.
  void put_workload(std::optional<int> count, const std::string& more = "") {
    std::string status = "{}";
    if (count) {
      status = "{admission: {clusterQueue: team, podSetAssignments: [{name: main, count: " +
               std::to_string(*count) +
               "}]}, conditions: [{type: QuotaReserved, status: 'True'}, {type: Admitted, status: "
               "'True'}" +
               more + "]}";
    }
    const json::value document = document_of(
        "{metadata: {name: w, namespace: ml, uid: w, labels: {kueue.x-k8s.io/job-uid: j}, "
        "ownerReferences: [{apiVersion: batch/v1, kind: Job, name: a, uid: j, controller: true}]}, "
        "spec: {queueName: main, podSets: [{name: main, count: 8, minCount: 2, template: "
        "{metadata: "
        "{labels: {app: x}}, spec: {containers: [{name: c}]}}}]}, status: " +
        status + "}");
    DecodeStatus decoding;
    state_.workloads["ml/w"] =
        core::derive_workload(state_, api::read_workload(JsonReader(&document, "", decoding)));
    ASSERT_TRUE(decoding.ok()) << decoding.error()->message;
    state_.workloads_of_job[core::job_id(key_.namespace_, "j")] = {"ml/w"};
  }

  // What is written next, in short; "" if nothing is.
  std::string next() {
    const core::Verdict verdict = core::reconcile_job(state_, key_);
    if (!verdict.write) return "";
    const core::Write& write = *verdict.write;
    if (write.verb == core::Verb::kDelete) return "delete " + write.key.text();
    const json::value* spec = find_at(write.body, {"spec"});
    if (spec == nullptr) return json::serialize(write.body);
    json::value shown = *spec;
    shown.as_object().erase("template");
    return std::string(verdict.decision->what) + " " + json::serialize(shown);
  }

  const core::Adapters adapters_ = all_adapters();
  core::State state_;
  const api::ObjectKey key_{api::Kind::kJob, "ml", "a"};
  const std::string least_ = "kueue.x-k8s.io/job-min-parallelism: '2'";
  const std::string follow_ = least_ + ", kueue.x-k8s.io/job-completions-equal-parallelism: 'true'";
};

TEST_F(PartialAdmissionTest, TheWorkloadSaysHowFewWillDo) {
  put_job(least_, "suspend: true, parallelism: 8", false);
  const json::value document = core::workload_document(state_, key_, state_.jobs.at(key_));
  const json::value& pod_set = document.at("spec").at("podSets").as_array().front();
  EXPECT_EQ(pod_set.at("minCount"), 2);
  EXPECT_EQ(pod_set.at("count"), 8);
  put_job("", "suspend: true, parallelism: 8", false);
  EXPECT_FALSE(json::serialize(core::workload_document(state_, key_, state_.jobs.at(key_)))
                   .contains("minCount"));
}

TEST_F(PartialAdmissionTest, IsStartedWithWhatWasAdmitted) {
  put_job(least_, "suspend: true, parallelism: 8", false);
  put_workload(3);
  EXPECT_EQ(next(), R"(start {"suspend":false,"parallelism":3})");
  put_job(follow_, "suspend: true, parallelism: 8, completions: 8, completionMode: Indexed", false);
  EXPECT_EQ(next(), R"(start {"suspend":false,"parallelism":3,"completions":3})");
  put_workload(8);
  EXPECT_EQ(next(), R"(start {"suspend":false})");
}

TEST_F(PartialAdmissionTest, IsInStepWhileItRunsSo) {
  put_job(least_, "suspend: false, parallelism: 3", true);
  put_workload(3);
  EXPECT_EQ(next(), "");
}

TEST_F(PartialAdmissionTest, AnyOtherNumberIsAChangeOfItsUser) {
  put_workload(3);
  for (const char* parallelism : {"2", "4", "8"}) {
    put_job(least_, "suspend: false, parallelism: " + std::string(parallelism), true);
    EXPECT_EQ(next(), "delete Workload ml/w") << parallelism;
  }
}

TEST_F(PartialAdmissionTest, IsBroughtBackWhenItIsStopped) {
  put_job(least_, "suspend: false, parallelism: 3", true);
  put_workload(3, ", {type: Evicted, status: 'True', reason: Preempted, message: m}");
  EXPECT_EQ(next(), R"(stop {"suspend":true})");
  put_job(least_, "suspend: true, parallelism: 3", true);
  EXPECT_EQ(next(), R"(restore {"parallelism":8})");
  put_workload(std::nullopt);  // whoever sees it later
  EXPECT_EQ(next(), R"(restore {"parallelism":8})");
  put_job(follow_, "suspend: true, parallelism: 3, completions: 3, completionMode: Indexed", true);
  EXPECT_EQ(next(), R"(restore {"parallelism":8,"completions":8})");
  put_job(least_, "suspend: true, parallelism: 8", false);
  EXPECT_EQ(next(), "");
}

TEST_F(PartialAdmissionTest, WhatTheUserWroteWhileItRanStays) {
  put_workload(3, ", {type: Evicted, status: 'True', reason: Preempted, message: m}");
  put_job(least_, "suspend: true, parallelism: 2", true);
  EXPECT_EQ(next(), "restore {}") << "only the template";
}

TEST_F(PartialAdmissionTest, AnotherAdmissionMayComeBeforeItIsBroughtBack) {
  put_job(least_, "suspend: true, parallelism: 3", true);
  put_workload(5);
  EXPECT_EQ(next(), R"(start {"suspend":false,"parallelism":5})");
  put_workload(8);
  EXPECT_EQ(next(), R"(start {"suspend":false,"parallelism":8})");
}

TEST_F(PartialAdmissionTest, AWaitingJobThatIsMadeSmallerIsQueuedSo) {
  put_job(least_, "suspend: true, parallelism: 3", false);
  put_workload(std::nullopt);
  EXPECT_TRUE(next().starts_with(R"(update-workload {"podSets":[{"name":"main","count":3,)"))
      << next();
  put_job("kueue.x-k8s.io/job-min-parallelism: '4'", "suspend: true, parallelism: 8", false);
  EXPECT_TRUE(next().contains(R"("count":8,"minCount":4)")) << next();
}

TEST_F(PartialAdmissionTest, PodsThatAreDoneCountAgainstThoseThatWereAdmitted) {
  put_job(follow_, "suspend: false, parallelism: 3, completions: 3, completionMode: Indexed", true);
  core::Job job = state_.jobs.at(key_);
  EXPECT_EQ(job.pod_sets[0].reclaimable, 0);
  const json::value document = document_of(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ml}, spec: {parallelism: "
      "3, "
      "completions: 3, completionMode: Indexed, template: {spec: {containers: [{name: c}]}}}, "
      "status: {succeeded: 1, completedIndexes: '1'}}");
  DecodeStatus decoding;
  job = BatchJobAdapter().read(JsonReader(&document, "", decoding));
  EXPECT_EQ(job.pod_sets[0].reclaimable, 1);
  EXPECT_EQ(job.pod_sets[0].done_ranks, std::vector<int32_t>{1});
}

TEST_F(PartialAdmissionTest, AnnotationsThatMakeNoSenseAreAProblem) {
  const auto problem = [&](const std::string& annotations, const std::string& spec) {
    put_job(annotations, spec, false);
    const core::Job& job = state_.jobs.at(key_);
    EXPECT_EQ(job.pod_sets[0].min_count.has_value(), job.problem.empty());
    return job.problem;
  };
  EXPECT_EQ(problem(least_, "parallelism: 8"), "");
  EXPECT_EQ(problem(least_, "parallelism: 2"), "");
  EXPECT_EQ(
      problem(least_, "parallelism: 1"),
      "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: is 2, but only 1 pods run at "
      "a time; write at most that");
  for (const char* text : {"few", "0", "-1", "1.5", ""}) {
    EXPECT_EQ(problem("kueue.x-k8s.io/job-min-parallelism: '" + std::string(text) + "'",
                      "parallelism: 8"),
              "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: \"" + std::string(text) +
                  "\" is no number of pods from 1 on");
  }
  for (const char* annotation : {"min-parallelism", "completions-equal-parallelism"}) {
    const std::string endless(100'000, 'x');
    const std::string text =
        problem(fmt::format("kueue.x-k8s.io/job-{}: {}", annotation, endless), "parallelism: 8");
    EXPECT_TRUE(text.contains("\"xxx") && text.contains("xxx...\" is no")) << text.size();
    EXPECT_LT(text.size(), 500U);
  }
  EXPECT_TRUE(
      problem(follow_, "parallelism: 8, completions: 8").contains("only for an Indexed Job"));
  EXPECT_TRUE(problem(follow_, "parallelism: 8, completions: 9, completionMode: Indexed")
                  .contains("only for an Indexed Job"));
  EXPECT_EQ(problem(follow_, "parallelism: 8, completions: 8, completionMode: Indexed"), "");
}

}  // namespace
}  // namespace phalanx::jobs
