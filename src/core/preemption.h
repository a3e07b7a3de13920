// Being preempted: what is said of it, and what follows for the workload.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/state.h"
#include "quota/victim_rules.h"

namespace phalanx::core {

bool may_reclaim(const api::ClusterQueue& queue);
bool may_preempt(const api::ClusterQueue& queue);

// Of the condition Preempted.
std::string_view preemption_reason(quota::VictimReason reason);
std::string preemption_message(const WorkloadState& preemptor, quota::VictimReason reason);

// Who had to go asks nobody to go who has started since, and takes no place that is held for
// others, for a while that doubles each time: where the rights of several contradict each other
// they take turns, but ever more slowly.
struct Restraint {
  Time since;
  Time until;
};
// nullopt: it is not, or no longer, restrained.
std::optional<Restraint> restraint_of(const WorkloadState& workload, Time now);

}  // namespace phalanx::core
