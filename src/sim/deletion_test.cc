#include "sim/deletion.h"

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kHeld = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: w, finalizers: [a.example/one, a.example/two]}
)";
const api::ObjectKey kWorkload{api::Kind::kWorkload, "default", "w"};

class DeletionTest : public ApiServerTest {
 protected:
  void bind_pod() {
    make(kPod);
    ASSERT_TRUE(server_.bind(pod_key("p"), "n1"));
  }
  Stored pod() { return server_.get(pod_key("p")); }
};

TEST_F(DeletionTest, WithoutFinalizersTheObjectGoesAtOnce) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  WatchCursor cursor{{api::Kind::kNode}, server_.resource_version()};
  const uint64_t version = server_.resource_version();
  ASSERT_TRUE(server_.remove(node_key("n")));
  EXPECT_EQ(server_.get(node_key("n")), nullptr);
  const auto events = server_.read(cursor);
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(events->front().type, WatchEventType::kDeleted);
  EXPECT_EQ(events->front().resource_version, version + 1);
  EXPECT_EQ(resource_version_of(*events->front().object), version + 1);
}

TEST_F(DeletionTest, PreconditionsMustHold) {
  const Stored node = make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  EXPECT_TRUE(contains(refusal(server_.remove(node_key("n"), {.uid = "other"})), "409 Conflict"));
  EXPECT_TRUE(
      contains(refusal(server_.remove(node_key("n"), {.resource_version = 1})), "409 Conflict"));
  EXPECT_EQ(
      refusal(server_.remove(node_key("n"), {.uid = std::string(uid_of(*node)),
                                             .resource_version = resource_version_of(*node)})),
      "");
}

TEST_F(DeletionTest, FinalizersHoldTheObject) {
  make(kHeld);
  advance(std::chrono::seconds(7));
  ASSERT_TRUE(server_.remove(kWorkload));
  const Stored held = server_.get(kWorkload);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(string_at(*held, {"metadata", "deletionTimestamp"}), "2026-01-31T08:00:07Z");
  EXPECT_EQ(integer_at(*held, {"metadata", "deletionGracePeriodSeconds"}), 0);
  EXPECT_EQ(integer_at(*held, {"metadata", "generation"}), 2);
  const uint64_t version = server_.resource_version();
  ASSERT_TRUE(server_.remove(kWorkload));
  EXPECT_EQ(server_.resource_version(), version) << "a second deletion changes nothing";

  EXPECT_TRUE(
      contains(refusal(merge(kWorkload, "metadata: {finalizers: [a.example/one, a.example/new]}")),
               "metadata.finalizers: \"a.example/new\" cannot be added"));
  ASSERT_TRUE(merge(kWorkload, "metadata: {finalizers: [a.example/two]}"));
  ASSERT_NE(server_.get(kWorkload), nullptr);
  WatchCursor cursor{{api::Kind::kWorkload}, server_.resource_version()};
  ASSERT_TRUE(merge(kWorkload, "metadata: {finalizers: null}"));
  EXPECT_EQ(server_.get(kWorkload), nullptr);
  const auto events = server_.read(cursor);
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(events->front().type, WatchEventType::kDeleted);
}

TEST_F(DeletionTest, AnObjectThatIsDeletedCanStillBeWritten) {
  make(kHeld);
  ASSERT_TRUE(server_.remove(kWorkload));
  EXPECT_EQ(refusal(merge(kWorkload, "metadata: {labels: {a: b}}")), "");
  EXPECT_EQ(string_at(*set_status(kWorkload, "status: {x: y}"), {"status", "x"}), "y");
  EXPECT_TRUE(contains(refusal(merge(kWorkload,
                                     "metadata: {deletionTimestamp: "
                                     "'2030-01-01T00:00:00Z'}")),
                       "metadata.deletionTimestamp"));
}

TEST_F(DeletionTest, ForegroundAndOrphanAreFinalizers) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  ASSERT_TRUE(server_.remove(node_key("n"), {.propagation = Propagation::kForeground}));
  EXPECT_EQ(*find_at(*server_.get(node_key("n")), {"metadata", "finalizers"}),
            (json::array{"foregroundDeletion"}));
  ASSERT_TRUE(server_.remove(node_key("n"), {.propagation = Propagation::kOrphan}));
  EXPECT_EQ(*find_at(*server_.get(node_key("n")), {"metadata", "finalizers"}),
            (json::array{"orphan"}));
  ASSERT_TRUE(server_.remove(node_key("n")));
  EXPECT_NE(server_.get(node_key("n")), nullptr) << "the collector has not orphaned yet";
  ASSERT_TRUE(merge(node_key("n"), "metadata: {finalizers: []}"));
  EXPECT_EQ(server_.get(node_key("n")), nullptr);
}

TEST_F(DeletionTest, ABoundPodHasItsGracePeriod) {
  bind_pod();
  ASSERT_TRUE(server_.remove(pod_key("p")));
  ASSERT_NE(pod(), nullptr);
  EXPECT_EQ(string_at(*pod(), {"metadata", "deletionTimestamp"}), "2026-01-31T08:00:30Z");
  EXPECT_EQ(integer_at(*pod(), {"metadata", "deletionGracePeriodSeconds"}), 30);
  // Its kubelet reports the end, then lets it go.
  set_status(pod_key("p"), "status: {phase: Succeeded}");
  ASSERT_NE(pod(), nullptr);
  ASSERT_TRUE(server_.remove(pod_key("p"), {.grace_period_seconds = 0}));
  EXPECT_EQ(pod(), nullptr);
}

TEST_F(DeletionTest, AGracePeriodCanOnlyBeShortened) {
  bind_pod();
  ASSERT_TRUE(server_.remove(pod_key("p"), {.grace_period_seconds = 60}));
  advance(std::chrono::seconds(5));
  ASSERT_TRUE(server_.remove(pod_key("p"), {.grace_period_seconds = 90}));
  ASSERT_TRUE(server_.remove(pod_key("p")));
  EXPECT_EQ(string_at(*pod(), {"metadata", "deletionTimestamp"}), "2026-01-31T08:01:00Z");
  ASSERT_TRUE(server_.remove(pod_key("p"), {.grace_period_seconds = 20}));
  EXPECT_EQ(string_at(*pod(), {"metadata", "deletionTimestamp"}), "2026-01-31T08:00:20Z");
  EXPECT_EQ(integer_at(*pod(), {"metadata", "deletionGracePeriodSeconds"}), 20);
}

TEST_F(DeletionTest, PodsThatNobodyRunsGoAtOnce) {
  make(kPod);
  ASSERT_TRUE(server_.remove(pod_key("p")));
  EXPECT_EQ(pod(), nullptr) << "unbound";
  bind_pod();
  set_status(pod_key("p"), "status: {phase: Failed}");
  ASSERT_TRUE(server_.remove(pod_key("p")));
  EXPECT_EQ(pod(), nullptr) << "ended";
  bind_pod();
  ASSERT_TRUE(server_.remove(pod_key("p"), {.grace_period_seconds = 0}));
  EXPECT_EQ(pod(), nullptr) << "no grace";
}

TEST_F(DeletionTest, APodWithAFinalizerStaysUntilBothAreThrough) {
  bind_pod();
  ASSERT_TRUE(merge(pod_key("p"), "metadata: {finalizers: [a.example/x]}"));
  ASSERT_TRUE(server_.remove(pod_key("p")));
  ASSERT_TRUE(server_.remove(pod_key("p"), {.grace_period_seconds = 0}));
  ASSERT_NE(pod(), nullptr);
  EXPECT_EQ(integer_at(*pod(), {"metadata", "deletionGracePeriodSeconds"}), 0);
  ASSERT_TRUE(merge(pod_key("p"), "metadata: {finalizers: null}"));
  EXPECT_EQ(pod(), nullptr);

  bind_pod();
  ASSERT_TRUE(merge(pod_key("p"), "metadata: {finalizers: [a.example/x]}"));
  ASSERT_TRUE(server_.remove(pod_key("p")));
  ASSERT_TRUE(merge(pod_key("p"), "metadata: {finalizers: null}"));
  EXPECT_NE(pod(), nullptr) << "the kubelet has not ended it yet";
}

TEST_F(DeletionTest, ANamespaceIsTerminatingUntilItIsEmpty) {
  const api::ObjectKey key{api::Kind::kNamespace, "", "ml"};
  const api::ObjectKey inside{api::Kind::kLocalQueue, "ml", "q"};
  make("{apiVersion: v1, kind: Namespace, metadata: {name: ml}}");
  make(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: ml}}");
  ASSERT_TRUE(server_.remove(key));
  EXPECT_EQ(string_at(*server_.get(key), {"status", "phase"}), "Terminating");
  EXPECT_TRUE(is_deleted(*server_.get(key)));
  ASSERT_TRUE(server_.remove(key));
  ASSERT_NE(server_.get(key), nullptr) << "it still holds a queue";
  EXPECT_EQ(refusal(merge(inside, "metadata: {labels: {a: b}}")), "");
  ASSERT_TRUE(server_.remove(inside));
  ASSERT_TRUE(server_.remove(key));
  EXPECT_EQ(server_.get(key), nullptr);
}

TEST_F(DeletionTest, TheNamespacesOfEveryClusterStay) {
  EXPECT_TRUE(
      contains(refusal(server_.remove({api::Kind::kNamespace, "", "default"})), "403 Forbidden"));
  EXPECT_TRUE(contains(refusal(server_.remove({api::Kind::kNamespace, "", "kube-system"})),
                       "403 Forbidden"));
}

TEST_F(DeletionTest, ANameCanBeUsedAgain) {
  const std::string first(uid_of(*make(kPod)));
  ASSERT_TRUE(server_.remove(pod_key("p")));
  EXPECT_NE(uid_of(*make(kPod)), first);
}

}  // namespace
}  // namespace phalanx::sim
