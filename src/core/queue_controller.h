// The objects that an administrator keeps: their status, and the finalizers that hold a Topology, a
// ResourceFlavor or a ClusterQueue as long as somebody uses it.
#pragma once

#include <string>

#include "core/scheduler.h"
#include "core/state.h"
#include "core/verdict.h"

namespace phalanx::core {

Verdict reconcile_topology(const State& state, const std::string& name);
Verdict reconcile_flavor(const State& state, const std::string& name);
Verdict reconcile_cohort(const State& state, const std::string& name);
Verdict reconcile_cluster_queue(const State& state, const Scheduler& scheduler,
                                const std::string& name);
Verdict reconcile_local_queue(const State& state, const Scheduler& scheduler,
                              const std::string& full_name);

}  // namespace phalanx::core
