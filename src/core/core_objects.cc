// The part of Core that takes objects in: puts them into the state and marks what they concern.
#include <fmt/format.h>

#include <algorithm>

#include "core/core.h"
#include "core/index.h"
#include "core/job_controller.h"
#include "core/names.h"
#include "core/workload_status.h"

namespace phalanx::core {
namespace {

// Our own status writes come back as changes of the object; they change nothing that others see.
bool same_spec(const api::ObjectMeta& a, const api::ObjectMeta& b) {
  return a.generation == b.generation && a.generation != 0 &&
         a.deleted.has_value() == b.deleted.has_value() && a.uid == b.uid;
}

}  // namespace

void Core::put(const api::ObjectKey& key, const Unreadable& body) {
  const Known known = state_.known.find(key).value();
  object_deleted(key);
  state_.known.put(key, known.uid, known.resource_version);
  journal_.record(state_.now,
                  {"unreadable", key, {{key.text(), known.resource_version}}, body.problem, {}});
  outbox_.notify({key, known.uid, true, "Unreadable", body.problem});
}

void Core::put(const api::ObjectKey& key, api::Namespace body) {
  const auto old = state_.namespaces.find(key.name);
  const bool same = old != state_.namespaces.end() && old->second.meta.labels == body.meta.labels;
  state_.namespaces[key.name] = std::move(body);
  if (same) return;
  workloads_of_namespace_changed(key.name, false);
  for (const auto& [job_key, job] : state_.jobs) {
    if (job_key.namespace_ == key.name) dirty_.insert(job_key);
  }
}

void Core::put(const api::ObjectKey& key, Pod body) {
  const std::string name = full_name(key);
  const auto old = state_.pods.find(name);
  if (old != state_.pods.end() && old->second.workload != body.workload) remove_pod(name);
  state_.account.put_pod(name, body);
  if (body.workload.empty()) return;
  state_.pods_of_workload[body.workload].insert(name);
  if (body.gated && !body.terminal()) {
    state_.gated_pods_of_workload[body.workload].insert(name);
  } else {
    erase_from(state_.gated_pods_of_workload, body.workload, name);
  }
  pods_changed_.insert(body.workload);
  body.requests.clear();  // the account has them
  to_check_.insert(name);
  state_.pods[name] = std::move(body);
  pod_settled(key, name);
}

void Core::remove_pod(const std::string& name) {
  state_.account.remove_pod(name);
  const auto found = state_.pods.find(name);
  if (found == state_.pods.end()) return;
  const std::string workload = found->second.workload;
  erase_from(state_.pods_of_workload, workload, name);
  erase_from(state_.gated_pods_of_workload, workload, name);
  state_.pods.erase(found);
  expected_.erase(name);
  told_too_large_.erase(name);
  to_ungate_.insert(workload);
  pods_changed_.insert(workload);
}

void Core::put(const api::ObjectKey& key, api::LimitRange body) {
  state_.limit_ranges[full_name(key)] = std::move(body);
  workloads_of_namespace_changed(key.namespace_, true);
}

void Core::put(const api::ObjectKey& key, api::PriorityClass body) {
  auto& classes = key.kind == api::Kind::kPriorityClass ? state_.priority_classes
                                                        : state_.workload_priority_classes;
  classes[key.name] = std::move(body);
  priority_classes_changed();
}

void Core::put(const api::ObjectKey& key, api::RuntimeClass body) {
  const auto old = state_.runtime_classes.find(key.name);
  const bool same = old != state_.runtime_classes.end() && old->second.overhead == body.overhead;
  state_.runtime_classes[key.name] = std::move(body);
  if (!same) runtime_class_changed(key.name);
}

void Core::put(const api::ObjectKey& key, Job body) {
  const std::string id = job_id(key.namespace_, body.meta.uid);
  state_.job_of_id[id] = key;
  // A Workload that was refused may be all right for what the job is now.
  outbox_.forget({api::Kind::kWorkload, key.namespace_, workload_name(key, body)});
  state_.jobs[key] = std::move(body);
  dirty_.insert(key);
  const auto owned = state_.workloads_of_job.find(id);
  if (owned == state_.workloads_of_job.end()) return;
  for (const std::string& workload : owned->second) workload_changed(workload);
}

void Core::remove_job(const api::ObjectKey& key) {
  told_problems_.erase(key);
  const auto found = state_.jobs.find(key);
  if (found == state_.jobs.end()) return;
  const std::string id = job_id(key.namespace_, found->second.meta.uid);
  state_.job_of_id.erase(id);
  state_.jobs.erase(found);
  const auto owned = state_.workloads_of_job.find(id);
  if (owned == state_.workloads_of_job.end()) return;
  for (const std::string& workload : owned->second) workload_changed(workload);
}

void Core::put(const api::ObjectKey& key, Topology body) {
  const auto old = state_.topologies.find(key.name);
  const bool same = old != state_.topologies.end() && same_spec(old->second.meta, body.meta);
  state_.topologies[key.name] = std::move(body);
  mark(key.kind, key.name);
  if (!same) topology_changed(key.name);
}

void Core::put(const api::ObjectKey& key, api::ResourceFlavor body) {
  if (!state_.configuration.topology_aware_scheduling) body.topology_name.clear();
  const auto old = state_.flavors.find(key.name);
  const bool same = old != state_.flavors.end() && same_spec(old->second.meta, body.meta);
  if (old != state_.flavors.end() && !old->second.topology_name.empty()) {
    mark(api::Kind::kTopology, old->second.topology_name);
  }
  state_.flavors[key.name] = std::move(body);
  mark(key.kind, key.name);
  if (!same) flavor_changed(key.name);
}

void Core::put(const api::ObjectKey& key, api::Cohort body) {
  const auto old = state_.cohorts.find(key.name);
  const bool same = old != state_.cohorts.end() && same_spec(old->second.meta, body.meta);
  state_.cohorts[key.name] = std::move(body);
  mark(key.kind, key.name);
  if (!same) cohort_changed(key.name);
}

void Core::put(const api::ObjectKey& key, api::AdmissionCheck body) {
  const auto old = state_.admission_checks.find(key.name);
  const bool same = old != state_.admission_checks.end() &&
                    same_spec(old->second.meta, body.meta) &&
                    api::holds(old->second.conditions, names::kActive) ==
                        api::holds(body.conditions, names::kActive);
  state_.admission_checks[key.name] = std::move(body);
  mark(key.kind, key.name);
  if (!same) admission_check_changed(key.name);
}

void Core::put(const api::ObjectKey& key, api::ClusterQueue body) {
  const auto old = state_.cluster_queues.find(key.name);
  const bool same = old != state_.cluster_queues.end() && same_spec(old->second.meta, body.meta);
  state_.cluster_queues[key.name] = std::move(body);
  mark(key.kind, key.name);
  if (!same) cluster_queue_changed(key.name);
}

void Core::put(const api::ObjectKey& key, api::LocalQueue body) {
  const std::string name = full_name(key);
  const auto old = state_.local_queues.find(name);
  const bool same = old != state_.local_queues.end() && same_spec(old->second.meta, body.meta);
  if (old != state_.local_queues.end()) {
    erase_from(state_.local_queues_of_cluster_queue, old->second.cluster_queue, name);
  }
  state_.local_queues_of_cluster_queue[body.cluster_queue].insert(name);
  state_.local_queues[name] = std::move(body);
  mark(key.kind, name);
  if (!same) local_queue_changed(name);
}

void Core::put(const api::ObjectKey& key, api::Workload body) {
  const std::string name = full_name(key);
  if (const WorkloadState* old = state_.workload(name)) {
    mark_queues_of(name);
    erase_from(state_.workloads_of_local_queue, old->local_queue(), name);
    erase_from(state_.workloads_with_quota_of, old->object.cluster_queue, name);
    erase_from(state_.workloads_of_job, old->job_id(), name);
    mark_job_of(*old);
  }
  WorkloadState workload = derive_workload(state_, std::move(body));
  const WorkloadState* before = state_.workload(name);
  const bool moved = before == nullptr || before->assignments != workload.assignments;
  // Our own word about a refusal is no reason to try again.
  if (before == nullptr || !same_spec(before->object.meta, workload.object.meta)) {
    try_provisioning_again(name);
  }
  if (const WorkloadState* old = state_.workload(name);
      old != nullptr && old->reserved() && old->priority != workload.priority) {
    scheduler_.configuration_changed();  // others may preempt it now
  }
  workload_moves_again(name);  // its new version may be let go
  if (!workload.job_id().empty()) state_.workloads_of_job[workload.job_id()].insert(name);
  state_.workloads_of_local_queue[workload.local_queue()].insert(name);
  if (const std::string& queue = workload.object.cluster_queue; !queue.empty()) {
    state_.workloads_with_quota_of[queue].insert(name);
  }
  state_.account.set_controller(name, state_.pod_controller_of(workload));
  state_.workloads[name] = std::move(workload);
  state_.places_changed(name);
  if (moved) {
    const auto pods = state_.pods_of_workload.find(name);
    if (pods != state_.pods_of_workload.end()) {
      to_check_.insert(pods->second.begin(), pods->second.end());
    }
  }
  to_ungate_.insert(name);
  workload_changed(name);
}

void Core::remove_workload(const std::string& name) {
  const WorkloadState* workload = state_.workload(name);
  if (workload == nullptr) return;
  mark_queues_of(name);
  scheduler_.forget(name);
  scheduler_.forget_assumption(name);
  state_.hold(name, std::nullopt);
  erase_from(state_.workloads_of_local_queue, workload->local_queue(), name);
  erase_from(state_.workloads_with_quota_of, workload->object.cluster_queue, name);
  erase_from(state_.workloads_of_job, workload->job_id(), name);
  mark_job_of(*workload);
  std::erase_if(rank_warned_,
                [&](const std::string& warned) { return warned.starts_with(name + "/"); });
  state_.immovable.erase(name);
  try_provisioning_again(name);
  state_.workloads.erase(name);
  state_.account.set_controller(name, "");
  state_.troubled_hosts.erase(name);
  // Only now: while it is there it may count as one whose nodes or pods are to be looked after.
  scheduler_.follow_holding(name);
  set_alarm(key_of(api::Kind::kWorkload, name), std::nullopt);
}

void Core::workload_moves_again(const std::string& name) {
  if (state_.immovable.erase(name) > 0) scheduler_.configuration_changed();
}

void Core::workload_changed(const std::string& name) {
  const WorkloadState* workload = state_.workload(name);
  if (workload == nullptr) return;
  const api::ObjectKey key = workload_key(workload->object);
  if (!outbox_.busy(key) && !outbox_.left_alone(key, state_.known.version(key))) {
    scheduler_.forget_assumption(name);
  }
  if (!scheduler_.assumed(name) && state_.hold(name, holding_of(state_, *workload))) {
    mark_queues_of(name);
    to_ungate_.insert(name);
  }
  scheduler_.follow_holding(name);
  scheduler_.update(name);
  mark(api::Kind::kWorkload, name);
  mark_job_of(*workload);
}

void Core::mark_job_of(const WorkloadState& workload) {
  const auto job = state_.job_of_id.find(workload.job_id());
  if (job != state_.job_of_id.end()) dirty_.insert(job->second);
}

void Core::workloads_of_namespace_changed(const std::string& namespace_, bool derive_anew) {
  const std::string prefix = namespace_ + "/";
  std::vector<std::string> names;
  for (auto entry = state_.workloads.lower_bound(prefix);
       entry != state_.workloads.end() && entry->first.starts_with(prefix); ++entry) {
    if (derive_anew) entry->second = derive_workload(state_, entry->second.object);
    names.push_back(entry->first);
  }
  for (const std::string& name : names) workload_changed(name);
}

void Core::local_queue_changed(const std::string& name) {
  mark(api::Kind::kLocalQueue, name);
  scheduler_.local_queue_changed(name);
  const auto found = state_.workloads_of_local_queue.find(name);
  if (found == state_.workloads_of_local_queue.end()) return;
  for (const std::string& workload : found->second) workload_changed(workload);
}

void Core::cluster_queue_changed(const std::string& name) {
  members_changed_ = true;
  scheduler_.configuration_changed();
  mark(api::Kind::kClusterQueue, name);
  for (const auto& [flavor, object] : state_.flavors) mark(api::Kind::kResourceFlavor, flavor);
  if (const auto found = state_.local_queues_of_cluster_queue.find(name);
      found != state_.local_queues_of_cluster_queue.end()) {
    for (const std::string& local_queue : found->second) local_queue_changed(local_queue);
  }
  // Those whose LocalQueue is gone, or belongs to another ClusterQueue by now, keep their quota.
  const auto holders = state_.workloads_with_quota_of.find(name);
  if (holders == state_.workloads_with_quota_of.end()) return;
  for (const std::string& workload : holders->second) {
    const auto local = state_.local_queues.find(state_.workloads.at(workload).local_queue());
    const bool is_marked =
        local != state_.local_queues.end() && local->second.cluster_queue == name;
    if (!is_marked) workload_changed(workload);
  }
}

// What a cohort has may be lent to anybody in its tree, and a circle that it closes or opens
// concerns queues far below.
void Core::cohort_changed(const std::string& name) {
  mark(api::Kind::kCohort, name);
  for (const auto& [cohort, object] : state_.cohorts) mark(api::Kind::kCohort, cohort);
  tell_circles(name);
  for (const auto& [queue, object] : state_.cluster_queues) cluster_queue_changed(queue);
  members_changed_ = true;
}

// Once for each Cohort that is in a circle. Its status has no place for it. A circle that this
// change made or broke goes through the Cohort that changed.
void Core::tell_circles(const std::string& changed) {
  std::string broken;
  if (const auto told = told_circles_.find(changed); told != told_circles_.end()) {
    broken = told->second;
  }
  const auto circle = quota::circle_above(changed, state_.cohorts);
  const bool closed = std::ranges::find(circle, changed) != circle.end();
  const std::string text = closed ? circle_text(circle) : "";
  if (text == broken) return;
  std::erase_if(told_circles_, [&](const auto& told) { return told.second == broken; });
  if (!closed) return;
  for (const std::string& name : circle) {
    told_circles_[name] = text;
    const api::ObjectKey key{api::Kind::kCohort, "", name};
    const std::string message =
        fmt::format("the parents of cohorts go round in a circle: {}", text);
    journal_.record(state_.now,
                    {"circle", key, {{key.text(), state_.known.version(key)}}, message, {}});
    outbox_.notify({key, state_.known.uid(key), true, "CohortCycle", message});
  }
}

void Core::admission_check_changed(const std::string& name) {
  std::vector<std::string> queues;
  for (const auto& [queue, object] : state_.cluster_queues) {
    if (std::ranges::find(object.admission_checks, name, &api::AdmissionCheckReference::name) !=
        object.admission_checks.end()) {
      queues.push_back(queue);
    }
  }
  for (const std::string& queue : queues) cluster_queue_changed(queue);
}

void Core::runtime_class_changed(const std::string& name) {
  std::vector<std::string> concerned;
  for (auto& [workload_name, workload] : state_.workloads) {
    if (std::ranges::none_of(workload.object.pod_sets, [&](const api::WorkloadPodSet& pod_set) {
          return pod_set.pod_template.runtime_class == name;
        })) {
      continue;
    }
    workload = derive_workload(state_, workload.object);
    concerned.push_back(workload_name);
  }
  for (const std::string& workload : concerned) workload_changed(workload);
}

void Core::flavor_changed(const std::string& name) {
  const api::ResourceFlavor* flavor = state_.flavor(name);
  std::optional<topology::TreeSpec> spec;
  if (flavor != nullptr && !flavor->topology_name.empty()) {
    mark(api::Kind::kTopology, flavor->topology_name);
    const auto topology = state_.topologies.find(flavor->topology_name);
    if (topology != state_.topologies.end()) {
      spec.emplace();
      spec->name = flavor->topology_name;
      spec->levels = topology->second.spec.levels;
      spec->node_labels.assign(flavor->node_labels.begin(), flavor->node_labels.end());
      spec->tolerations = flavor->tolerations;
    }
  }
  if (state_.account.set_tree(name, std::move(spec))) state_.hold_again(name);
  scheduler_.configuration_changed();
  std::vector<std::string> queues;
  for (const auto& [queue_name, queue] : state_.cluster_queues) {
    for (const api::ResourceGroup& group : queue.groups) {
      for (const api::FlavorQuotas& quotas : group.flavors) {
        if (quotas.flavor == name) queues.push_back(queue_name);
      }
    }
  }
  for (const std::string& queue : queues) cluster_queue_changed(queue);
}

void Core::topology_changed(const std::string& name) {
  std::vector<std::string> flavors;
  for (const auto& [flavor_name, flavor] : state_.flavors) {
    if (flavor.topology_name == name) flavors.push_back(flavor_name);
  }
  for (const std::string& flavor : flavors) flavor_changed(flavor);
}

void Core::priority_classes_changed() {
  for (const auto& [key, job] : state_.jobs) dirty_.insert(key);
  std::vector<std::string> waiting;
  for (const auto& [name, workload] : state_.workloads) {
    if (!workload.reserved()) waiting.push_back(name);
  }
  for (const std::string& name : waiting) workload_changed(name);
}

void Core::object_deleted(const api::ObjectKey& key) {
  if (!state_.known.erase(key)) return;
  outbox_.forget(key);
  const std::string name = full_name(key);
  using api::Kind;
  switch (key.kind) {
    case Kind::kNamespace:
      state_.namespaces.erase(name);
      return workloads_of_namespace_changed(name, false);
    case Kind::kNode:
      left_out_.erase(name);
      return remove_node(name);
    case Kind::kPod:
      return remove_pod(name);
    case Kind::kLimitRange:
      state_.limit_ranges.erase(name);
      return workloads_of_namespace_changed(key.namespace_, true);
    case Kind::kPriorityClass:
      state_.priority_classes.erase(name);
      return priority_classes_changed();
    case Kind::kWorkloadPriorityClass:
      state_.workload_priority_classes.erase(name);
      return priority_classes_changed();
    case Kind::kRuntimeClass:
      state_.runtime_classes.erase(name);
      return runtime_class_changed(name);
    case Kind::kTopology:
      state_.topologies.erase(name);
      return topology_changed(name);
    case Kind::kResourceFlavor:
      if (const api::ResourceFlavor* flavor = state_.flavor(name)) {
        if (!flavor->topology_name.empty()) mark(Kind::kTopology, flavor->topology_name);
      }
      state_.flavors.erase(name);
      return flavor_changed(name);
    case Kind::kCohort:
      state_.cohorts.erase(name);
      return cohort_changed(name);
    case Kind::kAdmissionCheck:
      state_.admission_checks.erase(name);
      return admission_check_changed(name);
    case Kind::kClusterQueue:
      state_.cluster_queues.erase(name);
      return cluster_queue_changed(name);
    case Kind::kLocalQueue: {
      const auto found = state_.local_queues.find(name);
      if (found == state_.local_queues.end()) return;
      erase_from(state_.local_queues_of_cluster_queue, found->second.cluster_queue, name);
      state_.local_queues.erase(found);
      return local_queue_changed(name);
    }
    case Kind::kWorkload:
      return remove_workload(name);
    case Kind::kProvisioningRequestConfig:
      state_.provisioning_configs.erase(name);
      return provisioning_config_changed(name);
    case Kind::kProvisioningRequest:
    case Kind::kPodTemplate:
      return made_object_deleted(key);
    case Kind::kEvent:
      return;
    case Kind::kJob:
      return remove_job(key);
  }
}

}  // namespace phalanx::core
