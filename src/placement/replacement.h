// Node replacement: the pods of failed nodes get new places, every other pod keeps its own
// (Kueue's topology-aware scheduling guide, "Hot swap support"; reference/placement.md section 9).
//
// Any number of failed nodes is replaced in one call. Slices that lost some of their pods are made
// whole in the domain where the rest of them is; slices that are gone entirely are placed anew; a
// required domain is kept as long as a pod remains in it.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "placement/assignment.h"
#include "placement/pod_set.h"
#include "placement/unit_placer.h"

namespace phalanx::placement {

struct Replacement {
  PodsByLeaf added;                    // the pods that got new places
  api::TopologyAssignment assignment;  // all pods
};

// What is wrong with the request of pods that are to be moved, as for a first placement; nullopt:
// nothing is.
std::optional<std::string> problem_of_request(const topology::DomainTree& tree,
                                              api::TopologyRequest request, const Options& options);

// Leaves the new pods charged to the cluster; the caller holds an Attempt.
std::expected<Replacement, UnitFailure> replace_failed(topology::Cluster& cluster, TreeId tree,
                                                       UnitPlacer& placer, const PodSet& pod_set,
                                                       const std::vector<std::string>& failed,
                                                       const Options& options);

}  // namespace phalanx::placement
