// The benchmark's cluster and requests (docs/reference/bench.md): the same formula and the same
// shapes as the reference's published figures, so that answers can be compared by their hashes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "placement/pod_set.h"
#include "topology/cluster.h"

namespace phalanx::cli {

inline constexpr const char* kBenchBlock = "cloud.provider.com/topology-block";
inline constexpr const char* kBenchRack = "cloud.provider.com/topology-rack";

struct BenchShape {
  std::string name;
  placement::Workload workload;
  placement::Options options;
  bool empty_cluster = false;
  // Not of the reference: asked for when named, or with the others.
  bool extra = false;
};
std::vector<BenchShape> bench_shapes();

// Pods of the load on node i.
int bench_load(uint64_t node);
uint64_t splitmix64(uint64_t value);

// Fills a cluster with `nodes` nodes; `loaded` puts the admitted workload on it.
TreeId build_bench_cluster(topology::Cluster& cluster, uint32_t nodes, bool loaded,
                           const std::function<void(uint32_t)>& progress);

// The SHA-256 of the results as compact JSON: what answers are compared by.
std::string answer_hash(const std::vector<placement::PodSetResult>& results);

}  // namespace phalanx::cli
