#include "manager/workload_meter.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/names.h"

namespace phalanx::manager {
namespace {

namespace names = core::names;

Duration since(Time begun, Time now) {
  return std::max(Duration(0), now - begun);
}

// Since when a condition holds; nullopt if it does not.
std::optional<Time> holds_since(const api::Workload& workload, std::string_view type) {
  const api::Condition* condition = api::find_condition(workload.conditions, type);
  return condition != nullptr && condition->holds ? std::optional(condition->changed)
                                                  : std::nullopt;
}

// When one that waits came to its queue the last time: as a new one, or after it was sent back.
Time queued_since(const api::Workload& workload) {
  Time since = workload.meta.created;
  for (const std::string_view type : {names::kEvicted, names::kRequeued}) {
    since = std::max(since, holds_since(workload, type).value_or(since));
  }
  return since;
}

// Since when a Workload that ran lacks pods.
std::optional<Time> recovers_since(const api::Workload& workload) {
  const api::Condition* ready = api::find_condition(workload.conditions, names::kPodsReady);
  const bool recovers =
      ready != nullptr && !ready->holds && ready->reason == names::kWaitForRecovery;
  return recovers ? std::optional(ready->changed) : std::nullopt;
}

Labels with(Labels labels, std::initializer_list<Labels::value_type> more) {
  labels.insert(more);
  return labels;
}

// Kueue counts workloads by their priority class, but not what makes room or is created.
Labels without_priority(Labels labels) {
  labels.erase("priority_class");
  return labels;
}

// Those that are not there any more, taken from the names.
std::set<std::string> take_gone(std::set<std::string>& names,
                                const std::function<bool(const std::string&)>& is_there) {
  std::set<std::string> gone;
  std::erase_if(names, [&](const std::string& name) {
    if (is_there(name)) return false;
    gone.insert(name);
    return true;
  });
  return gone;
}

bool is_among(const std::set<std::string>& names, const Labels& labels, const std::string& label) {
  const auto found = labels.find(label);
  return found != labels.end() && names.contains(found->second);
}

}  // namespace

WorkloadMeter::Counted::Counted(MeterRegistry& registry, const std::string& name,
                                const std::string& help)
    : cluster_queue(registry, "kueue_" + name, help),
      local_queue(registry, "kueue_local_queue_" + name, help) {}

WorkloadMeter::Timed::Timed(MeterRegistry& registry, const std::string& name,
                            const std::string& help)
    : cluster_queue(registry, "kueue_" + name, help, DurationFamily::coarse()),
      local_queue(registry, "kueue_local_queue_" + name, help, DurationFamily::coarse()) {}

WorkloadMeter::WorkloadMeter(MeterRegistry& registry)
    : reserved_(registry, "quota_reserved_workloads_total", "Workloads that got their quota."),
      reserved_wait_(registry, "quota_reserved_wait_time_seconds",
                     "From a workload coming to its queue to its quota."),
      admitted_(registry, "admitted_workloads_total", "Workloads that were admitted."),
      cohort_admitted_(registry, "kueue_cohort_subtree_admitted_workloads_total",
                       "Workloads that were admitted in a cohort or below it."),
      admission_wait_(registry, "admission_wait_time_seconds",
                      "From a workload coming to its queue to its admission."),
      checks_wait_(registry, "admission_checks_wait_time_seconds",
                   "From a workload's quota to its admission."),
      ready_wait_(registry, "ready_wait_time_seconds",
                  "From a workload coming to its queue to all its pods being ready."),
      admitted_until_ready_(registry, "admitted_until_ready_wait_time_seconds",
                            "From a workload's admission to all its pods being ready."),
      evicted_(registry, "evicted_workloads_total", "Workloads that had to go, by reason."),
      evicted_once_(registry, "kueue_evicted_workloads_once_total",
                    "Workloads that had to go for a reason, each counted once for it."),
      preempted_(registry, "kueue_preempted_workloads_total",
                 "Workloads that had to go for another, by the queue of that one."),
      ready_to_evicted_(registry, "kueue_pods_ready_to_evicted_time_seconds",
                        "From a workload's pods being ready to its having to go.",
                        DurationFamily::coarse()),
      eviction_latency_(registry, "kueue_workload_eviction_latency_seconds",
                        "From a workload having to go to its quota being free.",
                        DurationFamily::coarse()),
      finished_(registry, "finished_workloads_total", "Workloads that ended."),
      execution_(registry, "execution_time_seconds",
                 "How long workloads ran that ended, all their admissions together."),
      creation_latency_(registry, "kueue_workload_creation_latency_seconds",
                        "From a job's creation to that of its Workload.", DurationFamily::coarse()),
      recovery_(registry, "phalanx_recovery_seconds",
                "From a running workload losing pods to all of them being ready again.",
                DurationFamily::coarse()),
      attempts_(registry, "kueue_admission_attempts_total",
                "Steps in which workloads were considered; success: one of them was let in."),
      attempt_seconds_(registry, "kueue_admission_attempt_duration_seconds",
                       "How long these steps took.", DurationFamily::fine()) {}

WorkloadMeter::Known WorkloadMeter::known_of(const api::Workload& workload, core::Known object) {
  Known known;
  known.object = std::move(object);
  known.reserved = workload.admission && workload.quota_reserved.value_or(false);
  known.admitted = known.reserved && workload.admitted.value_or(false);
  const auto ready = holds_since(workload, names::kPodsReady);
  known.ready = ready.has_value();
  known.ready_since = ready.value_or(Time{});
  known.recovers_since = recovers_since(workload);
  known.finished = workload.finished;
  known.queued_since = queued_since(workload);
  known.cluster_queue = workload.cluster_queue;
  known.evictions = workload.evictions;
  return known;
}

WorkloadMeter::Place WorkloadMeter::place_of(const api::Workload& workload,
                                             const std::string& queue, Role role) {
  if (!queue.empty()) cluster_queues_.insert(queue);
  local_queues_.insert(workload.namespace_ + "/" + workload.queue_name);
  const std::string priority =
      workload.priority_class ? workload.priority_class->name : std::string();
  return {
      {{"cluster_queue", queue}, {"priority_class", priority}, {"replica_role", label_of(role)}},
      {{"name", workload.queue_name},
       {"namespace", workload.namespace_},
       {"priority_class", priority},
       {"replica_role", label_of(role)}}};
}

void WorkloadMeter::begin_life() {
  for (auto& [name, known] : known_) known.object.resource_version = 0;
}

void WorkloadMeter::all_listed() {
  std::erase_if(known_,
                [](const auto& entry) { return entry.second.object.resource_version == 0; });
}

void WorkloadMeter::saw(const core::Object& object, const core::State& state, Role role, Time now,
                        bool counts) {
  const auto [entry, is_first] = known_.try_emplace(core::full_name(object.key));
  Known& known = entry->second;
  const auto arrival = is_first ? core::Arrival::kAnother : core::judge(known.object, object);
  if (arrival == core::Arrival::kNotNewer) return;
  const bool is_new = arrival == core::Arrival::kAnother;
  if (is_new) known = {};
  known.object = {object.uid, object.resource_version};
  const auto* workload = std::get_if<api::Workload>(&object.body);
  if (workload == nullptr) return;  // unreadable: it may come back as it was
  const Known before = std::exchange(known, known_of(*workload, known.object));
  // With its quota it is told that nothing sends it back any more.
  if (known.reserved && !is_new) known.queued_since = before.queued_since;
  if (!counts) return;
  if (is_new) count_new(*workload, state, role);
  if (known.stands_like(before)) return;
  // One that has just lost its quota says no longer where it was.
  const std::string& queue =
      workload->cluster_queue.empty() ? before.cluster_queue : workload->cluster_queue;
  const Place place = place_of(*workload, queue, role);
  count_admission(*workload, state, before, known, place, now);
  count_evictions(*workload, before, known, place, now);
  count_end(*workload, before, place, now);
}

void WorkloadMeter::saw(const core::ObjectDeleted& deleted) {
  const auto found = known_.find(core::full_name(deleted.key));
  if (found != known_.end() && core::concerns(deleted, found->second.object)) known_.erase(found);
}

void WorkloadMeter::saw(const core::Listed& listed) {
  std::erase_if(known_, [&](const auto& entry) {
    return core::is_missing_from(listed, core::key_of(api::Kind::kWorkload, entry.first),
                                 entry.second.object.resource_version);
  });
}

void WorkloadMeter::count_new(const api::Workload& workload, const core::State& state, Role role) {
  const api::OwnerReference* owner = workload.meta.controller();
  if (owner == nullptr) return;
  const auto key = state.job_of_id.find(core::job_id(workload.namespace_, owner->uid));
  if (key == state.job_of_id.end()) return;
  const auto job = state.jobs.find(key->second);
  if (job == state.jobs.end()) return;
  creation_latency_.add({{"job_kind", owner->kind}, {"replica_role", label_of(role)}},
                        since(job->second.meta.created, workload.meta.created));
}

void WorkloadMeter::count_admission(const api::Workload& workload, const core::State& state,
                                    const Known& before, const Known& after, const Place& place,
                                    Time now) {
  const Time queued = after.queued_since;
  const auto measure = [&](Timed& timed, Duration took) {
    timed.cluster_queue.add(place.cluster_queue, took);
    timed.local_queue.add(place.local_queue, took);
  };
  const auto count = [&](Counted& counted) {
    counted.cluster_queue.add(place.cluster_queue);
    counted.local_queue.add(place.local_queue);
  };
  if (after.reserved && !before.reserved) {
    count(reserved_);
    measure(reserved_wait_, since(queued, now));
  }
  if (after.admitted && !before.admitted) {
    count(admitted_);
    measure(admission_wait_, since(queued, now));
    if (!workload.admission_checks.empty()) {
      measure(checks_wait_, since(holds_since(workload, names::kQuotaReserved).value_or(now),
                                  holds_since(workload, names::kAdmitted).value_or(now)));
    }
    const quota::QuotaTree& tree = state.ledger.tree();
    quota::MemberId member = tree.queue(workload.cluster_queue);
    while (member.valid() && (member = tree.parent(member)).valid()) {
      cohorts_.insert(tree.name(member));
      cohort_admitted_.add({{"cohort", tree.name(member)},
                            {"priority_class", place.cluster_queue.at("priority_class")},
                            {"replica_role", place.cluster_queue.at("replica_role")}});
    }
  }
  if (!after.ready || before.ready || !after.admitted) return;
  if (before.recovers_since) return recovery_.add(since(*before.recovers_since, now));
  measure(ready_wait_, since(queued, now));
  measure(admitted_until_ready_, since(holds_since(workload, names::kAdmitted).value_or(now), now));
}

void WorkloadMeter::count_evictions(const api::Workload& workload, const Known& before,
                                    const Known& after, const Place& place, Time now) {
  for (const auto& [why, times] : workload.evictions) {
    const auto known = before.evictions.find(why);
    const int32_t already = known == before.evictions.end() ? 0 : known->second;
    if (times <= already) continue;
    const auto labels = [&](const Labels& base) {
      return with(base, {{"reason", why.first}, {"underlying_cause", why.second}});
    };
    evicted_.cluster_queue.add(labels(place.cluster_queue), times - already);
    evicted_.local_queue.add(labels(place.local_queue), times - already);
    if (already == 0) evicted_once_.add(labels(place.cluster_queue));
    if (before.ready) {
      ready_to_evicted_.add(without_priority(labels(place.cluster_queue)),
                            since(before.ready_since, now));
    }
  }
  const auto evicted = holds_since(workload, names::kEvicted);
  const bool released = before.reserved && !after.reserved;
  if (!released || !evicted) return;
  const api::Condition* condition = api::find_condition(workload.conditions, names::kEvicted);
  eviction_latency_.add(
      with(without_priority(place.cluster_queue), {{"reason", condition->reason}}),
      since(*evicted, now));
}

void WorkloadMeter::count_end(const api::Workload& workload, const Known& before,
                              const Place& place, Time now) {
  if (!workload.finished || before.finished) return;
  finished_.cluster_queue.add(place.cluster_queue);
  finished_.local_queue.add(place.local_queue);
  const auto admitted = holds_since(workload, names::kAdmitted);
  if (!admitted) return;
  const Duration ran =
      since(*admitted, now) + std::chrono::seconds(workload.past_execution_seconds);
  execution_.cluster_queue.add(place.cluster_queue, ran);
  execution_.local_queue.add(place.local_queue, ran);
}

void WorkloadMeter::forget_gone_queues(const core::State& state) {
  const quota::QuotaTree& tree = state.ledger.tree();
  const auto cluster_queues = take_gone(cluster_queues_, [&](const std::string& name) {
    return state.cluster_queues.contains(name);
  });
  const auto local_queues = take_gone(
      local_queues_, [&](const std::string& name) { return state.local_queues.contains(name); });
  // Also without an object, as long as somebody says that it belongs to it.
  const auto cohorts =
      take_gone(cohorts_, [&](const std::string& name) { return tree.cohort(name).valid(); });
  if (cluster_queues.empty() && local_queues.empty() && cohorts.empty()) return;
  remove_series([&](const Labels& labels) {
    const auto name = labels.find("name");
    return is_among(cluster_queues, labels, "cluster_queue") ||
           is_among(cluster_queues, labels, "preempting_cluster_queue") ||
           is_among(cohorts, labels, "cohort") ||
           (name != labels.end() &&
            local_queues.contains(labels.at("namespace") + "/" + name->second));
  });
}

void WorkloadMeter::remove_series(const std::function<bool(const Labels&)>& goes) {
  const auto remove_both = [&](auto&... each) {
    ((each.cluster_queue.remove_if(goes), each.local_queue.remove_if(goes)), ...);
  };
  remove_both(reserved_, reserved_wait_, admitted_, admission_wait_, checks_wait_, ready_wait_,
              admitted_until_ready_, evicted_, finished_, execution_);
  const auto remove = [&](auto&... each) { (each.remove_if(goes), ...); };
  remove(cohort_admitted_, evicted_once_, preempted_, ready_to_evicted_, eviction_latency_);
}

void WorkloadMeter::decided(const core::DecisionTally& tally, Role role,
                            std::chrono::microseconds step_took) {
  bool considered = false;
  bool let_in = false;
  for (const auto& [sort, count] : tally) {
    if (sort.what == "preempt") {
      if (!sort.cluster_queue.empty()) cluster_queues_.insert(sort.cluster_queue);
      preempted_.add({{"preempting_cluster_queue", sort.cluster_queue},
                      {"reason", sort.cause},
                      {"replica_role", label_of(role)}},
                     static_cast<double>(count));
    }
    let_in |= sort.what == "admit" || sort.what == "reserve-quota" || sort.what == "second-pass";
    considered |= sort.what == "refuse" || sort.what == "preempt";
  }
  if (!considered && !let_in) return;
  const Labels labels{{"result", let_in ? "success" : "inadmissible"},
                      {"replica_role", label_of(role)}};
  attempts_.add(labels);
  attempt_seconds_.add(labels, step_took);
}

}  // namespace phalanx::manager
