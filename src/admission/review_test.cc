#include "admission/review.h"

#include <gtest/gtest.h>

#include "admission/testing.h"
#include "base/base64.h"

namespace phalanx::admission {
namespace {

using testing::merge;
using testing::yaml;

// A good review of a new Job with a merge patch in YAML applied.
std::string review_with(std::string_view patch) {
  json::value review = yaml(R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  uid: 705ab4f5-6393-11e8-b7cc-42010a800002
  kind: {group: batch, version: v1, kind: Job}
  resource: {group: batch, version: v1, resource: jobs}
  requestKind: {group: batch, version: v1, kind: Job}
  name: train
  namespace: ml
  operation: CREATE
  userInfo: {username: admin}
  object: {apiVersion: batch/v1, kind: Job, metadata: {name: train, namespace: ml}, spec: {}}
  oldObject: null
  dryRun: true
  options: {apiVersion: meta.k8s.io/v1, kind: CreateOptions}
)");
  if (!patch.empty()) merge(review, yaml(patch));
  return json::serialize(review);
}

std::string refusal(std::string_view text) {
  const auto review = read_review(text);
  return review ? "read" : review.error().message;
}

TEST(ReviewTest, AReviewIsTakenApart) {
  const auto review = read_review(review_with(""));
  ASSERT_TRUE(review.has_value()) << review.error().message;
  EXPECT_EQ(review->uid, "705ab4f5-6393-11e8-b7cc-42010a800002");
  EXPECT_EQ(review->operation, Operation::kCreate);
  EXPECT_EQ(review->group + " " + review->version + " " + review->kind, "batch v1 Job");
  EXPECT_EQ(review->subresource, "");
  EXPECT_EQ(review->text(), "Job ml/train");
  EXPECT_TRUE(review->dry_run);
  EXPECT_EQ(review->object.at("kind"), "Job");
  EXPECT_TRUE(review->old_object.is_null());
}

TEST(ReviewTest, OldObjectsComeWithUpdatesAndDeletions) {
  constexpr std::string_view kOld =
      "oldObject: {apiVersion: batch/v1, kind: Job, metadata: {name: train}}";
  const auto updated = read_review(
      review_with("request: {operation: UPDATE, subResource: status, " + std::string(kOld) + "}"));
  ASSERT_TRUE(updated.has_value()) << updated.error().message;
  EXPECT_EQ(updated->subresource, "status");
  EXPECT_EQ(updated->old_object.at("metadata").at("name"), "train");
  EXPECT_TRUE(updated->object.is_object());
  const auto deleted = read_review(
      review_with("request: {operation: DELETE, object: null, " + std::string(kOld) + "}"));
  ASSERT_TRUE(deleted.has_value()) << deleted.error().message;
  EXPECT_TRUE(deleted->object.is_null());
  EXPECT_TRUE(deleted->old_object.is_object());
  // Servers of old deleted whole collections without saying what was in them.
  EXPECT_TRUE(read_review(review_with("request: {operation: DELETE, object: null}")).has_value());
}

TEST(ReviewTest, ANameThatIsStillToBeGenerated) {
  const auto review = read_review(
      review_with("request: {name: null, object: {metadata: {name: null, generateName: train-}}}"));
  ASSERT_TRUE(review.has_value()) << review.error().message;
  EXPECT_EQ(review->text(), "Job ml/train-*");
}

TEST(ReviewTest, WhatADecisionNeedsMustBeThere) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"kind: null", "kind: is required"},
      {"kind: ConversionReview", "kind: is \"ConversionReview\", but must be AdmissionReview"},
      {"apiVersion: null", "apiVersion: is required"},
      {"apiVersion: admission.k8s.io/v1beta1",
       "apiVersion: is \"admission.k8s.io/v1beta1\", but must be admission.k8s.io/v1"},
      {"request: null", "request: is required"},
      {"request: [1]", "request: must be an object"},
      {"request: {uid: null}", "request.uid: is required"},
      {"request: {uid: ''}", "request.uid: must not be empty"},
      {"request: {uid: 5}", "request.uid: must be a string"},
      {"request: {operation: null}", "request.operation: is required"},
      {"request: {operation: CONNECT}", "request.operation: \"CONNECT\" is not answered here"},
      {"request: {operation: create}", "request.operation: \"create\" is not answered here"},
      {"request: {kind: null}", "request.kind: is required"},
      {"request: {kind: {kind: null}}", "request.kind.kind: is required"},
      {"request: {kind: Job}", "request.kind: must be an object"},
      {"request: {resource: null}", "request.resource: is required"},
      {"request: {resource: {resource: null}}", "request.resource.resource: is required"},
      {"request: {resource: {group: apps}}", "request.resource.group: must be that of the kind"},
      {"request: {object: null}", "request.object: is required"},
      {"request: {object: 5}", "request.object: must be an object"},
      {"request: {object: {kind: null}}", "request.object.kind: is required"},
      {"request: {object: {kind: Pod}}", "request.object.kind: must be Job, as the request says"},
      {"request: {object: {apiVersion: v1}}", "request.object.apiVersion: must be batch/v1"},
      {"request: {object: {metadata: 5}}", "request.object.metadata: must be an object"},
      {"request: {operation: UPDATE}", "request.oldObject: is required"},
      {"request: {operation: UPDATE, oldObject: {kind: Job, apiVersion: batch/v2}}",
       "request.oldObject.apiVersion: must be batch/v1"},
      {"request: {dryRun: 'yes'}", "request.dryRun: must be true or false"},
      {"request: {namespace: 9223372036854775808}", "request.namespace: must be a string"},
  };
  for (const auto& [patch, message] : cases) {
    EXPECT_NE(refusal(review_with(patch)).find(message), std::string::npos)
        << patch << ": " << refusal(review_with(patch));
  }
  EXPECT_NE(refusal(review_with("request: {uid: " + std::string(1000, 'x') + "}"))
                .find("request.uid: must have at most 256 bytes"),
            std::string::npos);
}

TEST(ReviewTest, WhatIsNoReviewIsRefused) {
  EXPECT_NE(refusal("").find("not valid JSON"), std::string::npos);
  EXPECT_EQ(refusal("null"), "is no object, but must be of the kind AdmissionReview");
  EXPECT_NE(refusal("garbage").find("not valid JSON"), std::string::npos);
  EXPECT_NE(refusal("{\"kind\":\"\xff\"}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(refusal(R"({"kind":"AdmissionReview","kind":"AdmissionReview"})").find("stands twice"),
            std::string::npos);
  const std::string whole = review_with("");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_review(whole.substr(0, size)).has_value()) << size;
  }
}

json::value written(const Decision& decision) {
  const auto review = read_review(review_with(""));
  return *parse_json(write_decision(*review, decision));
}

TEST(DecisionTest, AnAllowanceHasThePatchAndTheWarnings) {
  EXPECT_EQ(json::serialize(written({})),
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":)"
            R"({"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}})");
  Decision decision;
  decision.patch = json::array{json::object{{"op", "remove"}, {"path", "/a~1b"}}};
  decision.warnings = {"careful"};
  const json::value review = written(decision);
  const json::value& response = review.at("response");
  EXPECT_EQ(response.at("patchType"), "JSONPatch");
  EXPECT_EQ(from_base64(response.at("patch").as_string()).value(),
            R"([{"op":"remove","path":"/a~1b"}])");
  EXPECT_EQ(json::serialize(response.at("warnings")), R"(["careful"])");
}

TEST(DecisionTest, ARefusalNamesTheObjectAndEveryField) {
  Decision decision;
  decision.problems = {{"spec.a", "must be b"}, {"", "is odd"}};
  decision.patch = json::array{1};
  EXPECT_EQ(json::serialize(written(decision).at("response")),
            R"({"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":false,)"
            R"("status":{"code":422,"reason":"Invalid",)"
            R"("message":"Job ml/train: spec.a: must be b; is odd"}})");
}

TEST(ConversionReviewTest, ARequestIsTakenApart) {
  const auto read = [](std::string_view patch) {
    json::value review = yaml(R"(
apiVersion: apiextensions.k8s.io/v1
kind: ConversionReview
request: {uid: u1, desiredAPIVersion: kueue.x-k8s.io/v1beta2, objects: [{kind: Topology}]}
)");
    if (!patch.empty()) merge(review, yaml(patch));
    return read_conversion(json::serialize(review));
  };
  const auto good = read("");
  ASSERT_TRUE(good.has_value()) << good.error().message;
  EXPECT_EQ(good->uid + " " + good->group + " " + good->version, "u1 kueue.x-k8s.io v1beta2");
  EXPECT_EQ(good->objects.size(), 1);
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"apiVersion: apiextensions.k8s.io/v1beta1", "must be apiextensions.k8s.io/v1"},
      {"kind: AdmissionReview", "must be ConversionReview"},
      {"request: {uid: null}", "request.uid: is required"},
      {"request: {desiredAPIVersion: null}", "request.desiredAPIVersion: is required"},
      {"request: {desiredAPIVersion: v1}", "request.desiredAPIVersion: \"v1\" must be a group"},
      {"request: {desiredAPIVersion: a/}", "request.desiredAPIVersion: \"a/\" must be a group"},
      {"request: {objects: null}", "request.objects: is required"},
      {"request: {objects: {}}", "request.objects: must be a list"},
      {"request: {objects: [5]}", "request.objects[0]: must be an object"},
  };
  for (const auto& [patch, message] : cases) {
    const auto refused = read(patch);
    ASSERT_FALSE(refused.has_value()) << patch;
    EXPECT_NE(refused.error().message.find(message), std::string::npos)
        << patch << ": " << refused.error().message;
  }
}

TEST(ConversionReviewTest, AnAnswerIsWholeOrSaysWhyNot) {
  EXPECT_EQ(write_conversion("u", std::vector<std::string>{"{}", R"({"a":1})"}),
            R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":)"
            R"({"uid":"u","convertedObjects":[{},{"a":1}],"result":{"status":"Success"}}})");
  EXPECT_EQ(write_conversion("u", fail("no")),
            R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":)"
            R"({"uid":"u","convertedObjects":[],"result":{"status":"Failed","message":"no"}}})");
}

}  // namespace
}  // namespace phalanx::admission
