// Between leaves of a tree and the assignments that users read.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "api/topology_assignment.h"
#include "placement/take.h"
#include "topology/cluster.h"

namespace phalanx::placement {

// Pods by leaf, in path order.
using PodsByLeaf = std::map<uint32_t, int32_t>;

PodsByLeaf workers_of(const std::vector<Share>& shares);
PodsByLeaf leaders_of(const std::vector<Share>& shares);
void add_to(PodsByLeaf& total, const PodsByLeaf& pods);

// Host topologies name the hostname alone, others the whole path.
api::TopologyAssignment to_assignment(const topology::Cluster& cluster,
                                      const topology::DomainTree& tree, const PodsByLeaf& pods);

int64_t pods_in(const api::TopologyAssignment& assignment);

// nullopt if a domain is no longer (or not yet) a leaf of the tree, or if there are more pods than
// a pod set can have.
std::optional<PodsByLeaf> to_leaves(topology::Cluster& cluster, TreeId tree,
                                    const api::TopologyAssignment& assignment);

void charge(topology::Cluster& cluster, TreeId tree, const topology::RequestVector& requests,
            const PodsByLeaf& pods);

}  // namespace phalanx::placement
