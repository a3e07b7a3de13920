// Reading and writing objects: metadata, versions, preconditions, status, deletion.
#include "sim/api_server.h"

#include <set>

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kQueue = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main}
spec: {clusterQueue: team-a}
)";
const api::ObjectKey kQueueKey{api::Kind::kLocalQueue, "default", "main"};

class ServerTest : public ApiServerTest {};

TEST_F(ServerTest, StartsWithTheTwoNamespacesOfEveryCluster) {
  const Listing namespaces = server_.list(api::Kind::kNamespace);
  ASSERT_EQ(namespaces.items.size(), 2U);
  EXPECT_EQ(string_at(*namespaces.items[0], {"metadata", "name"}), "default");
  EXPECT_EQ(string_at(*namespaces.items[1], {"metadata", "name"}), "kube-system");
}

TEST_F(ServerTest, CreateFillsInMetadata) {
  const Stored queue = make(kQueue);
  EXPECT_EQ(string_at(*queue, {"metadata", "namespace"}), "default");
  EXPECT_EQ(string_at(*queue, {"metadata", "creationTimestamp"}), "2026-01-31T08:00:00Z");
  EXPECT_EQ(string_at(*queue, {"metadata", "resourceVersion"}), "3");
  EXPECT_EQ(integer_at(*queue, {"metadata", "generation"}), 1);
  EXPECT_EQ(server_.get(kQueueKey), queue);
}

TEST_F(ServerTest, UidsAreRandomUuidsThatTheSeedDecides) {
  const std::string uid(uid_of(*make(kQueue)));
  ASSERT_EQ(uid.size(), 36U);
  EXPECT_EQ(uid[14], '4');
  EXPECT_NE(std::string_view("89ab").find(uid[19]), std::string_view::npos);
  ApiServer same(clock_, 1);
  EXPECT_EQ(uid_of(**same.create(from_yaml(kQueue))), uid);
  ApiServer other(clock_, 2);
  EXPECT_NE(uid_of(**other.create(from_yaml(kQueue))), uid);
}

TEST_F(ServerTest, CreateIgnoresWhatOnlyTheServerDecides) {
  const Stored queue = make(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: main
  uid: mine
  generation: 7
  creationTimestamp: null
  deletionTimestamp: "2020-01-01T00:00:00Z"
  managedFields: [{manager: me}]
status: {pendingWorkloads: 5}
)");
  EXPECT_NE(uid_of(*queue), "mine");
  EXPECT_EQ(integer_at(*queue, {"metadata", "generation"}), 1);
  EXPECT_FALSE(is_deleted(*queue));
  EXPECT_EQ(find_at(*queue, {"metadata", "managedFields"}), nullptr);
  EXPECT_EQ(find_at(*queue, {"status"}), nullptr);
}

TEST_F(ServerTest, CreateRefusesWhatExistsOrHasAVersion) {
  make(kQueue);
  EXPECT_TRUE(contains(create_refusal(kQueue), "409 AlreadyExists: LocalQueue default/main"));
  EXPECT_TRUE(contains(create_refusal(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: other, resourceVersion: "3"}
)"),
                       "400 BadRequest: LocalQueue default/other: metadata.resourceVersion"));
}

TEST_F(ServerTest, DocumentsMustSayWhatTheyAre) {
  EXPECT_TRUE(contains(create_refusal("[1]"), "400 BadRequest"));
  EXPECT_TRUE(
      contains(create_refusal("{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}"),
               "404 NotFound: this cluster knows no kind \"Deployment\""));
  EXPECT_TRUE(contains(create_refusal("{apiVersion: v1, kind: Node, metadata: x}"),
                       "metadata: must be an object"));
  EXPECT_TRUE(contains(create_refusal("{apiVersion: v1, kind: Node, metadata: {name: 5}}"),
                       "metadata.name: must be a string"));
  EXPECT_TRUE(
      contains(create_refusal("{apiVersion: v1, kind: Node}"), "metadata.name: is required"));
}

TEST_F(ServerTest, GenerateNameAddsASuffix) {
  constexpr std::string_view kText = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {generateName: queue-}
)";
  std::set<std::string> names;
  for (int i = 0; i < 50; ++i) names.emplace(string_at(*make(kText), {"metadata", "name"}));
  EXPECT_EQ(names.size(), 50U);
  EXPECT_TRUE(std::ranges::all_of(names, [](const std::string& name) {
    return name.starts_with("queue-") && name.size() == 11;
  }));
}

TEST_F(ServerTest, AGeneratedNameIsCutToFit) {
  json::value document = from_yaml(kQueue);
  json::object& metadata = ensure_object(document, {"metadata"});
  metadata.erase("name");
  metadata["generateName"] = std::string(100, 'a');
  EXPECT_EQ(string_at(*make_document(document), {"metadata", "name"}).size(), 63U);
}

TEST_F(ServerTest, TheNamespaceMustExistAndStay) {
  constexpr std::string_view kElsewhere = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: ml}
)";
  EXPECT_TRUE(contains(create_refusal(kElsewhere),
                       "404 NotFound: LocalQueue ml/main: Namespace ml does not exist; create it"));
  make("{apiVersion: v1, kind: Namespace, metadata: {name: ml, finalizers: [a/b]}}");
  const api::ObjectKey namespace_key{api::Kind::kNamespace, "", "ml"};
  ASSERT_TRUE(server_.remove(namespace_key));
  EXPECT_TRUE(contains(create_refusal(kElsewhere), "403 Forbidden"));
}

TEST_F(ServerTest, UpdateReplacesAndGrowsTheGeneration) {
  json::value queue = *make(kQueue);
  queue.at("spec").as_object()["stopPolicy"] = "Hold";
  const auto updated = server_.update(queue);
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_EQ(integer_at(**updated, {"metadata", "generation"}), 2);
  EXPECT_EQ(string_at(**updated, {"metadata", "resourceVersion"}), "4");
  EXPECT_EQ(string_at(**updated, {"spec", "stopPolicy"}), "Hold");
}

TEST_F(ServerTest, LabelsDoNotGrowTheGeneration) {
  make(kQueue);
  const auto patched = merge(kQueueKey, "metadata: {labels: {a: b}}");
  ASSERT_TRUE(patched);
  EXPECT_EQ(integer_at(**patched, {"metadata", "generation"}), 1);
  EXPECT_EQ(string_at(**patched, {"metadata", "resourceVersion"}), "4");
}

TEST_F(ServerTest, AStaleVersionIsAConflict) {
  const json::value first = *make(kQueue);
  ASSERT_TRUE(merge(kQueueKey, "spec: {stopPolicy: Hold}"));
  EXPECT_TRUE(contains(refusal(server_.update(first)),
                       "409 Conflict: LocalQueue default/main: the object has changed"));
  EXPECT_TRUE(
      contains(refusal(merge(kQueueKey, "{metadata: {resourceVersion: '3'}, spec: {x: y}}")),
               "409 Conflict"));
  EXPECT_EQ(refusal(merge(kQueueKey, "{metadata: {resourceVersion: '4'}, spec: {x: y}}")), "");
}

TEST_F(ServerTest, AnotherUidIsAConflict) {
  json::value queue = *make(kQueue);
  ASSERT_TRUE(server_.remove(kQueueKey));
  make(kQueue);
  queue.at("metadata").as_object().erase("resourceVersion");
  EXPECT_TRUE(contains(refusal(merge(kQueueKey, json::serialize(queue))), "409 Conflict"));
}

TEST_F(ServerTest, CustomResourcesNeedTheirVersionForAnUpdate) {
  json::value queue = *make(kQueue);
  queue.at("metadata").as_object().erase("resourceVersion");
  EXPECT_TRUE(contains(refusal(server_.update(queue)), "422 Invalid"));
  json::value node = *make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  node.at("metadata").as_object().erase("resourceVersion");
  EXPECT_EQ(refusal(server_.update(node)), "");
}

TEST_F(ServerTest, SystemMetadataCannotBeChanged) {
  make(kQueue);
  EXPECT_TRUE(
      contains(refusal(merge(kQueueKey, "metadata: {creationTimestamp: '2020-01-01T00:00:00Z'}")),
               "metadata.creationTimestamp: cannot be changed"));
  EXPECT_TRUE(
      contains(refusal(merge(kQueueKey, "metadata: {deletionTimestamp: '2020-01-01T00:00:00Z'}")),
               "metadata.deletionTimestamp: is set by deleting the object"));
  EXPECT_TRUE(contains(refusal(merge(kQueueKey, "metadata: {name: other}")), "400 BadRequest"));
  EXPECT_TRUE(
      contains(refusal(merge(kQueueKey, "metadata: {namespace: kube-system}")), "400 BadRequest"));
  EXPECT_TRUE(contains(refusal(merge(kQueueKey, "kind: Workload")), "400 BadRequest"));
}

TEST_F(ServerTest, LeavingSystemMetadataOutKeepsIt) {
  const Stored before = make(kQueue);
  json::value document = from_yaml(kQueue);
  ensure_object(document, {"metadata"})["resourceVersion"] = "3";
  ensure_object(document, {"spec"})["stopPolicy"] = "Hold";
  const auto after = server_.update(document);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(uid_of(**after), uid_of(*before));
  EXPECT_EQ(string_at(**after, {"metadata", "creationTimestamp"}), "2026-01-31T08:00:00Z");
}

TEST_F(ServerTest, AWriteThatChangesNothingIsNoWrite) {
  const Stored queue = make(kQueue);
  const auto same = server_.update(*queue);
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, queue);
  ASSERT_TRUE(merge(kQueueKey, "{spec: {clusterQueue: team-a}, metadata: {labels: null}}"));
  EXPECT_EQ(server_.resource_version(), 3U);
}

TEST_F(ServerTest, StatusAndTheRestAreWrittenApart) {
  make(kQueue);
  const Stored with_status =
      set_status(kQueueKey, "{spec: {clusterQueue: other}, status: {pendingWorkloads: 2}}");
  EXPECT_EQ(string_at(*with_status, {"spec", "clusterQueue"}), "team-a");
  EXPECT_EQ(integer_at(*with_status, {"status", "pendingWorkloads"}), 2);
  EXPECT_EQ(integer_at(*with_status, {"metadata", "generation"}), 1);
  const auto with_spec = merge(kQueueKey, "{spec: {stopPolicy: Hold}, status: {x: 1}}");
  ASSERT_TRUE(with_spec);
  EXPECT_EQ(string_at(**with_spec, {"spec", "stopPolicy"}), "Hold");
  EXPECT_EQ(find_at(**with_spec, {"status", "x"}), nullptr);
  EXPECT_EQ(integer_at(**with_spec, {"status", "pendingWorkloads"}), 2);
}

TEST_F(ServerTest, KindsWithoutAStatusSubresourceAreWrittenWhole) {
  make("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: t}}");
  EXPECT_TRUE(
      contains(refusal(merge({api::Kind::kTopology, "", "t"}, "status: {}", {.status = true})),
               "404 NotFound: Topology t: has no status subresource"));
}

TEST_F(ServerTest, WhatDoesNotExistCannotBeWritten) {
  EXPECT_TRUE(contains(refusal(merge(kQueueKey, "spec: {}")),
                       "404 NotFound: LocalQueue default/main does not exist"));
  EXPECT_TRUE(contains(refusal(server_.update(from_yaml(kQueue))), "404"));
  EXPECT_TRUE(contains(refusal(server_.remove(kQueueKey)), "404"));
  EXPECT_EQ(server_.get(kQueueKey), nullptr);
}

TEST_F(ServerTest, UnknownFieldsAreKept) {
  const Stored queue = make(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, futureField: 1}
spec: {clusterQueue: team-a, futures: [{a: 1}]}
future: true
)");
  EXPECT_EQ(integer_at(*queue, {"metadata", "futureField"}), 1);
  EXPECT_NE(find_at(*queue, {"spec", "futures"}), nullptr);
  EXPECT_TRUE(true_at(*queue, {"future"}));
}

TEST_F(ServerTest, UnknownFieldsAreRefusedIfTheClientAsksForIt) {
  const WriteOptions strict{.strict_fields = true};
  const auto create = [&](std::string_view text) {
    return refusal(server_.create(from_yaml(text), strict));
  };
  EXPECT_EQ(create("{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {paralelism: 2}}"),
            "400 BadRequest: Job default/a: spec.paralelism: unknown field; did you mean "
            "`parallelism`?");
  EXPECT_EQ(create("{apiVersion: v1, kind: Node, metadata: {name: n, lables: {}}}"),
            "400 BadRequest: Node n: metadata.lables: unknown field; did you mean `labels`?");
  make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  EXPECT_EQ(refusal(merge({api::Kind::kNode, "", "n"}, "spec: {taint: []}", strict)),
            "400 BadRequest: Node n: spec.taint: unknown field; did you mean `taints`?");
}

TEST_F(ServerTest, FieldsOfWrongTypesAreRefused) {
  EXPECT_EQ(create_refusal("{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: 5}"),
            "400 BadRequest: Job default/a: spec: must be an object, but is 5");
}

TEST_F(ServerTest, TooLargeObjectsAreRefused) {
  json::value queue = from_yaml(kQueue);
  ensure_object(queue, {"spec"})["data"] = std::string(1'600'000, 'x');
  EXPECT_TRUE(contains(refusal(server_.create(queue)), "413 RequestEntityTooLarge"));
  ensure_object(queue, {"spec"})["data"] = std::string(1'500'000, 'x');
  EXPECT_EQ(refusal(server_.create(queue)), "");
}

TEST_F(ServerTest, OlderVersionsNeedAConverter) {
  constexpr std::string_view kOld = R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: main}
spec: {queue: team-a}
)";
  EXPECT_TRUE(contains(create_refusal(kOld), "write it as kueue.x-k8s.io/v1beta2"));
  server_.set_converter([](api::Kind kind, json::value& document) -> ApiResult<void> {
    json::object& spec = ensure_object(document, {"spec"});
    spec["clusterQueue"] = spec["queue"];
    spec.erase("queue");
    document.get_object()["apiVersion"] = api::api_version(kind);
    return {};
  });
  EXPECT_EQ(string_at(*make(kOld), {"spec", "clusterQueue"}), "team-a");
}

TEST_F(ServerTest, HooksChangeThenLook) {
  std::vector<std::string> calls;
  server_.add_validating_hook([&](AdmissionRequest& request) -> ApiResult<void> {
    calls.emplace_back("validate");
    if (request.operation == Operation::kDelete) return bad_request("never");
    EXPECT_EQ(string_at(*request.object, {"spec", "hooked"}), "yes");
    return {};
  });
  server_.add_mutating_hook([&](AdmissionRequest& request) -> ApiResult<void> {
    calls.emplace_back("mutate");
    EXPECT_EQ(request.old_object == nullptr, request.operation == Operation::kCreate);
    ensure_object(*request.object, {"spec"})["hooked"] = "yes";
    return {};
  });
  make(kQueue);
  ASSERT_TRUE(merge(kQueueKey, "metadata: {labels: {a: b}}"));
  set_status(kQueueKey, "status: {a: 1}");
  EXPECT_EQ(calls, (std::vector<std::string>{"mutate", "validate", "mutate", "validate"}));
  EXPECT_TRUE(contains(refusal(server_.remove(kQueueKey)), "never"));
}

TEST_F(ServerTest, HooksForStatusSeeStatusWrites) {
  make(kQueue);
  server_.add_mutating_hook(
      [](AdmissionRequest& request) -> ApiResult<void> {
        if (request.status) ensure_object(*request.object, {"status"})["seen"] = true;
        return {};
      },
      true);
  EXPECT_TRUE(true_at(*set_status(kQueueKey, "status: {a: 1}"), {"status", "seen"}));
}

}  // namespace
}  // namespace phalanx::sim
