#include "core/misplaced_pods.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/names.h"
#include "core/outbox.h"

namespace phalanx::core {
namespace {

// The domain that the pod was sent to when its gate was taken away; empty: it was not.
std::vector<std::string> selected_domain(const Pod& pod, const std::vector<std::string>& levels) {
  std::vector<std::string> values;
  for (const std::string& level : levels) {
    const auto found = pod.node_selector.find(level);
    if (found == pod.node_selector.end()) return {};
    values.push_back(found->second);
  }
  return values;
}

bool holds_place(const State& state, const WorkloadState& workload, const Pod& pod,
                 const api::TopologyAssignment& assignment) {
  const std::vector<std::string> domain = selected_domain(pod, assignment.levels);
  if (domain.empty()) return true;
  // The account finds it at once, where nothing is on its way.
  if (state.account.slots(workload.request.name, pod.pod_set, domain.back()) > 0) return true;
  return std::ranges::find(assignment.domains, domain, &api::DomainAssignment::values) !=
         assignment.domains.end();
}

json::object failed_status(const State& state, const Pod& pod, const std::string& message) {
  json::array conditions = pod.conditions;
  const std::string now = format_time(state.now);
  conditions.push_back(json::object{{"type", names::kTerminatedByKueue},
                                    {"status", "True"},
                                    {"reason", names::kUnschedulableOnAssignedNode},
                                    {"message", message},
                                    {"lastTransitionTime", now}});
  return {{"phase", "Failed"},
          {"reason", names::kUnschedulableOnAssignedNode},
          {"message", message},
          {"conditions", std::move(conditions)}};
}

}  // namespace

std::optional<Verdict> end_if_misplaced(const State& state, const std::string& name) {
  const auto found = state.pods.find(name);
  if (found == state.pods.end()) return std::nullopt;
  const Pod& pod = found->second;
  const WorkloadState* workload = state.workload(pod.workload);
  if (pod.gated || pod.terminal() || pod.terminating || workload == nullptr ||
      !workload->admitted() || workload->evicted() || workload->object.finished ||
      !pod.is_of(state.pod_controller_of(*workload))) {
    return std::nullopt;
  }
  const auto pod_set =
      std::ranges::find(workload->object.pod_sets, pod.pod_set, &api::WorkloadPodSet::name);
  if (pod_set == workload->object.pod_sets.end()) return std::nullopt;
  const auto& assignment =
      workload->assignments[static_cast<size_t>(pod_set - workload->object.pod_sets.begin())];
  if (!assignment || assignment->levels.back() != api::kHostnameLabel ||
      holds_place(state, *workload, pod, *assignment)) {
    return std::nullopt;
  }
  const api::ObjectKey key = key_of(api::Kind::kPod, name);
  api::ObjectMeta meta;
  meta.uid = state.known.uid(key);
  meta.resource_version = state.known.version(key);
  const std::string message =
      fmt::format("node {} was replaced: workload {} has no place there any more",
                  pod.node_selector.at(std::string(api::kHostnameLabel)), pod.workload);
  Verdict verdict;
  if (pod.node_name.empty()) {
    verdict.write = merge_patch(key, meta, {{"status", failed_status(state, pod, message)}}, true);
  } else {
    Write write;
    write.verb = Verb::kDelete;
    write.key = key;
    write.uid = meta.uid;
    write.resource_version = meta.resource_version;
    verdict.write = std::move(write);
  }
  verdict.notices.push_back({key, meta.uid, false, "PodTerminated", message});
  verdict.decision =
      Decision{"end-pod",
               key,
               {{key.text(), meta.resource_version},
                {workload_key(workload->object).text(), workload->object.meta.resource_version}},
               message,
               {}};
  return verdict;
}

}  // namespace phalanx::core
