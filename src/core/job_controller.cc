#include "core/job_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/sha256.h"
#include "core/adapter.h"
#include "core/hashed_name.h"
#include "core/injection.h"
#include "core/names.h"
#include "core/outbox.h"
#include "core/pods_ready.h"
#include "core/priority.h"
#include "core/workload_status.h"

namespace phalanx::core {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string queue_name(const Job& job) {
  const std::string* label = job.meta.label(names::kQueueLabel);
  return label == nullptr ? "" : *label;
}

// An empty name is none: a merge patch takes it away, and no document says it.
json::value queue_name_json(const Job& job) {
  const std::string name = queue_name(job);
  if (name.empty()) return nullptr;
  return json::value(name);
}

bool is_system_namespace(const std::string& name) {
  return name == "kube-system" || name == "kueue-system" || name == "phalanx-system";
}

// Kinds that make Jobs of their own and are queued as a whole. Without a queue name of their own
// such Jobs are their parents' to manage; those of a CronJob, say, are not.
bool belongs_to_framework(const api::ObjectMeta& meta) {
  const api::OwnerReference* owner = meta.controller();
  if (owner == nullptr) return false;
  constexpr std::array<std::string_view, 7> kGroups{
      "jobset.x-k8s.io/", "kubeflow.org/",           "trainer.kubeflow.org/",    "ray.io/",
      "kueue.x-k8s.io/",  "workload.codeflare.dev/", "leaderworkerset.x-k8s.io/"};
  return std::ranges::any_of(
      kGroups, [&](std::string_view group) { return owner->api_version.starts_with(group); });
}

json::object pod_set_json(const JobPodSet& pod_set) {
  json::object object{{"name", pod_set.name}, {"count", pod_set.count}};
  if (pod_set.min_count) object["minCount"] = *pod_set.min_count;
  json::value pod_template = pod_set.document;
  object["template"] = std::move(pod_template);
  if (pod_set.topology) {
    json::object request = api::topology_request_json(*pod_set.topology);
    if (!request.empty()) {
      request["podIndexLabel"] = names::kJobIndexLabel;
      object["topologyRequest"] = std::move(request);
    }
  }
  return object;
}

json::array pod_sets_json(const Job& job) {
  json::array list;
  for (const JobPodSet& pod_set : job.pod_sets) list.push_back(pod_set_json(pod_set));
  return list;
}

// What a Workload can say of a request. A wish that needs a level to mean anything says nothing
// alone.
api::TopologyRequest comparable(const std::optional<api::TopologyRequest>& request) {
  if (!request || api::topology_request_json(*request).empty()) return {};
  return *request;
}

// Kueue marks what it placed without having been asked for a topology: the template of the started
// job says unconstrained, and the Workload nothing.
bool same_topology(const JobPodSet& of_job, const api::WorkloadPodSet& of_workload, bool started) {
  const api::TopologyRequest asked = comparable(of_job.topology);
  const api::TopologyRequest said = comparable(of_workload.topology);
  if (asked == said) return true;
  api::TopologyRequest mark;
  mark.unconstrained = true;
  return started && asked == mark && said == api::TopologyRequest();
}

// Whether a job that is not started asks its pods to go where the Workload says.
bool same_directives(const api::PodTemplate& a, const api::PodTemplate& b) {
  return users_labels(a.labels) == users_labels(b.labels) && a.annotations == b.annotations &&
         a.spec.node_selector == b.spec.node_selector && a.spec.affinity == b.spec.affinity &&
         a.tolerations == b.tolerations && a.scheduling_gates == b.scheduling_gates;
}

// A running job has as many pods as were admitted; any other number is somebody's change. One that
// is suspended has as many as its user wrote, or still those that it ran with.
bool same_count(const Job& job, const JobPodSet& of_job, const api::WorkloadPodSet& of_workload,
                const api::Workload& workload) {
  if (!job.suspended && workload.admission) {
    return of_job.count == admitted_count(workload, of_workload.name).value_or(of_workload.count);
  }
  return of_job.count == of_workload.count || is_reduced(of_job, of_workload, workload);
}

// Whether the Workload still says what the job does.
bool in_step(const Job& job, const api::Workload& workload) {
  if (job.pod_sets.size() != workload.pod_sets.size()) return false;
  const bool as_written = job.suspended && !workload.admission && !needs_restoring(job, workload);
  for (size_t i = 0; i < job.pod_sets.size(); ++i) {
    const JobPodSet& of_job = job.pod_sets[i];
    const api::WorkloadPodSet& of_workload = workload.pod_sets[i];
    if (!same_count(job, of_job, of_workload, workload) ||
        !same_topology(of_job, of_workload, !as_written) ||
        of_job.pod_template.fingerprint != of_workload.pod_template.fingerprint) {
      return false;
    }
    if (as_written && (of_job.min_count != of_workload.min_count ||
                       !same_directives(of_job.pod_template, of_workload.pod_template))) {
      return false;
    }
  }
  return true;
}

json::object owner_reference(const api::ObjectKey& key, const Job& job) {
  return {{"apiVersion", api::api_version(key.kind)},
          {"kind", api::info(key.kind).name},
          {"name", key.name},
          {"uid", job.meta.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

// Whether the job asks to be managed, whatever it belongs to.
bool wants_management(const State& state, const api::ObjectKey& key, const Job& job) {
  if (!job.managed_by.empty()) return false;
  if (!queue_name(job).empty()) return true;
  if (!state.configuration.manage_jobs_without_queue_name) return false;
  if (is_system_namespace(key.namespace_) || belongs_to_framework(job.meta)) return false;
  const auto& selector = state.configuration.managed_jobs_namespace_selector;
  if (!selector) return true;
  const auto own = state.namespaces.find(key.namespace_);
  return own != state.namespaces.end() && selector->matches(own->second.meta.labels);
}

bool counts_for_its_jobs(const State& state, api::Kind kind) {
  const JobAdapter* adapter = state.adapters == nullptr ? nullptr : state.adapters->find(kind);
  return adapter != nullptr && adapter->counts_jobs_of_its_own();
}

// One job and its Workload, looked at together.
class Pair {
 public:
  Pair(const State& state, const api::ObjectKey& key, const Job& job, const JobAdapter& adapter)
      : state_(state), key_(key), job_(job), adapter_(adapter) {
    find_workload();
  }

  Verdict step() {
    if (!surplus_.empty()) return remove_surplus();
    if (workload_ == nullptr) return without_workload();
    const bool going = job_.meta.deleted.has_value();  // it may be leaving its Workload behind
    if (workload_->object.meta.controller() == nullptr && !going) return adopt();
    if (job_.finished) return finish();
    if (auto verdict = keep_in_step()) return std::move(*verdict);
    if (auto verdict = report_reclaimable()) return std::move(*verdict);
    if (auto verdict = report_ready()) return std::move(*verdict);
    const bool may_run = workload_->admitted() && !workload_->evicted() &&
                         workload_->object.active && !workload_->object.meta.deleted;
    if (may_run && job_.suspended) return start();
    if (!may_run && !job_.suspended) return stop(stop_reason());
    if (!may_run) return bring_back();
    return {};
  }

  // The job is no longer ours. What it runs by stays until that is over; a Workload that holds
  // nothing and was made here goes.
  Verdict part() {
    if (workload_ == nullptr || workload_->object.finished) return {};
    if (workload_->reserved() || needs_restoring(job_, workload_->object)) return step();
    if (workload_->object.meta.deleted ||
        workload_->object.meta.label(names::kJobUidLabel) == nullptr) {
      return {};
    }
    Verdict verdict;
    verdict.write = remove(workload_->object);
    verdict.decision = decision("delete-workload", "the job is no longer managed");
    return verdict;
  }

 private:
  void find_workload() {
    workload_ = workload_of(state_, key_, job_);
    if (workload_ == nullptr) {
      // Nobody else gives a Workload this name: somebody took its owner and its label away.
      const WorkloadState* found =
          state_.workload(key_.namespace_ + "/" + workload_name(key_, job_));
      if (found != nullptr && found->job_uid().empty()) workload_ = found;
      return;
    }
    for (const std::string& name :
         state_.workloads_of_job.at(job_id(key_.namespace_, job_.meta.uid))) {
      const WorkloadState& workload = state_.workloads.at(name);
      // Those that are going already need nothing more from here.
      if (&workload != workload_ && !workload.object.meta.deleted) surplus_.push_back(&workload);
    }
  }

  // Somebody made another Workload for the job: one is enough.
  Verdict remove_surplus() {
    const api::Workload& object = surplus_.front()->object;
    Verdict verdict;
    verdict.write = remove(object);
    verdict.decision = decision("delete-workload", "the job has another Workload already");
    return verdict;
  }

  [[nodiscard]] static Write remove(const api::Workload& object) {
    Write write;
    write.verb = Verb::kDelete;
    write.key = workload_key(object);
    write.uid = object.meta.uid;
    write.resource_version = object.meta.resource_version;
    return write;
  }

  // Somebody took its owner away.
  Verdict adopt() {
    Verdict verdict;
    verdict.write = merge_patch(
        workload_key(workload_->object), workload_->object.meta,
        {{"metadata",
          json::object{{"labels", json::object{{names::kJobUidLabel, job_.meta.uid}}},
                       {"ownerReferences", json::array{owner_reference(key_, job_)}}}}});
    verdict.decision = decision("adopt-workload", "it was made for this job");
    return verdict;
  }

  Verdict without_workload() {
    if (job_.finished || job_.meta.deleted) return {};
    if (!job_.suspended) return stop("it has no Workload yet");
    if (!job_.problem.empty()) return {};
    Verdict verdict;
    Write write;
    write.verb = Verb::kCreate;
    write.body = workload_document(state_, key_, job_);
    write.key = {api::Kind::kWorkload, key_.namespace_, workload_name(key_, job_)};
    write.owner = key_;
    verdict.decision = decision("create-workload", "the job is to be queued");
    verdict.write = std::move(write);
    return verdict;
  }

  Verdict finish() {
    if (workload_->object.finished) return {};
    StatusChange change(state_, *workload_);
    change.set(names::kFinished, true, job_.succeeded ? names::kSucceeded : names::kFailed,
               job_.finish_message);
    Verdict verdict;
    verdict.write = change.write();
    verdict.notices.push_back({key_, job_.meta.uid, false, "FinishedWorkload",
                               fmt::format("Workload '{}/{}' is declared finished", key_.namespace_,
                                           workload_->object.name)});
    verdict.decision = decision("finish", job_.finish_message);
    return verdict;
  }

  // Changes of the job that its Workload must follow.
  std::optional<Verdict> keep_in_step() {
    const api::Workload& object = workload_->object;
    if (object.meta.deleted) return std::nullopt;
    json::object spec;
    if (!in_step(job_, object)) {
      if (workload_->reserved() || !job_.suspended) {
        // What was admitted is not what the job is now: start over with a new Workload.
        Verdict verdict;
        verdict.write = remove(object);
        verdict.decision = decision("delete-workload", "the job's pods have changed");
        return verdict;
      }
      if (!job_.problem.empty()) return std::nullopt;
      spec["podSets"] = pod_sets_json(job_);
    }
    if (!workload_->reserved() && object.queue_name != queue_name(job_)) {
      spec["queueName"] = queue_name_json(job_);
    }
    // Who sets it on the Workload itself does not use the label.
    if (const auto seconds = maximum_execution_seconds(job_.meta);
        seconds && !workload_->reserved() && object.maximum_execution_seconds != seconds) {
      spec["maximumExecutionTimeSeconds"] = *seconds;
    }
    const Priority priority = priority_of(state_, job_);
    if (priority.reference != object.priority_class || priority.value != object.priority) {
      const bool fixed = workload_->reserved() && object.priority_class != priority.reference;
      if (!fixed) put_priority(priority, spec);
    }
    if (spec.empty()) return std::nullopt;
    Verdict verdict;
    verdict.decision = decision("update-workload", "the job has changed");
    verdict.write = merge_patch(workload_key(object), object.meta, {{"spec", std::move(spec)}});
    return verdict;
  }

  std::optional<Verdict> report_reclaimable() {
    if (!state_.configuration.reclaimable_pods || !workload_->reserved()) return std::nullopt;
    std::map<std::string, int32_t> pods;
    for (const JobPodSet& pod_set : job_.pod_sets) {
      const auto assignment = std::ranges::find(*workload_->object.admission, pod_set.name,
                                                &api::PodSetAssignment::pod_set);
      const bool admitted = assignment != workload_->object.admission->end();
      // Pods that it was admitted without are not there to be given back.
      const int32_t count = admitted ? assignment->count.value_or(pod_set.count) : pod_set.count;
      const int32_t reclaimable = pod_set.reclaimable - std::max(0, pod_set.count - count);
      if (reclaimable > 0) pods[pod_set.name] = reclaimable;
    }
    StatusChange change(state_, *workload_);
    change.set_reclaimable(pods);
    if (!change.any()) return std::nullopt;
    Verdict verdict;
    verdict.write = change.write();
    verdict.decision = decision("reclaim", "pods are done for good");
    return verdict;
  }

  std::optional<Verdict> report_ready() {
    if (!state_.configuration.wait_for_pods_ready || !workload_->admitted() ||
        workload_->evicted() || job_.suspended) {
      return std::nullopt;
    }
    const auto condition = pods_ready_now(*workload_, job_);
    if (!condition) return std::nullopt;
    StatusChange change(state_, *workload_);
    change.set(condition->type, condition->holds, condition->reason, condition->message);
    Verdict verdict;
    verdict.write = change.write();
    verdict.decision = decision("readiness", condition->message);
    return verdict;
  }

  Verdict start() {
    // It ran before anybody could hold it back.
    if (job_.started) return reset("so that its pods can be told where to go");
    std::vector<Injection> injections;
    for (size_t i = 0; i < job_.pod_sets.size(); ++i) {
      injections.push_back(injection_for(state_, job_, *workload_, i));
    }
    Verdict verdict;
    verdict.write = merge_patch(key_, job_.meta, adapter_.start_patch(job_, injections));
    const std::string& queue = workload_->object.cluster_queue;
    verdict.notices.push_back({key_, job_.meta.uid, false, "Started",
                               fmt::format("Admitted by clusterQueue {}, as Workload {}", queue,
                                           workload_->object.name)});
    verdict.decision = decision("start", fmt::format("admitted by ClusterQueue {}", queue));
    return verdict;
  }

  [[nodiscard]] std::string stop_reason() const {
    const api::Workload& object = workload_->object;
    if (object.meta.deleted) return "its Workload is being deleted";
    if (const api::Condition* evicted = api::find_condition(object.conditions, names::kEvicted);
        evicted != nullptr && evicted->holds) {
      return evicted->message;
    }
    return "Not admitted by cluster queue";
  }

  Verdict stop(const std::string& reason) {
    Verdict verdict;
    verdict.write = merge_patch(key_, job_.meta, adapter_.suspend_patch());
    verdict.notices.push_back({key_, job_.meta.uid, false, "Stopped", reason});
    verdict.decision = decision("stop", reason);
    return verdict;
  }

  // A job that has started cannot have its pod template changed, not even while it is suspended.
  Verdict reset(std::string reason) {
    Verdict verdict;
    verdict.write = merge_patch(key_, job_.meta, adapter_.reset_patch(), true);
    verdict.decision = decision("reset", std::move(reason));
    return verdict;
  }

  // A suspended job gets back the pod templates and the numbers of pods that its user wrote.
  Verdict bring_back() {
    if (!needs_restoring(job_, workload_->object)) return {};
    if (job_.started) return reset("so that its pod template can be restored");
    Verdict verdict;
    auto patch = adapter_.restore_patch(job_, originals_of(job_, workload_->object));
    if (!patch) return {};
    verdict.write = merge_patch(key_, job_.meta, std::move(*patch));
    verdict.decision = decision("restore", "it no longer runs");
    return verdict;
  }

  [[nodiscard]] Decision decision(std::string_view what, std::string reason) const {
    Decision result{what, key_, {{key_.text(), job_.meta.resource_version}}, std::move(reason), {}};
    if (workload_ != nullptr) {
      result.versions.emplace_back(workload_key(workload_->object).text(),
                                   workload_->object.meta.resource_version);
    }
    return result;
  }

  const State& state_;
  const api::ObjectKey& key_;
  const Job& job_;
  const JobAdapter& adapter_;
  const WorkloadState* workload_ = nullptr;
  std::vector<const WorkloadState*> surplus_;
};

}  // namespace

bool is_managed(const State& state, const api::ObjectKey& key, const Job& job) {
  if (!wants_management(state, key, job)) return false;
  // Owners may form a ring, by mistake or on purpose; nobody has this many ancestors.
  constexpr int kMostAncestors = 10;
  const api::OwnerReference* owner = job.meta.controller();
  for (int i = 0; owner != nullptr && i < kMostAncestors; ++i) {
    const auto parent = state.job_of_id.find(job_id(key.namespace_, owner->uid));
    if (parent == state.job_of_id.end()) return true;
    const Job& ancestor = state.jobs.at(parent->second);
    const bool itself = ancestor.meta.uid == job.meta.uid;
    if (!itself && counts_for_its_jobs(state, parent->second.kind) &&
        wants_management(state, parent->second, ancestor)) {
      return false;
    }
    owner = ancestor.meta.controller();
  }
  return true;
}

const WorkloadState* workload_of(const State& state, const api::ObjectKey& key, const Job& job) {
  const auto owned = state.workloads_of_job.find(job_id(key.namespace_, job.meta.uid));
  if (owned == state.workloads_of_job.end() || owned->second.empty()) return nullptr;
  const std::string own_name = workload_name(key, job);
  for (const std::string& name : owned->second) {
    const WorkloadState& workload = state.workloads.at(name);
    if (workload.object.name == own_name) return &workload;
  }
  return &state.workloads.at(*owned->second.begin());
}

std::optional<int32_t> maximum_execution_seconds(const api::ObjectMeta& job) {
  const std::string* text = job.label(names::kMaximumExecutionLabel);
  if (text == nullptr) return std::nullopt;
  int32_t seconds = 0;
  const char* end = text->data() + text->size();
  const auto [stop, code] = std::from_chars(text->data(), end, seconds);
  if (code != std::errc() || stop != end || seconds < 1) return std::nullopt;
  return seconds;
}

std::string workload_name(const api::ObjectKey& key, const Job& job) {
  constexpr size_t kMaxName = 63;
  constexpr size_t kSuffix = 5;
  const std::string hash = sha256_hex(key.text() + "\n" + job.meta.uid).substr(0, kSuffix);
  return with_hash(lower(api::info(key.kind).name) + "-" + key.name, hash, kMaxName);
}

json::object workload_document(const State& state, const api::ObjectKey& key, const Job& job) {
  const json::object metadata{{"name", workload_name(key, job)},
                              {"namespace", key.namespace_},
                              {"labels", json::object{{names::kJobUidLabel, job.meta.uid}}},
                              {"finalizers", json::array{json::string(names::kInUseFinalizer)}},
                              {"ownerReferences", json::array{owner_reference(key, job)}}};
  json::object spec{{"podSets", pod_sets_json(job)}, {"active", true}};
  if (json::value queue = queue_name_json(job); !queue.is_null()) {
    spec["queueName"] = std::move(queue);
  }
  if (const auto seconds = maximum_execution_seconds(job.meta)) {
    spec["maximumExecutionTimeSeconds"] = *seconds;
  }
  const Priority priority = priority_of(state, job);
  put_priority(priority, spec);
  if (!priority.reference) spec.erase("priorityClassRef");
  return {{"apiVersion", api::api_version(api::Kind::kWorkload)},
          {"kind", api::info(api::Kind::kWorkload).name},
          {"metadata", metadata},
          {"spec", std::move(spec)}};
}

Verdict reconcile_job(const State& state, const api::ObjectKey& key) {
  const auto found = state.jobs.find(key);
  if (found == state.jobs.end()) return {};
  Pair pair(state, key, found->second, *state.adapters->find(key.kind));
  return is_managed(state, key, found->second) ? pair.step() : pair.part();
}

}  // namespace phalanx::core
