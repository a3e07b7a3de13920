#include "sim/garbage_collector.h"

#include "sim/cluster_testing.h"

namespace phalanx::sim {
namespace {

class GarbageCollectorTest : public ClusterTest {
 protected:
  static api::ObjectKey queue_key(const std::string& name) {
    return {api::Kind::kLocalQueue, "default", name};
  }
  // A LocalQueue, as an object without a life of its own, owned by these queues.
  void add_object(const std::string& name, const std::vector<std::string>& owners = {},
                  bool blocks = true, const std::string& more_owners = "") {
    std::string references = more_owners;
    for (const std::string& owner : owners) {
      references += "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, name: " + owner +
                    ", uid: " + std::string(uid_of(*get(queue_key(owner)))) +
                    ", blockOwnerDeletion: " + (blocks ? "true" : "false") + "}, ";
    }
    make("{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: " + name +
         ", ownerReferences: [" + references + "]}, spec: {clusterQueue: q}}");
  }
  [[nodiscard]] bool there(const std::string& name) const { return exists(queue_key(name)); }
};

TEST_F(GarbageCollectorTest, DependentsFollowTheirOwner) {
  add_object("a");
  add_object("b", {"a"});
  add_object("c", {"b"});
  add_object("free");
  settle();
  EXPECT_TRUE(there("c"));
  remove(queue_key("a"));
  EXPECT_TRUE(there("b"));
  settle();
  EXPECT_FALSE(there("b"));
  EXPECT_FALSE(there("c"));
  EXPECT_TRUE(there("free"));
}

TEST_F(GarbageCollectorTest, OneOwnerThatIsLeftIsEnough) {
  add_object("a");
  add_object("b");
  add_object("c", {"a", "b"});
  settle();
  remove(queue_key("a"));
  settle();
  ASSERT_TRUE(there("c"));
  ASSERT_EQ(owners_of(*get(queue_key("c"))).size(), 1U);
  EXPECT_EQ(owners_of(*get(queue_key("c")))[0].name, "b");
  remove(queue_key("b"));
  settle();
  EXPECT_FALSE(there("c"));
}

TEST_F(GarbageCollectorTest, AnOwnerIsItsUidNotItsName) {
  add_object("a");
  add_object("b", {"a"});
  settle();
  remove(queue_key("a"));
  add_object("a");
  settle();
  EXPECT_TRUE(there("a"));
  EXPECT_FALSE(there("b"));
}

TEST_F(GarbageCollectorTest, OwnersOfUnknownKindsCountAsThere) {
  add_object("b", {}, true,
             "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: s, uid: u}, ");
  settle();
  EXPECT_TRUE(there("b"));
}

TEST_F(GarbageCollectorTest, ForegroundWaitsForThoseThatBlock) {
  add_node("n1");
  add_object("owner");
  const std::string reference =
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, name: owner, uid: " +
      std::string(uid_of(*get(queue_key("owner"))));
  make("{apiVersion: v1, kind: Pod, metadata: {name: slow, ownerReferences: [" + reference +
       ", blockOwnerDeletion: true}]}, spec: {nodeName: n1, containers: [{name: m, image: i}]}}");
  run_for_seconds(2);
  remove(queue_key("owner"), Propagation::kForeground);
  settle();
  EXPECT_TRUE(is_deleted(*get(pod_key("slow"))));
  EXPECT_TRUE(there("owner"));
  run_for_seconds(1);
  EXPECT_FALSE(exists(pod_key("slow")));
  EXPECT_FALSE(there("owner"));
}

TEST_F(GarbageCollectorTest, ForegroundDoesNotWaitForOthers) {
  add_object("owner");
  add_object("dependent", {"owner"}, false);
  merge(queue_key("dependent"), "{metadata: {finalizers: [example.com/keep]}}");
  settle();
  remove(queue_key("owner"), Propagation::kForeground);
  settle();
  EXPECT_FALSE(there("owner"));
  EXPECT_TRUE(is_deleted(*get(queue_key("dependent"))));
}

TEST_F(GarbageCollectorTest, ForegroundReachesThoseWhoDependOnDependents) {
  add_object("a");
  add_object("b", {"a"});
  add_object("c", {"b"});
  merge(queue_key("c"), "{metadata: {finalizers: [example.com/keep]}}");
  settle();
  remove(queue_key("a"), Propagation::kForeground);
  settle();
  EXPECT_TRUE(there("a"));
  EXPECT_TRUE(there("b"));
  EXPECT_TRUE(is_deleted(*get(queue_key("c"))));
  restart();
  merge(queue_key("c"), "{metadata: {finalizers: null}}");
  settle();
  EXPECT_FALSE(there("c"));
  EXPECT_FALSE(there("b"));
  EXPECT_FALSE(there("a"));
}

TEST_F(GarbageCollectorTest, OrphansLoseTheirReference) {
  add_object("a");
  add_object("b", {"a"});
  settle();
  remove(queue_key("a"), Propagation::kOrphan);
  settle();
  EXPECT_FALSE(there("a"));
  ASSERT_TRUE(there("b"));
  EXPECT_TRUE(owners_of(*get(queue_key("b"))).empty());
}

TEST_F(GarbageCollectorTest, ANamespaceGoesWithEverythingInIt) {
  add_node("n1");
  make("{apiVersion: v1, kind: Namespace, metadata: {name: team}}");
  make(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: team},"
      " spec: {clusterQueue: q}}");
  make(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team}, spec: {nodeName: n1, "
      "containers: [{name: m, image: i}]}}");
  add_object("elsewhere");
  run_for_seconds(2);
  remove({api::Kind::kNamespace, "", "team"});
  settle();
  EXPECT_FALSE(exists({api::Kind::kLocalQueue, "team", "q"}));
  EXPECT_TRUE(exists({api::Kind::kPod, "team", "p"})) << "has its grace period";
  EXPECT_TRUE(exists({api::Kind::kNamespace, "", "team"}));
  restart();
  run_for_seconds(1);
  EXPECT_FALSE(exists({api::Kind::kPod, "team", "p"}));
  EXPECT_FALSE(exists({api::Kind::kNamespace, "", "team"}));
  EXPECT_TRUE(there("elsewhere"));
}

TEST_F(GarbageCollectorTest, ANamespaceGoesWithItsJobsWhileTheyRun) {
  add_node("n1");
  make("{apiVersion: v1, kind: Namespace, metadata: {name: team}}");
  make(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team}
spec:
  completions: 6
  parallelism: 3
  template:
    metadata: {annotations: {phalanx.dev/run-for: 10s}}
    spec: {restartPolicy: Never, containers: [{name: m, image: i}]}
)");
  run_for_seconds(12);
  ASSERT_EQ(pods().size(), 6U);
  remove({api::Kind::kNamespace, "", "team"});
  run_for_seconds(2);
  EXPECT_TRUE(pods().empty());
  EXPECT_FALSE(exists({api::Kind::kNamespace, "", "team"}));
  EXPECT_TRUE(simulation_.quiet());
}

TEST_F(GarbageCollectorTest, PodsOfANodeThatIsGoneAreRemovedAfterAWhile) {
  add_node("n1");
  add_pod("running", "nodeName: n1");
  make(
      "{apiVersion: v1, kind: Pod, metadata: {name: held, finalizers: [example.com/keep]}, spec: "
      "{nodeName: n1, containers: [{name: m, image: i}]}}");
  run_for_seconds(2);
  remove(node_key("n1"));
  run_for_seconds(39);
  EXPECT_EQ(phase("running"), "Running");
  run_for_seconds(1);
  EXPECT_FALSE(exists(pod_key("running")));
  EXPECT_EQ(phase("held"), "Failed");
  EXPECT_EQ(condition(pod_key("held"), "DisruptionTarget", "reason"), "DeletionByPodGC");
}

TEST_F(GarbageCollectorTest, ANodeThatIsMadeAnewKeepsItsPods) {
  add_node("n1");
  add_pod("p", "nodeName: n1");
  run_for_seconds(2);
  remove(node_key("n1"));
  run_for_seconds(20);
  add_node("n1");
  run_for_seconds(100);
  EXPECT_EQ(phase("p"), "Running");
}

TEST_F(GarbageCollectorTest, OutOfServiceEndsWhatWaitsForALostNode) {
  add_node("n1");
  add_pod("deleted", "nodeName: n1");
  add_pod("other", "nodeName: n1");
  run_for_seconds(2);
  merge(node_key("n1"), "{metadata: {annotations: {phalanx.dev/kubelet: not-ready}}}");
  remove(pod_key("deleted"));
  run_for_seconds(10);
  EXPECT_TRUE(exists(pod_key("deleted")));
  json::value node = *get(node_key("n1"));
  node.get_object()["spec"].get_object()["taints"].get_array().push_back(
      from_yaml("{key: node.kubernetes.io/out-of-service, effect: NoSchedule}"));
  ASSERT_TRUE(server_.update(node));
  settle();
  EXPECT_FALSE(exists(pod_key("deleted")));
  EXPECT_TRUE(exists(pod_key("other")));
}

TEST_F(GarbageCollectorTest, EndedPodsAreKept) {
  add_node("n1");
  add_pod("p", "nodeName: n1", "phalanx.dev/run-for: 1s");
  run_for_seconds(100'000);
  EXPECT_EQ(phase("p"), "Succeeded");
}

}  // namespace
}  // namespace phalanx::sim
