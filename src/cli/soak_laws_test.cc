// The checks of a soak notice a broken world: each law is broken by hand, on made-up objects, and
// named.
#include "cli/soak_laws.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/yaml.h"
#include "sim/object_fields.h"
#include "sim/simulation.h"

namespace phalanx::cli {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kBlock = "cloud.provider.com/topology-block";
constexpr std::string_view kRack = "cloud.provider.com/topology-rack";

class SoakLawsTest : public testing::Test {
 protected:
  // Creates the object with its status, or replaces it.
  void put(const std::string& yaml) {
    json::value document = parse_documents(yaml).value().front().value;
    const api::ObjectKey key = sim::key_of(document).value();
    const json::value status = document.at("status");
    if (server().get(key) == nullptr) {
      json::value fresh = document;
      fresh.as_object().erase("status");
      const auto created = server().create(std::move(fresh));
      ASSERT_TRUE(created) << created.error().message;
    }
    json::value full = *server().get(key);
    full.as_object()["status"] = status;
    const auto updated = server().update(std::move(full), {.status = true});
    ASSERT_TRUE(updated) << updated.error().message;
  }

  void put_node(const std::string& name, const std::string& rack, int cpu = 8) {
    put(
        fmt::format("{{apiVersion: v1, kind: Node, metadata: {{name: {0}, labels: {{{1}: b, {2}: "
                    "{3}, kubernetes.io/hostname: {0}}}}}, status: {{allocatable: {{cpu: {4}, "
                    "pods: 100}}, conditions: [{{type: Ready, status: 'True'}}]}}}}",
                    name, kBlock, kRack, rack, cpu));
  }

  struct TestPod {
    std::string name;
    std::string node;
    int rank = 0;
    std::string phase = "Running";
    int cpu = 2;
  };
  void put_pod(const TestPod& pod) {
    put(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {0}, namespace: default, labels: "
        "{{batch.kubernetes.io/job-name: train, batch.kubernetes.io/job-completion-index: "
        "'{2}'}}}}, spec: {{nodeName: {1}, containers: [{{name: c, image: i, resources: "
        "{{requests: {{cpu: {4}}}}}}}]}}, status: {{phase: {3}}}}}",
        pod.name, pod.node, pod.rank, pod.phase, pod.cpu));
  }

  void put_job(const std::string& annotations, int pods = 2) {
    put(fmt::format(
        "{{apiVersion: batch/v1, kind: Job, metadata: {{name: train, namespace: default}}, spec: "
        "{{parallelism: {0}, completions: {0}, completionMode: Indexed, template: {{metadata: "
        "{{annotations: {{{1}}}}}, spec: {{restartPolicy: Never, containers: [{{name: c, image: "
        "i}}]}}}}}}, status: {{}}}}",
        pods, annotations));
  }

  // `conditions` are those that are true, since now; `more` is of its status.
  void put_workload(const std::vector<std::string>& conditions, const std::string& more = "") {
    std::string list;
    for (const std::string& type : conditions) {
      list += fmt::format(
          "{{type: {}, status: 'True', reason: R, message: m, lastTransitionTime: '{}'}}, ", type,
          format_time(simulation_.now()));
    }
    put(fmt::format(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {{name: w, namespace: "
        "default, ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: train, uid: u, "
        "controller: true}}]}}, spec: {{queueName: main, podSets: [{{name: main, count: 2}}]}}, "
        "status: {{conditions: [{0}], {1}}}}}",
        list, more));
  }

  void pass(Duration duration) { simulation_.clock().advance_to(simulation_.now() + duration); }

  std::string look() { return laws_.check(view_.follow()).value_or(""); }
  sim::ApiServer& server() { return simulation_.server(); }

  sim::Simulation simulation_{Time(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)), 1};
  SoakView view_{simulation_.server()};
  SoakLaws laws_{view_, {}};
};

TEST_F(SoakLawsTest, ANodeIsOverCommitted) {
  put_node("n1", "r1", 5);
  put_pod({.name = "a", .node = "n1"});
  put_pod({.name = "b", .node = "n1", .rank = 1});
  EXPECT_EQ(look(), "");
  put_pod({.name = "c", .node = "n1", .rank = 2});
  EXPECT_EQ(look(),
            "Node n1 is over-committed: its pods take 6000 cpu, it has 5000: default/a default/b "
            "default/c");
}

TEST_F(SoakLawsTest, PodsThatHaveEndedTakeNothing) {
  put_node("n1", "r1", 5);
  for (const char* name : {"a", "b", "c"}) put_pod({.name = name, .node = "n1"});
  EXPECT_NE(look(), "");
  put_pod({.name = "c", .node = "n1", .phase = "Succeeded"});
  EXPECT_EQ(look(), "");
}

TEST_F(SoakLawsTest, ANodeHasLessThanBefore) {
  put_node("n1", "r1", 8);
  put_pod({.name = "a", .node = "n1", .cpu = 6});
  EXPECT_EQ(look(), "");
  put_node("n1", "r1", 4);
  EXPECT_TRUE(look().contains("over-committed"));
}

TEST_F(SoakLawsTest, AGangIsNotInOneRack) {
  put_node("n1", "r1");
  put_node("n2", "r2");
  put_job(fmt::format("kueue.x-k8s.io/podset-required-topology: {}", kRack));
  put_pod({.name = "a", .node = "n1"});
  EXPECT_EQ(look(), "");
  put_pod({.name = "b", .node = "n2", .rank = 1});
  EXPECT_EQ(look(), "Job default/train must be in one rack, but a is in r1 and b in r2");
}

TEST_F(SoakLawsTest, PodsOnTheirWayOutMayBeElsewhere) {
  put_node("n1", "r1");
  put_node("n2", "r2");
  put_job(fmt::format("kueue.x-k8s.io/podset-required-topology: {}", kRack));
  put_pod({.name = "a", .node = "n1"});
  ASSERT_TRUE(server().remove({api::Kind::kPod, "default", "a"}));
  put_pod({.name = "b", .node = "n2"});
  EXPECT_EQ(look(), "");
}

TEST_F(SoakLawsTest, APreferredRackIsNoLaw) {
  put_node("n1", "r1");
  put_node("n2", "r2");
  put_job(fmt::format("kueue.x-k8s.io/podset-preferred-topology: {}", kRack));
  put_pod({.name = "a", .node = "n1"});
  put_pod({.name = "b", .node = "n2", .rank = 1});
  EXPECT_EQ(look(), "");
}

TEST_F(SoakLawsTest, ASliceIsTornApart) {
  put_node("n1", "r1");
  put_node("n2", "r2");
  put_job(fmt::format("kueue.x-k8s.io/podset-required-topology: {}, "
                      "kueue.x-k8s.io/podset-slice-required-topology: {}, "
                      "kueue.x-k8s.io/podset-slice-size: '2'",
                      kBlock, kRack),
          4);
  put_pod({.name = "a", .node = "n1", .rank = 0});
  put_pod({.name = "b", .node = "n1", .rank = 1});
  put_pod({.name = "c", .node = "n2", .rank = 2});
  EXPECT_EQ(look(), "");
  put_pod({.name = "d", .node = "n1", .rank = 3});
  EXPECT_EQ(look(),
            "Job default/train: slice 1 must be in one rack, but rank 2 is in r2 and rank 3 in r1");
}

TEST_F(SoakLawsTest, AGangNeverStarts) {
  put_node("n1", "r1");
  put_job("");
  put_workload({"QuotaReserved", "Admitted"});
  put_pod({.name = "a", .node = "n1"});
  EXPECT_EQ(look(), "");
  pass(minutes(6));
  EXPECT_EQ(look(), "");
  pass(seconds(1));
  EXPECT_EQ(look(),
            "Job default/train is admitted, but 1 of 2 pods have been running since "
            "2026-01-01T00:00:00Z, longer than the 5m it has to start");
}

TEST_F(SoakLawsTest, AGangDoesNotRecover) {
  put_node("n1", "r1");
  put_job("");
  put_workload({"QuotaReserved", "Admitted"});
  put_pod({.name = "a", .node = "n1"});
  put_pod({.name = "b", .node = "n1", .rank = 1});
  EXPECT_EQ(look(), "");
  pass(minutes(60));
  put_pod({.name = "b", .node = "n1", .rank = 1, .phase = "Failed"});
  EXPECT_EQ(look(), "");
  pass(minutes(11));
  EXPECT_EQ(look(), "");
  pass(seconds(1));
  EXPECT_TRUE(look().ends_with("longer than the 10m it has to recover"));
}

TEST_F(SoakLawsTest, WhoIsEvictedMayBeIncomplete) {
  put_job("");
  put_workload({"QuotaReserved", "Admitted"});
  EXPECT_EQ(look(), "");
  pass(minutes(5));
  put_workload({"Evicted"});
  EXPECT_EQ(look(), "");
  pass(minutes(60));
  EXPECT_EQ(look(), "");
}

TEST_F(SoakLawsTest, AnEvictionDoesNotEnd) {
  put_workload({"QuotaReserved", "Admitted", "Evicted"});
  EXPECT_EQ(look(), "");
  pass(minutes(3) + seconds(1));
  EXPECT_EQ(look(),
            "Workload default/w was evicted at 2026-01-01T00:00:00Z and still holds its quota");
}

TEST_F(SoakLawsTest, ASecondPassIsForgotten) {
  put_workload({"QuotaReserved"},
               "admissionChecks: [{name: c, state: Ready, message: m, lastTransitionTime: "
               "'2026-01-01T00:00:00Z'}]");
  EXPECT_EQ(look(), "");
  pass(minutes(6) + seconds(1));
  EXPECT_EQ(look(),
            "Workload default/w passed its checks at 2026-01-01T00:00:00Z and has neither places "
            "nor left");
}

TEST_F(SoakLawsTest, ACheckIsNeverAnswered) {
  put_workload({"QuotaReserved"},
               "admissionChecks: [{name: c, state: Pending, message: m, lastTransitionTime: "
               "'2026-01-01T00:00:00Z'}]");
  EXPECT_EQ(look(), "");
  pass(minutes(122));
  EXPECT_EQ(look(),
            "Workload default/w has had its quota since 2026-01-01T00:00:00Z and is not admitted");
}

class SoakQuotaTest : public SoakLawsTest {
 protected:
  void put_queue(const std::string& name, int reserved, const std::string& limit = "") {
    put(fmt::format(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: {0}}}, spec: "
        "{{cohortName: all, resourceGroups: [{{coveredResources: [cpu], flavors: [{{name: tas, "
        "resources: [{{name: cpu, nominalQuota: 10{2}}}]}}]}}]}}, status: {{flavorsReservation: "
        "[{{name: tas, resources: [{{name: cpu, total: {1}}}]}}]}}}}",
        name, reserved, limit));
  }
};

TEST_F(SoakQuotaTest, ACohortHasReservedTooMuch) {
  put_queue("a", 15);
  put_queue("b", 5);
  EXPECT_EQ(look(), "");
  put_queue("b", 6);
  EXPECT_EQ(look(), "the queues of all have reserved 21000 cpu of flavor tas, but have 20000");
}

TEST_F(SoakQuotaTest, AQueueHasBorrowedTooMuch) {
  put_queue("a", 13, ", borrowingLimit: 3");
  put_queue("b", 0);
  EXPECT_EQ(look(), "");
  put_queue("a", 14, ", borrowingLimit: 3");
  EXPECT_EQ(look(), "ClusterQueue a has reserved 14000 cpu of flavor tas, but may have 13000");
}

}  // namespace
}  // namespace phalanx::cli
