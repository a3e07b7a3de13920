#include "core/core.h"

#include <fmt/format.h>

#include "base/check.h"
#include "core/job_controller.h"
#include "core/misplaced_pods.h"
#include "core/names.h"
#include "core/provisioning.h"
#include "core/provisioning_config.h"
#include "core/queue_controller.h"
#include "core/workload_controller.h"

namespace phalanx::core {
namespace {

std::optional<Time> earlier(std::optional<Time> a, std::optional<Time> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace

Core::Core(Configuration configuration, const Adapters& adapters)
    : adapters_(adapters), scheduler_(state_, outbox_, journal_) {
  state_.configuration = std::move(configuration);
  state_.adapters = &adapters_;
}

std::vector<api::Kind> Core::watched_kinds() const {
  using api::Kind;
  std::vector<Kind> kinds{Kind::kNamespace,     Kind::kLimitRange,
                          Kind::kPriorityClass, Kind::kWorkloadPriorityClass,
                          Kind::kRuntimeClass,  Kind::kNode,
                          Kind::kTopology,      Kind::kResourceFlavor,
                          Kind::kCohort,        Kind::kAdmissionCheck,
                          Kind::kClusterQueue,  Kind::kLocalQueue,
                          Kind::kWorkload,      Kind::kPod};
  kinds.insert(kinds.end(),
               {Kind::kPodTemplate, Kind::kProvisioningRequestConfig, Kind::kProvisioningRequest});
  for (const Kind kind : adapters_.kinds()) kinds.push_back(kind);
  return kinds;
}

Output Core::step(Time now, std::vector<Event> events) {
  CHECK(now >= state_.now);
  state_.now = now;
  for (Event& event : events) take_in(event);
  if (synced_) ring_alarms();
  for (const api::ObjectKey& key : outbox_.take_due(now)) decide_again(key);
  for (const std::string& workload : std::exchange(pods_changed_, {})) workload_changed(workload);
  if (std::exchange(members_changed_, false)) {
    state_.ledger.set_members(state_.cluster_queues, state_.cohorts);
  }
  if (synced_) run_controllers();
  std::optional<Time> wake_at = outbox_.next_attempt();
  if (synced_) wake_at = earlier(wake_at, scheduler_.wake_at());
  if (!alarms_by_time_.empty()) wake_at = earlier(wake_at, alarms_by_time_.begin()->first);
  return {outbox_.take_writes(now), outbox_.take_notices(), journal_.take(), wake_at,
          journal_.take_tally()};
}

void Core::take_in(Event& event) {
  if (auto* changed = std::get_if<ObjectChanged>(&event)) {
    Object& object = changed->object;
    if (const auto known = state_.known.find(object.key)) {
      const Arrival arrival = judge(*known, object);
      if (arrival == Arrival::kNotNewer) return;
      if (arrival == Arrival::kAnother) object_deleted(object.key);
    }
    state_.known.put(object.key, object.uid, object.resource_version);
    outbox_.forget(object.key);
    std::visit([&](auto& body) { put(object.key, std::move(body)); }, object.body);
  } else if (auto* deleted = std::get_if<ObjectDeleted>(&event)) {
    forget_object(*deleted);
  } else if (auto* listed = std::get_if<Listed>(&event)) {
    for (const api::ObjectKey& key : state_.known.missing_from(*listed)) object_deleted(key);
    if (listed->kind == api::Kind::kProvisioningRequest) provisioning_is_served();
  } else if (auto* finished = std::get_if<WriteFinished>(&event)) {
    write_finished(*finished);
  } else {
    synced_ = true;
    for (const auto& [name, workload] : state_.workloads) state_.places_changed(name);
  }
}

void Core::forget_object(const ObjectDeleted& deleted) {
  const auto known = state_.known.find(deleted.key);
  if (known && concerns(deleted, *known)) object_deleted(deleted.key);
}

void Core::write_finished(const WriteFinished& result) {
  if (result.outcome == WriteOutcome::kUnavailable) {
    return outbox_.send_again(result.id, state_.now + result.retry_after);
  }
  auto finished = outbox_.finish(result.id);
  if (!finished) return;
  const api::ObjectKey& key = finished->write.key;
  const std::string name = full_name(key);
  const bool done = result.outcome == WriteOutcome::kDone;
  // After a conflict the object may be what we wanted to make of it, by a write that seemed lost:
  // what was assumed stays until its new version is seen. Any other failure means that nothing was
  // written.
  const bool certain = result.outcome != WriteOutcome::kConflict;
  const bool gone = finished->write.verb != Verb::kCreate && !state_.known.contains(key);
  // What was deleted is about to go, and is not deleted once more meanwhile.
  const bool settled = done && finished->write.verb != Verb::kDelete;
  // What could not be created has no version that could change.
  const bool creates = finished->write.verb == Verb::kCreate;
  const bool refused =
      result.outcome == WriteOutcome::kRefused || (!done && creates && !state_.known.contains(key));
  const bool has_own_pace = creates && is_for_autoscalers(key.kind);
  if (refused && !has_own_pace && !gone) {
    outbox_.leave_alone_for_now(finished->write, state_.now);
  } else if (!settled && !gone) {
    outbox_.leave_alone(key, finished->write.resource_version);
  }
  if (done) {
    for (Notice& notice : finished->notices) outbox_.notify(std::move(notice));
  }
  if (result.outcome == WriteOutcome::kRefused) tell_refusal(finished->write, result.message);
  if (creates) creation_finished(finished->write, result);
  name_settled(key);
  if (key.kind == api::Kind::kPod) {
    if (certain) expected_.erase(name);
    pod_settled(key, name);
  }
  if (key.kind == api::Kind::kWorkload) {
    if (certain) scheduler_.forget_assumption(name);
    if (result.outcome == WriteOutcome::kRefused) scheduler_.write_refused(name);
    if (!done) scheduler_.tell_again(name);
    workload_changed(name);
  }
  if (done || !certain) dirty_.insert(key);
}

// An object that could not be created is nothing to tell anybody about: its owner is told.
void Core::tell_refusal(const Write& write, const std::string& message) {
  api::ObjectKey about = write.key;
  if (write.verb == Verb::kCreate && write.owner) about = *write.owner;
  journal_.record(state_.now, {"write-refused", write.key, {}, message, {}});
  outbox_.notify({about, state_.known.uid(about), true, "WriteRefused",
                  about == write.key ? message : fmt::format("{}: {}", write.key.text(), message)});
}

// The API server did not want what was decided about this one, some time ago.
void Core::decide_again(const api::ObjectKey& key) {
  dirty_.insert(key);
  if (key.kind == api::Kind::kPod) {
    to_check_.insert(full_name(key));
    pod_settled(key, full_name(key));
  } else if (key.kind == api::Kind::kWorkload) {
    workload_moves_again(full_name(key));
    workload_changed(full_name(key));
  }
}

// A pod whose un-gating is over is where its object says.
void Core::pod_settled(const api::ObjectKey& key, const std::string& name) {
  if (!outbox_.busy(key) && !outbox_.left_alone(key, state_.known.version(key))) {
    expected_.erase(name);
  }
  const auto pod = state_.pods.find(name);
  if (pod != state_.pods.end()) to_ungate_.insert(pod->second.workload);
}

void Core::mark(api::Kind kind, const std::string& name) {
  dirty_.insert(key_of(kind, name));
}

void Core::mark_queues_of(const std::string& name) {
  const WorkloadState* workload = state_.workload(name);
  if (workload == nullptr) return;
  mark(api::Kind::kLocalQueue, workload->local_queue());
  if (const api::ClusterQueue* queue = state_.cluster_queue_of(*workload)) {
    mark(api::Kind::kClusterQueue, queue->meta.name);
  }
  const std::string& holder = workload->object.cluster_queue;
  if (holder.empty()) return;
  mark(api::Kind::kClusterQueue, holder);
  if (!state_.configuration.fair_sharing) return;
  // Shares of cohorts are in their status.
  const quota::QuotaTree& tree = state_.ledger.tree();
  quota::MemberId member = tree.queue(holder);
  while (member.valid() && (member = tree.parent(member)).valid()) {
    mark(api::Kind::kCohort, tree.name(member));
  }
}

void Core::run_controllers() {
  bool decided = true;
  while (decided || !dirty_.empty()) {
    while (!dirty_.empty()) {
      const api::ObjectKey key = *dirty_.begin();
      dirty_.erase(dirty_.begin());
      carry_out(reconcile(key));
    }
    end_misplaced_pods();
    run_ungater();
    decided = scheduler_.pass();
    for (const api::ObjectKey& queue : scheduler_.take_touched()) dirty_.insert(queue);
  }
  report_drift();
}

Verdict Core::reconcile(const api::ObjectKey& key) {
  if (outbox_.busy(key)) return {};  // its result brings us back
  const std::string name = full_name(key);
  using api::Kind;
  switch (key.kind) {
    case Kind::kWorkload: {
      const std::optional<Time> again = provision(name);
      Verdict verdict = reconcile_workload(state_, name);
      set_alarm(key, earlier(again, verdict.wake_at));
      return verdict;
    }
    case Kind::kAdmissionCheck:
      return reconcile_admission_check(state_, name);
    case Kind::kTopology:
      return reconcile_topology(state_, name);
    case Kind::kResourceFlavor:
      return reconcile_flavor(state_, name);
    case Kind::kCohort:
      return reconcile_cohort(state_, name);
    case Kind::kClusterQueue:
      return reconcile_cluster_queue(state_, scheduler_, name);
    case Kind::kLocalQueue:
      return reconcile_local_queue(state_, scheduler_, name);
    default:
      if (adapters_.find(key.kind) == nullptr) return {};
      tell_problem_of_job(key);
      return reconcile_job(state_, key);
  }
}

// Once for each problem: such a job has no Workload that could say it.
void Core::tell_problem_of_job(const api::ObjectKey& key) {
  const auto job = state_.jobs.find(key);
  if (job == state_.jobs.end()) return;
  const std::string& problem = job->second.problem;
  if (problem.empty() || !is_managed(state_, key, job->second)) {
    told_problems_.erase(key);
    return;
  }
  if (told_problems_[key] == problem) return;
  told_problems_[key] = problem;
  const api::ObjectMeta& meta = job->second.meta;
  journal_.record(state_.now,
                  {"misconfigured", key, {{key.text(), meta.resource_version}}, problem, {}});
  outbox_.notify({key, meta.uid, true, "Misconfigured", problem});
}

void Core::carry_out(Verdict verdict) {
  if (!verdict.write) return;
  const api::ObjectKey& key = verdict.write->key;
  if (outbox_.busy(key) || outbox_.left_alone(key, state_.known.version(key))) return;
  if (verdict.decision) journal_.record(state_.now, std::move(*verdict.decision));
  outbox_.submit(std::move(*verdict.write), std::move(verdict.notices));
}

void Core::set_alarm(const api::ObjectKey& key, std::optional<Time> at) {
  if (const auto known = alarms_.find(key); known != alarms_.end()) {
    if (known->second == at) return;
    alarms_by_time_.erase({known->second, key});
    alarms_.erase(known);
  }
  if (!at) return;
  alarms_[key] = *at;
  alarms_by_time_.emplace(*at, key);
}

void Core::ring_alarms() {
  while (!alarms_by_time_.empty() && alarms_by_time_.begin()->first <= state_.now) {
    const api::ObjectKey key = alarms_by_time_.begin()->second;
    set_alarm(key, std::nullopt);
    workload_changed(full_name(key));
  }
}

void Core::end_misplaced_pods() {
  for (const std::string& pod : std::exchange(to_check_, {})) {
    auto verdict = end_if_misplaced(state_, pod);
    if (!verdict) continue;
    carry_out(std::move(*verdict));
    state_.account.mark_ending(pod);
  }
}

// A pod may ask for more than its place has: a webhook added a container, or somebody made it by
// hand. It goes there only while its node has that much left that is promised to nobody; otherwise
// it would take what others were promised. Until then it keeps its gate.
bool Core::must_wait(const std::string& workload, const std::string& pod, const std::string& host) {
  const auto resource = state_.account.excess_of(pod, host);
  if (!resource) return false;
  held_back_.insert(workload);
  const std::string problem = fmt::format(
      "it asks for more {} than its workload was admitted with, and node {} has not that much left",
      *resource, host);
  auto& told = told_too_large_[pod];
  if (told == problem) return true;
  told = problem;
  const api::ObjectKey key = key_of(api::Kind::kPod, pod);
  journal_.record(state_.now,
                  {"hold-back", key, {{key.text(), state_.known.version(key)}}, problem, {}});
  outbox_.notify({key, state_.known.uid(key), true, "PodTooLarge", problem});
  return true;
}

void Core::run_ungater() {
  to_ungate_.merge(held_back_);
  held_back_.clear();
  for (const std::string& name : std::exchange(to_ungate_, {})) {
    Ungating ungating = [&] {
      const Probed probed(probe_, Task::kUngate);
      return ungate(state_, outbox_, expected_, name);
    }();
    for (const auto& [pod_set, problem] : ungating.rank_problems) {
      if (!rank_warned_.insert(name + "/" + pod_set).second) continue;
      const api::ObjectKey key = key_of(api::Kind::kWorkload, name);
      const std::string message =
          fmt::format("pod set {}: ranks cannot be used: {}; its pods fill the domains in order",
                      pod_set, problem);
      journal_.record(
          state_.now,
          {"ignore-ranks", key, {{key.text(), state_.known.version(key)}}, message, {}});
      outbox_.notify({key, state_.known.uid(key), true, "RanksIgnored", message});
    }
    for (Verdict& verdict : ungating.pods) {
      const api::ObjectKey key = verdict.write->key;
      const json::object& selector =
          verdict.write->body.get_object().at("spec").get_object().at("nodeSelector").get_object();
      std::vector<std::string> domain;
      for (const auto& level : selector) {
        domain.emplace_back(level.value().get_string());
      }
      const bool by_host = selector.contains(api::kHostnameLabel);
      if (by_host && must_wait(name, full_name(key), domain.back())) continue;
      carry_out(std::move(verdict));
      if (outbox_.busy(key)) expected_[full_name(key)] = std::move(domain);
    }
  }
}

void Core::report_drift() {
  for (const std::string& name : state_.account.take_drifted()) {
    if (scheduler_.assumed(name)) {  // its pods are where they were promised to be until now
      state_.account.look_again(name);
      continue;
    }
    std::vector<Drift> drift = state_.account.drift(name);
    auto& reported = reported_drift_[name];
    const bool changed = reported != drift;
    reported = drift;
    if (drift.empty()) reported_drift_.erase(name);
    if (!changed) continue;
    const api::ObjectKey key = key_of(api::Kind::kWorkload, name);
    std::string message;
    for (const Drift& entry : drift) {
      message +=
          fmt::format("{}pod set {}: {} pods on {}, assigned {}", message.empty() ? "" : "; ",
                      entry.pod_set, entry.actual, entry.domain, entry.assigned);
    }
    if (drift.empty()) message = "pods are where the assignment says";
    journal_.record(state_.now,
                    {"drift", key, {{key.text(), state_.known.version(key)}}, message, {}});
    if (!drift.empty()) {
      outbox_.notify({key, state_.known.uid(key), true, "AssignmentDrift", message});
    }
  }
}

}  // namespace phalanx::core
