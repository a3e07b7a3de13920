// Places for a workload that has had its quota for a while: its flavors are chosen, and the nodes
// that an autoscaler made for it are there, or should be.
#pragma once

#include <expected>
#include <string>

#include "core/event.h"
#include "core/replacement.h"
#include "core/state.h"

namespace phalanx::core {

// Where its pods go, or why there is no place for them. Changes nothing.
std::expected<Places, std::string> place_delayed(State& state, const WorkloadState& workload);

// The first attempt has failed: its time is kept in a condition, since the rest is counted from it.
Write first_failure_write(const State& state, const WorkloadState& workload);
// It must not take places for now: the time that it has to find some starts anew with the next
// attempt that fails.
Write forget_failure_write(const State& state, const WorkloadState& workload);

// There were no places in time: it gives its quota back and stays away for a while, or for good if
// its nodes came in vain often enough.
Write surrender_write(const State& state, const WorkloadState& workload,
                      const std::string& message);

}  // namespace phalanx::core
