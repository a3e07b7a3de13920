// Why a workload is in no queue, in full, and what to do about it: the core's conditions say it in
// the short words of Kueue, without a remedy.
#pragma once

#include <optional>
#include <string>

#include "core/state.h"

namespace phalanx::cli {

// Of a workload that is set aside: in no queue, until somebody repairs something. nullopt: it is
// not.
std::optional<std::string> set_aside_because(const core::State& state,
                                             const core::WorkloadState& workload);

// Why a ClusterQueue admits nobody; every cause with its remedy. "" if it is active.
std::string inactive_because(const core::State& state, const api::ClusterQueue& queue);

// What to do about resources of a pod that no flavor of the queue covers; "" if there are none.
std::string uncovered_remedy(const api::ClusterQueue& queue, const api::ResourceAmounts& per_pod);

}  // namespace phalanx::cli
