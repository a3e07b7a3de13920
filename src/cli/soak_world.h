// The cluster of `phalanx bench soak`: its nodes, queues and flavors, and how the core is set up.
//
// Nine tenths of the nodes are always there, in blocks of five racks of ten hosts, and belong to
// the flavor `tas`. The others are made by an autoscaler when somebody needs them: the flavor
// `scaled` has quota for them, and an admission check that asks for them. Three ClusterQueues share
// all of it in one cohort.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "core/configuration.h"

namespace phalanx::cli {

struct SoakPlan {
  uint32_t nodes = 500;
  int days = 30;
  uint64_t seed = 1;
  int load_percent = 85;  // of the GPUs of the fixed nodes: so much work comes

  [[nodiscard]] uint32_t fixed_nodes() const { return nodes - scaled_nodes(); }
  [[nodiscard]] uint32_t scaled_nodes() const { return nodes / 10; }
};

inline constexpr uint32_t kSoakHostsOfRack = 10;
inline constexpr uint32_t kSoakRacksOfBlock = 5;
inline constexpr int64_t kSoakGpusOfNode = 8;
inline constexpr int64_t kSoakCpusOfNode = 96;
inline constexpr std::string_view kSoakGpu = "nvidia.com/gpu";
inline constexpr std::string_view kSoakScaledGroup = "scaled";
// Nodes of the autoscaler carry this taint; the flavor tolerates it.
inline constexpr std::string_view kSoakScaledTaint = "soak.phalanx.dev/scaled";
// By this label pods find the nodes that were made for them, in the queue that asks for it.
inline constexpr std::string_view kSoakPoolLabel = "soak.phalanx.dev/pool";

struct SoakTeam {
  std::string_view name;  // of its ClusterQueue and of its namespace
  uint32_t percent;       // of all quota
};
inline constexpr SoakTeam kSoakTeams[] = {{"research", 50}, {"product", 30}, {"batch", 20}};
inline constexpr std::string_view kSoakLocalQueue = "main";

// Topology, flavors, checks, priorities and queues, in an order in which they can be applied.
std::vector<json::value> soak_queues(const SoakPlan& plan);
// The fixed node of this number.
json::value soak_node(const SoakPlan& plan, uint32_t index);
// One that the autoscaler makes, in a rack of its own request.
json::value soak_scaled_node(const std::string& name, const std::string& block,
                             const std::string& rack);

// Readiness is waited for, in both directions, and everything else is as by default.
core::Configuration soak_configuration();
Time soak_start();

}  // namespace phalanx::cli
