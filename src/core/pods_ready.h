// All or nothing, in time (KEP-349): who is admitted must get all its pods ready, and keep them so;
// who does not is sent back, waits for a while that doubles each time, and is deactivated in the
// end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/state.h"

namespace phalanx::core {

// What the condition PodsReady of an admitted workload should say; nullopt: it says so.
std::optional<api::Condition> pods_ready_now(const WorkloadState& workload, const Job& job);

// By when its pods must be ready; nullopt: they are, or may take for ever.
struct ReadyDeadline {
  Time at;
  std::string_view cause;  // WaitForStart or WaitForRecovery
};
std::optional<ReadyDeadline> ready_deadline(const State& state, const WorkloadState& workload);

// How long a workload stays away that is sent back for this time, 1 for the first. The jitter is
// its own, so that a crowd that was sent back at once does not come back at once; the longest delay
// has none, since nobody stays away for longer.
Duration requeue_delay(const WaitForPodsReady& wait, const api::ObjectMeta& workload,
                       int32_t times);

// Since when it counts as waiting, in the order of its queue and when it asks newer ones to go. Who
// was sent back because its pods did not get ready stands behind those that came meanwhile, unless
// the configuration says otherwise.
Time waits_since(const State& state, const WorkloadState& workload);

// Whether it stays away for now.
bool backs_off(const api::Workload& workload, Time now);

}  // namespace phalanx::core
