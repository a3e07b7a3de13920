// The part of Scheduler that holds places: for those that preempt, with their victims' eviction,
// and for those that have waited for too long.
#include <fmt/format.h>

#include <algorithm>

#include "core/names.h"
#include "core/preemption.h"
#include "core/scheduler.h"

namespace phalanx::core {
namespace {

Nomination found_place(const WorkloadState& workload, const api::ClusterQueue& queue,
                       const Appraisal& appraisal) {
  Nomination nomination;
  nomination.cluster_queue = queue.meta.name;
  nomination.place = holding_for(workload, queue.meta.name, appraisal.assigned->choices);
  nomination.victims = appraisal.victims;
  nomination.awaited = appraisal.awaited;
  nomination.free_at = appraisal.free_at;
  return nomination;
}

}  // namespace

// It fits once others are gone: its place is held until then.
void Scheduler::nominate(const WorkloadState& workload, const api::ClusterQueue& queue,
                         const Appraisal& appraisal) {
  const std::string name = workload.request.name;
  const quota::Refused& why = appraisal.assigned->why;
  Nomination nomination = found_place(workload, queue, appraisal);
  nomination.message =
      why.text(workload.request.pod_sets[why.pod_set].name) +
      (appraisal.victims.empty()
           ? fmt::format(". Waiting for {} workload(s) to leave", appraisal.awaited.size())
           : fmt::format(". Pending the preemption of {} workload(s)", appraisal.victims.size()));
  No no = no_for(workload, queue, why);
  no.reason = names::kWaitingForPreemptedWorkloads;
  no.message = nomination.message;
  nominations_.put(name, std::move(nomination));
  drop_broken(held_behind(name, queue.meta.name));
  queue_up(workload, queue);
  // What putting it has moved is no news for itself.
  no.releases = state_.ledger.releases(queue.meta.name);
  if (no.takes) no.takes = state_.ledger.takes(queue.meta.name);
  park(workload, queue, std::move(no), "nominate");
}

// Its place is not free yet; it is woken whenever that comes nearer.
void Scheduler::wait(const WorkloadState& workload, const api::ClusterQueue& queue,
                     const Nomination& held, const Appraisal& appraisal) {
  No no;
  no.configuration = configuration_now();
  if (appraisal.refused) no = no_for(workload, queue, *appraisal.refused);
  no.reason = names::kWaitingForPreemptedWorkloads;
  no.message = held.message;
  park(workload, queue, std::move(no), "wait");
}

void Scheduler::give_up(const std::vector<std::string>& places) {
  for (const std::string& workload : places) {
    nominations_.drop(workload);
    update(workload);
  }
}

bool Scheduler::can_be_told(const std::string& victim) const {
  const WorkloadState* workload = state_.workload(victim);
  if (workload == nullptr || !workload->reserved() || workload->evicted()) return false;
  const api::ObjectKey key = workload_key(workload->object);
  return !outbox_.busy(key) && !outbox_.left_alone(key, state_.known.version(key));
}

void Scheduler::write_refused(const std::string& name) {
  if (!nominations_.is_victim(name)) return;
  state_.immovable.insert(name);
  std::vector<std::string> waiting;
  for (const auto& [preemptor, nomination] : nominations_.all()) {
    if (nomination.victims.contains(name)) waiting.push_back(preemptor);
  }
  give_up(waiting);
}

void Scheduler::reconsider_untold() {
  std::vector<std::string> untold;
  for (const auto& [name, nomination] : nominations_.all()) {
    if (std::ranges::any_of(nomination.victims,
                            [&](const auto& victim) { return can_be_told(victim.first); })) {
      untold.push_back(name);
    }
  }
  give_up(untold);
}

bool Scheduler::evict_victims() {
  bool evicted = false;
  for (const auto& [preemptor, nomination] : nominations_.all()) {
    for (const auto& [victim, reason] : nomination.victims) {
      evicted |= evict_victim(victim, reason, preemptor);
    }
  }
  return evicted;
}

bool Scheduler::evict_victim(const std::string& name, quota::VictimReason reason,
                             const std::string& preemptor) {
  if (!can_be_told(name)) return false;
  const WorkloadState* victim = state_.workload(name);
  const api::ObjectKey key = workload_key(victim->object);
  const WorkloadState& winner = state_.workloads.at(preemptor);
  const api::ClusterQueue* winners_queue = state_.cluster_queue_of(winner);
  const std::string message = preemption_message(*victim, winner, reason);
  journal_.record(state_.now,
                  {"preempt",
                   key,
                   {{key.text(), victim->object.meta.resource_version},
                    {"Workload " + preemptor, winner.object.meta.resource_version}},
                   preemption_record(winner, reason),
                   {{"reason", preemption_reason(reason)},
                    {"clusterQueue", winners_queue == nullptr ? "" : winners_queue->meta.name}}});
  std::vector<Notice> notices{
      {key, victim->object.meta.uid, false, "Preempted", message},
      {key, victim->object.meta.uid, false, "EvictedDueToPreempted", message}};
  if (const auto job = state_.job_of_id.find(victim->job_id()); job != state_.job_of_id.end()) {
    notices.push_back({job->second, victim->job_uid(), false, "Preempted", message});
  }
  outbox_.submit(preemption_write(state_, *victim, preemption_reason(reason), message),
                 std::move(notices));
  ++preemptions_;
  return true;
}

std::optional<Time> Scheduler::patience_of(const std::string& cluster_queue) const {
  const auto& after = state_.configuration.head_reservation_after;
  const auto queue = state_.cluster_queues.find(cluster_queue);
  if (!after || queue == state_.cluster_queues.end() ||
      queue->second.strategy == api::QueueingStrategy::kStrictFifo) {
    return std::nullopt;
  }
  const PendingEntry* first = queues_.at(cluster_queue).first();
  if (first == nullptr) return std::nullopt;
  return first->since + *after;
}

void Scheduler::reserve_for_heads() {
  // Somebody else may have been the first before, or may no longer get a place held.
  std::vector<std::string> past;
  for (const auto& [workload, nomination] : nominations_.all()) {
    const auto patience = patience_of(nomination.cluster_queue);
    if (nomination.reservation &&
        (!patience || queues_.at(nomination.cluster_queue).first()->workload != workload)) {
      past.push_back(workload);
    }
  }
  give_up(past);
  for (auto& [name, pending] : queues_) {
    const auto patience = patience_of(name);
    if (!patience || *patience > state_.now) continue;
    const PendingEntry first = *pending.first();
    // Those that it waited for are gone, and somebody who had to end in time is there: it waits on.
    const Nomination* held = nominations_.find(first.workload);
    if (held != nullptr && (!held->reservation || !held->awaited.empty())) continue;
    reserve_for(state_.workloads.at(first.workload), state_.cluster_queues.at(name));
  }
}

void Scheduler::reserve_for(const WorkloadState& workload, const api::ClusterQueue& queue) {
  const std::string& name = workload.request.name;
  const No* known = queues_.at(queue.meta.name).no_of(name);
  if (known == nullptr) return;  // it has not been refused yet
  Question question;
  question.reserve = true;
  question.standing = standing_of(workload, queue);
  question.standing.ends_by.reset();
  const Appraisal appraisal = core::appraise(state_, nominations_, workload, queue, question);
  if (!appraisal.assigned || appraisal.fits()) return;
  Nomination nomination = found_place(workload, queue, appraisal);
  nomination.reservation = true;
  No no = *known;
  nominations_.put(name, std::move(nomination));
  queue_up(workload, queue);
  no.message += fmt::format(
      ". A place is held for it{}",
      appraisal.free_at ? ", free by " + format_time(*appraisal.free_at) : std::string());
  park(workload, queue, std::move(no), "reserve");
}

}  // namespace phalanx::core
