// What a start puts into a pod template: whose pods they are, where they may go, and the gate that
// holds them back until each has its place.
#pragma once

#include <optional>
#include <string>

#include "core/adapter.h"
#include "core/state.h"

namespace phalanx::core {

// For one pod set of a job whose workload is admitted.
Injection injection_for(const State& state, const Job& job, const WorkloadState& workload,
                        size_t pod_set);

// The first label, annotation or entry of the node selector that an admission check wants to be
// another than the template says, or a flavor, or a check before it: a pod has one value for each,
// and whichever was left out would be missed. nullopt: they agree. The workload must have its
// quota.
std::optional<std::string> contradiction_of_checks(const State& state,
                                                   const WorkloadState& workload);

}  // namespace phalanx::core
