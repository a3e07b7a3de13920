// What would make a request fit that does not: the last part of an Explanation.
//
// Counts of the cluster as it is are given; whatever would have to change is counted or calculated
// anew, nothing is estimated. How many nodes are missing is calculated for host topologies, with
//   - slices inside one host (or none), with or without a leader;
//   - slices of any higher level, without a leader, with inner slice layers at most on the hosts.
// Other requests get no such number: it would depend on more than the count of the nodes.
#pragma once

#include "placement/domain_counts.h"
#include "placement/explanation.h"
#include "placement/level_plan.h"
#include "topology/cluster.h"

namespace phalanx::placement {

// How many pods of the request an empty node holds, next to one pod of `beside`.
int32_t fit_in_node(const topology::Cluster& cluster, NodeId node,
                    const topology::RequestVector& request,
                    const topology::RequestVector& beside = {});

// The numbers of the topology as one domain: its highest level added up.
DomainNumbers numbers_of_everything(const DomainCounts& counts);

// The most slices that fit in the mode of the plan, at most those asked for.
int32_t most_slices(const DomainCounts& counts, const LevelPlan& plan);

// `best` are the domains of the plan's level that come nearest, best first.
Remedies find_remedies(const topology::Cluster& cluster, const DomainCounts& counts,
                       const LevelPlan& plan, const std::vector<uint32_t>& best);

}  // namespace phalanx::placement
