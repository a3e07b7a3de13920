#include "cli/queue_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>
#include <vector>

#include "base/spelling.h"
#include "core/names.h"

namespace phalanx::cli {
namespace {

std::string missing_local_queue(const core::State& state, const core::WorkloadState& workload) {
  std::vector<std::string_view> names;
  const std::string prefix = workload.object.namespace_ + "/";
  for (const auto& [full_name, queue] : state.local_queues) {
    if (full_name.starts_with(prefix)) names.emplace_back(queue.meta.name);
  }
  const std::string& name = workload.object.queue_name;
  return fmt::format("LocalQueue {} doesn't exist; create it, or name another with the label {}{}",
                     workload.local_queue(), core::names::kQueueLabel,
                     names.empty() ? "" : suggestion(name, names));
}

std::string missing_cluster_queue(const core::State& state, const core::WorkloadState& workload,
                                  const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& [other, queue] : state.cluster_queues) names.emplace_back(other);
  return fmt::format(
      "LocalQueue {} names ClusterQueue {}, which doesn't exist; create it, or make the LocalQueue "
      "anew with another spec.clusterQueue{}",
      workload.local_queue(), name, names.empty() ? "" : suggestion(name, names));
}

std::string namespace_not_selected(const core::WorkloadState& workload,
                                   const api::ClusterQueue& queue) {
  if (!queue.namespace_selector) {
    return fmt::format(
        "ClusterQueue {} takes workloads of no namespace; write spec.namespaceSelector: {{}} for "
        "those of all",
        queue.meta.name);
  }
  return fmt::format(
      "Namespace {} is not selected by ClusterQueue {}; label the namespace, or change "
      "spec.namespaceSelector of the queue",
      workload.object.namespace_, queue.meta.name);
}

}  // namespace

std::string inactive_because(const core::State& state, const api::ClusterQueue& queue) {
  std::vector<std::string> causes;
  if (queue.meta.deleted) causes.emplace_back("it is being deleted; name another queue");
  if (queue.stop_policy != api::StopPolicy::kNone) {
    causes.emplace_back("it is stopped; set its spec.stopPolicy to None");
  }
  std::set<std::string> seen;
  for (const api::ResourceGroup& group : queue.groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      if (!seen.insert(quotas.flavor).second) continue;
      const api::ResourceFlavor* flavor = state.flavor(quotas.flavor);
      if (flavor == nullptr) {
        causes.push_back(fmt::format(
            "ResourceFlavor {} doesn't exist; create it, or take it out of spec.resourceGroups",
            quotas.flavor));
      } else if (!flavor->topology_name.empty() &&
                 !state.topologies.contains(flavor->topology_name)) {
        causes.push_back(fmt::format(
            "Topology {} of ResourceFlavor {} doesn't exist; create it, or name another "
            "in spec.topologyName of the flavor",
            flavor->topology_name, quotas.flavor));
      }
    }
  }
  for (const api::AdmissionCheckReference& check : queue.admission_checks) {
    if (state.admission_checks.contains(check.name)) continue;
    causes.push_back(
        fmt::format("AdmissionCheck {} doesn't exist here; take it out of the admission checks of "
                    "the queue",
                    check.name));
  }
  // Whatever else the core may know.
  if (causes.empty()) {
    const core::Activity activity = core::activity_of(state, queue);
    if (!activity.active) causes.push_back(activity.message);
  }
  return fmt::format("{}", fmt::join(causes, "; and "));
}

std::optional<std::string> set_aside_because(const core::State& state,
                                             const core::WorkloadState& workload) {
  if (!workload.object.active) {
    const api::Condition* evicted =
        api::find_condition(workload.object.conditions, core::names::kEvicted);
    const bool told = evicted != nullptr && evicted->reason.contains("DueTo");
    return fmt::format("it was deactivated; set spec.active of its Workload to true{}",
                       told ? ". " + evicted->message : "");
  }
  const auto problem = core::queue_problem(state, workload);
  if (!problem) return std::nullopt;
  if (!workload.problem.empty() || workload.object.queue_name.empty()) return problem->message;
  const auto local = state.local_queues.find(workload.local_queue());
  if (local == state.local_queues.end()) return missing_local_queue(state, workload);
  if (local->second.stop_policy != api::StopPolicy::kNone) {
    return fmt::format("LocalQueue {} is stopped; set its spec.stopPolicy to None",
                       workload.local_queue());
  }
  const auto queue = state.cluster_queues.find(local->second.cluster_queue);
  if (queue == state.cluster_queues.end()) {
    return missing_cluster_queue(state, workload, local->second.cluster_queue);
  }
  if (const std::string why = inactive_because(state, queue->second); !why.empty()) {
    return fmt::format("ClusterQueue {} is inactive: {}", queue->first, why);
  }
  if (const std::string* name = core::missing_priority_class(state, workload)) {
    return fmt::format(
        "PriorityClass {} of its pods doesn't exist, so none could be made; create it, or take it "
        "out "
        "of spec.template.spec.priorityClassName",
        *name);
  }
  if (auto missing = core::missing_workload_priority_class(state, workload)) return missing;
  if (const std::string* name = core::missing_runtime_class(state, workload)) {
    return fmt::format(
        "RuntimeClass {} of its pods doesn't exist, so none could be made; create it, or take it "
        "out of spec.template.spec.runtimeClassName",
        *name);
  }
  return namespace_not_selected(workload, queue->second);
}

std::string uncovered_remedy(const api::ClusterQueue& queue, const api::ResourceAmounts& per_pod) {
  std::vector<std::string> missing;
  for (const auto& [resource, amount] : per_pod) {
    if (amount > 0 && queue.group_of(resource) == nullptr) missing.push_back(resource);
  }
  if (missing.empty()) return "";
  return fmt::format(
      "give a flavor of ClusterQueue {} a quota for {} (coveredResources and resources in "
      "spec.resourceGroups), or take {} out of the requests of the pods",
      queue.meta.name, fmt::join(missing, ", "), missing.size() == 1 ? "it" : "them");
}

}  // namespace phalanx::cli
