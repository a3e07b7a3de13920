// A cluster without a free GPU, as a core knows it: the nodes of docs/reference/bench.md, each full
// of one-GPU pods of running workloads of several priorities and ages. For measuring preemption.
//
// There are no Pods and no Jobs: what is decided rests on nodes and on Workloads that say where
// their pods are.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/core.h"

namespace phalanx::cli {

// Which workload a pod belongs to, by its place in the cluster.
enum class FullLayout : uint8_t {
  kPacked,     // the pods of a workload fill node after node
  kScattered,  // each on another node, far apart
};

// A gang of whole nodes that must sit in one domain.
struct FullClusterGang {
  std::string_view name;
  int32_t pods = 0;  // of 8 GPUs each
  const char* level = nullptr;
};

struct FullCluster {
  uint32_t nodes = 0;
  FullLayout layout = FullLayout::kPacked;

  [[nodiscard]] uint32_t pods() const { return nodes * 8; }
  [[nodiscard]] uint32_t workloads() const { return std::min(10'000U, pods()); }
};

constexpr std::string_view kFullClusterQueue = "bench";

// Tells a new core everything there is. `progress` hears of workloads and nodes together.
void fill_core(core::Core& core, const FullCluster& cluster, const core::Adapters& adapters,
               const std::function<void(uint32_t done, uint32_t of)>& progress);

// The gang's Workload, new and of higher priority than all that run.
core::Object gang_workload(const FullClusterGang& gang, const core::Adapters& adapters);

// When the core is asked.
Time full_cluster_now();

}  // namespace phalanx::cli
