#include "core/scheduler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tuple>

#include "base/check.h"
#include "core/names.h"
#include "core/pods_ready.h"
#include "quota/fair_share.h"

namespace phalanx::core {
namespace {

std::string_view reason_of(quota::Obstacle obstacle) {
  switch (obstacle) {
    case quota::Obstacle::kNoMatchingFlavor:
      return names::kNoMatchingFlavor;
    case quota::Obstacle::kExceedsQuota:
      return names::kExceedsMaxQuota;
    case quota::Obstacle::kWaitingForQuota:
      return names::kWaitingForQuota;
    case quota::Obstacle::kTopology:
      return names::kTopologyPlacementFailed;
  }
  return names::kPending;
}

}  // namespace

PendingEntry Scheduler::entry_of(const WorkloadState& workload) const {
  return {workload.priority, waits_since(state_, workload), workload.request.name};
}

void Scheduler::forget(const std::string& workload) {
  const auto found = queue_of_.find(workload);
  if (found == queue_of_.end()) return;
  queues_.at(found->second).remove(workload);
  touch(found->second, local_queue_of_.at(workload));
  nominations_.drop(workload);
  queue_of_.erase(found);
  --pending_in_local_queue_[local_queue_of_.at(workload)];
  local_queue_of_.erase(workload);
  to_tell_.erase(workload);
  told_blockers_.erase(workload);
  restrained_.erase(workload);
}

void Scheduler::update(const std::string& name) {
  const WorkloadState* workload = state_.workload(name);
  const bool waits =
      workload != nullptr && workload->object.active && !workload->object.meta.deleted &&
      !workload->object.finished && !workload->reserved() && !assumed(name) &&
      !state_.job_is_gone(*workload) &&
      !outbox_.left_alone(workload_key(workload->object), workload->object.meta.resource_version) &&
      !queue_problem(state_, *workload);
  if (!waits) return forget(name);
  const api::ClusterQueue* queue = state_.cluster_queue_of(*workload);
  const auto known = queue_of_.find(name);
  if (known != queue_of_.end() &&
      (known->second != queue->meta.name || local_queue_of_.at(name) != workload->local_queue())) {
    forget(name);
  }
  if (backs_off(workload->object, state_.now)) {
    nominations_.drop(name);
    queues_[queue->meta.name].send_away(name);
  } else {
    queue_up(*workload, *queue);
  }
  if (!queue_of_.contains(name)) {
    queue_of_[name] = queue->meta.name;
    local_queue_of_[name] = workload->local_queue();
    ++pending_in_local_queue_[workload->local_queue()];
    touch(queue->meta.name, workload->local_queue());
  }
}

void Scheduler::touch(const std::string& cluster_queue, const std::string& local_queue) {
  touched_.insert({api::Kind::kClusterQueue, "", cluster_queue});
  touched_.insert(key_of(api::Kind::kLocalQueue, local_queue));
}

uint64_t Scheduler::configuration_now() {
  return configuration_ + state_.account.cluster().label_version();
}

std::optional<Restraint> Scheduler::restraint(const WorkloadState& workload,
                                              const api::ClusterQueue& queue) const {
  return may_preempt(queue) ? restraint_of(workload, state_.now) : std::nullopt;
}

// Whoever a place is held for waits by itself: others of its shape may find one, too.
void Scheduler::queue_up(const WorkloadState& workload, const api::ClusterQueue& queue) {
  const std::string& name = workload.request.name;
  std::string shape = workload.shape;
  if (nominations_.find(name) != nullptr) shape += "held for " + name;
  // Who must end in time may use a place that is held.
  if (state_.configuration.head_reservation_after) {
    const auto left = workload.object.execution_left();
    shape += fmt::format("ends {}", left ? left->count() : -1);
  }
  if (const auto own = restraint(workload, queue)) {
    shape += "restrained until " + format_time(own->until);
  }
  const bool by_usage = queue.usage_based_admission && state_.configuration.admission_fair_sharing;
  queues_[queue.meta.name].put(entry_of(workload), shape,
                               by_usage ? workload.local_queue() : std::string());
}

void Scheduler::follow_holding(const std::string& name) {
  const WorkloadState* workload = state_.workload(name);
  const bool leaves = workload != nullptr && state_.gives_back(*workload);
  state_.ledger.set_leaving(name, leaves || nominations_.is_victim(name));
  nominations_.note_changed(name);
  follow_readiness(name);
  follow_places(name);
}

bool Scheduler::may_have_changed(const No& no, const std::string& cluster_queue) {
  if (no.until && *no.until <= state_.now) return true;
  if (no.configuration != configuration_now()) return true;
  if (no.readiness && *no.readiness != readiness_) return true;
  if (no.releases && *no.releases != state_.ledger.releases(cluster_queue)) return true;
  if (no.takes && *no.takes != state_.ledger.takes(cluster_queue)) return true;
  for (const auto& [tree, gains] : no.gains) {
    if (state_.account.cluster().tree(tree).gains() != gains) return true;
  }
  return false;
}

bool Scheduler::pass() {
  follow_recent_usage();
  for (const std::string& name : nominations_.drop_vain()) update(name);
  // Whatever it was refused for, its place has come nearer.
  for (const std::string& name : nominations_.follow()) {
    queues_.at(nominations_.find(name)->cluster_queue).wake(name);
  }
  bool decided = replace_nodes();
  decided |= complete_admissions();
  reconsider_untold();
  std::map<PendingEntry, std::string> heads;  // the next of every queue, best first
  Borrowers borrowers;                        // likewise, of those that must borrow
  const auto push = [&](const std::string& name, const PendingEntry* next) {
    const api::ClusterQueue& queue = state_.cluster_queues.at(name);
    const bool strict = queue.strategy == api::QueueingStrategy::kStrictFifo;
    if (next == nullptr) return;
    // In a strict queue nobody goes before the first, and the first may be parked, or busy. Recent
    // usage may since have put somebody before one whom others have gone for.
    if (const PendingEntry& first = *queues_.at(name).first(); strict && *next != first) {
      if (first < *next || nominations_.find(next->workload) == nullptr) return;
    }
    heads.emplace(*next, name);
  };
  for (auto& [name, queue] : queues_) {
    if (queue.size() == 0 || !state_.cluster_queues.contains(name)) continue;
    queue.wake([&](const No& no) { return may_have_changed(no, name); });
    push(name, queue.first_awake());
  }
  while (!heads.empty() || !borrowers.empty()) {
    PendingEntry entry;
    std::string name;
    Step step = Step::kBorrows;
    if (!heads.empty()) {
      std::tie(entry, name) = *heads.begin();
      heads.erase(heads.begin());
      step = decide(name, entry, &borrowers);
    } else {
      const auto next = next_borrower(borrowers);
      entry = next->first;
      name = next->second.cluster_queue;
      borrowers.erase(next);
      step = decide(name, entry, nullptr);
    }
    if (step == Step::kBorrows) continue;
    decided |= step == Step::kDecided;
    PendingQueue& queue = queues_.at(name);
    push(name, step == Step::kDecided ? queue.first_awake() : queue.next_awake(entry));
  }
  decided |= evict_victims();
  reserve_for_heads();
  for (auto& [name, queue] : queues_) tell(queue.take_newcomers());
  tell({to_tell_.begin(), to_tell_.end()});
  return decided;
}

Scheduler::Borrowers::iterator Scheduler::next_borrower(Borrowers& borrowers) {
  if (!state_.configuration.fair_sharing) return borrowers.begin();
  quota::QuotaTree& tree = state_.ledger.tree();
  const auto root_of = [&](const Borrower& borrower) {
    return tree.root(tree.queue(borrower.cluster_queue));
  };
  const quota::MemberId root = root_of(borrowers.begin()->second);
  std::vector<quota::Contender> contenders;
  std::vector<Borrowers::iterator> places;
  for (auto at = borrowers.begin(); at != borrowers.end(); ++at) {
    if (root_of(at->second) != root) continue;
    contenders.push_back({tree.queue(at->second.cluster_queue), at->second.wanted});
    places.push_back(at);
  }
  return places[quota::next_by_share(tree, contenders)];
}

Scheduler::Step Scheduler::decide(const std::string& cluster_queue, const PendingEntry& entry,
                                  Borrowers* borrowers) {
  const std::string& name = entry.workload;
  const WorkloadState& workload = state_.workloads.at(name);
  // A write of it is under way: what is known of it is about to be old. Its result brings us back.
  if (outbox_.busy(workload_key(workload.object))) return Step::kLater;
  const api::ClusterQueue& queue = state_.cluster_queues.at(cluster_queue);
  const Nomination* held = nominations_.find(name);
  // Until those that it waits for are gone nobody else is asked to go.
  const bool reservation = held != nullptr && held->reservation;
  const bool waits = held != nullptr && !reservation && !held->awaited.empty();
  quota::Reservation wanted;
  wanted.cluster_queue = cluster_queue;
  // Before it is known what it would take: nobody is asked to go for whoever is blocked.
  if (const std::string* blocker = blocker_of(workload, wanted)) {
    block(workload, queue, *blocker);
    return Step::kDecided;
  }
  Question question;
  question.may_preempt = !waits;
  question.standing = standing_of(workload, queue);
  const Appraisal appraisal = [&] {
    const Probed probed(probe_, Task::kPlace);
    return core::appraise(state_, nominations_, workload, queue, question);
  }();
  if (appraisal.assigned) {
    wanted = holding_for(workload, cluster_queue, appraisal.assigned->choices).reservation;
    if (const std::string* blocker = blocker_of(workload, wanted)) {
      block(workload, queue, *blocker);
      return Step::kDecided;
    }
  }
  // Nor does it start with less, or in another flavor: they would have gone for nothing.
  const bool keeps_waiting =
      waits && (!appraisal.assigned || wanted.usage != held->place.reservation.usage);
  if (appraisal.assigned && appraisal.assigned->borrows && borrowers != nullptr && !keeps_waiting) {
    borrowers->emplace(entry, Borrower{cluster_queue, state_.ledger.tree().amounts(wanted.usage)});
    return Step::kBorrows;
  }
  ++decisions_;
  if (keeps_waiting) {
    wait(workload, queue, *held, appraisal);
  } else if (appraisal.fits()) {
    admit(workload, queue, appraisal);
  } else if (appraisal.assigned) {
    nominate(workload, queue, appraisal);
  } else {
    if (!reservation) nominations_.drop(name);
    queue_up(workload, queue);
    refuse(workload, queue, *appraisal.refused);
  }
  return Step::kDecided;
}

Appraisal Scheduler::appraise(const WorkloadState& workload, const api::ClusterQueue& queue,
                              bool explain) {
  Question question;
  question.explain = explain;
  question.standing = standing_of(workload, queue);
  return core::appraise(state_, nominations_, workload, queue, question);
}

bool Scheduler::fits_now(const WorkloadState& workload, const api::ClusterQueue& queue) {
  Question question;
  question.may_preempt = false;
  question.standing = standing_of(workload, queue);
  return core::appraise(state_, nominations_, workload, queue, question).fits();
}

void Scheduler::admit(const WorkloadState& workload, const api::ClusterQueue& queue,
                      const Appraisal& appraisal) {
  const std::string name = workload.request.name;
  const api::ObjectKey key = workload_key(workload.object);
  const std::vector<quota::FlavorChoice>& choices = appraisal.assigned->choices;
  auto admission = admission_write(state_, workload, queue, choices, appraisal.counts);
  if (!admission) {  // an assignment that no object can hold: waiting does not help
    const quota::Refused refused{
        0, {{quota::Obstacle::kNoMatchingFlavor, "", admission.error().message}}};
    return refuse(workload, queue, refused);
  }
  const std::vector<std::string> behind = held_behind(name, queue.meta.name);
  nominations_.drop(name);
  Holding holding = holding_for(workload, queue.meta.name, choices);
  holding.reservation.admitted = admission->admitted;
  state_.hold(name, holding);
  recent_usages_.admitted(workload.local_queue(), holding.reservation.usage);
  if (queue.usage_based_admission && state_.configuration.admission_fair_sharing) {
    const std::string local = workload.local_queue();
    queues_.at(queue.meta.name).set_usage(local, recent_usages_.value(local));
  }
  assumed_.insert(name);
  follow_readiness(name);
  json::array placed;
  for (const quota::FlavorChoice& choice : choices) {
    json::object flavors;
    for (const auto& [resource, flavor] : choice.flavors) flavors[resource] = flavor;
    json::object domains;
    if (choice.topology) {
      for (const api::DomainAssignment& domain : choice.topology->domains) {
        domains[fmt::format("{}", fmt::join(domain.values, "/"))] = domain.count;
      }
    }
    placed.push_back(json::object{{"flavors", std::move(flavors)}, {"pods", std::move(domains)}});
  }
  journal_.record(state_.now, {admission->admitted ? "admit" : "reserve-quota",
                               key,
                               {{key.text(), workload.object.meta.resource_version},
                                {"ClusterQueue " + queue.meta.name, queue.meta.resource_version}},
                               fmt::format("fits in ClusterQueue {}", queue.meta.name),
                               {{"podSets", std::move(placed)}}});
  const std::string& uid = workload.object.meta.uid;
  // Quota is reserved in the same moment: one Event says both.
  Notice notice{key, uid, false, "Admitted",
                fmt::format("Admitted by ClusterQueue {}", queue.meta.name)};
  if (!admission->admitted) {
    notice.reason = names::kQuotaReserved;
    notice.message = fmt::format("Quota reserved in ClusterQueue {}", queue.meta.name);
  }
  outbox_.submit(std::move(admission->write), {std::move(notice)});
  forget(name);
  // Places that were held for others behind it, and that it has taken: they look for another.
  drop_broken(behind);
}

Standing Scheduler::standing_of(const WorkloadState& workload,
                                const api::ClusterQueue& queue) const {
  Standing standing;
  if (const auto pending = queues_.find(queue.meta.name); pending != queues_.end()) {
    standing.comes_before = [&pending = pending->second,
                             &name = workload.request.name](const std::string& other) {
      return pending.goes_before(name, other);
    };
  }
  if (const auto left = workload.object.execution_left()) standing.ends_by = state_.now + *left;
  // In a strict queue nobody starts before it, unless by recent usage it was not the first before.
  const bool strict =
      queue.strategy == api::QueueingStrategy::kStrictFifo && !queue.usage_based_admission;
  standing.yields = !strict && restraint(workload, queue).has_value();
  return standing;
}

std::vector<std::string> Scheduler::held_behind(const std::string& workload,
                                                const std::string& cluster_queue) const {
  std::vector<std::string> behind;
  for (const auto& [name, nomination] : nominations_.all()) {
    if (nomination.cluster_queue == cluster_queue &&
        queues_.at(cluster_queue).goes_before(workload, name)) {
      behind.push_back(name);
    }
  }
  return behind;
}

void Scheduler::drop_broken(const std::vector<std::string>& behind) {
  for (const std::string& name : nominations_.drop_broken(behind)) update(name);
  for (const std::string& name : nominations_.drop_vain()) update(name);
}

void Scheduler::follow_recent_usage() {
  if (!state_.configuration.admission_fair_sharing) return;
  for (const std::string& name : recent_usages_.sample()) {
    const api::LocalQueue& local = state_.local_queues.at(name);
    queues_[local.cluster_queue].set_usage(name, recent_usages_.value(name));
    touched_.insert(key_of(api::Kind::kLocalQueue, name));
  }
}

void Scheduler::local_queue_changed(const std::string& full_name) {
  const auto local = state_.local_queues.find(full_name);
  if (!state_.configuration.admission_fair_sharing || local == state_.local_queues.end()) return;
  const auto queue = queues_.find(local->second.cluster_queue);
  if (queue == queues_.end()) return;
  queue->second.set_usage(full_name, recent_usages_.value(full_name));
}

std::optional<Time> Scheduler::wake_at() const {
  std::optional<Time> next = recent_usages_.wake_at();
  const auto consider = [&](Time time) {
    if (time > state_.now) next = next ? std::min(*next, time) : time;
  };
  for (const auto& [name, pending] : queues_) {
    if (const auto patience = patience_of(name)) consider(*patience);
  }
  for (const auto& [workload, until] : restrained_) consider(until);
  for (const auto& [workload, no] : inadmissible_) {
    if (no.until) consider(*no.until);
  }
  return next;
}

No Scheduler::no_for(const WorkloadState& workload, const api::ClusterQueue& queue,
                     const quota::Refused& refused) {
  No no;
  no.reason = reason_of(refused.obstacle());
  no.message = refused.text(workload.request.pod_sets[refused.pod_set].name);
  no.configuration = configuration_now();
  const bool preempts = may_preempt(queue);
  std::vector<quota::Refusal> refusals = refused.refusals;
  refusals.insert(refusals.end(), refused.earlier.begin(), refused.earlier.end());
  for (const quota::Refusal& refusal : refusals) {
    // Nobody's going was enough: whatever was lacking, it may have been for want of the other.
    const bool lacks_quota = refusal.obstacle == quota::Obstacle::kWaitingForQuota;
    const bool lacks_room = refusal.obstacle == quota::Obstacle::kTopology;
    if (lacks_quota || (lacks_room && preempts)) {
      no.releases = state_.ledger.releases(queue.meta.name);
    }
    if (!lacks_room && !(lacks_quota && preempts)) continue;
    if (const auto tree = state_.account.tree_of(refusal.flavor)) {
      no.gains.emplace_back(*tree, state_.account.cluster().tree(*tree).gains());
    }
  }
  // What a queue has come to borrow since can be reclaimed.
  if (may_reclaim(queue)) no.takes = state_.ledger.takes(queue.meta.name);
  return no;
}

void Scheduler::refuse(const WorkloadState& workload, const api::ClusterQueue& queue,
                       const quota::Refused& refused) {
  No no = no_for(workload, queue, refused);
  restrained_.erase(workload.request.name);
  if (const auto own = restraint(workload, queue)) {
    no.until = own->until;
    restrained_[workload.request.name] = own->until;
    if (const int32_t times = workload.object.preemptions(); times > 1) {
      no.message +=
          fmt::format(". Preempted {} times: until {} it asks nobody to go who has started since",
                      times, format_time(own->until));
    }
  }
  park(workload, queue, std::move(no), "refuse");
}

void Scheduler::park(const WorkloadState& workload, const api::ClusterQueue& queue, No no,
                     std::string_view what, json::object details) {
  const std::string name = workload.request.name;
  const api::ObjectKey key = workload_key(workload.object);
  journal_.record(state_.now, {what,
                               key,
                               {{key.text(), workload.object.meta.resource_version},
                                {"ClusterQueue " + queue.meta.name, queue.meta.resource_version}},
                               no.message,
                               std::move(details)});
  PendingQueue& pending = queues_.at(queue.meta.name);
  pending.park(name, std::move(no));
  tell(pending.take_untold(name));
}

void Scheduler::tell(const std::vector<std::string>& workloads) {
  for (const std::string& name : workloads) {
    to_tell_.erase(name);
    const WorkloadState* workload = state_.workload(name);
    const auto queue = queue_of_.find(name);
    if (workload == nullptr || queue == queue_of_.end()) continue;
    const No* no = queues_.at(queue->second).no_of(name);
    if (no == nullptr) continue;
    const api::ObjectKey key = workload_key(workload->object);
    if (outbox_.busy(key)) {
      to_tell_.insert(name);
      continue;
    }
    auto write = pending_write(state_, *workload, no->reason, no->message);
    if (!write) continue;
    std::vector<Notice> notices{{key, workload->object.meta.uid, true, "Pending", no->message}};
    // Who submitted a job looks there first.
    if (const auto job = state_.job_of_id.find(workload->job_id()); job != state_.job_of_id.end()) {
      notices.push_back({job->second, workload->job_uid(), true, "Pending",
                         fmt::format("Workload {} waits: {}", key.name, no->message)});
    }
    outbox_.submit(std::move(*write), std::move(notices));
  }
}

const PendingQueue* Scheduler::queue(const std::string& cluster_queue) const {
  const auto found = queues_.find(cluster_queue);
  return found == queues_.end() ? nullptr : &found->second;
}

int64_t Scheduler::pending_in_cluster_queue(const std::string& name) const {
  const PendingQueue* pending = queue(name);
  return pending == nullptr ? 0 : static_cast<int64_t>(pending->size());
}

int64_t Scheduler::pending_in_local_queue(const std::string& full_name) const {
  const auto found = pending_in_local_queue_.find(full_name);
  return found == pending_in_local_queue_.end() ? 0 : found->second;
}

}  // namespace phalanx::core
