// Whom a workload finds holding quota when it looks for somebody to make room.
#pragma once

#include <vector>

#include "core/cluster_view.h"
#include "core/state.h"
#include "quota/victim_rules.h"

namespace phalanx::core {

// In the order of names, without those that are done or leaving. Of the queue's cohort tree, or of
// everybody: others are in nobody's way but on the nodes, and nobody may ask them to go.
std::vector<quota::Holder> quota_holders(const State& state, const ClusterView& view,
                                         quota::MemberId queue, bool everybody);

}  // namespace phalanx::core
