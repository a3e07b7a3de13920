#include "core/scheduler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "core/names.h"
#include "placement/assignment.h"

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

// Places units of a workload in flavors' trees, one after another, each seeing the earlier ones.
class UnitPlacement {
 public:
  UnitPlacement(State& state, const WorkloadState& workload, const placement::Options& options,
                Appraisal& appraisal)
      : state_(state),
        workload_(workload),
        options_(options),
        appraisal_(appraisal),
        attempt_(state.account.cluster()) {}

  std::expected<std::vector<api::TopologyAssignment>, std::string> place(
      const api::ResourceFlavor& flavor, const std::vector<size_t>& unit) {
    const auto tree = state_.account.tree_of(flavor.meta.name);
    if (!tree) {
      return std::unexpected(fmt::format("Topology \"{}\" of flavor {} is not known",
                                         flavor.topology_name, flavor.meta.name));
    }
    placement::Workload request{workload_.request.name, {}, {}, false};
    bool balanced = options_.balanced;
    for (const size_t index : unit) {
      request.pod_sets.push_back(workload_.request.pod_sets[index]);
      const auto& topology = request.pod_sets.back().topology;
      balanced |= topology && topology->balanced;
    }
    placement::Options options = options_;
    options.balanced = balanced;
    const auto results = state_.account.placer().place(*tree, request, options);
    for (const placement::PodSetResult& result : results) {
      if (!result.failure) continue;
      if (result.explanation) appraisal_.explanations[flavor.meta.name] = result.explanation;
      return std::unexpected(*result.failure);
    }
    std::vector<api::TopologyAssignment> assignments;
    topology::Cluster& cluster = state_.account.cluster();
    for (size_t i = 0; i < results.size(); ++i) {
      CHECK(results[i].assignment);
      const auto pods = placement::to_leaves(cluster, *tree, *results[i].assignment);
      CHECK(pods);
      placement::charge(cluster, *tree, cluster.make_request(request.pod_sets[i].requests), *pods);
      assignments.push_back(*results[i].assignment);
    }
    return assignments;
  }

 private:
  State& state_;
  const WorkloadState& workload_;
  const placement::Options& options_;
  Appraisal& appraisal_;
  topology::Attempt attempt_;
};

}  // namespace

void Scheduler::forget(const std::string& workload) {
  const auto found = queue_of_.find(workload);
  if (found == queue_of_.end()) return;
  queues_.at(found->second).remove(workload);
  touch(found->second, local_queue_of_.at(workload));
  queue_of_.erase(found);
  --pending_in_local_queue_[local_queue_of_.at(workload)];
  local_queue_of_.erase(workload);
  to_tell_.erase(workload);
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
  queues_[queue->meta.name].put({workload->object.priority, workload->object.meta.created, name},
                                workload->shape);
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

bool Scheduler::may_have_changed(const No& no, const std::string& cluster_queue) {
  if (no.configuration != configuration_now()) return true;
  if (no.releases && *no.releases != state_.ledger.of_cluster_queue(cluster_queue).releases) {
    return true;
  }
  for (const auto& [tree, gains] : no.gains) {
    if (state_.account.cluster().tree(tree).gains() != gains) return true;
  }
  return false;
}

bool Scheduler::pass() {
  bool decided = false;
  std::map<PendingEntry, std::string> heads;  // the next of every queue, best first
  const auto push = [&](const std::string& name, const PendingEntry* next) {
    const api::ClusterQueue& queue = state_.cluster_queues.at(name);
    const bool strict = queue.strategy == api::QueueingStrategy::kStrictFifo;
    // In a strict queue nobody goes before the first, and the first may be parked, or busy.
    if (next == nullptr || (strict && *next != *queues_.at(name).first())) return;
    heads.emplace(*next, name);
  };
  for (auto& [name, queue] : queues_) {
    if (queue.size() == 0 || !state_.cluster_queues.contains(name)) continue;
    queue.wake([&](const No& no) { return may_have_changed(no, name); });
    push(name, queue.first_awake());
  }
  while (!heads.empty()) {
    const auto [entry, name] = *heads.begin();
    heads.erase(heads.begin());
    const bool answered = decide(name, entry.workload);
    decided |= answered;
    PendingQueue& queue = queues_.at(name);
    push(name, answered ? queue.first_awake() : queue.next_awake(entry));
  }
  for (auto& [name, queue] : queues_) tell(queue.take_newcomers());
  tell({to_tell_.begin(), to_tell_.end()});
  return decided;
}

bool Scheduler::decide(const std::string& cluster_queue, const std::string& name) {
  const WorkloadState& workload = state_.workloads.at(name);
  // A write of it is under way: what is known of it is about to be old. Its result brings us back.
  if (outbox_.busy(workload_key(workload.object))) return false;
  const api::ClusterQueue& queue = state_.cluster_queues.at(cluster_queue);
  const Appraisal appraisal = appraise(workload, queue, false);
  ++decisions_;
  if (appraisal.choices) {
    admit(workload, queue, *appraisal.choices);
  } else {
    refuse(queues_.at(cluster_queue), workload, queue, *appraisal.refused);
  }
  return true;
}

Appraisal Scheduler::appraise(const WorkloadState& workload, const api::ClusterQueue& queue,
                              bool explain) {
  Appraisal appraisal;
  placement::Options options = state_.configuration.placement;
  options.explain = explain;
  // Trees are rebuilt now, if they must be: an open attempt forbids it.
  for (const api::ResourceGroup& group : queue.groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      if (const auto tree = state_.account.tree_of(quotas.flavor)) {
        state_.account.cluster().tree(*tree);
      }
    }
  }
  UnitPlacement placement(state_, workload, options, appraisal);
  quota::FlavorAssigner assigner(
      queue, state_.ledger.of_cluster_queue(queue.meta.name).reserved,
      [&](const std::string& name) { return state_.flavor(name); },
      [&](const api::ResourceFlavor& flavor, const std::vector<size_t>& unit) {
        return placement.place(flavor, unit);
      });
  auto assigned = assigner.assign(workload.request);
  if (assigned) {
    appraisal.choices = std::move(*assigned);
  } else {
    appraisal.refused = std::move(assigned.error());
  }
  return appraisal;
}

void Scheduler::admit(const WorkloadState& workload, const api::ClusterQueue& queue,
                      const std::vector<quota::FlavorChoice>& choices) {
  const std::string name = workload.request.name;
  const api::ObjectKey key = workload_key(workload.object);
  auto write = admission_write(state_, workload, queue.meta.name, choices);
  if (!write) {  // an assignment that no object can hold: waiting does not help
    const quota::Refused refused{0,
                                 {{quota::Obstacle::kNoMatchingFlavor, "", write.error().message}}};
    return refuse(queues_.at(queue.meta.name), workload, queue, refused);
  }
  state_.hold(name, holding_for(workload, queue.meta.name, choices));
  assumed_.insert(name);
  json::array placed;
  for (const quota::FlavorChoice& choice : choices) {
    json::object entry;
    for (const auto& [resource, flavor] : choice.flavors) entry[resource] = flavor;
    json::object domains;
    if (choice.topology) {
      for (const api::DomainAssignment& domain : choice.topology->domains) {
        domains[fmt::format("{}", fmt::join(domain.values, "/"))] = domain.count;
      }
    }
    placed.push_back(json::object{{"flavors", std::move(entry)}, {"pods", std::move(domains)}});
  }
  journal_.record(state_.now, {"admit",
                               key,
                               {{key.text(), workload.object.meta.resource_version},
                                {"ClusterQueue " + queue.meta.name, queue.meta.resource_version}},
                               fmt::format("fits in ClusterQueue {}", queue.meta.name),
                               {{"podSets", std::move(placed)}}});
  const std::string& uid = workload.object.meta.uid;
  // Quota is reserved in the same moment: one Event says both.
  outbox_.submit(
      std::move(*write),
      {{key, uid, false, "Admitted", fmt::format("Admitted by ClusterQueue {}", queue.meta.name)}});
  forget(name);
}

No Scheduler::no_for(const WorkloadState& workload, const api::ClusterQueue& queue,
                     const quota::Refused& refused) {
  No no;
  no.reason = reason_of(refused.obstacle());
  no.message = refused.text(workload.request.pod_sets[refused.pod_set].name);
  no.configuration = configuration_now();
  std::vector<quota::Refusal> refusals = refused.refusals;
  refusals.insert(refusals.end(), refused.earlier.begin(), refused.earlier.end());
  for (const quota::Refusal& refusal : refusals) {
    if (refusal.obstacle == quota::Obstacle::kWaitingForQuota) {
      no.releases = state_.ledger.of_cluster_queue(queue.meta.name).releases;
    }
    if (refusal.obstacle != quota::Obstacle::kTopology) continue;
    if (const auto tree = state_.account.tree_of(refusal.flavor)) {
      no.gains.emplace_back(*tree, state_.account.cluster().tree(*tree).gains());
    }
  }
  return no;
}

void Scheduler::refuse(PendingQueue& pending, const WorkloadState& workload,
                       const api::ClusterQueue& queue, const quota::Refused& refused) {
  const std::string name = workload.request.name;
  const api::ObjectKey key = workload_key(workload.object);
  No no = no_for(workload, queue, refused);
  journal_.record(state_.now, {"refuse",
                               key,
                               {{key.text(), workload.object.meta.resource_version},
                                {"ClusterQueue " + queue.meta.name, queue.meta.resource_version}},
                               no.message,
                               {}});
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
    if (const auto job = state_.job_of_uid.find(workload->job_uid());
        job != state_.job_of_uid.end()) {
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
