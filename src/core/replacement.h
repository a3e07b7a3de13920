// Finding other places for the pods of nodes that are lost, while everything else stays where it
// is: the same required domain, whole slices, every rank but the lost ones, and no more room than
// there is. Several nodes are replaced together, or none. Pod sets that are tied to a place go
// first, and a group of which nobody is left is placed as a whole, as if for the first time.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "core/node_health.h"
#include "core/state.h"

namespace phalanx::core {

// By pod set, in order; what is not placed by host stays nullopt or as it was.
using Places = std::vector<std::optional<api::TopologyAssignment>>;

// Where the workload's pods would be from now on, or why there is no place for those of the lost
// nodes. Changes nothing.
std::expected<Places, std::string> find_replacement(State& state, const WorkloadState& workload,
                                                    const LostNodes& lost);

}  // namespace phalanx::core
