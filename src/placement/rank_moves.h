// Moving some ranks of a pod set that runs: each gets another place, and everybody else keeps its
// own (KEP-2724, "Node failures"; docs/explanation/staying-alive.md).
//
// An assignment lists its domains in the order of ranks, before and after. So a rank is never
// moved unless it is asked for, and a host that gets ranks which are no neighbours stands in the
// list several times. By their ranks it is known which slices have lost a part: each is made whole
// where the rest of it is, layer by layer; those of which nobody is left are placed anew, and
// everything stays in the required domain as long as somebody stays there.
//
// Otherwise than the replacement of the reference (placement/replacement.h), which counts pods in
// domains: there two halves of different slices look like a whole one.
#pragma once

#include <expected>
#include <vector>

#include "placement/pod_set.h"
#include "placement/unit_placer.h"

namespace phalanx::placement {

struct RankMoves {
  std::vector<int32_t> moving;  // in order
  std::vector<int32_t> idle;    // in order: done for good; they hold no place, and need none
};

// The assignment with the ranks moved. Leaves the new pods charged to the cluster; the caller holds
// an Attempt. Cost: the ranks, and a placement for each slice that lost a part.
std::expected<api::TopologyAssignment, UnitFailure> move_ranks(topology::Cluster& cluster,
                                                               TreeId tree, UnitPlacer& placer,
                                                               const PodSet& pod_set,
                                                               const RankMoves& moves,
                                                               const Options& options);

}  // namespace phalanx::placement
