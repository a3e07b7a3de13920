// What the webhooks say of Jobs.
#include <gtest/gtest.h>

#include "admission/webhook_testing.h"

namespace phalanx::admission {
namespace {

using testing::Asked;
using testing::job;
using testing::merge;
using testing::patch_of;
using testing::refusal;
using testing::response;
using testing::review_text;
using testing::webhooks;
using testing::yaml;

TEST(MutateJobTest, AJobOfAQueueIsHeldBack) {
  EXPECT_EQ(patch_of(kMutateJobPath, {.object = job("")}),
            R"([{"op":"add","path":"/spec/suspend","value":true}])");
  EXPECT_EQ(patch_of(kMutateJobPath, {.object = job("spec: {suspend: false}")}),
            R"([{"op":"replace","path":"/spec/suspend","value":true}])");
  EXPECT_EQ(patch_of(kMutateJobPath, {.object = job("spec: {suspend: true}")}), "");
}

TEST(MutateJobTest, TheDefaultQueueComesFromTheContext) {
  JobContext context;
  context.default_queue_exists = true;
  EXPECT_EQ(patch_of(kMutateJobPath, {.object = job("metadata: {labels: null}")}, context),
            R"([{"op":"add","path":"/metadata/labels","value":{"kueue.x-k8s.io/queue-name":)"
            R"("default"}},{"op":"add","path":"/spec/suspend","value":true}])");
  EXPECT_EQ(
      patch_of(kMutateJobPath,
               {.object = job("metadata: {labels: {kueue.x-k8s.io/queue-name: null}}")}, context),
      R"([{"op":"add","path":"/metadata/labels/kueue.x-k8s.io~1queue-name",)"
      R"("value":"default"},{"op":"add","path":"/spec/suspend","value":true}])");
  EXPECT_EQ(patch_of(kMutateJobPath, {.object = job("metadata: {labels: null}")}), "");
}

TEST(KeepSuspendedTest, AJobThatWaitsIsNotStartedByHand) {
  const json::value waits = job("spec: {suspend: true}");
  const auto starts = [&](std::string_view patch) {
    return refusal(kKeepSuspendedPath,
                   {.operation = "UPDATE", .object = job(patch), .old_object = waits});
  };
  const std::string_view message =
      "Job train: spec.suspend: the Job is started when its queue \"main\" admits it; remove the "
      "label kueue.x-k8s.io/queue-name to start it without a queue";
  EXPECT_EQ(starts("spec: {suspend: false}"), message);
  EXPECT_EQ(starts(""), message) << "false is what is there without it";
  EXPECT_EQ(starts("spec: {suspend: true, parallelism: 2}"), "");
  EXPECT_EQ(starts("{spec: {suspend: false}, metadata: {labels: null}}"), "") << "it leaves";
  EXPECT_EQ(starts("spec: {suspend: false, managedBy: example.com/other}"), "") << "not ours";
  EXPECT_EQ(refusal(kKeepSuspendedPath,
                    {.operation = "UPDATE", .object = job(""), .old_object = job("")}),
            "");
}

TEST(KeepSuspendedTest, NorOneThatIsHeldBackWithoutAQueue) {
  JobContext context;
  context.manage_without_queue = true;
  const auto starts = [&](const json::value& waits, std::string_view patch) {
    return refusal(kKeepSuspendedPath,
                   {.operation = "UPDATE", .object = job(patch), .old_object = waits}, context);
  };
  const std::string_view message =
      "Job train: spec.suspend: Jobs without a queue are held back here; name a queue by the label "
      "kueue.x-k8s.io/queue-name, and the Job is started when that admits it";
  const std::string_view started = "{spec: {suspend: false}, metadata: {labels: null}}";
  EXPECT_EQ(starts(job("{spec: {suspend: true}, metadata: {labels: null}}"), started), message);
  EXPECT_EQ(starts(job("spec: {suspend: true}"), started), message) << "it loses its label";
  // Who is asked knows the Job by which that is decided.
  const Asked update{.operation = "UPDATE", .object = job(started), .old_object = job("")};
  EXPECT_NE(webhooks().read(kKeepSuspendedPath, review_text(update))->job(), nullptr);
}

TEST(MutateJobTest, OnlyNewJobsAreChangedAndAskedAbout) {
  const auto read = [](const Asked& asked) {
    return webhooks().read(kMutateJobPath, review_text(asked)).value();
  };
  const WebhookRequest created = read({.object = job("")});
  ASSERT_NE(created.job(), nullptr);
  EXPECT_EQ(*created.job(), job(""));
  const Asked update{.operation = "UPDATE", .object = job(""), .old_object = job("")};
  EXPECT_EQ(read(update).job(), nullptr);
  EXPECT_EQ(patch_of(kMutateJobPath, update), "");
  const Asked deletion{.operation = "DELETE", .old_object = job("")};
  EXPECT_EQ(read(deletion).job(), nullptr);
  EXPECT_EQ(patch_of(kMutateJobPath, deletion), "");
  EXPECT_EQ(webhooks().read(kValidateJobPath, review_text({.object = job("")}))->job(), nullptr);
}

// What nobody here understands stays as it is, to the last digit.
TEST(MutateJobTest, UnknownFieldsAreNotTouched) {
  const json::value odd = job(
      "spec: {unknown: {deep: [18446744073709551615, 9223372036854775808, 1.50]}, suspend: false}");
  EXPECT_EQ(patch_of(kMutateJobPath, {.object = odd}),
            R"([{"op":"replace","path":"/spec/suspend","value":true}])");
}

TEST(ValidateJobTest, RulesAreThoseOfJobs) {
  const std::string kQueue = "metadata: {labels: {kueue.x-k8s.io/queue-name: ";
  EXPECT_EQ(refusal(kValidateJobPath, {.object = job("")}), "");
  EXPECT_EQ(refusal(kValidateJobPath, {.object = job(kQueue + "Not_A_Name}}")}),
            "Job train: metadata.labels[kueue.x-k8s.io/queue-name]: \"Not_A_Name\" is no name of a "
            "LocalQueue; use lower case letters, digits, '-' and '.'");
  const json::value moved = job(kQueue + "other}}");
  const json::value left = job("metadata: {labels: null}");
  for (const json::value& after : {moved, left}) {
    const Asked running{.operation = "UPDATE", .object = after, .old_object = job("")};
    EXPECT_NE(refusal(kValidateJobPath, running).find("may change only while"), std::string::npos);
    const Asked held{
        .operation = "UPDATE", .object = after, .old_object = job("spec: {suspend: true}")};
    EXPECT_EQ(refusal(kValidateJobPath, held), "");
  }
  // By hand: the controller holds it back again.
  EXPECT_EQ(refusal(kValidateJobPath, {.operation = "UPDATE",
                                       .object = job("spec: {suspend: false}"),
                                       .old_object = job("spec: {suspend: true}")}),
            "");
}

TEST(ValidateJobTest, WhatIsOnItsWayOutMayGo) {
  const std::string kBad = "{metadata: {labels: {kueue.x-k8s.io/queue-name: Not_A_Name}, ";
  const json::value before =
      job(kBad + "deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [a, b]}}");
  const json::value after =
      job(kBad + "deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [b]}}");
  EXPECT_EQ(
      refusal(kValidateJobPath, {.operation = "UPDATE", .object = after, .old_object = before}),
      "");
  json::value grown = after;
  merge(grown, yaml("spec: {parallelism: 5}"));
  EXPECT_NE(
      refusal(kValidateJobPath, {.operation = "UPDATE", .object = grown, .old_object = before}),
      "");
  json::value moved = after;
  merge(moved, yaml("metadata: {labels: {kueue.x-k8s.io/queue-name: other}}"));
  EXPECT_NE(
      refusal(kValidateJobPath, {.operation = "UPDATE", .object = moved, .old_object = before}),
      "");
  EXPECT_EQ(refusal(kValidateJobPath, {.operation = "DELETE", .old_object = before}), "");
}

TEST(ValidateJobTest, TheStatusIsNotOurs) {
  const json::value bad = job("metadata: {labels: {kueue.x-k8s.io/queue-name: Not_A_Name}}");
  EXPECT_EQ(
      refusal(kValidateJobPath,
              {.operation = "UPDATE", .object = bad, .old_object = bad, .subresource = "status"}),
      "");
}

TEST(ValidateJobTest, AQueueWithoutEffectIsAWarning) {
  const json::value answered =
      response(kValidateJobPath, {.object = job("spec: {managedBy: example.com/other}")});
  EXPECT_TRUE(answered.at("allowed").as_bool());
  EXPECT_EQ(json::serialize(answered.at("warnings")),
            R"(["spec.managedBy: example.com/other runs this Job, so the queue \"main\" has no )"
            R"(effect"])");
  EXPECT_FALSE(response(kValidateJobPath, {.object = job("")}).as_object().contains("warnings"));
}

}  // namespace
}  // namespace phalanx::admission
