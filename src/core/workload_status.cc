#include "core/workload_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/quantity.h"
#include "base/saturating.h"
#include "core/names.h"
#include "core/outbox.h"
#include "core/quota_resources.h"
#include "topology/assignment_encoding.h"

namespace phalanx::core {
namespace {

constexpr size_t kMaxMessage = 32'768;

json::object amounts_json(const api::ResourceAmounts& amounts) {
  json::object object;
  for (const auto& [name, amount] : amounts) object[name] = format_amount(name, amount);
  return object;
}

json::object strings_json(const std::map<std::string, std::string>& strings) {
  json::object object;
  for (const auto& [key, value] : strings) object[key] = value;
  return object;
}

const api::PodSetAssignment* assignment_of(const api::Workload& workload,
                                           const std::string& pod_set) {
  const auto found =
      std::ranges::find(*workload.admission, pod_set, &api::PodSetAssignment::pod_set);
  return found == workload.admission->end() ? nullptr : &*found;
}

int32_t reclaimable_of(const State& state, const api::Workload& workload,
                       const std::string& pod_set) {
  if (!state.configuration.reclaimable_pods) return 0;
  const auto found = workload.reclaimable.find(pod_set);
  return found == workload.reclaimable.end() ? 0 : found->second;
}

// The assignment without the places of ranks that are done for good: nobody comes back there. Pods
// without ranks of their own may come back anywhere, so all of their places stay.
std::optional<api::TopologyAssignment> remaining(
    const std::optional<api::TopologyAssignment>& assignment, const Job* job, size_t pod_set) {
  if (!assignment || job == nullptr || pod_set >= job->pod_sets.size()) return assignment;
  const std::vector<int32_t>& done = job->pod_sets[pod_set].done_ranks;
  if (done.empty()) return assignment;
  // Of a job that starts smaller than it is, ranks have no places of their own.
  int64_t places = 0;
  for (const api::DomainAssignment& domain : assignment->domains) places += domain.count;
  if (places < job->pod_sets[pod_set].count) return assignment;
  api::TopologyAssignment result{assignment->levels, {}};
  int64_t first = 0;
  auto next = done.begin();
  for (const api::DomainAssignment& domain : assignment->domains) {
    const int64_t end = first + domain.count;
    const auto beyond = std::lower_bound(next, done.end(), end);
    const auto left = domain.count - static_cast<int32_t>(beyond - next);
    if (left > 0) result.domains.push_back({domain.values, left});
    next = beyond;
    first = end;
  }
  return result;
}

// The flavor in whose tree pods are placed that take their resources from these; any, if none has
// one.
std::string topology_flavor(const State& state, const std::map<std::string, std::string>& flavors) {
  for (const auto& [resource, name] : flavors) {
    const api::ResourceFlavor* flavor = state.flavor(name);
    if (flavor != nullptr && !flavor->topology_name.empty()) return name;
  }
  return flavors.empty() ? "" : flavors.begin()->second;
}

// What one pod takes: what was admitted, where that is known; the defaults of the namespace may
// have changed since. Of what quota counts in its own way, the admission says nothing about nodes.
api::ResourceAmounts admitted_per_pod(const QuotaResources& resources,
                                      const api::ResourceAmounts& now,
                                      const api::PodSetAssignment& assignment, int32_t count) {
  api::ResourceAmounts amounts = now;
  for (const auto& [resource, total] : assignment.usage) {
    if (resource == "pods" || count <= 0 || counts_differently(resources, resource)) continue;
    amounts[resource] = total / count;
  }
  return amounts;
}

}  // namespace

StatusChange::StatusChange(const State& state, const WorkloadState& workload)
    : state_(state), workload_(workload), conditions_(workload.object.conditions) {}

void StatusChange::set(std::string_view type, bool holds, std::string_view reason,
                       std::string message) {
  if (message.size() > kMaxMessage) message.resize(kMaxMessage);
  changed_ |= api::set_condition(conditions_,
                                 {std::string(type), holds, std::string(reason), std::move(message),
                                  workload_.object.meta.generation, state_.now});
}

void StatusChange::evict(std::string_view reason, const std::string& message) {
  set(names::kEvicted, true, reason, message);
  auto evictions = workload_.object.evictions;
  int32_t& count = evictions[{std::string(reason), ""}];
  if (count < std::numeric_limits<int32_t>::max()) ++count;
  json::array list;
  for (const auto& [why, times] : evictions) {
    list.push_back(
        json::object{{"reason", why.first}, {"underlyingCause", why.second}, {"count", times}});
  }
  fields_["schedulingStats"] = json::object{{"evictions", std::move(list)}};
}

void StatusChange::set_admission(json::value admission) {
  fields_["admission"] = std::move(admission);
  changed_ = true;
}

void StatusChange::clear_admission() {
  if (!workload_.object.admission) return;
  fields_["admission"] = nullptr;
  changed_ = true;
}

void StatusChange::set_reclaimable(const std::map<std::string, int32_t>& pods) {
  if (pods == workload_.object.reclaimable) return;
  json::array list;
  for (const auto& [pod_set, count] : pods) {
    list.push_back(json::object{{"name", pod_set}, {"count", count}});
  }
  fields_["reclaimablePods"] = std::move(list);
  changed_ = true;
}

Write StatusChange::write() const {
  json::object status = fields_;
  status["conditions"] = api::conditions_json(conditions_);
  return merge_patch(workload_key(workload_.object), workload_.object.meta,
                     {{"status", std::move(status)}}, true);
}

Result<json::value> admission_json(const WorkloadState& workload, const std::string& cluster_queue,
                                   const std::vector<quota::FlavorChoice>& choices,
                                   const std::vector<int32_t>& counts) {
  json::array assignments;
  for (size_t i = 0; i < choices.size(); ++i) {
    const placement::PodSet& pod_set = workload.request.pod_sets[i];
    json::object assignment{{"name", pod_set.name},
                            {"flavors", strings_json(choices[i].flavors)},
                            {"resourceUsage", amounts_json(choices[i].usage)},
                            {"count", counts[i]}};
    if (choices[i].topology && !choices[i].topology->domains.empty()) {
      auto encoded = topology::encode_v1beta2(*choices[i].topology);
      if (!encoded) return within("pod set " + pod_set.name, encoded.error());
      assignment["topologyAssignment"] = std::move(*encoded);
    }
    assignments.push_back(std::move(assignment));
  }
  return json::object{{"clusterQueue", cluster_queue},
                      {"podSetAssignments", std::move(assignments)}};
}

Result<Write> admission_write(const State& state, const WorkloadState& workload,
                              const std::string& cluster_queue,
                              const std::vector<quota::FlavorChoice>& choices,
                              const std::vector<int32_t>& counts) {
  ASSIGN_OR_RETURN(json::value admission, admission_json(workload, cluster_queue, choices, counts));
  StatusChange change(state, workload);
  change.set_admission(std::move(admission));
  change.set(names::kQuotaReserved, true, names::kQuotaReserved,
             fmt::format("Quota reserved in ClusterQueue {}", cluster_queue));
  change.set(names::kAdmitted, true, names::kAdmitted, "The workload is admitted");
  for (const std::string_view over : {names::kEvicted, names::kPreempted}) {
    const api::Condition* condition = api::find_condition(workload.object.conditions, over);
    if (condition == nullptr || !condition->holds) continue;
    change.set(over, false, names::kQuotaReserved, "Previously: " + condition->message);
  }
  return change.write();
}

Write preemption_write(const State& state, const WorkloadState& workload, std::string_view reason,
                       const std::string& message) {
  StatusChange change(state, workload);
  change.evict(names::kPreempted, message);
  change.set(names::kPreempted, true, reason, message);
  return change.write();
}

std::optional<Write> pending_write(const State& state, const WorkloadState& workload,
                                   std::string_view reason, const std::string& message) {
  StatusChange change(state, workload);
  change.set(names::kQuotaReserved, false, reason, message);
  if (!change.any()) return std::nullopt;
  return change.write();
}

std::optional<Holding> holding_of(const State& state, const WorkloadState& workload) {
  const api::Workload& object = workload.object;
  if (!object.admission || !object.quota_reserved.value_or(object.admitted.value_or(false))) {
    return std::nullopt;
  }
  const bool over = object.finished || state.job_is_gone(workload);
  Holding holding;
  holding.reservation.cluster_queue = object.cluster_queue;
  holding.reservation.local_queue = workload.local_queue();
  holding.reservation.admitted = object.admitted.value_or(false) && !object.finished;
  const std::string name = object.namespace_ + "/" + object.name;
  for (size_t i = 0; i < object.pod_sets.size(); ++i) {
    const api::WorkloadPodSet& pod_set = object.pod_sets[i];
    const api::PodSetAssignment* assignment = assignment_of(object, pod_set.name);
    if (assignment == nullptr) continue;
    const int32_t count = assignment->count.value_or(pod_set.count);
    const int32_t reclaimable = std::min(count, reclaimable_of(state, object, pod_set.name));
    // What is over keeps what its remaining pods use until they are gone.
    const int64_t held = over
                             ? std::min<int64_t>(count, state.account.live_pods(name, pod_set.name))
                             : count - reclaimable;
    for (const auto& [resource, amount] : assignment->usage) {
      const auto flavor = assignment->flavors.find(resource);
      if (flavor == assignment->flavors.end() || count == 0) continue;
      const int64_t part = amount / count * held;
      if (part != 0) holding.reservation.usage[{flavor->second, resource}] += part;
    }
    const Job* job = state.configuration.reclaimable_pods ? state.job_of(workload) : nullptr;
    HeldPodSet pods{pod_set.name,
                    admitted_per_pod(state.configuration.resources,
                                     workload.request.pod_sets[i].requests, *assignment, count),
                    "", remaining(workload.assignments[i], job, i)};
    pods.flavor = topology_flavor(state, assignment->flavors);
    holding.pod_sets.push_back(std::move(pods));
  }
  if (!over) return holding;
  holding.pod_sets.clear();  // on the nodes each remaining pod is counted by itself
  if (holding.reservation.usage.empty()) return std::nullopt;
  return holding;
}

Holding holding_for(const WorkloadState& workload, const std::string& cluster_queue,
                    const std::vector<quota::FlavorChoice>& choices) {
  Holding holding;
  holding.reservation.cluster_queue = cluster_queue;
  holding.reservation.local_queue = workload.local_queue();
  holding.reservation.admitted = true;
  for (size_t i = 0; i < choices.size(); ++i) {
    const placement::PodSet& pod_set = workload.request.pod_sets[i];
    for (const auto& [resource, amount] : choices[i].usage) {
      int64_t& sum = holding.reservation.usage[{choices[i].flavors.at(resource), resource}];
      sum = saturating_add(sum, amount);
    }
    holding.pod_sets.push_back(
        {pod_set.name, pod_set.requests, choices[i].topology_flavor, choices[i].topology});
  }
  return holding;
}

}  // namespace phalanx::core
