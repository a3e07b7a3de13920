// The part of Scheduler that looks after workloads which have their quota: they are admitted once
// their checks are ready, with places for those that waited for nodes; nodes that are lost are
// replaced; and nobody starts before the pods of others are ready, if that is asked for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/admission_checks.h"
#include "core/injection.h"
#include "core/names.h"
#include "core/node_health.h"
#include "core/preemption.h"
#include "core/scheduler.h"
#include "core/second_pass.h"

namespace phalanx::core {
namespace {

bool can_be_admitted(const State& state, const WorkloadState& workload) {
  return workload.reserved() && !workload.admitted() && !state.gives_back(workload) &&
         workload.object.active && !workload.object.meta.deleted &&
         all_checks_ready(workload.object) && !sent_away(state, workload) &&
         !contradiction_of_checks(state, workload);
}

std::string waiting_for(const WorkloadState& workload, const WorkloadState& blocker) {
  const bool named = workload.object.namespace_ == blocker.object.namespace_;
  return fmt::format("waiting for the pods of {}{} to be ready", called_before(workload, blocker),
                     named ? "" : fmt::format(" (UID: {})", blocker.object.meta.uid));
}

}  // namespace

void Scheduler::follow_readiness(const std::string& name) {
  if (!state_.configuration.wait_for_pods_ready) return;
  const WorkloadState* workload = state_.workload(name);
  const bool unready = workload != nullptr && (assumed(name) || workload->admitted()) &&
                       !workload->object.finished && !state_.job_is_gone(*workload) &&
                       !api::holds(workload->object.conditions, names::kPodsReady);
  if (unready) {
    unready_.insert(name);
  } else if (unready_.erase(name) > 0) {
    ++readiness_;
  }
}

void Scheduler::follow_places(const std::string& name) {
  const WorkloadState* workload = state_.workload(name);
  const bool lost_nodes = workload != nullptr && workload->admitted() && !workload->evicted() &&
                          !workload->object.unhealthy_nodes.empty();
  const bool passed = workload != nullptr && !assumed(name) && can_be_admitted(state_, *workload);
  const auto follow = [&](bool concerned, auto& set, auto& refusals) {
    if (concerned) {
      set.insert(name);
    } else {
      set.erase(name);
      refusals.erase(name);
    }
  };
  follow(lost_nodes, to_replace_, irreplaceable_);
  follow(passed, to_admit_, inadmissible_);
}

// Room may be scarce: they are asked in the order in which they would wait.
std::set<PendingEntry> Scheduler::in_turn(const std::set<std::string>& workloads) const {
  std::set<PendingEntry> entries;
  for (const std::string& name : workloads) entries.insert(entry_of(state_.workloads.at(name)));
  return entries;
}

bool Scheduler::complete_admissions() {
  bool decided = false;
  for (const PendingEntry& entry : in_turn(to_admit_)) {
    decided |= complete_admission_of(entry.workload);
  }
  return decided;
}

bool Scheduler::complete_admission_of(const std::string& name) {
  const WorkloadState& workload = state_.workloads.at(name);
  const api::ObjectKey key = workload_key(workload.object);
  if (outbox_.busy(key) || outbox_.left_alone(key, state_.known.version(key))) return false;
  if (const auto no = inadmissible_.find(name);
      no != inadmissible_.end() && !may_have_changed(no->second, workload.object.cluster_queue)) {
    return false;
  }
  if (const auto* blocker = blocker_of(workload, state_.holdings.at(name).reservation)) {
    No no = no_while_blocked(workload.object.cluster_queue);
    no.message = waiting_for(workload, state_.workloads.at(*blocker));
    if (inadmissible_[name].message != no.message) {
      outbox_.notify({key, workload.object.meta.uid, false,
                      std::string(names::kWaitingForPodsReady), no.message});
    }
    inadmissible_[name] = std::move(no);
    if (!api::holds(workload.object.conditions, names::kSecondPassFailed)) return false;
    outbox_.submit(forget_failure_write(state_, workload));
    return true;
  }
  const bool delayed = workload.object.topology_is_delayed();
  const auto places = delayed ? core::place_delayed(state_, workload)
                              : std::expected<Places, std::string>(workload.assignments);
  auto write = places ? placement_write(state_, workload, *places, true)
                      : Result<Write>(fail(places.error()));
  const std::string_view what = delayed ? "second-pass" : "admit";
  const std::string why = delayed ? "its pods have places" : "all admission checks are ready";
  journal_.record(state_.now, {write ? what : "no-places",
                               key,
                               {{key.text(), workload.object.meta.resource_version}},
                               write ? why : write.error().message,
                               {}});
  if (!write) return miss_places(workload, write.error().message);
  assume(workload, *places);
  outbox_.submit(std::move(*write),
                 {{key, workload.object.meta.uid, false, "Admitted",
                   fmt::format("Admitted by ClusterQueue {}", workload.object.cluster_queue)}});
  return true;
}

bool Scheduler::miss_places(const WorkloadState& workload, const std::string& why) {
  const api::ObjectKey key = workload_key(workload.object);
  const std::string& uid = workload.object.meta.uid;
  const auto first_failure = second_pass_failed_at(workload.object, state_.now);
  const auto next = next_second_pass(first_failure.value_or(state_.now), state_.now);
  if (next) {
    No no = no_until_room(workload);
    no.until = next;
    inadmissible_[workload.request.name] = std::move(no);
    outbox_.notify({key, uid, true, "SecondPassFailed", why});
    if (first_failure) return false;
    outbox_.submit(first_failure_write(state_, workload));
    return true;
  }
  const std::string message = fmt::format("No places were found for its pods in time: {}", why);
  outbox_.submit(
      surrender_write(state_, workload, message),
      {{key, uid, true, fmt::format("EvictedDueTo{}", names::kTopologyPlacementFailed), message}});
  return true;
}

// It may fit when there is more room in the topologies that it is placed by.
No Scheduler::no_until_room(const WorkloadState& workload) {
  No no;
  no.configuration = configuration_now();
  for (const HeldPodSet& held : state_.holdings.at(workload.request.name).pod_sets) {
    if (const auto tree = state_.account.tree_of(held.flavor)) {
      no.gains.emplace_back(*tree, state_.account.cluster().tree(*tree).gains());
    }
  }
  return no;
}

void Scheduler::assume(const WorkloadState& workload, const Places& places) {
  const std::string& name = workload.request.name;
  Holding holding = state_.holdings.at(name);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] == workload.assignments[i]) continue;
    for (HeldPodSet& held : holding.pod_sets) {
      if (held.name == workload.object.pod_sets[i].name) held.assignment = places[i];
    }
  }
  holding.reservation.admitted = true;
  state_.hold(name, std::move(holding));
  assumed_.insert(name);
  follow_places(name);
  follow_readiness(name);
}

// It need not ask again before somebody's pods are ready. Those of a flavor matter only while it
// would take that flavor.
No Scheduler::no_while_blocked(const std::string& cluster_queue) {
  No no;
  no.configuration = configuration_now();
  no.readiness = readiness_;
  if (state_.configuration.wait_for_pods_ready->blocks != BlockScope::kFlavor) return no;
  no.releases = state_.ledger.releases(cluster_queue);
  for (const auto& [name, flavor] : state_.flavors) {
    if (const auto tree = state_.account.tree_of(name)) {
      no.gains.emplace_back(*tree, state_.account.cluster().tree(*tree).gains());
    }
  }
  return no;
}

bool Scheduler::blocks(const std::string& unready, const std::string& cluster_queue,
                       const quota::Usage& usage) const {
  const auto holding = state_.holdings.find(unready);
  if (holding == state_.holdings.end()) return false;
  const quota::Reservation& held = holding->second.reservation;
  switch (state_.configuration.wait_for_pods_ready->blocks) {
    case BlockScope::kNobody:
      return false;
    case BlockScope::kCluster:
      return true;
    case BlockScope::kClusterQueue:
      return held.cluster_queue == cluster_queue;
    case BlockScope::kFlavor:
      return std::ranges::any_of(held.usage, [&](const auto& taken) {
        return std::ranges::any_of(
            usage, [&](const auto& wanted) { return wanted.first.flavor == taken.first.flavor; });
      });
  }
  return false;
}

const std::string* Scheduler::blocker_of(const WorkloadState& workload,
                                         const quota::Reservation& wanted) const {
  if (!state_.configuration.wait_for_pods_ready) return nullptr;
  // Who is told one name stays with it while that is true, or everybody would be told anew with
  // each workload that gets ready.
  if (const auto told = told_blockers_.find(workload.request.name);
      told != told_blockers_.end() && unready_.contains(told->second) &&
      blocks(told->second, wanted.cluster_queue, wanted.usage)) {
    return &told->second;
  }
  const std::string* last = nullptr;
  for (const std::string& name : unready_) {
    if (!blocks(name, wanted.cluster_queue, wanted.usage)) continue;
    if (last == nullptr || unready_since(name) >= unready_since(*last)) last = &name;
  }
  return last;
}

// Who was ready last, or has just started, is likely to be the last to be ready again.
Time Scheduler::unready_since(const std::string& name) const {
  const api::Conditions& conditions = state_.workloads.at(name).object.conditions;
  const api::Condition* ready = api::find_condition(conditions, names::kPodsReady);
  const api::Condition* admitted = api::find_condition(conditions, names::kAdmitted);
  Time since = ready == nullptr ? Time{} : ready->changed;
  if (admitted != nullptr) since = std::max(since, admitted->changed);
  return since;
}

void Scheduler::block(const WorkloadState& workload, const api::ClusterQueue& queue,
                      const std::string& blocker) {
  ++decisions_;
  No no = no_while_blocked(queue.meta.name);
  no.reason = names::kWaitingForPodsReady;
  no.message = waiting_for(workload, state_.workloads.at(blocker));
  told_blockers_[workload.request.name] = std::string(blocker);
  park(workload, queue, std::move(no), "block", {{"blocker", blocker}});
}

bool Scheduler::replace_nodes() {
  bool decided = false;
  for (const PendingEntry& entry : in_turn(to_replace_)) {
    decided |= replace_nodes_of(entry.workload);
  }
  return decided;
}

bool Scheduler::replace_nodes_of(const std::string& name) {
  const WorkloadState& workload = state_.workloads.at(name);
  const api::ObjectKey key = workload_key(workload.object);
  if (outbox_.busy(key) || outbox_.left_alone(key, state_.known.version(key))) return false;
  const LostNodes found = lost_nodes(state_, workload);
  const std::vector<std::string> lost = found.names();
  // What its status says of them is brought up to date first.
  const size_t named = workload.object.unhealthy_nodes.size();
  if (lost.empty() || named != std::min(lost.size(), kMostUnhealthyNodes) ||
      !std::equal(workload.object.unhealthy_nodes.begin(), workload.object.unhealthy_nodes.end(),
                  lost.begin())) {
    return false;
  }
  if (const auto no = irreplaceable_.find(name);
      no != irreplaceable_.end() && no->second.lost == lost &&
      !may_have_changed(no->second.no, workload.object.cluster_queue)) {
    return false;
  }
  auto places = [&] {
    const Probed probed(probe_, Task::kReplace);
    return find_replacement(state_, workload, found);
  }();
  if (!places) return find_no_place(workload, lost, places.error());
  move(workload, lost, *places);
  return true;
}

void Scheduler::move(const WorkloadState& workload, const std::vector<std::string>& lost,
                     const Places& places) {
  const std::string name = workload.request.name;
  const api::ObjectKey key = workload_key(workload.object);
  auto write = placement_write(state_, workload, places, false);
  if (!write) return evict(workload, names::kNodeFailures, write.error().message);
  json::object moved;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] == workload.assignments[i]) continue;
    std::map<std::string, int64_t> more;
    const auto count = [&](const api::TopologyAssignment& assignment, int64_t sign) {
      for (const api::DomainAssignment& domain : assignment.domains) {
        more[fmt::format("{}", fmt::join(domain.values, "/"))] += sign * domain.count;
      }
    };
    count(*places[i], 1);
    count(*workload.assignments[i], -1);
    json::object domains;
    for (const auto& [domain, pods] : more) {
      if (pods > 0) domains[domain] = pods;
    }
    moved[workload.object.pod_sets[i].name] = std::move(domains);
  }
  assume(workload, places);
  irreplaceable_.erase(name);
  ++replacements_;
  const std::string message = fmt::format("replaced node(s) {}", fmt::join(lost, ", "));
  journal_.record(state_.now, {"replace",
                               key,
                               {{key.text(), workload.object.meta.resource_version}},
                               message,
                               {{"pods", std::move(moved)}}});
  outbox_.submit(std::move(*write),
                 {{key, workload.object.meta.uid, false, "NodesReplaced", message}});
}

bool Scheduler::find_no_place(const WorkloadState& workload, const std::vector<std::string>& lost,
                              const std::string& why) {
  const std::string& name = workload.request.name;
  const std::string message =
      fmt::format("there is no replacement for node(s) {}: {}", fmt::join(lost, ", "), why);
  if (state_.configuration.node_replacement.fail_fast) {
    evict(workload, names::kNodeFailures, message);
    return true;
  }
  No no = no_until_room(workload);
  no.message = message;
  NoReplacement& known = irreplaceable_[name];
  if (std::exchange(known, {std::move(no), lost}).no.message == message) return false;
  const api::ObjectKey key = workload_key(workload.object);
  journal_.record(
      state_.now,
      {"no-replacement", key, {{key.text(), workload.object.meta.resource_version}}, message, {}});
  outbox_.notify({key, workload.object.meta.uid, true, "NoReplacement", message});
  return false;
}

void Scheduler::evict(const WorkloadState& workload, std::string_view reason,
                      const std::string& message) {
  const api::ObjectKey key = workload_key(workload.object);
  journal_.record(state_.now, {"evict",
                               key,
                               {{key.text(), workload.object.meta.resource_version}},
                               message,
                               {{"reason", reason}}});
  outbox_.submit(
      eviction_write(state_, workload, reason, message),
      {{key, workload.object.meta.uid, false, fmt::format("EvictedDueTo{}", reason), message}});
}

}  // namespace phalanx::core
