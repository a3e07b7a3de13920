#include "core/pods_ready.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "core/names.h"

namespace phalanx::core {
namespace {

// At most this part of the delay is added to it.
constexpr int64_t kJitterPercent = 5;

constexpr int64_t kLots = 1024;
// A number from 0 to 1023 that is the workload's own.
int64_t lot_of(const api::ObjectMeta& workload, int32_t times) {
  const std::string hex = sha256_hex(fmt::format("{}\n{}", workload.uid, times));
  return std::stoll(hex.substr(0, 8), nullptr, 16) % kLots;
}

}  // namespace

std::optional<api::Condition> pods_ready_now(const WorkloadState& workload, const Job& job) {
  const api::Condition* known = api::find_condition(workload.object.conditions, names::kPodsReady);
  const bool ready = job.pods_ready && !job.suspended;
  const bool started =
      known != nullptr && (known->holds || known->reason == names::kWaitForRecovery);
  api::Condition condition{std::string(names::kPodsReady), ready, {}, {}, 0, {}};
  if (ready) {
    const bool recovered = started && (!known->holds || known->reason == names::kRecovered);
    condition.reason = recovered ? names::kRecovered : names::kStarted;
    condition.message = recovered ? "All pods are ready again or have succeeded"
                                  : "All pods are ready or have succeeded";
  } else {
    condition.reason = started ? names::kWaitForRecovery : names::kWaitForStart;
    condition.message =
        started ? "Not all pods are ready any more" : "Not all pods are ready or have succeeded";
  }
  if (known != nullptr && known->says_the_same(condition)) return std::nullopt;
  return condition;
}

std::optional<ReadyDeadline> ready_deadline(const State& state, const WorkloadState& workload) {
  const auto& wait = state.configuration.wait_for_pods_ready;
  if (!wait || !workload.admitted()) return std::nullopt;
  const api::Condition* ready = api::find_condition(workload.object.conditions, names::kPodsReady);
  if (ready != nullptr && ready->holds) return std::nullopt;
  if (ready != nullptr && ready->reason == names::kWaitForRecovery) {
    if (!wait->recovery_timeout) return std::nullopt;
    return ReadyDeadline{ready->changed + *wait->recovery_timeout, names::kWaitForRecovery};
  }
  const api::Condition* admitted =
      api::find_condition(workload.object.conditions, names::kAdmitted);
  return ReadyDeadline{admitted->changed + wait->timeout, names::kWaitForStart};
}

Duration requeue_delay(const WaitForPodsReady& wait, const api::ObjectMeta& workload,
                       int32_t times) {
  Duration delay = wait.backoff;
  const bool can_grow = delay > Duration{};
  for (int32_t i = 1; i < times && can_grow && delay < wait.longest_backoff; ++i) delay *= 2;
  delay = std::min(delay, wait.longest_backoff);
  // The division comes last, or nothing would be left of it for a short delay.
  const Duration jitter = delay * (lot_of(workload, times) * kJitterPercent) / (kLots * 100);
  return std::min(delay + jitter, wait.longest_backoff);
}

Time waits_since(const State& state, const WorkloadState& workload) {
  const api::Condition* evicted = api::find_condition(workload.object.conditions, names::kEvicted);
  const auto& wait = state.configuration.wait_for_pods_ready;
  const bool sent_back =
      evicted != nullptr && evicted->holds && evicted->reason == names::kPodsReadyTimeout;
  if (!sent_back || !wait || wait->back_by_creation) return workload.object.meta.created;
  return evicted->changed;
}

bool backs_off(const api::Workload& workload, Time now) {
  return workload.requeue && workload.requeue->at && *workload.requeue->at > now;
}

}  // namespace phalanx::core
