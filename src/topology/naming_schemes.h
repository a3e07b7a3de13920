// Hostnames as the usual providers write them, to measure assignment encodings with: what a scheme
// shares between neighbouring names decides how many nodes fit into one etcd entry (KEP-2724,
// "Since v1beta2").
//
// A scheme is a pure function of the node's number: the same on every machine, distinct for every
// number below kSchemeNodes, and as random where the provider is random. O(1) a name.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "api/topology_assignment.h"

namespace phalanx::topology {

// The largest cluster a scheme can name.
inline constexpr size_t kSchemeNodes = 200'000;

struct NamingScheme {
  std::string name;     // "gke"
  std::string pattern;  // "gke-<cluster>-<pool>-<8 hex>-<4 base 32>"
  std::function<std::string(size_t node)> hostname;
};

std::vector<NamingScheme> naming_schemes();

// One pod on each of the scheme's first `nodes` nodes, in the order of the names.
api::TopologyAssignment one_pod_per_node(const NamingScheme& scheme, size_t nodes);

}  // namespace phalanx::topology
