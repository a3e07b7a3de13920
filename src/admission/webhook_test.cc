#include "admission/webhook.h"

#include <gtest/gtest.h>

#include <array>

#include "admission/testing.h"
#include "base/base64.h"

namespace phalanx::admission {
namespace {

using testing::good;
using testing::good_with;
using testing::merge;
using testing::yaml;

const Webhooks& webhooks() {
  static const Webhooks kWebhooks;
  return kWebhooks;
}

json::value job(std::string_view patch) {
  json::value document = yaml(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml, labels: {kueue.x-k8s.io/queue-name: main}}
spec: {parallelism: 4, completions: 4, template: {spec: {containers: [{name: c}]}}}
)");
  if (!patch.empty()) merge(document, yaml(patch));
  return document;
}

struct Asked {
  std::string_view operation = "CREATE";
  json::value object = nullptr;
  json::value old_object = nullptr;
  std::string_view subresource = "";
};

std::string review_text(const Asked& asked) {
  const json::object& header =
      (asked.object.is_null() ? asked.old_object : asked.object).get_object();
  const std::string_view api_version = header.at("apiVersion").as_string();
  const size_t slash = api_version.find('/');
  const std::string_view group = api_version.substr(0, slash);
  const std::string_view version = api_version.substr(slash + 1);
  json::object request{
      {"uid", "u1"},
      {"kind", {{"group", group}, {"version", version}, {"kind", header.at("kind")}}},
      {"resource", {{"group", group}, {"version", version}, {"resource", "any"}}},
      {"operation", asked.operation},
      {"object", asked.object},
      {"oldObject", asked.old_object}};
  if (!asked.subresource.empty()) request["subResource"] = asked.subresource;
  return json::serialize(json::object{{"apiVersion", "admission.k8s.io/v1"},
                                      {"kind", "AdmissionReview"},
                                      {"request", std::move(request)}});
}

HttpAnswer answer(std::string_view path, std::string_view body, const JobContext& context = {}) {
  auto request = webhooks().read(path, body);
  return request ? webhooks().answer(std::move(*request), context) : request.error();
}

// The response of an AdmissionReview.
json::value response(std::string_view path, const Asked& asked, const JobContext& context = {}) {
  const HttpAnswer answered = answer(path, review_text(asked), context);
  EXPECT_EQ(answered.status, 200) << answered.body;
  json::value document = *parse_json(answered.body);
  EXPECT_EQ(document.at("response").at("uid"), "u1");
  return document.at("response");
}

// The message of a refusal; "" if it was allowed.
std::string refusal(std::string_view path, const Asked& asked) {
  const json::value answered = response(path, asked);
  if (answered.at("allowed").as_bool()) return "";
  EXPECT_EQ(answered.at("status").at("code"), 422);
  EXPECT_FALSE(answered.as_object().contains("patch"));
  return std::string(answered.at("status").at("message").as_string());
}

// The patch of an allowance as text; "" if there is none.
std::string patch_of(std::string_view path, const Asked& asked, const JobContext& context = {}) {
  const json::value answered = response(path, asked, context);
  EXPECT_TRUE(answered.at("allowed").as_bool());
  if (!answered.as_object().contains("patch")) return "";
  EXPECT_EQ(answered.at("patchType"), "JSONPatch");
  return from_base64(answered.at("patch").as_string()).value();
}

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

constexpr std::array<std::string_view, 9> kKueueKinds{"AdmissionCheck",
                                                      "ClusterQueue",
                                                      "Cohort",
                                                      "LocalQueue",
                                                      "ProvisioningRequestConfig",
                                                      "ResourceFlavor",
                                                      "Topology",
                                                      "Workload",
                                                      "WorkloadPriorityClass"};

TEST(KueueWebhookTest, EveryKindIsReviewed) {
  for (const std::string_view kind : kKueueKinds) {
    EXPECT_EQ(refusal(kValidateKueuePath, {.object = good(kind)}), "") << kind;
    EXPECT_EQ(refusal(kValidateKueuePath,
                      {.operation = "UPDATE", .object = good(kind), .old_object = good(kind)}),
              "");
    EXPECT_EQ(refusal(kValidateKueuePath, {.operation = "DELETE", .old_object = good(kind)}), "");
  }
}

TEST(KueueWebhookTest, SomeKindsGetOurFinalizer) {
  for (const std::string_view kind : kKueueKinds) {
    const bool kept = kind == "ClusterQueue" || kind == "ResourceFlavor" || kind == "Topology";
    const std::string patch = patch_of(kMutateKueuePath, {.object = good(kind)});
    EXPECT_EQ(patch, kept ? R"([{"op":"add","path":"/metadata/finalizers",)"
                            R"("value":["kueue.x-k8s.io/resource-in-use"]}])"
                          : "")
        << kind;
  }
  EXPECT_EQ(patch_of(kMutateKueuePath,
                     {.object = good_with("Topology", "metadata: {finalizers: [other]}")}),
            R"([{"op":"add","path":"/metadata/finalizers/1",)"
            R"("value":"kueue.x-k8s.io/resource-in-use"}])");
  EXPECT_EQ(patch_of(kMutateKueuePath,
                     {.object = good_with(
                          "Topology", "metadata: {finalizers: [kueue.x-k8s.io/resource-in-use]}")}),
            "");
  EXPECT_EQ(
      patch_of(kMutateKueuePath,
               {.operation = "UPDATE", .object = good("Topology"), .old_object = good("Topology")}),
      "");
}

TEST(KueueWebhookTest, RulesAreThoseOfTheKinds) {
  EXPECT_NE(refusal(kValidateKueuePath,
                    {.object = good_with("Topology", "spec: {levels: [{nodeLabel: '-'}]}")}),
            "");
  const std::string immutable = refusal(
      kValidateKueuePath, {.operation = "UPDATE",
                           .object = good_with("Topology", "spec: {levels: [{nodeLabel: other}]}"),
                           .old_object = good("Topology")});
  EXPECT_NE(immutable.find("Topology sample: spec.levels: can be changed only while"),
            std::string::npos)
      << immutable;
}

TEST(KueueWebhookTest, TheOlderVersionIsReviewedToo) {
  const auto older = [](std::string_view level) {
    json::value topology =
        good_with("Topology", "spec: {levels: [{nodeLabel: " + std::string(level) + "}]}");
    topology.as_object()["apiVersion"] = "kueue.x-k8s.io/v1beta1";
    return topology;
  };
  EXPECT_EQ(refusal(kValidateKueuePath, {.object = older("rack")}), "");
  EXPECT_NE(refusal(kValidateKueuePath,
                    {.operation = "UPDATE", .object = older("rack"), .old_object = older("block")})
                .find("can be changed only while"),
            std::string::npos);
}

TEST(KueueWebhookTest, OfTheStatusOnlyTheStatusIsLookedAt) {
  const json::value before = *testing::admission().admit("Workload", nullptr, good("Workload"));
  json::value after = before;
  merge(after, yaml(R"(
status:
  conditions:
  - {type: QuotaReserved, status: "True", reason: a, message: "",
     lastTransitionTime: "2026-01-01T00:00:00Z"}
  admission: {clusterQueue: a, podSetAssignments: [{name: unknown}]}
)"));
  EXPECT_NE(
      refusal(
          kValidateKueuePath,
          {.operation = "UPDATE", .object = after, .old_object = before, .subresource = "status"})
          .find("\"unknown\" is none of spec.podSets"),
      std::string::npos);
}

// An object that was stored under other rules must still be able to lose its finalizers.
TEST(KueueWebhookTest, MetadataIsTheServersToCheck) {
  const json::value before =
      good_with("Topology", "{metadata: {finalizers: [a, b]}, spec: {levels: []}}");
  json::value after = good_with("Topology", "{metadata: {finalizers: [b]}, spec: {levels: []}}");
  EXPECT_EQ(
      refusal(kValidateKueuePath, {.operation = "UPDATE", .object = after, .old_object = before}),
      "");
  EXPECT_NE(refusal(kValidateKueuePath, {.object = after}), "");
}

std::string conversion_text(std::string_view version, json::array objects) {
  return json::serialize(json::object{{"apiVersion", "apiextensions.k8s.io/v1"},
                                      {"kind", "ConversionReview"},
                                      {"request", json::object{{"uid", "u1"},
                                                               {"desiredAPIVersion", version},
                                                               {"objects", std::move(objects)}}}});
}

json::value converted(std::string_view version, json::array objects) {
  const HttpAnswer answered = answer(kConvertPath, conversion_text(version, std::move(objects)));
  EXPECT_EQ(answered.status, 200) << answered.body;
  return parse_json(answered.body)->at("response");
}

TEST(ConvertTest, ObjectsAreConvertedInTheirOrder) {
  const json::value queue = good("ClusterQueue");
  json::value older = good("LocalQueue");
  older.as_object()["apiVersion"] = "kueue.x-k8s.io/v1beta1";
  const json::value down = converted("kueue.x-k8s.io/v1beta1", {queue, older});
  EXPECT_EQ(down.at("uid"), "u1");
  EXPECT_EQ(down.at("result").at("status"), "Success");
  const json::array& objects = down.at("convertedObjects").as_array();
  ASSERT_EQ(objects.size(), 2);
  EXPECT_EQ(objects[0].at("spec").at("cohort"), "all");
  EXPECT_EQ(objects[0].at("metadata"), queue.at("metadata"));
  EXPECT_EQ(objects[1], older);
  const json::value up = converted("kueue.x-k8s.io/v1beta2", objects);
  EXPECT_EQ(up.at("convertedObjects").at(0), queue);
  EXPECT_EQ(converted("kueue.x-k8s.io/v1beta2", {}).at("result").at("status"), "Success");
}

TEST(ConvertTest, AllOrNothing) {
  const auto failure = [](std::string_view version, const json::value& object) {
    const json::value answered = converted(version, {good("Topology"), object});
    EXPECT_EQ(answered.at("result").at("status"), "Failed");
    EXPECT_TRUE(answered.at("convertedObjects").as_array().empty());
    return std::string(answered.at("result").at("message").as_string());
  };
  EXPECT_EQ(failure("kueue.x-k8s.io/v1beta1", job("")),
            "objects[1]: batch/v1 Job is not converted here; only the kinds of kueue.x-k8s.io are");
  EXPECT_EQ(failure("batch/v2", job("")),
            "desiredAPIVersion: batch/v2 is not converted to here; only versions of kueue.x-k8s.io "
            "are");
  EXPECT_NE(failure("kueue.x-k8s.io/v9", good("Topology")).find("has no version \"v9\""),
            std::string::npos);
  json::value alpha = good("Topology");
  alpha.as_object()["apiVersion"] = "kueue.x-k8s.io/v1alpha1";
  EXPECT_NE(failure("kueue.x-k8s.io/v1beta1", alpha).find("has no version \"v1alpha1\""),
            std::string::npos);
  EXPECT_NE(failure("kueue.x-k8s.io/v1beta1", json::object()).find("is not converted here"),
            std::string::npos);
}

int status_of(std::string_view path, std::string_view body) {
  const HttpAnswer answered = answer(path, body);
  const auto document = parse_json(answered.body);
  EXPECT_TRUE(document.has_value());
  if (answered.status != 200 && document) {
    EXPECT_EQ(document->at("kind"), "Status");
    EXPECT_EQ(document->at("code"), answered.status);
    EXPECT_FALSE(document->at("message").as_string().empty());
  }
  return answered.status;
}

TEST(BadRequestTest, EveryPathRefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(webhook_paths().size(), 5);
  const std::string deep = std::string(100'000, '[');
  for (const std::string_view path : webhook_paths()) {
    EXPECT_GT(most_body_bytes(path), 0);
    const std::string huge(most_body_bytes(path) + 1, ' ');
    EXPECT_EQ(status_of(path, huge), 413) << path;
    for (const std::string_view body :
         {std::string_view(""), std::string_view("{}"), std::string_view("[]"),
          std::string_view("garbage"), std::string_view("\xff\xfe"), std::string_view("\0", 1),
          std::string_view(deep), std::string_view(R"({"kind":"Pod"})")}) {
      EXPECT_EQ(status_of(path, body), 400) << path << " " << body.substr(0, 20);
    }
  }
  EXPECT_EQ(status_of("/", "{}"), 404);
  EXPECT_EQ(status_of("/mutate-batch-v1-job/", "{}"), 404);
  EXPECT_EQ(most_body_bytes("/other"), 0);
}

TEST(PathTest, AQueryDoesNotMatter) {
  EXPECT_GT(most_body_bytes("/convert?timeout=30s"), 0);
  const HttpAnswer answered =
      answer("/mutate-batch-v1-job?timeout=10s", review_text({.object = job("")}));
  EXPECT_EQ(answered.status, 200) << answered.body;
}

TEST(BadRequestTest, KindsGoToTheirPaths) {
  json::value pod = job("{apiVersion: v1, kind: Pod}");
  json::value cron = job("{apiVersion: batch/v1, kind: CronJob}");
  json::value unknown = job("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Other}");
  json::value newer = job("{apiVersion: kueue.x-k8s.io/v1, kind: Topology}");
  for (const std::string_view path : {kMutateJobPath, kValidateJobPath}) {
    EXPECT_EQ(status_of(path, review_text({.object = pod})), 400);
    EXPECT_EQ(status_of(path, review_text({.object = cron})), 400);
    EXPECT_EQ(status_of(path, review_text({.object = good("Topology")})), 400);
  }
  for (const std::string_view path : {kMutateKueuePath, kValidateKueuePath}) {
    EXPECT_EQ(status_of(path, review_text({.object = job("")})), 400);
    EXPECT_EQ(status_of(path, review_text({.object = unknown})), 400);
    EXPECT_EQ(status_of(path, review_text({.object = newer})), 400);
  }
  EXPECT_EQ(status_of(kConvertPath, review_text({.object = good("Topology")})), 400);
}

// Whatever is left out, put twice or has another type: an answer, and never a crash.
TEST(BadRequestTest, OddObjectsAreAnswered) {
  for (const std::string_view patch :
       {"metadata: null", "spec: null", "spec: 5", "spec: []", "metadata: {labels: 5}",
        "metadata: {labels: {kueue.x-k8s.io/queue-name: 5}}", "spec: {suspend: [1]}",
        "spec: {parallelism: 9223372036854775808}", "spec: {template: 5}",
        "spec: {template: {metadata: {annotations: {kueue.x-k8s.io/podset-slice-size: 5}}}}",
        "metadata: {ownerReferences: [5]}", "metadata: {deletionTimestamp: 5}"}) {
    for (const std::string_view path : {kMutateJobPath, kValidateJobPath}) {
      EXPECT_EQ(status_of(path, review_text({.object = job(patch)})), 200) << patch;
      EXPECT_EQ(
          status_of(
              path,
              review_text({.operation = "UPDATE", .object = job(patch), .old_object = job("")})),
          200);
      EXPECT_EQ(
          status_of(
              path,
              review_text({.operation = "UPDATE", .object = job(""), .old_object = job(patch)})),
          200);
    }
  }
}

}  // namespace
}  // namespace phalanx::admission
