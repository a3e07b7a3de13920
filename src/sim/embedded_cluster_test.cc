#include "sim/embedded_cluster.h"

#include <gtest/gtest.h>

#include "base/yaml.h"
#include "sim/document.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kSetup = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: default}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gpu}
spec: {nodeLabels: {pool: gpu}, topologyName: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: gpu, resources: [{name: cpu, nominalQuota: 100}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: ml}
spec: {clusterQueue: team}
)";

constexpr std::string_view kJob = R"(
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  parallelism: 4
  completions: 4
  completionMode: Indexed
  template:
    metadata:
      annotations: {kueue.x-k8s.io/podset-required-topology: rack, phalanx.dev/run-for: 60s}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]
)";

void apply(EmbeddedCluster& cluster, std::string_view text) {
  const auto documents = parse_documents(text);
  ASSERT_TRUE(documents) << documents.error().message;
  for (const Document& document : *documents) {
    const auto stored = cluster.apply(document.value);
    ASSERT_TRUE(stored) << stored.error().message;
  }
}

void add_nodes(EmbeddedCluster& cluster, int racks, int hosts) {
  for (int rack = 0; rack < racks; ++rack) {
    for (int host = 0; host < hosts; ++host) {
      const std::string name = "r" + std::to_string(rack) + "-h" + std::to_string(host);
      json::object labels{
          {"pool", "gpu"}, {"rack", "r" + std::to_string(rack)}, {"kubernetes.io/hostname", name}};
      json::object node{
          {"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", json::object{{"name", name}, {"labels", std::move(labels)}}},
          {"status", json::object{{"allocatable", json::object{{"cpu", "4"}, {"pods", "10"}}}}}};
      ASSERT_TRUE(cluster.apply(std::move(node)));
    }
  }
}

TEST(EmbeddedClusterTest, RunsAJobFromManifestToFinished) {
  EmbeddedCluster cluster;
  apply(cluster, kSetup);
  add_nodes(cluster, 2, 2);
  apply(cluster, kJob);
  ASSERT_TRUE(cluster.simulation().run_for(std::chrono::seconds(10)));
  const Listing pods = cluster.server().list(api::Kind::kPod);
  ASSERT_EQ(pods.items.size(), 4U);
  // By rank: 0 and 1 on the first host of the rack, 2 and 3 on the second.
  std::vector<std::string_view> nodes;
  for (const Stored& pod : pods.items) nodes.push_back(string_at(*pod, {"spec", "nodeName"}));
  EXPECT_EQ(nodes, (std::vector<std::string_view>{"r0-h0", "r0-h0", "r0-h1", "r0-h1"}));
  ASSERT_TRUE(cluster.simulation().run_for(std::chrono::seconds(100)));
  const Stored job = cluster.server().get({api::Kind::kJob, "ml", "train"});
  EXPECT_TRUE(condition_is_true(*job, "Complete"));
  const Listing workloads = cluster.server().list(api::Kind::kWorkload);
  ASSERT_EQ(workloads.items.size(), 1U);
  EXPECT_TRUE(condition_is_true(*workloads.items[0], "Finished"));
  const Stored queue = cluster.server().get({api::Kind::kClusterQueue, "", "team"});
  EXPECT_EQ(integer_at(*queue, {"status", "admittedWorkloads"}), 0);
}

std::string refusal(EmbeddedCluster& cluster, std::string_view text) {
  const auto stored = cluster.apply(parse_documents(text)->front().value);
  return stored ? "" : stored.error().message;
}

TEST(EmbeddedClusterTest, UnknownFieldsOfOlderVersionsAreRefused) {
  EmbeddedCluster cluster;
  constexpr std::string_view kOld = R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
)";
  EXPECT_EQ(refusal(cluster, std::string(kOld) + "spec: {cohrt: all}"),
            "ClusterQueue team: spec.cohrt: unknown field; did you mean `cohort`?");
  EXPECT_EQ(refusal(cluster, std::string(kOld) + "spec: {cohort: all}"), "");
  // Again, over what is stored in the newer version.
  EXPECT_EQ(refusal(cluster, std::string(kOld) + "spec: {cohort: some}"), "");
  const Stored queue = cluster.server().get({api::Kind::kClusterQueue, "", "team"});
  EXPECT_EQ(string_at(*queue, {"spec", "cohortName"}), "some");
}

}  // namespace
}  // namespace phalanx::sim
