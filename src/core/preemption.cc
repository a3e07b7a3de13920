#include "core/preemption.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/names.h"

namespace phalanx::core {
namespace {

constexpr Duration kFirstRestraint = std::chrono::seconds(10);
constexpr Duration kLongestRestraint = std::chrono::hours(1);

std::string_view words_of(quota::VictimReason reason) {
  switch (reason) {
    case quota::VictimReason::kInClusterQueue:
      return "it comes first in the ClusterQueue";
    case quota::VictimReason::kReclamation:
      return "its ClusterQueue takes back what it has lent";
    case quota::VictimReason::kReclaimWhileBorrowing:
      return "it comes first in the cohort";
    case quota::VictimReason::kFairSharing:
      return "its ClusterQueue has the smaller share";
  }
  return "";
}

std::string message_for(const std::string& called, const WorkloadState& preemptor,
                        quota::VictimReason reason) {
  return fmt::format("Makes room for {} (UID: {}, JobUID: {}): {}", called,
                     preemptor.object.meta.uid, preemptor.job_uid(), words_of(reason));
}

}  // namespace

bool may_reclaim(const api::ClusterQueue& queue) {
  return queue.preemption.reclaim_within_cohort != api::PreemptionPolicy::kNever &&
         !queue.cohort.empty();
}

bool may_preempt(const api::ClusterQueue& queue) {
  return may_reclaim(queue) ||
         queue.preemption.within_cluster_queue != api::PreemptionPolicy::kNever;
}

std::string_view preemption_reason(quota::VictimReason reason) {
  switch (reason) {
    case quota::VictimReason::kInClusterQueue:
      return names::kInClusterQueue;
    case quota::VictimReason::kReclamation:
      return names::kInCohortReclamation;
    case quota::VictimReason::kReclaimWhileBorrowing:
      return names::kInCohortReclaimWhileBorrowing;
    case quota::VictimReason::kFairSharing:
      return names::kInCohortFairSharing;
  }
  return names::kPreempted;
}

std::string called_before(const WorkloadState& told, const WorkloadState& other) {
  return told.object.namespace_ == other.object.namespace_ ? "workload " + other.request.name
                                                           : "a workload of another namespace";
}

std::string preemption_message(const WorkloadState& victim, const WorkloadState& preemptor,
                               quota::VictimReason reason) {
  return message_for(called_before(victim, preemptor), preemptor, reason);
}

std::string preemption_record(const WorkloadState& preemptor, quota::VictimReason reason) {
  return message_for("workload " + preemptor.request.name, preemptor, reason);
}

std::optional<Restraint> restraint_of(const WorkloadState& workload, Time now) {
  const api::Condition* preempted =
      api::find_condition(workload.object.conditions, names::kPreempted);
  if (preempted == nullptr || !preempted->holds) return std::nullopt;
  Duration length = kFirstRestraint;
  for (int32_t times = 1; times < workload.object.preemptions() && length < kLongestRestraint;
       ++times) {
    length *= 2;
  }
  const Time until = preempted->changed + std::min(length, kLongestRestraint);
  if (until <= now) return std::nullopt;
  return Restraint{preempted->changed, until};
}

}  // namespace phalanx::core
