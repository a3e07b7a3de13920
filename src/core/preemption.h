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
// To be told to the victim's owner, and for the journal, which has the name in any case.
std::string preemption_message(const WorkloadState& victim, const WorkloadState& preemptor,
                               quota::VictimReason reason);
std::string preemption_record(const WorkloadState& preemptor, quota::VictimReason reason);

// How another workload is called before the owner of `told`: by its name within a namespace. What
// is in other namespaces is not his to see; the UID says enough to whoever may look it up.
std::string called_before(const WorkloadState& told, const WorkloadState& other);

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
