// `phalanx explain` as a user runs it.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/simulate_testing.h"

namespace phalanx::cli {
namespace {

class ExplainTest : public SimulateFixture {
 protected:
  [[nodiscard]] Ran explain(const std::string& manifests, const std::string& name,
                            std::vector<std::string> more = {}) const {
    more.insert(more.begin(), name);
    return run("explain", manifests, std::move(more));
  }
};

TEST_F(ExplainTest, ATopologysNoIsExplainedInFull) {
  const Ran ran = explain(manifest({"large", 3}), "ml/large");
  EXPECT_EQ(ran.code, kExplainedNo) << ran.err;
  expect_parts(ran.out,
               {"Job ml/large: waits", "main (ClusterQueue team), number 1 of 1",
                "3 pods of 4 nvidia.com/gpu", "required within cloud.provider.com/topology-rack",
                "Flavor tas: ", "nvidia.com/gpu: needs 12, used 0 of 16"});
}

TEST_F(ExplainTest, QuotaIsExplainedInNumbers) {
  const std::string anywhere = "kueue.x-k8s.io/podset-unconstrained-topology: 'true'";
  const std::string jobs = manifest({.name = "a", .pods = 3, .topology = anywhere}) +
                           manifest({.name = "b",
                                     .pods = 2,
                                     .annotations = "phalanx.dev/submit-at: 1m",
                                     .topology = anywhere});
  const Ran ran = explain(jobs, "b", {"--at", "5m"});
  EXPECT_EQ(ran.code, kExplainedNo) << ran.err;
  expect_parts(ran.out, {"After 5m: Job ml/b: waits", "needs 8, used 12 of 16; 4 short"});
  // Before its time it is not there, afterwards it has run.
  const Ran early = explain(jobs, "b", {"--at", "30s"});
  EXPECT_EQ(early.code, kBadInput);
  expect_parts(early.err, {"ml/b: is submitted at 1m"});
  const Ran late = explain(jobs, "b");
  EXPECT_EQ(late.code, kDone);
  expect_parts(late.out, {"Job ml/b: finished"});
}

std::string job_of(const std::string& queue, const std::string& name, const std::string& at) {
  return manifest({.name = name,
                   .pods = 2,
                   .annotations = "phalanx.dev/submit-at: " + at,
                   .topology = "kueue.x-k8s.io/podset-unconstrained-topology: 'true'",
                   .labels = "kueue.x-k8s.io/queue-name: " + queue});
}

TEST_F(ExplainTest, InACohortItSaysWhoHasBorrowed) {
  const std::string jobs = job_of("yours", "a", "0s") + job_of("yours", "b", "1s") +
                           job_of("mine", "c", "1m") + job_of("yours", "d", "2m");
  const Ran lent = explain(two_queues() + jobs, "c", {"--at", "5m"});
  EXPECT_EQ(lent.code, kExplainedNo) << lent.err;
  expect_parts(lent.out, {"8 more needed", "needs 8, used 0 of 8; 8 short; borrowed by yours 8",
                          "nobody goes for it: spec.preemption of ClusterQueue mine is Never"});
  const Ran borrower = explain(two_queues() + jobs, "d", {"--at", "5m"});
  expect_parts(borrower.out, {"needs 8, used 16 of 8, 0 more to borrow in cohort all; 8 short"});
  // It may be taken back, by lower priority only.
  const Ran equal =
      explain(two_queues("reclaimWithinCohort: LowerPriority") + jobs, "c", {"--at", "5m"});
  expect_parts(equal.out, {"nobody goes for it: no workloads that it may preempt"});
  const Ran json = explain(two_queues() + jobs, "c", {"--at", "5m", "-o", "json"});
  const auto document = parse_json(json.out);
  ASSERT_TRUE(document) << json.out;
  const json::value& quota = document->at("flavors").at(0).at("quota").at(0);
  EXPECT_EQ(quota.at("available").as_string(), "0");
  EXPECT_EQ(quota.at("cohort").as_string(), "all");
  EXPECT_EQ(quota.at("borrowedBy").at("yours").as_string(), "8");
}

TEST_F(ExplainTest, WhoHadToGoIsToldForWhom) {
  const std::string manifests = two_queues("reclaimWithinCohort: Any") +
                                job_of("yours", "a", "0s") + job_of("yours", "b", "10s") +
                                job_of("mine", "c", "1m");
  const Ran going = explain(manifests, "b", {"--at", "60s"});
  EXPECT_EQ(going.code, kExplainedNo) << going.err;
  expect_parts(going.out, {"it was evicted, and its pods are not gone yet", "(Preempted)",
                           "Makes room for workload ml/job-c-"});
  const Ran gone = explain(manifests, "b", {"--at", "5m"});
  expect_parts(gone.out, {"waits", "(Preempted)", "used 8 of 8, 0 more to borrow"});
}

// Its owner is told a UID only.
TEST_F(ExplainTest, WhoHadToGoForAnotherNamespaceIsToldForWhom) {
  std::string other = job_of("mine", "c", "1m");
  other.replace(other.find("namespace: ml"), 13, "namespace: web");
  const std::string manifests = two_queues("reclaimWithinCohort: Any") + R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: mine, namespace: web}
spec: {clusterQueue: mine}
)" + job_of("yours", "a", "0s") +
                                job_of("yours", "b", "10s") + other;
  const Ran going = explain(manifests, "b", {"--at", "60s"});
  expect_parts(going.out, {"(Preempted)", "Makes room for a workload of another namespace (UID: ",
                           "(that is workload web/job-c-"});
}

// 8 gpus are left for what would take 16.
TEST_F(ExplainTest, FewerPodsThanAskedForAreSaid) {
  const std::string jobs =
      manifest({.name = "few",
                .pods = 4,
                .annotations = "kueue.x-k8s.io/job-min-parallelism: '1', phalanx.dev/submit-at: 1m",
                .topology = "kueue.x-k8s.io/podset-unconstrained-topology: 'true'",
                .labels = "kueue.x-k8s.io/queue-name: mine"}) +
      job_of("yours", "a", "0s");
  const Ran ran = explain(two_queues() + jobs, "few", {"--at", "2m"});
  EXPECT_EQ(ran.code, kDone) << ran.err;
  expect_parts(ran.out, {"4 pods, at least 1, of", "main was admitted with 2 of 4 pods"});
}

TEST_F(ExplainTest, AnAdmittedOneSaysWhere) {
  const Ran ran = explain(manifest({"a", 2}), "a", {"--at", "1m"});
  EXPECT_EQ(ran.code, kDone) << ran.err;
  expect_parts(ran.out, {"Job ml/a: admitted", "rack r1: 2 hosts", "ClusterQueue team"});
}

TEST_F(ExplainTest, JsonIsOneDocument) {
  const Ran ran = explain(manifest({"large", 3}), "large", {"-o", "json"});
  EXPECT_EQ(ran.code, kExplainedNo);
  const auto document = parse_json(ran.out);
  ASSERT_TRUE(document) << ran.out;
  EXPECT_EQ(document->at("state").as_string(), "waits");
  EXPECT_EQ(document->at("position").to_number<int>(), 1);
  const json::value& flavor = document->at("flavors").at(0);
  EXPECT_EQ(flavor.at("flavor").as_string(), "tas");
  EXPECT_EQ(flavor.at("quota").at(0).at("needed").as_string(), "12");
  EXPECT_EQ(flavor.at("explanation").at("asked").at("pods").to_number<int>(), 3);
}

TEST_F(ExplainTest, SetAsideAndNotManagedAreSaid) {
  TestJob lost{"lost"};
  lost.labels = "kueue.x-k8s.io/queue-name: nowhere";
  Ran ran = explain(manifest(lost), "lost");
  EXPECT_EQ(ran.code, kExplainedNo);
  expect_parts(ran.out,
               {"Job ml/lost: set aside", "LocalQueue ml/nowhere doesn't exist; create it"});
  TestJob free{"free"};
  free.labels = "team: none";
  ran = explain(manifest(free), "free");
  EXPECT_EQ(ran.code, kDone);
  expect_parts(ran.out, {"Job ml/free: not managed", "kueue.x-k8s.io/queue-name"});
}

// Every way in which a queue can be out of order, with what to do about it.
TEST_F(ExplainTest, AQueueOutOfOrderIsExplainedWithItsRemedy) {
  const auto after = [&](std::string_view event) {
    const std::string timeline = fmt::format(
        "---\n{{apiVersion: phalanx.dev/v1, kind: Timeline, events: [{{at: 0s, {}}}]}}\n", event);
    const Ran ran = explain(timeline + manifest({"a"}), "a");
    EXPECT_EQ(ran.code, kExplainedNo) << ran.err;
    expect_parts(ran.out, {"Job ml/a: set aside"});
    return ran.out;
  };
  expect_parts(after("patch: ClusterQueue team, with: {spec: {stopPolicy: Hold}}"),
               {"ClusterQueue team is inactive: it is stopped; set its spec.stopPolicy to None"});
  expect_parts(after("patch: ClusterQueue team, with: {spec: {admissionChecksStrategy: "
                     "{admissionChecks: [{name: budget}]}}}"),
               {"AdmissionCheck budget doesn't exist here; take it out"});
  expect_parts(after("patch: LocalQueue ml/main, with: {spec: {stopPolicy: Hold}}"),
               {"LocalQueue ml/main is stopped; set its spec.stopPolicy to None"});
  expect_parts(after("patch: ClusterQueue team, with: {spec: {namespaceSelector: {matchLabels: "
                     "{team: x}}}}"),
               {"Namespace ml is not selected by ClusterQueue team; label the namespace"});
}

TEST_F(ExplainTest, FlavorsAndTopologiesThatAreNotThereAreNamed) {
  TestJob job{"a"};
  job.labels = "kueue.x-k8s.io/queue-name: other";
  const std::string other = R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: lost}
spec: {nodeLabels: {cloud.provider.com/node-group: tas}, topologyName: nowhere}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: other}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - {name: lost, resources: [{name: nvidia.com/gpu, nominalQuota: 16}]}
    - {name: missing, resources: [{name: nvidia.com/gpu, nominalQuota: 16}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: other, namespace: ml}
spec: {clusterQueue: other}
)";
  const Ran ran = explain(other + manifest(job), "a");
  EXPECT_EQ(ran.code, kExplainedNo) << ran.err;
  expect_parts(ran.out,
               {"Job ml/a: set aside",
                "ClusterQueue other is inactive: Topology nowhere of ResourceFlavor lost doesn't "
                "exist; create it, or name another in spec.topologyName of the flavor; and "
                "ResourceFlavor missing doesn't exist; create it, or take it out of "
                "spec.resourceGroups\n"});
}

TEST_F(ExplainTest, ALocalQueueMayNameAClusterQueueThatIsNot) {
  TestJob job{"a"};
  job.labels = "kueue.x-k8s.io/queue-name: other";
  const std::string other = R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: other, namespace: ml}
spec: {clusterQueue: teams}
)";
  expect_parts(explain(other + manifest(job), "a").out,
               {"LocalQueue ml/other names ClusterQueue teams, which doesn't exist; create it",
                "did you mean `team`?"});
}

TEST_F(ExplainTest, AResourceWithoutQuotaHasARemedy) {
  std::string job = manifest({"a"});
  const std::string gpus = "nvidia.com/gpu: 4}, limits";
  job.replace(job.find(gpus), gpus.size(), "nvidia.com/gpu: 4, memory: 1Gi}, limits");
  Ran ran = explain(job, "a");
  EXPECT_EQ(ran.code, kExplainedNo);
  expect_parts(ran.out, {"resource memory unavailable in ClusterQueue", "what would help:",
                         "- give a flavor of ClusterQueue team a quota for memory"});
  ran = explain(job, "a", {"-o", "json"});
  expect_parts(ran.out, {"\"remedy\": \"give a flavor"});
}

TEST_F(ExplainTest, WhoIsBehindInAStrictQueueHearsWhom) {
  const std::string strict = R"(---
apiVersion: phalanx.dev/v1
kind: Timeline
events:
- {at: 0s, patch: ClusterQueue team, with: {spec: {queueingStrategy: StrictFIFO}}}
)";
  const Ran ran =
      explain(strict + manifest({"large", 3}) +
                  manifest({.name = "small", .annotations = "phalanx.dev/submit-at: 1m"}),
              "small");
  EXPECT_EQ(ran.code, kExplainedNo) << ran.err;
  expect_parts(ran.out, {"it would fit, but ml/job-large-", "number 2 of 2"});
}

TEST_F(ExplainTest, AWorkloadIsFoundByItsOwnName) {
  const std::string workload = R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: bare, namespace: ml}
spec:
  queueName: main
  active: false
  podSets:
  - name: main
    count: 1
    template:
      spec:
        restartPolicy: Never
        containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: 1}}}]
)";
  const Ran ran = explain(workload, "ml/bare");
  EXPECT_EQ(ran.code, kExplainedNo) << ran.err;
  expect_parts(ran.out, {"Workload ml/bare: set aside", "deactivated"});
}

TEST_F(ExplainTest, UnknownNamesGetASuggestion) {
  const std::string job = manifest({"train"});
  Ran ran = explain(job, "ml/trian");
  EXPECT_EQ(ran.code, kBadInput);
  expect_parts(ran.err, {"ml/trian: there is no Job or Workload", "ml/train"});
  ran = explain(job, "trian", {"-o", "json"});
  EXPECT_EQ(ran.code, kBadInput);
  expect_parts(ran.err, {"`train`"});
  EXPECT_TRUE(parse_json(ran.out)) << ran.out;
  std::string twin = job;
  twin.replace(twin.find("namespace: ml"), 13, "namespace: xy");
  ran = explain(job + twin, "train");
  EXPECT_EQ(ran.code, kBadInput);
  expect_parts(ran.err, {"is in several namespaces; write ml/train"});
  ran = explain("apiVersion: v1\nkind: List\nitems: []\n", "a");
  expect_parts(ran.err, {"there is no Job and no Workload at all"});
}

TEST_F(ExplainTest, BadInputIsNamed) {
  EXPECT_EQ(run_phalanx({"explain", "x"}).code, kBadInput);
  EXPECT_EQ(explain(manifest({"a"}), "a", {"--at", "soon"}).code, kBadInput);
  EXPECT_EQ(explain(manifest({"a"}), "a", {"--at", "9999h"}).code, kBadInput);
  EXPECT_EQ(explain(manifest({"a", -1}), "a").code, kBadInput);
}

}  // namespace
}  // namespace phalanx::cli
