#include "cli/soak_view.h"

#include <algorithm>

#include "api/node.h"
#include "base/quantity.h"
#include "cli/soak_world.h"
#include "core/names.h"
#include "sim/node_generator.h"
#include "sim/object_fields.h"

namespace phalanx::cli {
namespace {

namespace names = core::names;

std::string full_name(const api::ObjectKey& key) {
  return key.namespace_ + "/" + key.name;
}

std::string_view label_of(const json::value& document, std::string_view label) {
  return string_at(document, {"metadata", "labels", label});
}

int64_t gpus_in(const api::ResourceAmounts& amounts) {
  return sim::amount_of(amounts, std::string(kSoakGpu));
}

api::ResourceAmounts allocatable_of(const json::value& node) {
  api::ResourceAmounts amounts;
  const json::object* allocatable = object_at(node, {"status", "allocatable"});
  if (allocatable == nullptr) return amounts;
  for (const auto& field : *allocatable) {
    const std::string resource(field.key());
    amounts[resource] = parse_amount(resource, quantity_text(field.value())).value_or(0);
  }
  return amounts;
}

// Since when a condition is true; nullopt: it is not.
std::optional<Time> true_since(const json::value& document, std::string_view type) {
  const json::object* condition = sim::find_condition(document, type);
  if (condition == nullptr || string_field(*condition, "status") != "True") return std::nullopt;
  return parse_time(string_field(*condition, "lastTransitionTime")).value_or(Time{});
}

// Since when all checks are ready; nullopt: there are none, or one is not.
std::optional<Time> checks_ready_since(const json::value& workload) {
  std::optional<Time> since;
  for (const json::value& check : sim::list_field(workload, {"status", "admissionChecks"})) {
    if (string_at(check, {"state"}) != "Ready") return std::nullopt;
    const Time changed = sim::time_field(check, {"lastTransitionTime"}).value_or(Time{});
    since = since ? std::max(*since, changed) : changed;
  }
  return since;
}

std::map<std::string, int64_t> evictions_of(const json::value& workload) {
  std::map<std::string, int64_t> evictions;
  for (const json::value& entry :
       sim::list_field(workload, {"status", "schedulingStats", "evictions"})) {
    std::string reason(string_at(entry, {"reason"}));
    if (const auto cause = string_at(entry, {"underlyingCause"}); !cause.empty()) {
      reason += "/" + std::string(cause);
    }
    evictions[reason] += integer_at(entry, {"count"}).value_or(0);
  }
  return evictions;
}

SoakPod read_pod(const api::ObjectKey& key, const json::value& pod) {
  SoakPod result;
  if (const auto job = label_of(pod, "batch.kubernetes.io/job-name"); !job.empty()) {
    result.job = key.namespace_ + "/" + std::string(job);
  }
  if (const auto rank = label_of(pod, names::kJobIndexLabel); !rank.empty()) {
    result.rank = static_cast<int64_t>(sim::parse_unsigned(rank).value_or(0));
  }
  result.node = string_at(pod, {"spec", "nodeName"});
  result.demand = sim::pod_demand(pod);
  result.gpus = gpus_in(result.demand);
  result.ended = sim::is_terminal(pod);
  result.running = string_at(pod, {"status", "phase"}) == "Running";
  result.deleted = sim::is_deleted(pod);
  return result;
}

}  // namespace

std::optional<SoakLevel> soak_level(std::string_view label) {
  if (label == sim::kBlockLabel) return SoakLevel::kBlock;
  if (label == sim::kRackLabel) return SoakLevel::kRack;
  if (label == api::kHostnameLabel) return SoakLevel::kHost;
  return std::nullopt;
}

std::string_view name_of(SoakLevel level) {
  constexpr std::array<std::string_view, 3> kNames{"block", "rack", "host"};
  return kNames[static_cast<size_t>(level)];
}

SoakView::SoakView(sim::ApiServer& server)
    : server_(server),
      informer_(server, {api::Kind::kNode, api::Kind::kPod, api::Kind::kJob, api::Kind::kWorkload,
                         api::Kind::kClusterQueue}) {}

const SoakView::Touched& SoakView::follow() {
  touched_ = {};
  for (const sim::Change& change : informer_.poll()) take_in(change);
  return touched_;
}

const SoakWorkload* SoakView::workload_of(const SoakGang& gang) const {
  const auto found = workloads_.find(gang.workload);
  return found == workloads_.end() ? nullptr : &found->second;
}

void SoakView::take_in(const sim::Change& change) {
  const json::value* after = change.after.get();
  switch (change.key.kind) {
    case api::Kind::kNode:
      return take_in_node(change.key.name, after);
    case api::Kind::kPod:
      return take_in_pod(change.key, after);
    case api::Kind::kJob:
      return take_in_job(full_name(change.key), after);
    case api::Kind::kWorkload:
      return take_in_workload(full_name(change.key), after);
    default:
      touched_.cluster_queues.insert(change.key.name);
      cluster_queues_[change.key.name] = change.after;
      if (after == nullptr) cluster_queues_.erase(change.key.name);
  }
}

void SoakView::take_in_node(const std::string& name, const json::value* node) {
  SoakNode& known = nodes_[name];
  touched_.nodes.insert(name);
  if (known.exists && known.ready) ready_gpus_ -= known.gpus;
  known.exists = node != nullptr;
  if (node == nullptr) return;
  known.domains = {std::string(label_of(*node, sim::kBlockLabel)),
                   std::string(label_of(*node, sim::kRackLabel)),
                   std::string(label_of(*node, api::kHostnameLabel))};
  known.ready = sim::condition_is_true(*node, "Ready");
  known.load.set_allocatable(allocatable_of(*node));
  known.gpus = gpus_in(known.load.allocatable());
  if (known.ready) ready_gpus_ += known.gpus;
}

void SoakView::count(const api::ObjectKey& key, const SoakPod& pod, int sign) {
  if (pod.bound()) {
    SoakNode& node = nodes_[pod.node];
    if (sign > 0) node.load.add(pod.demand);
    if (sign < 0) node.load.remove(pod.demand);
    touched_.nodes.insert(pod.node);
  }
  if (pod.running && !pod.ended) running_gpus_ += sign * pod.gpus;
  if (pod.job.empty()) return;
  touched_.gangs.insert(pod.job);
  if (sign > 0) gangs_[pod.job].pods.insert(key);
  if (sign < 0) gangs_[pod.job].pods.erase(key);
}

void SoakView::note_end_of_run(const SoakPod& before, bool succeeded) {
  const auto gpu_ms = static_cast<double>((now() - before.running_since).count()) *
                      static_cast<double>(before.gpus);
  sums_.used_gpu_ms += gpu_ms;
  if (!succeeded) sums_.lost_gpu_ms += gpu_ms;
}

void SoakView::take_in_pod(const api::ObjectKey& key, const json::value* pod) {
  const auto found = pods_.find(key);
  std::optional<SoakPod> before;
  if (found != pods_.end()) before = std::move(found->second);
  if (before) count(key, *before, -1);
  const bool ran = before && before->running && !before->ended;
  if (pod == nullptr) {
    pods_.erase(key);
    if (ran) note_end_of_run(*before, false);
    if (before) drop_if_forgotten(before->job);
    return;
  }
  SoakPod after = read_pod(key, *pod);
  const bool runs = after.running && !after.ended;
  if (runs) after.running_since = ran ? before->running_since : now();
  if (ran && !runs) {
    note_end_of_run(*before, string_at(*pod, {"status", "phase"}) == "Succeeded");
  }
  count(key, after, 1);
  pods_[key] = std::move(after);
}

void SoakView::read_topology(const json::value& job, SoakGang& gang) {
  const auto annotation = [&](std::string_view name) {
    return string_at(job, {"spec", "template", "metadata", "annotations", name});
  };
  gang.required = soak_level(annotation("kueue.x-k8s.io/podset-required-topology"));
  gang.slice = soak_level(annotation("kueue.x-k8s.io/podset-slice-required-topology"));
  const auto size = sim::parse_unsigned(annotation("kueue.x-k8s.io/podset-slice-size"));
  gang.slice_size = static_cast<int64_t>(size.value_or(1));
}

void SoakView::take_in_job(const std::string& name, const json::value* job) {
  SoakGang& gang = gangs_[name];
  touched_.gangs.insert(name);
  if (job == nullptr) {
    if (gang.exists && !gang.finished) ++sums_.removed;
    gang.exists = false;
    return drop_if_forgotten(name);
  }
  if (!gang.exists) {
    ++sums_.submitted;
    gang.created = sim::time_field(*job, {"metadata", "creationTimestamp"}).value_or(now());
  }
  gang.exists = true;
  gang.deleted = sim::is_deleted(*job);
  gang.parallelism = integer_at(*job, {"spec", "parallelism"}).value_or(1);
  gang.completions = integer_at(*job, {"spec", "completions"}).value_or(gang.parallelism);
  gang.succeeded = integer_at(*job, {"status", "succeeded"}).value_or(0);
  gang.failed = sim::condition_is_true(*job, "Failed");
  const bool finished = gang.failed || sim::condition_is_true(*job, "Complete");
  if (finished && !gang.finished) ++(gang.failed ? sums_.failed : sums_.finished);
  gang.finished = finished;
  read_topology(*job, gang);
}

void SoakView::drop_if_forgotten(const std::string& name) {
  const auto found = gangs_.find(name);
  if (found != gangs_.end() && !found->second.exists && found->second.pods.empty()) {
    gangs_.erase(found);
  }
}

void SoakView::note_admission(const std::string& name, const SoakWorkload& workload) {
  ++sums_.admissions;
  const auto found = gangs_.find(workload.job);
  if (found == gangs_.end()) return;
  SoakGang& gang = found->second;
  gang.workload = name;
  if (gang.first_admitted) return;
  gang.first_admitted = now();
  sums_.waits.push_back(now() - gang.created);
}

void SoakView::take_in_workload(const std::string& name, const json::value* workload) {
  touched_.workloads.insert(name);
  const auto found = workloads_.find(name);
  if (found != workloads_.end()) touched_.gangs.insert(found->second.job);
  if (workload == nullptr) {
    workloads_.erase(name);
    return;
  }
  SoakWorkload after;
  const auto owner = sim::controller_of(*workload);
  if (owner)
    after.job = std::string(string_at(*workload, {"metadata", "namespace"})) + "/" + owner->name;
  after.created = sim::time_field(*workload, {"metadata", "creationTimestamp"}).value_or(now());
  const json::value* active = find_at(*workload, {"spec", "active"});
  after.active = active == nullptr || true_at(*workload, {"spec", "active"});
  after.finished = sim::condition_is_true(*workload, names::kFinished);
  after.deleted = sim::is_deleted(*workload);
  after.reserved = true_since(*workload, names::kQuotaReserved);
  after.admitted = true_since(*workload, names::kAdmitted);
  after.evicted = true_since(*workload, names::kEvicted);
  after.checks_ready = checks_ready_since(*workload);
  after.evictions = evictions_of(*workload);
  if (const json::object* evicted = sim::find_condition(*workload, names::kEvicted)) {
    after.deactivated_for = string_field(*evicted, "reason");
  }
  touched_.gangs.insert(after.job);
  if (const auto gang = gangs_.find(after.job); gang != gangs_.end()) gang->second.workload = name;
  const bool was_admitted = found != workloads_.end() && found->second.admitted;
  if (after.admitted && !was_admitted) note_admission(name, after);
  for (const auto& [reason, times] : after.evictions) {
    int64_t before = 0;
    if (found != workloads_.end()) {
      const auto known = found->second.evictions.find(reason);
      before = known == found->second.evictions.end() ? 0 : known->second;
    }
    if (times > before) sums_.evictions[reason] += times - before;
  }
  workloads_[name] = std::move(after);
}

}  // namespace phalanx::cli
