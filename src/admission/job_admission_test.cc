#include "admission/job_admission.h"

#include <gtest/gtest.h>

#include "base/yaml.h"

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

std::string problems(const json::value* old_job, const json::value& document) {
  std::string text;
  for (const Problem& problem : validate_job(old_job, document)) text += problem.text() + "\n";
  return text;
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

}  // namespace
}  // namespace phalanx::admission
