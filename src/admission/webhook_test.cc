#include "admission/webhook.h"

#include <gtest/gtest.h>

#include <array>

#include "admission/webhook_testing.h"
#include "base/json_path.h"

namespace phalanx::admission {
namespace {

using testing::answer;
using testing::good;
using testing::good_with;
using testing::job;
using testing::merge;
using testing::patch_of;
using testing::refusal;
using testing::response;
using testing::review_text;
using testing::yaml;

// What somebody changes of a status that he may write for the sake of admission checks.
std::string status_refusal(std::string_view before, std::string_view after) {
  json::value old_object = good("Workload");
  json::value object = old_object;
  merge(old_object, yaml(before));
  merge(object, yaml(after));
  return refusal(
      kKeepStatusPath,
      {.operation = "UPDATE", .object = object, .old_object = old_object, .subresource = "status"});
}

TEST(KeepStatusTest, OnlyWhoMayAdmitWritesAnAdmission) {
  EXPECT_NE(status_refusal("status: {}", "status: {admission: {clusterQueue: team}}"), "");
  EXPECT_NE(status_refusal("status: {admission: {clusterQueue: team}}", "status: {}"), "");
  EXPECT_NE(status_refusal("status: {admission: {clusterQueue: team}}",
                           "status: {admission: {clusterQueue: other}}"),
            "");
  const std::string message = status_refusal("status: {}", "status: {unhealthyNodes: [{name: n}]}");
  EXPECT_NE(message.find("status.unhealthyNodes: is written by those only who may \"admit\" "
                         "workloads.kueue.x-k8s.io"),
            std::string::npos)
      << message;
  EXPECT_NE(status_refusal("status: {}", "status: {somethingNew: 1}"), "") << "whatever it is";
}

TEST(KeepStatusTest, NorItsConditions) {
  for (const std::string type : {"QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued",
                                 "Finished", "PodsReady", "DeactivationTarget"}) {
    const std::string with = "status: {conditions: [{type: " + type + ", status: 'True'}]}";
    const std::string other = "status: {conditions: [{type: " + type + ", status: 'False'}]}";
    EXPECT_NE(status_refusal("status: {}", with), "") << type;
    EXPECT_NE(status_refusal(with, "status: {}"), "") << type;
    EXPECT_NE(status_refusal(with, other), "") << type;
    EXPECT_EQ(status_refusal(with, with), "") << type;
  }
}

TEST(KeepStatusTest, ChecksAndConditionsOfOthersAreTheirs) {
  EXPECT_EQ(
      status_refusal("status: {admission: {clusterQueue: team}}",
                     "status: {admission: {clusterQueue: team}, admissionChecks: [{name: c, "
                     "state: Ready}], conditions: [{type: example.com/Seen, status: 'True'}]}"),
      "");
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

// v1beta1 allows a level of any length, v1beta2 one of 63 characters.
json::value with_level(std::string_view version, const std::string& level, std::string_view patch) {
  json::value workload = good_with("Workload", patch);
  workload.as_object()["apiVersion"] = "kueue.x-k8s.io/" + std::string(version);
  workload.at("spec").at("podSets").at(0).as_object()["topologyRequest"] =
      json::object{{"required", level}};
  return workload;
}

TEST(KueueWebhookTest, WhatWasStoredWithinOtherLimitsMayStand) {
  const std::string long_level = "example.com/" + std::string(58, 'x');
  const std::string other_level = "example.com/" + std::string(58, 'y');
  for (const std::string_view version : {"v1beta1", "v1beta2"}) {
    const auto change = [&](const std::string& level, std::string_view patch) {
      return refusal(kValidateKueuePath, {.operation = "UPDATE",
                                          .object = with_level(version, level, patch),
                                          .old_object = with_level(version, long_level, "")});
    };
    EXPECT_EQ(change(long_level, "spec: {active: false}"), "");
    EXPECT_EQ(change("rack", "spec: {active: false}"), "");
    // A value that somebody writes now is judged, and so is everything beside it.
    EXPECT_NE(change(other_level, "").find("topologyRequest.required"), std::string::npos);
    EXPECT_NE(change(long_level, "spec: {priority: nonsense}").find("spec.priority"),
              std::string::npos);
    EXPECT_NE(
        refusal(kValidateKueuePath, {.object = with_level(version, long_level, "")}).find("63"),
        std::string::npos);
  }
}

TEST(KueueWebhookTest, RulesLetStandWhatIsAsItWas) {
  // Quotas must not be negative, but these are, and somebody stops the queue.
  const std::string_view negative =
      "{resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, "
      "nominalQuota: -1}]}]}]";
  const json::value before = good_with("ClusterQueue", "spec: " + std::string(negative) + "}");
  const json::value after =
      good_with("ClusterQueue", "spec: " + std::string(negative) + ", stopPolicy: Hold}");
  EXPECT_NE(refusal(kValidateKueuePath, {.object = after}), "");
  EXPECT_EQ(
      refusal(kValidateKueuePath, {.operation = "UPDATE", .object = after, .old_object = before}),
      "");
  EXPECT_NE(refusal(kValidateKueuePath,
                    {.operation = "UPDATE", .object = after, .old_object = good("ClusterQueue")}),
            "");
}

// A second list of checks, written in v1beta1, is nothing but a note in v1beta2.
TEST(KueueWebhookTest, WhatTheOlderVersionSaysIsMoreThanMetadata) {
  const json::value before =
      good_with("ClusterQueue", "spec: {admissionChecksStrategy: {admissionChecks: [{name: a}]}}");
  json::value after = before;
  merge(after, yaml(R"(
metadata:
  annotations:
    phalanx.dev/conversion: '{"of":"v1beta1","lost":[{"at":"/spec","was":{"admissionChecks":["a"],"admissionChecksStrategy":{"admissionChecks":[{"name":"b"}]}}}]}'
)"));
  const std::string told =
      refusal(kValidateKueuePath, {.operation = "UPDATE", .object = after, .old_object = before});
  EXPECT_NE(told.find("keep the strategy only"), std::string::npos) << told;
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

// 100 000 domains with names of 1000 characters together, in less than two kilobytes.
json::value large_when_converted() {
  json::array levels;
  json::array values;
  for (int level = 0; level < 16; ++level) {
    levels.emplace_back("level-" + std::to_string(level));
    values.push_back(json::object{{"universal", std::string(63, 'x')}});
  }
  json::value workload = good_with(
      "Workload", "status: {admission: {clusterQueue: q, podSetAssignments: [{name: main}]}}");
  json::value& assignment = workload.at("status").at("admission").at("podSetAssignments").at(0);
  assignment.as_object()["topologyAssignment"] =
      json::object{{"levels", std::move(levels)},
                   {"slices", json::array{{{"domainCount", 100'000},
                                           {"valuesPerLevel", std::move(values)},
                                           {"podCounts", json::object{{"universal", 1}}}}}}};
  return workload;
}

TEST(ConvertTest, TheAnswerIsBounded) {
  const json::value workload = large_when_converted();
  const HttpAnswer two =
      answer(kConvertPath, conversion_text("kueue.x-k8s.io/v1beta1", {workload, workload}));
  EXPECT_NE(two.body.find(R"("status":"Success")"), std::string::npos);
  EXPECT_GT(two.body.size(), 200'000'000);
  const HttpAnswer three = answer(
      kConvertPath, conversion_text("kueue.x-k8s.io/v1beta1", {workload, workload, workload}));
  EXPECT_NE(three.body.find("objects[2]: makes the answer longer than 268435456 bytes; ask for"),
            std::string::npos)
      << three.body.substr(0, 1000);
}

// A Workload whose deepest value is inside so many objects and lists, itself among them.
json::value deep_workload(size_t depth) {
  json::value workload = good("Workload");
  json::value inside = json::object();
  for (size_t i = 7; i < depth; ++i) inside = json::object{{"a", std::move(inside)}};
  json::value& pod_template = workload.at("spec").at("podSets").at(0).at("template");
  ensure_object(pod_template, {"spec"})["deep"] = std::move(inside);
  EXPECT_EQ(depth_of(workload), depth);
  return workload;
}

// One of so many values.
json::value wide_workload(size_t values) {
  json::value workload = good("Workload");
  json::value& pod_template = workload.at("spec").at("podSets").at(0).at("template");
  json::object& pod_spec = ensure_object(pod_template, {"spec"});
  json::array list(values - count_values(workload) - 1, 0);
  pod_spec["wide"] = std::move(list);
  EXPECT_EQ(count_values(workload), values);
  return workload;
}

bool is_converted(const json::value& object) {
  return answer(kConvertPath, conversion_text("kueue.x-k8s.io/v1beta1", {object}))
      .body.contains(R"("status":"Success")");
}

TEST(ExtentTest, WhatIsAdmittedCanBeConverted) {
  EXPECT_EQ(refusal(kValidateKueuePath, {.object = deep_workload(58)}), "");
  EXPECT_NE(refusal(kValidateKueuePath, {.object = deep_workload(59)})
                .find("is nested 59 levels deep, but at most 58 are allowed"),
            std::string::npos);
  EXPECT_TRUE(is_converted(deep_workload(58)));
  EXPECT_TRUE(is_converted(deep_workload(61)));
  EXPECT_FALSE(is_converted(deep_workload(62)));
  // What is stored already may still go.
  json::value kept = deep_workload(62);
  merge(kept, yaml("metadata: {finalizers: [a]}"));
  EXPECT_EQ(
      refusal(kValidateKueuePath,
              {.operation = "UPDATE", .object = deep_workload(62), .old_object = std::move(kept)}),
      "");
}

TEST(ExtentTest, WhatIsAdmittedHasFewerValuesThanWhatIsConverted) {
  EXPECT_EQ(refusal(kValidateKueuePath, {.object = wide_workload(1'000'000)}), "");
  EXPECT_NE(refusal(kValidateKueuePath, {.object = wide_workload(1'000'001)})
                .find("has 1000001 values, but at most 1000000 are allowed"),
            std::string::npos);
  EXPECT_TRUE(is_converted(wide_workload(1'000'000)));
  EXPECT_TRUE(is_converted(wide_workload(2'500'000)));
  EXPECT_FALSE(is_converted(wide_workload(2'500'001)));
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
  EXPECT_EQ(webhook_paths().size(), 7);
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
