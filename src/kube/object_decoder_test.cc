#include "kube/object_decoder.h"

#include <gtest/gtest.h>

#include "jobs/batch_job.h"

namespace phalanx::kube {
namespace {

// As API servers send them, with much that nobody here reads.
constexpr std::string_view kPod = R"({
 "apiVersion":"v1","kind":"Pod",
 "metadata":{"name":"train-0","namespace":"ml","uid":"u1","resourceVersion":"12",
  "creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"2026-01-02T03:05:05Z",
  "labels":{"kueue.x-k8s.io/podset":"main","a":"b"},
  "annotations":{"kueue.x-k8s.io/workload":"job-train","big":"\u00e4\"\\x"},
  "managedFields":[{"manager":"m","fieldsV1":{"f:metadata":{"f:labels":{}}}}]},
 "spec":{"nodeName":"n1","nodeSelector":{"kubernetes.io/hostname":"n1"},
  "schedulingGates":[{"name":"kueue.x-k8s.io/topology"},{"name":"other"}],
  "overhead":{"cpu":"10m"},
  "containers":[{"name":"c","env":[{"name":"X","value":"1"}],
    "resources":{"requests":{"cpu":"1","nvidia.com/gpu":"8"},"limits":{"nvidia.com/gpu":"8"}}}],
  "initContainers":[{"name":"i","restartPolicy":"Always","resources":{"requests":{"cpu":"500m"}}}]},
 "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})";

constexpr std::string_view kNode = R"({
 "metadata":{"name":"n1","uid":"u2","resourceVersion":"7","labels":{"rack":"r1"},
  "annotations":{"big":"x"},"managedFields":[{}]},
 "spec":{"podCIDR":"10.0.0.0/24","unschedulable":true,
  "taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},
 "status":{"allocatable":{"cpu":"96","memory":"1Ti"},"capacity":{"cpu":"96"},
  "images":[{"names":["a","b"],"sizeBytes":123456789012}],
  "conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-02T03:04:05Z"}]}})";

class ObjectDecoderTest : public testing::Test {
 protected:
  core::Object without_filter(std::string_view text) {
    json::value document = json::parse(text);
    auto object = core::decode_object(document, adapters_);
    EXPECT_TRUE(object);
    return std::move(*object);
  }

  core::Adapters adapters_ = jobs::all_adapters();
  ObjectDecoder decoder_{adapters_};
};

TEST_F(ObjectDecoderTest, APodIsTheSameWithAndWithoutWhatIsLeftOut) {
  const auto object = decoder_.object(kPod, api::Kind::kPod);
  ASSERT_TRUE(object);
  const core::Object whole = without_filter(kPod);
  EXPECT_EQ(object->key, whole.key);
  EXPECT_EQ(object->uid, "u1");
  EXPECT_EQ(object->resource_version, 12U);
  const auto& pod = std::get<core::Pod>(object->body);
  const auto& expected = std::get<core::Pod>(whole.body);
  EXPECT_EQ(pod.requests, expected.requests);
  EXPECT_FALSE(pod.requests.empty());
  EXPECT_EQ(pod.ranks, expected.ranks);
  EXPECT_EQ(pod.node_selector, expected.node_selector);
  EXPECT_EQ(pod.scheduling_gates, expected.scheduling_gates);
  EXPECT_EQ(pod.scheduling_gates.size(), 2U);
  EXPECT_EQ(pod.workload, "ml/job-train");
  EXPECT_EQ(pod.pod_set, expected.pod_set);
  EXPECT_EQ(pod.created, expected.created);
  EXPECT_TRUE(pod.terminating);
  EXPECT_TRUE(pod.gated);
  EXPECT_EQ(pod.phase, core::PodPhase::kRunning);
  EXPECT_EQ(pod.node_name, "n1");
}

TEST_F(ObjectDecoderTest, ItemsOfListsDoNotSayWhatTheyAre) {
  const std::string text =
      R"({"kind":"NodeList","metadata":{"resourceVersion":"99","continue":"t"},)"
      R"("items":[)" +
      std::string(kNode) + "]}";
  std::vector<core::Object> objects;
  std::vector<std::string> problems;
  const auto page = decoder_.list(text, api::Kind::kNode, objects, problems);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->resource_version, "99");
  EXPECT_EQ(page->continue_token, "t");
  ASSERT_EQ(objects.size(), 1U);
  const auto& node = std::get<core::Node>(objects[0].body);
  EXPECT_TRUE(node.spec.ready);
  EXPECT_TRUE(node.spec.unschedulable);
  EXPECT_EQ(node.spec.taints.size(), 1U);
  EXPECT_EQ(node.spec.labels.at("rack"), "r1");
  EXPECT_EQ(node.spec.allocatable.size(), 2U);
}

// The template is kept for the Workload, so it must outlive the text and the parser's memory.
TEST_F(ObjectDecoderTest, AJobKeepsItsTemplateAsWritten) {
  const std::string text = R"({"metadata":{"resourceVersion":"1"},"items":[
    {"metadata":{"name":"train","namespace":"ml","uid":"u","resourceVersion":"3",
      "labels":{"kueue.x-k8s.io/queue-name":"main"},"managedFields":[{}]},
     "spec":{"parallelism":2,"suspend":true,"template":{"spec":{"containers":[
       {"name":"c","image":"i","someNewField":{"deep":[1,2.5,null,true,"x"]}}]}}}}]})";
  std::vector<core::Object> objects;
  std::vector<std::string> problems;
  ASSERT_TRUE(decoder_.list(text, api::Kind::kJob, objects, problems));
  ASSERT_EQ(objects.size(), 1U);
  const auto& job = std::get<core::Job>(objects[0].body);
  ASSERT_EQ(job.pod_sets.size(), 1U);
  EXPECT_EQ(job.pod_sets[0].document.at("spec").at("containers").at(0).at("someNewField"),
            json::parse(R"({"deep":[1,2.5,null,true,"x"]})"));
}

TEST_F(ObjectDecoderTest, NumbersKeepTheirSize) {
  DocumentReader reader;
  const auto document = reader.document(
      R"({"a":9223372036854775807,"b":18446744073709551615,"c":-1,"d":1e3,"e":0.1})",
      FieldFilter::whole());
  ASSERT_TRUE(document);
  EXPECT_EQ(
      *document,
      json::parse(R"({"a":9223372036854775807,"b":18446744073709551615,"c":-1,"d":1e3,"e":0.1})"));
}

TEST_F(ObjectDecoderTest, WhatIsNoJsonIsAnErrorAndNothingWorse) {
  DocumentReader reader;
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"a\":}"),
        std::string("{\"a\":nul}"), std::string("{\"a\":\"\xff\"}"), std::string("{\"a\":1e}"),
        deep, std::string("{\"a\":\"\\ud800\"}")}) {
    EXPECT_FALSE(reader.document(text, FieldFilter::whole())) << text.substr(0, 20);
  }
}

TEST_F(ObjectDecoderTest, EveryPrefixOfAnEventIsRefused) {
  const std::string text = R"({"type":"ADDED","object":)" + std::string(kPod) + "}";
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(decoder_.watch_line(std::string_view(text).substr(0, size), api::Kind::kPod))
        << size;
  }
  EXPECT_TRUE(decoder_.watch_line(text, api::Kind::kPod));
}

TEST_F(ObjectDecoderTest, DeletionsNameWhichOne) {
  const auto event = decoder_.watch_line(R"({"type":"DELETED","object":)" + std::string(kPod) + "}",
                                         api::Kind::kPod);
  ASSERT_TRUE(event);
  const auto& deleted = std::get<core::ObjectDeleted>(*event);
  EXPECT_EQ(deleted.uid, "u1");
  EXPECT_EQ(deleted.resource_version, 12U);
}

TEST_F(ObjectDecoderTest, OfAPodTemplateOnlyItsMetadataIsRead) {
  const auto object = decoder_.object(
      R"({"metadata":{"name":"t","namespace":"ml","uid":"u","resourceVersion":"3",
          "labels":{"kueue.x-k8s.io/managed":"true"},"annotations":{"a":"b"},
          "ownerReferences":[{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","name":"w",
                              "uid":"w1","controller":true}]},
          "template":{"spec":"not looked at"}})",
      api::Kind::kPodTemplate);
  ASSERT_TRUE(object) << object.error().message;
  const auto& stored = std::get<api::StoredPodTemplate>(object->body);
  EXPECT_EQ(stored.meta.owners.front().uid, "w1");
  EXPECT_EQ(stored.meta.annotations.at("a"), "b");
  EXPECT_EQ(stored.meta.labels.at("kueue.x-k8s.io/managed"), "true");
}

}  // namespace
}  // namespace phalanx::kube
