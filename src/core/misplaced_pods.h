// Pods that wait or run where their workload has no place any more: their node was replaced by
// another. They cannot be moved, and while they are there their job makes no others; so they are
// ended, and the pods that come instead go to the new place.
#pragma once

#include <optional>
#include <string>

#include "core/state.h"
#include "core/verdict.h"

namespace phalanx::core {

// What to do about a pod; nullopt: it may stay. One that is not bound is failed, with a condition
// that says why, and stays for its user to see; one that is bound is deleted.
std::optional<Verdict> end_if_misplaced(const State& state, const std::string& pod);

}  // namespace phalanx::core
