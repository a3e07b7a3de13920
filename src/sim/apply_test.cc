#include "sim/apply.h"

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

const api::ObjectKey kNode{api::Kind::kNode, "", "n"};
const api::ObjectKey kJob{api::Kind::kJob, "default", "j"};

class ApplyTest : public ApiServerTest {
 protected:
  ApiResult<Stored> apply(const api::ObjectKey& key, std::string_view text, std::string manager,
                          bool force = false, bool status = false) {
    json::value document = from_yaml(text);
    json::object& object = document.get_object();
    object["apiVersion"] = api::api_version(key.kind);
    object["kind"] = std::string(api::info(key.kind).name);
    ensure_object(document, {"metadata"})["name"] = key.name;
    return server_.patch(key, PatchType::kApply, document,
                         {.status = status, .field_manager = std::move(manager), .force = force});
  }
  // The entry of a manager, as JSON text; empty if it has none.
  std::string owned(const api::ObjectKey& key, std::string_view manager) {
    const Stored object = server_.get(key);
    const json::array* entries = array_at(*object, {"metadata", "managedFields"});
    if (entries == nullptr) return "";
    for (const json::value& entry : *entries) {
      if (string_at(entry, {"manager"}) == manager) {
        return json::serialize(*find_at(entry, {"fieldsV1"}));
      }
    }
    return "";
  }
};

TEST_F(ApplyTest, CreatesWhatDoesNotExist) {
  const auto node = apply(kNode, "spec: {unschedulable: true}", "me");
  ASSERT_TRUE(node) << node.error().message;
  const json::value& entry = array_at(**node, {"metadata", "managedFields"})->front();
  EXPECT_EQ(entry, from_yaml(R"(
manager: me
operation: Apply
apiVersion: v1
time: "2026-01-31T08:00:00Z"
fieldsType: FieldsV1
fieldsV1: {"f:spec": {"f:unschedulable": {}}}
)"));
}

TEST_F(ApplyTest, NeedsAManagerAndTheRightName) {
  EXPECT_TRUE(contains(refusal(apply(kNode, "{}", "")), "400 BadRequest"));
  json::value other = from_yaml("{apiVersion: v1, kind: Node, metadata: {name: other}}");
  EXPECT_TRUE(
      contains(refusal(server_.patch(kNode, PatchType::kApply, other, {.field_manager = "me"})),
               "Node n: a patch cannot make it Node other"));
  EXPECT_TRUE(contains(refusal(apply(kNode, "metadata: {managedFields: [{a: b}]}", "me")),
                       "metadata.managedFields"));
  EXPECT_TRUE(contains(refusal(apply(kNode, "metadata: {uid: x}", "me")), "409 Conflict"));
  EXPECT_TRUE(contains(refusal(apply(kNode, "status: {}", "me", false, true)), "404"));
}

TEST_F(ApplyTest, TheSameAgainChangesNothing) {
  ASSERT_TRUE(apply(kNode, "metadata: {labels: {a: b}}", "me"));
  const uint64_t version = server_.resource_version();
  advance(std::chrono::seconds(10));
  ASSERT_TRUE(apply(kNode, "metadata: {labels: {a: b}}", "me"));
  EXPECT_EQ(server_.resource_version(), version);
}

TEST_F(ApplyTest, WhatIsNoLongerAppliedGoes) {
  ASSERT_TRUE(
      apply(kNode, "{metadata: {labels: {a: x, b: x}}, spec: {unschedulable: true}}", "me"));
  const auto node = apply(kNode, "metadata: {labels: {b: x}}", "me");
  ASSERT_TRUE(node);
  EXPECT_EQ(*find_at(**node, {"metadata", "labels"}), (json::object{{"b", "x"}}));
  EXPECT_EQ(find_at(**node, {"spec"}), nullptr);
}

TEST_F(ApplyTest, WhatAnotherAppliesAsWellStays) {
  ASSERT_TRUE(apply(kNode, "metadata: {labels: {a: x, b: x}}", "one"));
  ASSERT_TRUE(apply(kNode, "metadata: {labels: {a: x}}", "two"));
  const auto node = apply(kNode, "{}", "one");
  ASSERT_TRUE(node);
  EXPECT_EQ(*find_at(**node, {"metadata", "labels"}), (json::object{{"a", "x"}}));
  EXPECT_EQ(owned(kNode, "one"), "");
  EXPECT_EQ(owned(kNode, "two"), R"({"f:metadata":{"f:labels":{"f:a":{}}}})");
}

TEST_F(ApplyTest, WhatNobodyManagesStays) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n, labels: {old: x}}}");
  ASSERT_TRUE(apply(kNode, "metadata: {labels: {a: x}}", "me"));
  const auto node = apply(kNode, "{}", "me");
  ASSERT_TRUE(node);
  EXPECT_EQ(*find_at(**node, {"metadata", "labels"}), (json::object{{"old", "x"}}));
}

TEST_F(ApplyTest, AnotherValueIsAConflict) {
  ASSERT_TRUE(apply(kNode, "metadata: {labels: {a: one}}", "one"));
  EXPECT_EQ(refusal(apply(kNode, "metadata: {labels: {a: two}}", "two")),
            "409 Conflict: Node n: the apply would change what others manage: metadata.labels.a by "
            "\"one\" (Apply); leave these fields out, or force the apply to take them over");
  const auto node = apply(kNode, "metadata: {labels: {a: two}}", "two", true);
  ASSERT_TRUE(node);
  EXPECT_EQ(string_at(**node, {"metadata", "labels", "a"}), "two");
  EXPECT_EQ(owned(kNode, "one"), "");
  // It changed hands: the first no longer removes it.
  ASSERT_TRUE(apply(kNode, "{}", "one"));
  EXPECT_EQ(string_at(*server_.get(kNode), {"metadata", "labels", "a"}), "two");
}

TEST_F(ApplyTest, OrdinaryWritesOwnWhatTheyChange) {
  ASSERT_TRUE(apply(kNode, "metadata: {labels: {a: one, b: one}}", "one"));
  ASSERT_TRUE(merge(kNode, "metadata: {labels: {a: two}}", {.field_manager = "two"}));
  EXPECT_EQ(owned(kNode, "one"), R"({"f:metadata":{"f:labels":{"f:b":{}}}})");
  EXPECT_EQ(owned(kNode, "two"), R"({"f:metadata":{"f:labels":{"f:a":{}}}})");
  EXPECT_TRUE(contains(refusal(apply(kNode, "metadata: {labels: {a: one}}", "one")),
                       "metadata.labels.a by \"two\" (Update)"));
  ASSERT_TRUE(merge(kNode, "metadata: {labels: {a: null}}", {.field_manager = "three"}));
  EXPECT_EQ(owned(kNode, "two"), "");
}

TEST_F(ApplyTest, WritesWithoutAManagerAreTrackedOnceThereAreManagers) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  ASSERT_TRUE(merge(kNode, "metadata: {labels: {a: x}}"));
  EXPECT_EQ(find_at(*server_.get(kNode), {"metadata", "managedFields"}), nullptr);
  ASSERT_TRUE(apply(kNode, "metadata: {labels: {b: x}}", "me"));
  ASSERT_TRUE(merge(kNode, "metadata: {labels: {b: y}}"));
  EXPECT_EQ(owned(kNode, "unknown"), R"({"f:metadata":{"f:labels":{"f:b":{}}}})");
}

TEST_F(ApplyTest, CreateWithAManagerOwnsEverything) {
  ASSERT_TRUE(
      server_.create(from_yaml("{apiVersion: v1, kind: Node, metadata: {name: n, labels: {a: x}}}"),
                     {.field_manager = "creator"}));
  EXPECT_EQ(owned(kNode, "creator"), R"({"f:metadata":{"f:labels":{"f:a":{}}}})");
}

constexpr std::string_view kContainers = R"(
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: a, env: [{name: X, value: "1"}], ports: [{containerPort: 80}]}
      - {name: side, image: b}
)";

TEST_F(ApplyTest, ListsWithKeysAreMergedByThem) {
  ASSERT_TRUE(apply(kJob, kContainers, "one"));
  const auto job = server_.patch(kJob, PatchType::kApply, from_yaml(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: j, finalizers: [a/two]}
spec: {suspend: true}
)"),
                                 {.field_manager = "two", .force = true});
  ASSERT_TRUE(job) << job.error().message;
  const json::array& containers = *array_at(**job, {"spec", "template", "spec", "containers"});
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_TRUE(contains(owned(kJob, "one"),
                       R"("k:{\"name\":\"main\"}":{".":{},"f:env":{"k:{\"name\":\"X\"}")"));
  EXPECT_TRUE(contains(owned(kJob, "one"), R"(k:{\"containerPort\":80,\"protocol\":\"TCP\"})"));
  EXPECT_TRUE(contains(owned(kJob, "two"), R"("f:finalizers":{"v:\"a/two\"":{}})"));
}

TEST_F(ApplyTest, ElementsNoLongerAppliedGo) {
  constexpr std::string_view kWorkload = R"(
spec: {queueName: q}
status: {conditions: [{type: A, status: "True"}, {type: B, status: "True"}]}
)";
  const api::ObjectKey key{api::Kind::kWorkload, "default", "w"};
  ASSERT_TRUE(apply(key, kWorkload, "one"));
  EXPECT_EQ(find_at(*server_.get(key), {"status"}), nullptr);
  ASSERT_TRUE(apply(key, kWorkload, "one", false, true));
  ASSERT_TRUE(apply(key,
                    "status: {conditions: [{type: B, status: 'True'}, {type: C, status: "
                    "'True'}]}",
                    "two", false, true));
  const auto left =
      apply(key, "status: {conditions: [{type: A, status: 'False'}]}", "one", false, true);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(*find_at(**left, {"status", "conditions"}),
            from_yaml("[{type: A, status: 'False'}, {type: B, status: 'True'}, {type: C, status: "
                      "'True'}]"));
  const auto none = apply(key, "{}", "one", false, true);
  ASSERT_TRUE(none);
  EXPECT_EQ(*find_at(**none, {"status", "conditions"}),
            from_yaml("[{type: B, status: 'True'}, {type: C, status: 'True'}]"));
  EXPECT_EQ(string_at(**none, {"spec", "queueName"}), "q");
}

TEST_F(ApplyTest, AnElementThatAnotherWritesToKeepsItsKey) {
  const api::ObjectKey key{api::Kind::kWorkload, "default", "w"};
  ASSERT_TRUE(apply(key, "spec: {podSets: [{name: main, count: 3}]}", "one"));
  ASSERT_TRUE(apply(key, "spec: {podSets: [{name: main, minCount: 2}]}", "two"));
  const auto left = apply(key, "{}", "one");
  ASSERT_TRUE(left);
  EXPECT_EQ(*find_at(**left, {"spec", "podSets"}), from_yaml("[{name: main, minCount: 2}]"));
}

TEST_F(ApplyTest, OtherListsAreOneValue) {
  ASSERT_TRUE(apply(kNode, "spec: {taints: [{key: a, effect: NoSchedule}]}", "one"));
  EXPECT_TRUE(
      contains(refusal(apply(kNode, "spec: {taints: [{key: b, effect: NoSchedule}]}", "two")),
               "spec.taints by \"one\""));
  ASSERT_TRUE(apply(kNode, "spec: {taints: [{key: b, effect: NoSchedule}]}", "two", true));
  EXPECT_EQ(array_at(*server_.get(kNode), {"spec", "taints"})->size(), 1U);
}

TEST_F(ApplyTest, ListsWithKeysMustHaveThem) {
  EXPECT_EQ(refusal(apply({api::Kind::kWorkload, "default", "w"}, "spec: {queueName: q}", "one")),
            "");
  EXPECT_TRUE(contains(refusal(apply({api::Kind::kWorkload, "default", "w"},
                                     "spec: {podSets: [{count: 1}, {count: 2}]}", "one")),
                       "spec.podSets: every element must have its own name"));
}

TEST_F(ApplyTest, StatusHasItsOwnEntry) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  ASSERT_TRUE(apply(kNode, "{metadata: {labels: {a: x}}, status: {phase: Odd}}", "me"));
  EXPECT_EQ(find_at(*server_.get(kNode), {"status"}), nullptr);
  ASSERT_TRUE(apply(kNode, "{metadata: {labels: {b: x}}, status: {capacity: {cpu: 4}}}", "me",
                    false, true));
  const Stored node = server_.get(kNode);
  EXPECT_EQ(*find_at(*node, {"metadata", "labels"}), (json::object{{"a", "x"}}));
  const json::array& entries = *array_at(*node, {"metadata", "managedFields"});
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(string_at(entries[1], {"subresource"}), "status");
  EXPECT_EQ(json::serialize(*find_at(entries[1], {"fieldsV1"})),
            R"({"f:status":{"f:capacity":{"f:cpu":{}}}})");
}

TEST_F(ApplyTest, AStaleVersionIsAConflict) {
  ASSERT_TRUE(apply(kNode, "{}", "me"));
  EXPECT_TRUE(contains(refusal(apply(kNode, "metadata: {resourceVersion: '1'}", "me")),
                       "409 Conflict: Node n: the object has changed"));
}

TEST(FieldSetTest, WritesAndReadsFieldsV1) {
  const json::value fields = from_yaml(R"(
"f:spec": {"f:a": {}, "f:list": {'k:{"name":"x"}': {".": {}, "f:name": {}}}, "f:set": {'v:"y"': {}}}
)");
  const FieldSet set = FieldSet::from_json(fields);
  EXPECT_EQ(set.to_json(), fields);
  EXPECT_EQ(set.paths(), (std::vector<std::string>{"spec.a", "spec.list[name=x]",
                                                   "spec.list[name=x].name", "spec.set[\"y\"]"}));
}

}  // namespace
}  // namespace phalanx::sim
