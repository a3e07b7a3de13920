// Manifests of a small cluster, for the tests of everything that runs on the embedded one: a
// Topology of racks and hosts, the flavor tas, the ClusterQueue team with the LocalQueue ml/main,
// nodes and Jobs.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/yaml.h"
#include "sim/embedded_cluster.h"

namespace phalanx::sim {

inline constexpr std::string_view kTestRackLabel = "cloud.provider.com/topology-rack";

struct TestQueues {
  std::string resource = "cpu";
  int quota = 100;
  std::string flavor{};      // more of its spec, as "key: value, ..."
  std::string preemption{};  // of the ClusterQueue, likewise
};

inline std::string queues_manifest(const TestQueues& queues = {}) {
  return fmt::format(R"(apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {{name: default}}
spec: {{levels: [{{nodeLabel: {0}}}, {{nodeLabel: kubernetes.io/hostname}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: tas}}
spec: {{nodeLabels: {{cloud.provider.com/node-group: tas}}, topologyName: default, {1}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: team}}
spec:
  namespaceSelector: {{}}
  preemption: {{{4}}}
  resourceGroups:
  - coveredResources: [{2}]
    flavors: [{{name: tas, resources: [{{name: {2}, nominalQuota: {3}}}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: main, namespace: ml}}
spec: {{clusterQueue: team}}
)",
                     kTestRackLabel, queues.flavor, queues.resource, queues.quota,
                     queues.preemption);
}

// With 4 cpu.
inline std::string node_manifest(const std::string& name, const std::string& rack) {
  return fmt::format(R"(---
apiVersion: v1
kind: Node
metadata:
  name: {0}
  labels: {{cloud.provider.com/node-group: tas, {1}: {2}, kubernetes.io/hostname: {0}}}
status: {{allocatable: {{cpu: "4", pods: "10"}}}}
)",
                     name, kTestRackLabel, rack);
}

struct TestJob {
  std::string name;
  int pods = 1;
  int amount = 4;  // of the resource, of each pod
  std::string run_for = "10m";
  std::string annotations{};  // of the Job, as "key: value, ..."
  std::string topology = fmt::format("kueue.x-k8s.io/podset-required-topology: {}", kTestRackLabel);
  std::string labels = "kueue.x-k8s.io/queue-name: main";
  std::string resource = "nvidia.com/gpu";
  int completions = -1;  // as many as pods
  bool indexed = true;
};

inline std::string manifest(const TestJob& job) {
  return fmt::format(R"(---
apiVersion: batch/v1
kind: Job
metadata: {{name: {0}, namespace: ml, labels: {{{1}}}, annotations: {{{2}}}}}
spec:
  parallelism: {3}
  completions: {4}
  completionMode: {5}
  backoffLimit: 0
  template:
    metadata: {{annotations: {{phalanx.dev/run-for: {6}, {7}}}}}
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: i, resources: {{requests: {{{8}: {9}}}, limits: {{{8}: {9}}}}}}}]
)",
                     job.name, job.labels, job.annotations, job.pods,
                     job.completions < 0 ? job.pods : job.completions,
                     job.indexed ? "Indexed" : "NonIndexed", job.run_for, job.topology,
                     job.resource, job.amount);
}

// Applies every document of the text; the test fails if one is refused.
inline void apply_all(EmbeddedCluster& cluster, std::string_view text) {
  const auto documents = parse_documents(text);
  ASSERT_TRUE(documents) << documents.error().message;
  for (const Document& document : *documents) {
    const auto stored = cluster.apply(document.value);
    ASSERT_TRUE(stored) << stored.error().message;
  }
}

}  // namespace phalanx::sim
