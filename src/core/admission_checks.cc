#include "core/admission_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "base/printable.h"
#include "core/names.h"
#include "core/workload_status.h"

namespace phalanx::core {
namespace {

using api::CheckState;

constexpr Duration kFirstAttempt = std::chrono::seconds(10);
constexpr Duration kSkewOfClocks = std::chrono::minutes(1);

bool applies_to(const api::AdmissionCheckReference& check, const std::set<std::string>& flavors) {
  return check.on_flavors.empty() ||
         std::ranges::any_of(check.on_flavors,
                             [&](const std::string& flavor) { return flavors.contains(flavor); });
}

}  // namespace

std::vector<std::string> required_checks(const api::ClusterQueue& queue,
                                         const std::set<std::string>& flavors) {
  std::vector<std::string> names;
  for (const api::AdmissionCheckReference& check : queue.admission_checks) {
    if (applies_to(check, flavors)) names.push_back(check.name);
  }
  return names;
}

std::set<std::string> flavors_of(const std::vector<api::PodSetAssignment>& admission) {
  std::set<std::string> flavors;
  for (const api::PodSetAssignment& assignment : admission) {
    for (const auto& [resource, flavor] : assignment.flavors) flavors.insert(flavor);
  }
  return flavors;
}

std::set<std::string> delayed_flavors(const State& state, const api::ClusterQueue& queue) {
  std::set<std::string> delayed;
  for (const api::AdmissionCheckReference& reference : queue.admission_checks) {
    const auto check = state.admission_checks.find(reference.name);
    if (check == state.admission_checks.end() ||
        check->second.controller_name != names::kProvisioningController) {
      continue;
    }
    delayed.insert(reference.on_flavors.begin(), reference.on_flavors.end());
    if (!reference.on_flavors.empty()) continue;
    for (const api::ResourceGroup& group : queue.groups) {
      for (const api::FlavorQuotas& quotas : group.flavors) delayed.insert(quotas.flavor);
    }
  }
  return delayed;
}

std::vector<api::AdmissionCheckStatus> checks_for(const State& state, const api::Workload& workload,
                                                  const std::vector<std::string>& required) {
  std::vector<api::AdmissionCheckStatus> checks;
  for (const std::string& name : required) {
    const auto known =
        std::ranges::find(workload.admission_checks, name, &api::AdmissionCheckStatus::name);
    if (known != workload.admission_checks.end()) {
      checks.push_back(*known);
    } else {
      checks.push_back({name, CheckState::kPending, "", state.now});
    }
  }
  return checks;
}

std::string too_many_checks(const api::ClusterQueue& queue, size_t count) {
  return fmt::format(
      "ClusterQueue {} asks for {} admission checks, but a Workload has room for {}; limit some of "
      "them to other flavors (onFlavors)",
      queue.meta.name, count, kMostChecks);
}

std::vector<api::AdmissionCheckStatus> checks_reset(const State& state,
                                                    const api::Workload& workload) {
  std::vector<api::AdmissionCheckStatus> checks = workload.admission_checks;
  for (api::AdmissionCheckStatus& check : checks) {
    if (check.state == CheckState::kPending) continue;
    const bool is_retry = check.state == CheckState::kRetry;
    constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
    const int32_t retries = is_retry ? std::min(check.retries, kMost - 1) + 1 : 0;
    check = {check.name, CheckState::kPending,
             cut_to("Asked anew after an eviction. Previously: " + check.message, kLongestMessage),
             state.now};
    check.retries = retries;
  }
  return checks;
}

const api::AdmissionCheckStatus* find_check(const api::Workload& workload, CheckState state) {
  const auto found =
      std::ranges::find(workload.admission_checks, state, &api::AdmissionCheckStatus::state);
  return found == workload.admission_checks.end() ? nullptr : &*found;
}

bool all_checks_ready(const api::Workload& workload) {
  return std::ranges::all_of(workload.admission_checks,
                             [](const auto& check) { return check.state == CheckState::kReady; });
}

std::optional<Time> second_pass_failed_at(const api::Workload& workload, Time now) {
  const api::Condition* failed = api::find_condition(workload.conditions, names::kSecondPassFailed);
  if (failed == nullptr || !failed->holds) return std::nullopt;
  if (failed->changed > now + kSkewOfClocks) return std::nullopt;
  return failed->changed;
}

std::optional<Time> next_second_pass(Time first_failure, Time now) {
  Duration delay{};
  for (Duration step = kFirstAttempt; delay < kLastSecondPass; step *= 2) {
    if (first_failure + delay > now) return first_failure + delay;
    delay += step;
  }
  if (first_failure + kLastSecondPass > now) return first_failure + kLastSecondPass;
  return std::nullopt;
}

std::optional<Lack> lack_of(const std::vector<api::AdmissionCheckStatus>& checks, bool delayed) {
  std::vector<std::string> waiting;
  for (const api::AdmissionCheckStatus& check : checks) {
    if (check.state != CheckState::kReady) waiting.push_back(check.name);
  }
  if (!waiting.empty()) {
    return Lack{names::kUnsatisfiedAdmissionChecks,
                fmt::format("Waiting for the admission checks {}", fmt::join(waiting, ", "))};
  }
  if (!delayed) return std::nullopt;
  return Lack{names::kPendingDelayedTopologyRequests,
              "All admission checks are ready; its pods have no places yet"};
}

}  // namespace phalanx::core
