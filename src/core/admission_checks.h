// AdmissionChecks: who has its quota is admitted only when every check that its ClusterQueue asks
// for says Ready. What the checks say stands in status.admissionChecks, and is written by their
// controllers (ours for autoscalers is core/provisioning.h).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/state.h"

namespace phalanx::core {

// Names of the checks that a workload needs which takes its resources from these flavors, in the
// order of the queue.
std::vector<std::string> required_checks(const api::ClusterQueue& queue,
                                         const std::set<std::string>& flavors);
std::set<std::string> flavors_of(const std::vector<api::PodSetAssignment>& admission);

// Flavors of the queue whose nodes may have to be made first: their pods get places in a second
// pass.
std::set<std::string> delayed_flavors(const State& state, const api::ClusterQueue& queue);

// status.admissionChecks as it has to be for these: what is known of them stays, and so does the
// number of retries.
std::vector<api::AdmissionCheckStatus> checks_for(const State& state, const api::Workload& workload,
                                                  const std::vector<std::string>& required);
// After an eviction: all are asked anew. A retry counts as one; who was past that starts over.
std::vector<api::AdmissionCheckStatus> checks_reset(const State& state,
                                                    const api::Workload& workload);

// The first check in this state; nullptr if there is none.
const api::AdmissionCheckStatus* find_check(const api::Workload& workload, api::CheckState state);
bool all_checks_ready(const api::Workload& workload);

// The most that status.admissionChecks of a Workload holds, and what is said of more.
inline constexpr size_t kMostChecks = 8;
std::string too_many_checks(const api::ClusterQueue& queue, size_t count);

// The places of a second pass are sought as soon as all checks are ready and nobody has to be
// waited for, and then 10, 30, 70, 150 and 300 s after the first attempt that failed (and whenever
// there is more room). Whom the last attempt leaves without gives up; one who was not asked in
// time, since nobody was there to ask, has one attempt all the same.
inline constexpr Duration kLastSecondPass = std::chrono::minutes(5);
// When the first attempt failed, by the condition that keeps it over a restart; nullopt: none has.
// Times that are yet to come are not believed.
std::optional<Time> second_pass_failed_at(const api::Workload& workload, Time now);
// The next attempt after a first one that failed at this time; nullopt: there is none.
std::optional<Time> next_second_pass(Time first_failure, Time now);

// Why it is not admitted though it has its quota, for its condition; nullopt: nothing is lacking.
struct Lack {
  std::string_view reason;
  std::string message;
};
std::optional<Lack> lack_of(const std::vector<api::AdmissionCheckStatus>& checks, bool delayed);

}  // namespace phalanx::core
