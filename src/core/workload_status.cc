#include "core/workload_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/printable.h"
#include "base/quantity.h"
#include "base/saturating.h"
#include "core/admission_checks.h"
#include "core/admitted_pods.h"
#include "core/names.h"
#include "core/outbox.h"
#include "core/quota_resources.h"
#include "core/slices.h"
#include "topology/assignment_encoding.h"

namespace phalanx::core {
namespace {

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

int32_t reclaimable_of(const State& state, const api::Workload& workload,
                       const std::string& pod_set) {
  if (!state.configuration.reclaimable_pods) return 0;
  const auto found = workload.reclaimable.find(pod_set);
  return found == workload.reclaimable.end() ? 0 : found->second;
}

// The assignment without the places of ranks that are done for good.
std::optional<api::TopologyAssignment> remaining(const State& state, const WorkloadState& workload,
                                                 size_t pod_set) {
  std::optional<api::TopologyAssignment> result = workload.assignments[pod_set];
  const std::vector<int32_t> done = done_ranks(state, workload, pod_set);
  if (done.empty()) return result;
  auto next = done.begin();
  int64_t end = 0;  // of the ranks in the domain
  for (api::DomainAssignment& domain : result->domains) {
    end += domain.count;
    for (; next != done.end() && *next < end; ++next) --domain.count;
  }
  std::erase_if(result->domains, [](const auto& domain) { return domain.count == 0; });
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

// Of pods that get their places in a second pass; nullopt for others.
std::optional<std::string_view> delayed_topology(const api::Workload& workload,
                                                 const quota::FlavorChoice& choice, int32_t count,
                                                 bool placed) {
  if (!placed && choice.topology && count > 0) return "Pending";
  if (!placed || !workload.admission) return std::nullopt;
  const bool was_delayed =
      std::ranges::any_of(*workload.admission, [&](const api::PodSetAssignment& assignment) {
        return assignment.delayed_topology.has_value() && assignment.flavors == choice.flavors;
      });
  if (!was_delayed) return std::nullopt;
  return "Ready";
}

}  // namespace

StatusChange::StatusChange(const State& state, const WorkloadState& workload)
    : state_(state), workload_(workload), conditions_(workload.object.conditions) {}

void StatusChange::set(std::string_view type, bool holds, std::string_view reason,
                       std::string_view message) {
  changed_ |= api::set_condition(conditions_, {std::string(type), holds, std::string(reason),
                                               cut_to(printable(message), kLongestMessage),
                                               workload_.object.meta.generation, state_.now});
}

void StatusChange::remove(std::string_view type) {
  const auto found = std::ranges::find(conditions_, type, &api::Condition::type);
  if (found == conditions_.end()) return;
  conditions_.erase(found);
  changed_ = true;
}

void StatusChange::evict(std::string_view reason, const std::string& message,
                         std::string_view cause) {
  const bool deactivated = reason == names::kDeactivated && !cause.empty();
  set(names::kEvicted, true, deactivated ? fmt::format("{}DueTo{}", reason, cause) : reason,
      message);
  add_execution();
  auto evictions = workload_.object.evictions;
  int32_t& count = evictions[{std::string(reason), std::string(cause)}];
  if (count < std::numeric_limits<int32_t>::max()) ++count;
  json::array list;
  for (const auto& [why, times] : evictions) {
    list.push_back(
        json::object{{"reason", why.first}, {"underlyingCause", why.second}, {"count", times}});
  }
  fields_["schedulingStats"] = json::object{{"evictions", std::move(list)}};
}

// Of those that may only run for so long: what they ran counts when they run again.
void StatusChange::add_execution() {
  const api::Condition* admitted =
      api::find_condition(workload_.object.conditions, names::kAdmitted);
  if (!workload_.object.maximum_execution_seconds || admitted == nullptr || !admitted->holds) {
    return;
  }
  const auto ran =
      std::chrono::duration_cast<std::chrono::seconds>(state_.now - admitted->changed).count();
  const int64_t all = workload_.object.past_execution_seconds + std::max<int64_t>(ran, 0);
  set_past_execution(
      static_cast<int32_t>(std::min<int64_t>(all, std::numeric_limits<int32_t>::max())));
}

void StatusChange::set_past_execution(int32_t seconds) {
  constexpr std::string_view kField = "accumulatedPastExecutionTimeSeconds";
  if (seconds == workload_.object.past_execution_seconds && !fields_.contains(kField)) return;
  fields_[kField] = seconds;
  changed_ = true;
}

void StatusChange::set_checks(const std::vector<api::AdmissionCheckStatus>& checks) {
  if (checks == workload_.object.admission_checks) return;
  fields_["admissionChecks"] = api::admission_checks_json(checks);
  changed_ = true;
}

void StatusChange::set_requeue(const std::optional<api::RequeueState>& requeue) {
  if (requeue == workload_.object.requeue) return;
  json::value& field = fields_["requeueState"];
  field = nullptr;
  if (requeue) {
    field = json::object{{"count", requeue->count}, {"requeueAt", nullptr}};
    if (requeue->at) field.get_object()["requeueAt"] = format_time(*requeue->at);
  }
  changed_ = true;
}

void StatusChange::set_unhealthy_nodes(const std::vector<std::string>& nodes) {
  if (nodes == workload_.object.unhealthy_nodes) return;
  json::array list;
  for (const std::string& node : nodes) list.push_back(json::object{{"name", node}});
  json::value& field = fields_["unhealthyNodes"];
  field = nullptr;
  if (!list.empty()) field = std::move(list);
  changed_ = true;
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
    const bool placed = choices[i].topology && !choices[i].topology->domains.empty();
    if (const auto delayed = delayed_topology(workload.object, choices[i], counts[i], placed)) {
      assignment["delayedTopologyRequest"] = *delayed;
    }
    if (placed) {
      auto encoded = topology::encode_v1beta2(*choices[i].topology);
      if (!encoded) return within("pod set " + pod_set.name, encoded.error());
      assignment["topologyAssignment"] = std::move(*encoded);
    }
    assignments.push_back(std::move(assignment));
  }
  return json::object{{"clusterQueue", cluster_queue},
                      {"podSetAssignments", std::move(assignments)}};
}

void say_admitted(StatusChange& change) {
  change.remove(names::kSecondPassFailed);
  change.set(names::kAdmitted, true, names::kAdmitted, "The workload is admitted");
}

Result<Admission> admission_write(const State& state, const WorkloadState& workload,
                                  const api::ClusterQueue& queue,
                                  const std::vector<quota::FlavorChoice>& choices,
                                  const std::vector<int32_t>& counts) {
  ASSIGN_OR_RETURN(json::value admission,
                   admission_json(workload, queue.meta.name, choices, counts));
  StatusChange change(state, workload);
  change.set_admission(std::move(admission));
  change.set(names::kQuotaReserved, true, names::kQuotaReserved,
             fmt::format("Quota reserved in ClusterQueue {}", queue.meta.name));
  std::set<std::string> flavors;
  bool delayed = false;
  for (size_t i = 0; i < choices.size(); ++i) {
    for (const auto& [resource, flavor] : choices[i].flavors) flavors.insert(flavor);
    delayed |= choices[i].topology && choices[i].topology->domains.empty() && counts[i] > 0;
  }
  const auto checks = checks_for(state, workload.object, required_checks(queue, flavors));
  if (checks.size() > kMostChecks) return fail(too_many_checks(queue, checks.size()));
  change.set_checks(checks);
  const auto lack = lack_of(checks, delayed);
  if (lack) {
    change.set(names::kAdmitted, false, lack->reason, lack->message);
  } else {
    say_admitted(change);
  }
  for (const std::string_view over : {names::kEvicted, names::kPreempted}) {
    const api::Condition* condition = api::find_condition(workload.object.conditions, over);
    if (condition == nullptr || !condition->holds) continue;
    change.set(over, false, names::kQuotaReserved, "Previously: " + condition->message);
  }
  return Admission{change.write(), !lack};
}

Write preemption_write(const State& state, const WorkloadState& workload, std::string_view reason,
                       const std::string& message) {
  StatusChange change(state, workload);
  change.evict(names::kPreempted, message);
  change.set(names::kPreempted, true, reason, message);
  return change.write();
}

Write eviction_write(const State& state, const WorkloadState& workload, std::string_view reason,
                     const std::string& message) {
  StatusChange change(state, workload);
  change.evict(reason, message);
  return change.write();
}

Result<Write> placement_write(const State& state, const WorkloadState& workload,
                              const std::vector<std::optional<api::TopologyAssignment>>& places,
                              bool admitted) {
  std::vector<quota::FlavorChoice> choices;
  std::vector<int32_t> counts;
  for (size_t i = 0; i < workload.object.pod_sets.size(); ++i) {
    const api::WorkloadPodSet& pod_set = workload.object.pod_sets[i];
    const api::PodSetAssignment* assignment = assignment_of(workload.object, pod_set.name);
    if (assignment == nullptr) return fail(fmt::format("pod set {}: has no place", pod_set.name));
    quota::FlavorChoice& choice = choices.emplace_back();
    choice.flavors = assignment->flavors;
    choice.usage = assignment->usage;
    choice.topology = places[i];
    counts.push_back(assignment->count.value_or(pod_set.count));
  }
  ASSIGN_OR_RETURN(json::value admission,
                   admission_json(workload, workload.object.cluster_queue, choices, counts));
  StatusChange change(state, workload);
  change.set_admission(std::move(admission));
  change.set_unhealthy_nodes({});
  if (admitted) say_admitted(change);
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
    const int64_t held =
        over ? std::min<int64_t>(count, state.live_pods(name, &pod_set.name)) : count - reclaimable;
    for (const auto& [resource, amount] : assignment->usage) {
      const auto flavor = assignment->flavors.find(resource);
      if (flavor == assignment->flavors.end() || count == 0) continue;
      const int64_t part = amount / count * held;
      if (part == 0) continue;
      int64_t& sum = holding.reservation.usage[{flavor->second, resource}];
      sum = saturating_add(sum, part);
    }
    HeldPodSet pods{pod_set.name,
                    admitted_per_pod(state.configuration.resources,
                                     workload.request.pod_sets[i].requests, *assignment, count),
                    "", remaining(state, workload, i)};
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
