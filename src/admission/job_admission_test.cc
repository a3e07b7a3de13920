#include "admission/job_admission.h"

#include <gtest/gtest.h>

#include "base/yaml.h"
#include "jobs/batch_job.h"

namespace phalanx::admission {
namespace {

json::value job(std::string_view metadata, std::string_view spec, std::string_view template_meta) {
  const std::string text = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ml, " +
                           std::string(metadata) + "}, spec: {" + std::string(spec) +
                           "template: {metadata: " + std::string(template_meta) +
                           ", spec: {containers: [{name: c}]}}}}";
  return parse_documents(text).value().front().value;
}

constexpr std::string_view kQueued = "labels: {kueue.x-k8s.io/queue-name: main}";

bool suspended(const json::value& document) {
  const json::value* value = document.at("spec").as_object().if_contains("suspend");
  return value != nullptr && *value == json::value(true);
}

TEST(JobDefaultTest, AJobWithAQueueIsHeldBack) {
  json::value queued = job(kQueued, "", "{}");
  default_job(queued, {});
  EXPECT_TRUE(suspended(queued));
  json::value plain = job("", "", "{}");
  const json::value before = plain;
  default_job(plain, {});
  EXPECT_EQ(plain, before) << "not ours: not touched";
}

TEST(JobValidateTest, TheLongestRunIsANumberOfSeconds) {
  const auto problems = [](const std::string& seconds) {
    const json::value document =
        job("labels: {kueue.x-k8s.io/queue-name: main, "
            "kueue.x-k8s.io/max-exec-time-seconds: \"" +
                seconds + "\"}",
            "", "{}");
    return validate_job(nullptr, document);
  };
  EXPECT_TRUE(problems("600").empty());
  for (const char* bad : {"0", "-1", "10m", "", "1.5", "99999999999"}) {
    ASSERT_EQ(problems(bad).size(), 1U) << bad;
    EXPECT_EQ(problems(bad).front().path, "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]");
  }
}

TEST(JobDefaultTest, TheDefaultQueueIsForJobsThatNameNone) {
  JobContext context;
  context.default_queue_exists = true;
  json::value plain = job("", "", "{}");
  default_job(plain, context);
  EXPECT_EQ(plain.at("metadata").at("labels").at("kueue.x-k8s.io/queue-name"), "default");
  EXPECT_TRUE(suspended(plain));
  json::value queued = job(kQueued, "", "{}");
  default_job(queued, context);
  EXPECT_EQ(queued.at("metadata").at("labels").at("kueue.x-k8s.io/queue-name"), "main");
}

TEST(JobDefaultTest, JobsOfOthersAreLeftAlone) {
  JobContext context;
  context.default_queue_exists = true;
  context.manage_without_queue = true;
  for (const char* manager : {"example.com/controller", "kubernetes.io/job-controller"}) {
    json::value managed = job("", "managedBy: " + std::string(manager) + ", ", "{}");
    default_job(managed, context);
    EXPECT_EQ(suspended(managed), std::string_view(manager).starts_with("kubernetes.io"));
  }
  context.owned_by_managed = true;
  json::value owned = job("", "", "{}");
  default_job(owned, context);
  EXPECT_FALSE(suspended(owned));
}

struct Answers {
  bool default_queue;
  bool without_queue;
  bool owned;

  bool operator==(const Answers&) const = default;
};

Answers context_of(const core::State& state, const json::value& document) {
  const JobContext context = job_context(state, job_facts(document), jobs::all_adapters());
  return {context.default_queue_exists, context.manage_without_queue, context.owned_by_managed};
}

TEST(JobContextTest, IsWhatTheCoreWillDo) {
  core::State state;
  const json::value plain = job("", "", "{}");
  EXPECT_EQ(context_of(state, plain), (Answers{false, false, false}));
  EXPECT_EQ(context_of(state, job(kQueued, "", "{}")), (Answers{false, true, false}));
  state.local_queues["ml/default"] = {};
  EXPECT_EQ(context_of(state, plain), (Answers{true, false, false}));
  state.configuration.manage_jobs_without_queue_name = true;
  EXPECT_EQ(context_of(state, plain), (Answers{true, true, false}));
}

// Nobody counts its pods but itself, whoever is written down as its owner.
TEST(JobContextTest, AJobOfAManagedJobIsLikeAnyOther) {
  core::State state;
  const api::ObjectKey parent_key{api::Kind::kJob, "ml", "parent"};
  core::Job& parent = state.jobs[parent_key];
  parent.meta.uid = "u1";
  parent.meta.labels["kueue.x-k8s.io/queue-name"] = "main";
  state.job_of_id[core::job_id("ml", "u1")] = parent_key;
  const json::value child =
      job("ownerReferences: [{apiVersion: batch/v1, kind: Job, name: parent, uid: u1, "
          "controller: true}]",
          "", "{}");
  EXPECT_EQ(context_of(state, child), (Answers{false, false, false}));
  state.configuration.manage_jobs_without_queue_name = true;
  EXPECT_EQ(context_of(state, child), (Answers{false, true, false}));
}

// API servers generate names after mutating webhooks have been asked.
TEST(JobContextTest, ANameMayStillBeMissing) {
  core::State state;
  state.local_queues["ml/default"] = {};
  state.configuration.manage_jobs_without_queue_name = true;
  json::value unnamed = job("generateName: a-", "", "{}");
  unnamed.at("metadata").as_object().erase("name");
  EXPECT_EQ(context_of(state, unnamed), (Answers{true, true, false}));
  default_job(unnamed, job_context(state, job_facts(unnamed), jobs::all_adapters()));
  EXPECT_TRUE(suspended(unnamed));
}

TEST(JobFactsTest, AreFewWhateverTheJobIs) {
  json::value large = job(kQueued, "managedBy: example.com/other, ", "{}");
  large.at("metadata").as_object()["uid"] = std::string(1'000'000, 'u');
  large.at("metadata").as_object()["ownerReferences"] =
      json::array{5,
                  {{"uid", "u1"}, {"controller", "yes"}},
                  {{"uid", "u2"}, {"apiVersion", "batch/v1"}, {"controller", true}},
                  {{"uid", "u3"}, {"controller", true}}};
  const JobFacts facts = job_facts(large);
  EXPECT_EQ(facts.namespace_, "ml");
  EXPECT_EQ(facts.uid, "") << "no uid is that long";
  EXPECT_TRUE(facts.has_queue);
  EXPECT_TRUE(facts.run_by_another);
  ASSERT_TRUE(facts.controller.has_value());
  EXPECT_EQ(facts.controller->uid, "u2");
  EXPECT_EQ(facts.controller->api_version, "batch/v1");
}

TEST(JobContextTest, WhatMakesNoSenseIsAnsweredToo) {
  const core::State state;
  const json::value odd[] = {nullptr, 5, json::array(), json::object(),
                             job("", "parallelism: x, ", "5")};
  for (const json::value& document : odd) {
    EXPECT_EQ(context_of(state, document), (Answers{false, false, false}));
  }
}

std::string problems(const json::value* old_job, const json::value& document) {
  std::string text;
  for (const Problem& problem : validate_job(old_job, document)) text += problem.text() + "\n";
  return text;
}

// Its Workload would be more than what converts it takes, and so would every list that it is in.
TEST(JobValidationTest, AMapOfThousandsIsRefused) {
  const auto with_selectors = [](int count) {
    json::value document = job(kQueued, "suspend: true, ", "{}");
    json::object selectors;
    for (int i = 0; i < count; ++i) selectors["k" + std::to_string(i)] = "";
    document.at("spec").at("template").at("spec").as_object()["nodeSelector"] = selectors;
    return document;
  };
  EXPECT_EQ(problems(nullptr, with_selectors(1000)), "");
  const json::value crowded = with_selectors(1001);
  EXPECT_EQ(problems(nullptr, crowded),
            "spec.template.spec.nodeSelector: has more than 1000 entries; leave some out\n");
  EXPECT_EQ(problems(&crowded, with_selectors(1002)), "") << "it was so before";
  json::value unqueued = crowded;
  unqueued.at("metadata").as_object().erase("labels");
  EXPECT_EQ(problems(nullptr, unqueued), "") << "not ours";
}

TEST(JobValidationTest, TheQueueMayChangeOnlyWhileSuspended) {
  const json::value running = job(kQueued, "suspend: false, ", "{}");
  const json::value held = job(kQueued, "suspend: true, ", "{}");
  const json::value moved = job("labels: {kueue.x-k8s.io/queue-name: other}", "", "{}");
  const json::value left = job("", "", "{}");
  EXPECT_EQ(problems(&held, moved), "");
  EXPECT_NE(problems(&running, moved).find("may change only while the Job is suspended"),
            std::string::npos);
  EXPECT_NE(problems(&running, left).find("may change only while the Job is suspended"),
            std::string::npos);
  EXPECT_EQ(problems(&left, left), "");
  EXPECT_NE(problems(nullptr, job("labels: {kueue.x-k8s.io/queue-name: Main_1}", "", "{}"))
                .find("no name of a LocalQueue"),
            std::string::npos);
}

TEST(JobValidationTest, AnnotationsMustMakeSense) {
  const auto annotated = [](std::string_view annotations) {
    return problems(nullptr, job(kQueued, "parallelism: 4, completions: 4, ",
                                 "{annotations: {" + std::string(annotations) + "}}"));
  };
  EXPECT_EQ(annotated("kueue.x-k8s.io/podset-required-topology: rack"), "");
  EXPECT_NE(annotated("kueue.x-k8s.io/podset-required-topology: rack, "
                      "kueue.x-k8s.io/podset-preferred-topology: rack")
                .find("exclude one another"),
            std::string::npos);
  EXPECT_NE(annotated("kueue.x-k8s.io/podset-slice-required-topology: rack, "
                      "kueue.x-k8s.io/podset-slice-size: '3'")
                .find("does not divide the 4 pods"),
            std::string::npos);
}

TEST(JobValidationTest, FewerPodsMustBeANumberOfThem) {
  const auto annotated = [](std::string_view annotations, std::string_view spec) {
    return job(std::string(kQueued) + ", annotations: {" + std::string(annotations) + "}", spec,
               "{}");
  };
  const auto problem = [&](std::string_view annotations, std::string_view spec) {
    return problems(nullptr, annotated(annotations, spec));
  };
  EXPECT_EQ(problem("kueue.x-k8s.io/job-min-parallelism: '2'", "parallelism: 4, "), "");
  EXPECT_EQ(
      problem("kueue.x-k8s.io/job-min-parallelism: '5'", "parallelism: 4, "),
      "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: is 5, but only 4 pods run at "
      "a time; write at most that\n");
  EXPECT_TRUE(problem("kueue.x-k8s.io/job-min-parallelism: some", "parallelism: 4, ")
                  .contains("\"some\" is no number of pods"));
  EXPECT_TRUE(problem("kueue.x-k8s.io/job-completions-equal-parallelism: 'true'",
                      "parallelism: 4, completions: 4, ")
                  .contains("only for an Indexed Job"));
  json::value unnamed = annotated("kueue.x-k8s.io/job-min-parallelism: '5'", "parallelism: 4, ");
  unnamed.at("metadata").as_object().erase("name");
  unnamed.at("metadata").as_object()["generateName"] = "a-";
  EXPECT_TRUE(problems(nullptr, unnamed).contains("only 4 pods"));
  const json::value running =
      annotated("kueue.x-k8s.io/job-min-parallelism: '2'", "suspend: false, parallelism: 4, ");
  EXPECT_TRUE(problems(&running, job(kQueued, "suspend: false, parallelism: 4, ", "{}"))
                  .contains("job-min-parallelism]: may change only while the Job is suspended"));
  const json::value reduced =
      annotated("kueue.x-k8s.io/job-min-parallelism: '2'", "suspend: false, parallelism: 2, ");
  EXPECT_EQ(problems(&running, reduced), "");
}

}  // namespace
}  // namespace phalanx::admission
