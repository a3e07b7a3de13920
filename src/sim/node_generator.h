// Nodes of a cluster that is described in one line:
//
//   4 blocks x 8 racks x 16 hosts, 8 nvidia.com/gpu, 96 cpu, 1Ti memory
//
// Levels come first, separated by "x", coarsest first: hosts; racks x hosts; or blocks x racks x
// hosts. Then what every host offers, separated by commas; cpu, memory and pods have defaults.
//
// Names say where a node stands, and sort in that order: b1-r02-h003. The rack's label holds the
// block too (b1-r02), so that it means one rack even in a topology without blocks.
//
// Cost: a node is made when it is asked for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace phalanx::sim {

inline constexpr std::string_view kBlockLabel = "cloud.provider.com/topology-block";
inline constexpr std::string_view kRackLabel = "cloud.provider.com/topology-rack";
inline constexpr std::string_view kNodeGroupLabel = "cloud.provider.com/node-group";
inline constexpr std::string_view kNodeGroup = "tas";
inline constexpr size_t kMostNodes = 200'000;

struct NodePlan {
  size_t blocks = 0;                                         // 0: the description has no such level
  size_t racks = 0;                                          // of each block, if there are blocks
  size_t hosts = 0;                                          // of each rack, if there are racks
  std::vector<std::pair<std::string, std::string>> amounts;  // resource and quantity, by resource

  [[nodiscard]] size_t count() const;
  // Node documents are numbered in the order of their names.
  [[nodiscard]] json::value node(size_t index) const;
  // The keys of its levels, coarsest first.
  [[nodiscard]] std::vector<std::string> level_keys() const;
};

// Errors name the part that is wrong and show how it is written.
Result<NodePlan> parse_node_plan(std::string_view description);

}  // namespace phalanx::sim
