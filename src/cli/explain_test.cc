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
