// The life of a Workload outside the scheduling pass: why it is in no queue, when it must give back
// what it holds, and when it may go.
#pragma once

#include <string>

#include "core/state.h"
#include "core/verdict.h"

namespace phalanx::core {

// The next step for a Workload.
Verdict reconcile_workload(const State& state, const std::string& name);

}  // namespace phalanx::core
