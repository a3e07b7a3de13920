#include "sim/kubelet.h"

#include "sim/cluster_testing.h"

namespace phalanx::sim {
namespace {

using std::chrono::milliseconds;

class KubeletTest : public ClusterTest {
 protected:
  // The field of the first container's status, as JSON.
  [[nodiscard]] std::string container(const std::string& pod, FieldPath path) const {
    const Stored found = get(pod_key(pod));
    const auto statuses = list_field(*found, {"status", "containerStatuses"});
    if (statuses.empty()) return "";
    const json::value* value = find_at(statuses.front(), path);
    return value == nullptr ? "" : json::serialize(*value);
  }
};

TEST_F(KubeletTest, StartsAPodAfterTheDelay) {
  add_node("n1");
  add_pod("p", "nodeName: n1");
  settle();
  EXPECT_EQ(phase("p"), "Pending");
  EXPECT_EQ(string_at(*get(pod_key("p")), {"status", "startTime"}), "2026-01-31T08:00:00Z");
  EXPECT_EQ(condition(pod_key("p"), "Ready"), "False");
  run_for(milliseconds(999));
  EXPECT_EQ(phase("p"), "Pending");
  run_for(milliseconds(1));
  EXPECT_EQ(phase("p"), "Running");
  for (const std::string_view type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"}) {
    EXPECT_EQ(condition(pod_key("p"), type), "True") << type;
  }
  EXPECT_TRUE(string_at(*get(pod_key("p")), {"status", "podIP"}).starts_with("10."));
  EXPECT_EQ(container("p", {"state", "running", "startedAt"}), "\"2026-01-31T08:00:01Z\"");
  EXPECT_EQ(container("p", {"ready"}), "true");
  EXPECT_TRUE(simulation_.quiet()) << "without run-for it runs until it is told to end";
}

TEST_F(KubeletTest, DelaysAreExactWithinASecond) {
  ASSERT_TRUE(simulation_.run_for(milliseconds(700)));
  add_node("n1");
  add_pod("p", "nodeName: n1", "phalanx.dev/run-for: 250ms");
  settle();
  run_for(milliseconds(999));
  EXPECT_EQ(phase("p"), "Pending");
  run_for(milliseconds(1));
  EXPECT_EQ(phase("p"), "Running");
  run_for(milliseconds(249));
  EXPECT_EQ(phase("p"), "Running");
  // Something about the pod changes, which is no reason to count anew.
  merge(pod_key("p"), "{metadata: {labels: {x: y}}}");
  run_for(milliseconds(1));
  EXPECT_EQ(phase("p"), "Succeeded");
}

TEST_F(KubeletTest, EndsAPodAsItsAnnotationsSay) {
  add_node("n1");
  add_pod("good", "nodeName: n1", "phalanx.dev/run-for: 90s");
  add_pod("bad", "nodeName: n1", "phalanx.dev/run-for: 90s, phalanx.dev/exit-code: \"3\"");
  run_for_seconds(90);
  EXPECT_EQ(phase("good"), "Running");
  run_for_seconds(1);
  EXPECT_EQ(phase("good"), "Succeeded");
  EXPECT_EQ(container("good", {"state", "terminated", "exitCode"}), "0");
  EXPECT_EQ(condition(pod_key("good"), "Ready", "reason"), "PodCompleted");
  EXPECT_EQ(phase("bad"), "Failed");
  EXPECT_EQ(container("bad", {"state", "terminated", "exitCode"}), "3");
  EXPECT_EQ(container("bad", {"state", "terminated", "reason"}), "\"Error\"");
  EXPECT_EQ(container("bad", {"state", "terminated", "startedAt"}), "\"2026-01-31T08:00:01Z\"");
}

TEST_F(KubeletTest, RestartPolicyOnFailureStartsFailedContainersAgain) {
  add_node("n1");
  make(R"(
apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations: {phalanx.dev/run-for: 5s, phalanx.dev/exit-code: "1"}
spec: {nodeName: n1, restartPolicy: OnFailure, containers: [{name: main, image: i}]}
)");
  run_for_seconds(6);
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_EQ(condition(pod_key("p"), "Ready"), "False");
  EXPECT_EQ(container("p", {"state", "waiting", "reason"}), "\"CrashLoopBackOff\"");
  run_for_seconds(10);
  EXPECT_EQ(container("p", {"restartCount"}), "1");
  EXPECT_EQ(condition(pod_key("p"), "Ready"), "True");
  run_for_seconds(5 + 19);
  EXPECT_EQ(container("p", {"restartCount"}), "1") << "the second time it waits for 20 s";
  restart();
  run_for_seconds(1);
  EXPECT_EQ(container("p", {"restartCount"}), "2");
}

TEST_F(KubeletTest, ADeletedPodTakesItsTimeToEnd) {
  add_node("n1");
  add_pod("usual", "nodeName: n1");
  add_pod("slow", "nodeName: n1, terminationGracePeriodSeconds: 8",
          "phalanx.dev/terminates-after: 20s");
  run_for_seconds(5);
  remove(pod_key("usual"));
  remove(pod_key("slow"));
  settle();
  EXPECT_EQ(phase("usual"), "Running");
  run_for_seconds(1);
  EXPECT_FALSE(exists(pod_key("usual")));
  run_for_seconds(6);
  EXPECT_TRUE(exists(pod_key("slow")));
  run_for_seconds(1);
  EXPECT_FALSE(exists(pod_key("slow"))) << "not longer than its grace period";
}

TEST_F(KubeletTest, AnEndedPodWithAFinalizerKeepsItsPhase) {
  add_node("n1");
  make(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, finalizers: [example.com/keep]}
spec: {nodeName: n1, restartPolicy: Never, containers: [{name: main, image: i}]}
)");
  run_for_seconds(2);
  remove(pod_key("p"));
  run_for_seconds(5);
  EXPECT_EQ(phase("p"), "Failed");
  EXPECT_EQ(container("p", {"state", "terminated", "exitCode"}), "143");
  merge(pod_key("p"), "{metadata: {finalizers: []}}");
  settle();
  EXPECT_FALSE(exists(pod_key("p")));
}

TEST_F(KubeletTest, RefusesWhatDoesNotFit) {
  add_node("n1", "cpu: 4, memory: 8Gi, nvidia.com/gpu: 2");
  add_pod("first", "nodeName: n1", "", "cpu: 3, nvidia.com/gpu: 1");
  settle();
  add_pod("cpu", "nodeName: n1", "", "cpu: 1500m");
  add_pod("gpu", "nodeName: n1", "", "nvidia.com/gpu: 2");
  add_pod("unknown", "nodeName: n1", "", "example.com/fpga: 1");
  add_pod("fits", "nodeName: n1", "", "cpu: 1, nvidia.com/gpu: 1");
  settle();
  EXPECT_EQ(phase("cpu"), "Failed");
  EXPECT_EQ(string_at(*get(pod_key("cpu")), {"status", "reason"}), "OutOfcpu");
  EXPECT_EQ(string_at(*get(pod_key("cpu")), {"status", "message"}),
            "node n1 cannot hold this pod: it asks for 1500m of cpu, 3 of 4 are taken; bind it to "
            "a node with room");
  EXPECT_EQ(string_at(*get(pod_key("gpu")), {"status", "reason"}), "OutOfnvidia.com/gpu");
  EXPECT_EQ(string_at(*get(pod_key("unknown")), {"status", "reason"}), "OutOfexample.com/fpga");
  run_for_seconds(2);
  EXPECT_EQ(phase("first"), "Running");
  EXPECT_EQ(phase("fits"), "Running");
}

TEST_F(KubeletTest, SaysWhatIsWrongWithAnAnnotation) {
  add_node("n1");
  add_pod("a", "nodeName: n1", "phalanx.dev/run-for: '90'");
  add_pod("b", "nodeName: n1", "phalanx.dev/exit-code: '256'");
  add_pod("c", "nodeName: n1", "phalanx.dev/terminates-after: soon");
  settle();
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_EQ(string_at(*get(pod_key(name)), {"status", "reason"}), "InvalidAnnotation") << name;
  }
  EXPECT_EQ(string_at(*get(pod_key("a")), {"status", "message"}),
            "metadata.annotations[phalanx.dev/run-for]: \"90\" is no duration; write it like 90s, "
            "10m or 1h30m");
  EXPECT_EQ(string_at(*get(pod_key("b")), {"status", "message"}),
            "metadata.annotations[phalanx.dev/exit-code]: \"256\" is no exit code; write 0 to 255");
}

TEST_F(KubeletTest, PodsOfOneMomentCountAgainstEachOther) {
  add_node("n1", "cpu: 2");
  for (const std::string name : {"a", "b", "c"}) add_pod(name, "nodeName: n1", "", "cpu: 1");
  settle();
  EXPECT_EQ(phase("a"), "Pending");
  EXPECT_EQ(phase("b"), "Pending");
  EXPECT_EQ(phase("c"), "Failed");
}

TEST_F(KubeletTest, EndedPodsMakeRoomAlsoAfterARestart) {
  add_node("n1", "cpu: 2");
  add_pod("a", "nodeName: n1", "phalanx.dev/run-for: 10s", "cpu: 1");
  add_pod("b", "nodeName: n1", "phalanx.dev/run-for: 20s", "cpu: 1");
  run_for_seconds(11);
  ASSERT_EQ(phase("a"), "Succeeded");
  restart();
  add_pod("c", "nodeName: n1", "", "cpu: 1");
  settle();
  add_pod("d", "nodeName: n1", "", "cpu: 1");
  run_for_seconds(1);
  EXPECT_EQ(phase("c"), "Running");
  EXPECT_EQ(phase("d"), "Failed");
}

TEST_F(KubeletTest, TheNumberOfPodsIsAResourceToo) {
  add_node("n1", "cpu: 2, pods: 1");
  add_pod("a", "nodeName: n1");
  add_pod("b", "nodeName: n1");
  settle();
  EXPECT_EQ(string_at(*get(pod_key("b")), {"status", "reason"}), "OutOfpods");
}

TEST_F(KubeletTest, PodsOfALostNodeStayAsTheyAre) {
  add_node("n1");
  add_pod("running", "nodeName: n1", "phalanx.dev/run-for: 20s");
  add_pod("deleted", "nodeName: n1");
  run_for_seconds(5);
  merge(node_key("n1"), "{metadata: {annotations: {phalanx.dev/kubelet: down}}}");
  settle();
  add_pod("new", "nodeName: n1");
  remove(pod_key("deleted"));
  run_for_seconds(100);
  EXPECT_EQ(phase("running"), "Running");
  EXPECT_EQ(phase("deleted"), "Running");
  EXPECT_EQ(phase("new"), "Pending");
  merge(node_key("n1"), "{metadata: {annotations: {phalanx.dev/kubelet: null}}}");
  settle();
  EXPECT_EQ(phase("running"), "Succeeded") << "its containers did not stop";
  EXPECT_FALSE(exists(pod_key("deleted")));
  run_for_seconds(1);
  EXPECT_EQ(phase("new"), "Running");
}

TEST_F(KubeletTest, GoesOnAfterARestart) {
  add_node("n1");
  add_pod("p", "nodeName: n1", "phalanx.dev/run-for: 10s");
  settle();
  restart();
  run_for_seconds(1);
  EXPECT_EQ(phase("p"), "Running");
  run_for_seconds(4);
  restart();
  run_for_seconds(5);
  EXPECT_EQ(phase("p"), "Running");
  run_for_seconds(1);
  EXPECT_EQ(phase("p"), "Succeeded");
}

class DefaultRunTest : public ClusterTest {
 protected:
  DefaultRunTest()
      : ClusterTest(
            {.kubelet = {.start_delay = Duration::zero(), .run_for = std::chrono::seconds(30)}}) {}
};

TEST_F(DefaultRunTest, OptionsAreTheDefaultsOfPodsThatSayNothing) {
  add_node("n1");
  add_pod("p", "nodeName: n1");
  add_pod("q", "nodeName: n1", "phalanx.dev/run-for: 40s");
  settle();
  EXPECT_EQ(phase("p"), "Running");
  run_for_seconds(30);
  EXPECT_EQ(phase("p"), "Succeeded");
  EXPECT_EQ(phase("q"), "Running");
}

}  // namespace
}  // namespace phalanx::sim
