#include "core/state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/names.h"

namespace phalanx::core {
namespace {

template <typename Map>
const typename Map::mapped_type* find(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

std::string missing(std::string_view what, const std::vector<std::string>& names) {
  return fmt::format("references missing {}(s): {}", what, fmt::join(names, ","));
}

// Flavors of the queue that do not exist, and topologies of its flavors that do not.
struct Missing {
  std::vector<std::string> flavors;
  std::vector<std::string> topologies;
};

Missing missing_of(const State& state, const api::ClusterQueue& queue) {
  Missing result;
  for (const api::ResourceGroup& group : queue.groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      const api::ResourceFlavor* flavor = state.flavor(quotas.flavor);
      if (flavor == nullptr) {
        result.flavors.push_back(quotas.flavor);
      } else if (!flavor->topology_name.empty() &&
                 !state.topologies.contains(flavor->topology_name)) {
        result.topologies.push_back(fmt::format("there is no Topology \"{}\" for TAS flavor \"{}\"",
                                                flavor->topology_name, flavor->meta.name));
      }
    }
  }
  return result;
}

// The first flavor of the queue that places by a topology; nullptr if none does.
const api::ResourceFlavor* topology_flavor_of(const State& state, const api::ClusterQueue& queue) {
  for (const api::ResourceGroup& group : queue.groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      const api::ResourceFlavor* flavor = state.flavor(quotas.flavor);
      if (flavor != nullptr && !flavor->topology_name.empty()) return flavor;
    }
  }
  return nullptr;
}

// What is wrong with the admission checks of a queue, check by check.
struct CheckProblems {
  std::vector<std::string> missing;
  std::vector<std::string> with_topology;
  std::vector<std::string> inactive;
};

CheckProblems check_problems(const State& state, const api::ClusterQueue& queue) {
  CheckProblems problems;
  for (const api::AdmissionCheckReference& reference : queue.admission_checks) {
    const api::AdmissionCheck* check = find(state.admission_checks, reference.name);
    if (check == nullptr) {
      problems.missing.push_back(reference.name);
      continue;
    }
    const api::ResourceFlavor* flavor = check->controller_name == names::kMultiKueueController
                                            ? topology_flavor_of(state, queue)
                                            : nullptr;
    if (flavor != nullptr) {
      problems.with_topology.push_back(fmt::format(
          "AdmissionCheck \"{}\" of {} sends workloads to other clusters, but "
          "ResourceFlavor \"{}\" places them by the Topology \"{}\" of this one",
          reference.name, check->controller_name, flavor->meta.name, flavor->topology_name));
    } else if (!api::holds(check->conditions, names::kActive)) {
      problems.inactive.push_back(reference.name);
    }
  }
  return problems;
}

}  // namespace

bool State::hold(const std::string& workload, std::optional<Holding> holding) {
  const auto booked = holdings.find(workload);
  if (!holding) {
    if (booked == holdings.end()) return false;
    ledger.release(workload);
    account.release(workload);
    holdings.erase(booked);
    return true;
  }
  if (booked != holdings.end() && booked->second == *holding) return false;
  ledger.book(workload, holding->reservation);
  if (booked == holdings.end() || booked->second.pod_sets != holding->pod_sets) {
    if (holding->pod_sets.empty()) {
      account.release(workload);
    } else {
      account.hold(workload, holding->pod_sets);
    }
  }
  holdings[workload] = std::move(*holding);
  return true;
}

void State::hold_again(const std::string& flavor) {
  for (const auto& [workload, holding] : holdings) {
    for (const HeldPodSet& pod_set : holding.pod_sets) {
      if (pod_set.flavor != flavor) continue;
      account.hold(workload, holding.pod_sets);
      break;
    }
  }
}

std::vector<std::string> State::host_changed(const std::string& host) {
  std::vector<std::string> concerned = account.workloads_on(host);
  for (const std::string& name : concerned) {
    if (in_trouble(host)) {
      troubled_hosts[name].insert(host);
    } else if (const auto entry = troubled_hosts.find(name); entry != troubled_hosts.end()) {
      entry->second.erase(host);
      if (entry->second.empty()) troubled_hosts.erase(entry);
    }
  }
  return concerned;
}

void State::places_changed(const std::string& name) {
  std::set<std::string> troubled;
  if (const WorkloadState* own = workload(name); own != nullptr && own->reserved()) {
    for (const auto& assignment : own->assignments) {
      if (!assignment || assignment->levels.back() != api::kHostnameLabel) continue;
      for (const api::DomainAssignment& domain : assignment->domains) {
        if (in_trouble(domain.values.back())) troubled.insert(domain.values.back());
      }
    }
  }
  if (troubled.empty()) {
    troubled_hosts.erase(name);
  } else {
    troubled_hosts[name] = std::move(troubled);
  }
}

int64_t State::live_pods(const std::string& workload, const std::string* pod_set) const {
  int64_t live =
      pod_set == nullptr ? account.live_pods(workload) : account.live_pods(workload, *pod_set);
  if (live == 0) return 0;
  const WorkloadState* owner = this->workload(workload);
  const std::string controller = owner == nullptr ? "" : pod_controller_of(*owner);
  for (const std::string& name : pods_of_workload.at(workload)) {
    const Pod& pod = pods.at(name);
    if (!pod.terminating || pod.terminal() || pod.node_name.empty()) continue;
    if (!pod.is_of(controller)) continue;
    if (pod_set != nullptr && pod.pod_set != *pod_set) continue;
    const std::string host = account.host_of(pod.node_name);
    const NodeTrouble* trouble = health.find(host);
    const bool unheard = trouble != nullptr && (trouble->silent || trouble->not_ready);
    if (unheard || !account.has_host(host)) --live;
  }
  return live;
}

const api::ResourceFlavor* State::flavor(const std::string& name) const {
  return find(flavors, name);
}

const api::ClusterQueue* State::cluster_queue_of(const WorkloadState& workload) const {
  const api::LocalQueue* local = find(local_queues, workload.local_queue());
  return local == nullptr ? nullptr : find(cluster_queues, local->cluster_queue);
}

std::string WorkloadState::job_uid() const {
  if (const api::OwnerReference* owner = object.meta.controller()) return owner->uid;
  const std::string* label = object.meta.label(names::kJobUidLabel);
  return label == nullptr ? "" : *label;
}

std::string job_id(const std::string& namespace_, const std::string& uid) {
  return namespace_ + "/" + uid;
}

std::string WorkloadState::job_id() const {
  const std::string uid = job_uid();
  return uid.empty() ? uid : core::job_id(object.namespace_, uid);
}

const Job* State::job_of(const WorkloadState& workload) const {
  const api::ObjectKey* key = find(job_of_id, workload.job_id());
  return key == nullptr ? nullptr : find(jobs, *key);
}

std::string State::pod_controller_of(const WorkloadState& workload) const {
  const api::OwnerReference* owner = workload.object.meta.controller();
  if (owner == nullptr) return "";
  // Of other kinds, which make jobs or sets that make the pods, nobody here watches all.
  const bool makes_pods = std::ranges::any_of(adapters->kinds(), [&](api::Kind kind) {
    return api::info(kind).name == owner->kind && api::api_version(kind) == owner->api_version;
  });
  return makes_pods ? owner->uid : "";
}

bool State::gives_back(const WorkloadState& workload) const {
  return workload.evicted() || workload.object.finished || job_is_gone(workload);
}

bool State::job_is_gone(const WorkloadState& workload) const {
  if (workload.object.meta.label(names::kJobUidLabel) == nullptr) return false;
  if (job_of_id.contains(workload.job_id())) return false;
  // Of a kind that nobody here watches one cannot tell.
  const api::OwnerReference* owner = workload.object.meta.controller();
  return owner == nullptr || std::ranges::any_of(adapters->kinds(), [&](api::Kind kind) {
           return api::info(kind).name == owner->kind;
         });
}

const WorkloadState* State::workload(const std::string& name) const {
  return find(workloads, name);
}

api::ContainerDefaults State::container_defaults(const std::string& namespace_) const {
  api::ContainerDefaults defaults;
  const std::string prefix = namespace_ + "/";
  for (auto entry = limit_ranges.lower_bound(prefix);
       entry != limit_ranges.end() && entry->first.starts_with(prefix); ++entry) {
    const api::ContainerDefaults& own = entry->second.defaults;
    defaults.requests.insert(own.requests.begin(), own.requests.end());
    defaults.limits.insert(own.limits.begin(), own.limits.end());
  }
  return defaults;
}

api::ObjectKey workload_key(const api::Workload& workload) {
  return {api::Kind::kWorkload, workload.namespace_, workload.name};
}

std::string circle_text(std::vector<std::string> circle) {
  circle.push_back(circle.front());
  return fmt::format("{}", fmt::join(circle, " -> "));
}

Activity activity_of(const State& state, const api::ClusterQueue& queue) {
  if (queue.meta.deleted) {
    return {false, "Terminating", "Can't admit new workloads; clusterQueue is terminating"};
  }
  const Missing missing_objects = missing_of(state, queue);
  std::vector<std::string> reasons;
  std::vector<std::string> messages;
  if (queue.stop_policy != api::StopPolicy::kNone) {
    reasons.emplace_back("Stopped");
    messages.emplace_back("is stopped");
  }
  if (!missing_objects.flavors.empty()) {
    reasons.emplace_back("FlavorNotFound");
    messages.push_back(missing("ResourceFlavor", missing_objects.flavors));
  }
  const CheckProblems checks = check_problems(state, queue);
  if (!checks.missing.empty()) {
    reasons.emplace_back("AdmissionCheckNotFound");
    messages.push_back(missing("AdmissionCheck", checks.missing));
  }
  if (!checks.with_topology.empty()) {
    reasons.emplace_back("MultiKueueWithTopology");
    messages.push_back(fmt::format("{}", fmt::join(checks.with_topology, ", ")));
  }
  if (!checks.inactive.empty()) {
    reasons.emplace_back("AdmissionCheckInactive");
    messages.push_back(
        fmt::format("references inactive AdmissionCheck(s): {}", fmt::join(checks.inactive, ",")));
  }
  if (const auto circle = quota::circle_above(queue.cohort, state.cohorts); !circle.empty()) {
    reasons.emplace_back(names::kCohortCycle);
    messages.push_back(
        fmt::format("the parents of its cohorts go round in a circle: {}", circle_text(circle)));
  }
  if (!missing_objects.topologies.empty()) {
    reasons.emplace_back("TopologyNotFound");
    messages.push_back(fmt::format("{}", fmt::join(missing_objects.topologies, ", ")));
  }
  if (reasons.empty()) return {true, "Ready", "Can admit new workloads"};
  return {false, reasons.front(),
          fmt::format("Can't admit new workloads: {}.", fmt::join(messages, ", "))};
}

Activity activity_of(const State& state, const api::LocalQueue& queue) {
  if (queue.stop_policy != api::StopPolicy::kNone) {
    return {false, "Stopped", "LocalQueue is stopped"};
  }
  const api::ClusterQueue* cluster_queue = find(state.cluster_queues, queue.cluster_queue);
  constexpr std::string_view kMessage = "Can't submit new workloads to clusterQueue";
  if (cluster_queue == nullptr) {
    return {false, "ClusterQueueDoesNotExist", std::string(kMessage)};
  }
  if (!activity_of(state, *cluster_queue).active) {
    return {false, "ClusterQueueIsInactive", std::string(kMessage)};
  }
  return {true, "Ready", "Can submit new workloads to localQueue"};
}

const std::string* missing_priority_class(const State& state, const WorkloadState& workload) {
  // Kubernetes has these without anybody making them.
  constexpr std::string_view kOfTheSystem = "system-";
  for (const api::WorkloadPodSet& pod_set : workload.object.pod_sets) {
    const std::string& name = pod_set.pod_template.priority_class;
    if (!name.empty() && !name.starts_with(kOfTheSystem) &&
        !state.priority_classes.contains(name)) {
      return &name;
    }
  }
  return nullptr;
}

std::optional<std::string> missing_workload_priority_class(const State& state,
                                                           const WorkloadState& workload) {
  const auto key = state.job_of_id.find(workload.job_id());
  if (key == state.job_of_id.end()) return std::nullopt;
  const std::string* name = state.jobs.at(key->second).meta.label(names::kPriorityClassLabel);
  if (name == nullptr || state.workload_priority_classes.contains(*name)) return std::nullopt;
  return fmt::format(
      "{} has the label {}={}, but there is no WorkloadPriorityClass {}; create it, or correct the "
      "label",
      key->second.text(), names::kPriorityClassLabel, *name, *name);
}

const std::string* missing_runtime_class(const State& state, const WorkloadState& workload) {
  for (const api::WorkloadPodSet& pod_set : workload.object.pod_sets) {
    const std::string& name = pod_set.pod_template.runtime_class;
    if (!name.empty() && !state.runtime_classes.contains(name)) return &name;
  }
  return nullptr;
}

std::optional<Stop> sent_away(const State& state, const WorkloadState& workload) {
  const auto sends_away = [&](api::StopPolicy policy) {
    return policy == api::StopPolicy::kHoldAndDrain ||
           (policy == api::StopPolicy::kHold && !workload.admitted());
  };
  const api::ClusterQueue* queue = find(state.cluster_queues, workload.object.cluster_queue);
  if (queue != nullptr && sends_away(queue->stop_policy)) {
    return Stop{names::kClusterQueueStopped, "The ClusterQueue is stopped"};
  }
  const api::LocalQueue* local = find(state.local_queues, workload.local_queue());
  if (local != nullptr && sends_away(local->stop_policy)) {
    return Stop{names::kLocalQueueStopped, "The LocalQueue is stopped"};
  }
  return std::nullopt;
}

std::optional<QueueProblem> queue_problem(const State& state, const WorkloadState& workload) {
  const auto inadmissible = [](std::string message) {
    return QueueProblem{std::string(names::kInadmissible), std::move(message)};
  };
  if (!workload.problem.empty()) {
    return QueueProblem{std::string(names::kMisconfigured), workload.problem};
  }
  const std::string& queue_name = workload.object.queue_name;
  if (queue_name.empty()) {
    return inadmissible(
        fmt::format("it names no LocalQueue; set the label {}", names::kQueueLabel));
  }
  const api::LocalQueue* local = find(state.local_queues, workload.local_queue());
  if (local == nullptr) return inadmissible(fmt::format("LocalQueue {} doesn't exist", queue_name));
  if (local->stop_policy != api::StopPolicy::kNone) {
    return inadmissible(fmt::format("LocalQueue {} is stopped", queue_name));
  }
  const api::ClusterQueue* queue = find(state.cluster_queues, local->cluster_queue);
  if (queue == nullptr) {
    return inadmissible(fmt::format("ClusterQueue {} doesn't exist", local->cluster_queue));
  }
  const Activity activity = activity_of(state, *queue);
  if (!activity.active) {
    return inadmissible(fmt::format("ClusterQueue {} is inactive", local->cluster_queue));
  }
  const api::Namespace* own = find(state.namespaces, workload.object.namespace_);
  static const std::map<std::string, std::string> kNoLabels;
  const auto& labels = own == nullptr ? kNoLabels : own->meta.labels;
  if (!queue->namespace_selector || !queue->namespace_selector->matches(labels)) {
    return inadmissible("Workload namespace doesn't match ClusterQueue selector");
  }
  if (const std::string* name = missing_priority_class(state, workload)) {
    return inadmissible(fmt::format("PriorityClass {} of its pods doesn't exist", *name));
  }
  if (auto missing = missing_workload_priority_class(state, workload)) {
    return inadmissible(std::move(*missing));
  }
  if (const std::string* name = missing_runtime_class(state, workload)) {
    return inadmissible(fmt::format("RuntimeClass {} of its pods doesn't exist", *name));
  }
  return std::nullopt;
}

}  // namespace phalanx::core
