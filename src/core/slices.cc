#include "core/slices.h"

#include <algorithm>
#include <utility>

#include "core/admitted_pods.h"
#include "core/names.h"
#include "placement/assignment.h"

namespace phalanx::core {
namespace {

std::vector<api::SliceConstraint> layers_of(const api::WorkloadPodSet& pod_set) {
  return pod_set.topology ? pod_set.topology->constraints() : std::vector<api::SliceConstraint>();
}

}  // namespace

std::optional<int64_t> rank_of(const Pod& pod, const api::WorkloadPodSet& pod_set) {
  const std::string_view label =
      pod_set.index_label.empty() ? names::kJobIndexLabel : std::string_view(pod_set.index_label);
  const auto found = std::ranges::find(pod.ranks, label, &std::pair<std::string, int64_t>::first);
  if (found == pod.ranks.end()) return std::nullopt;
  return found->second;
}

std::vector<int32_t> done_ranks(const State& state, const WorkloadState& workload, size_t pod_set) {
  const auto& assignment = workload.assignments[pod_set];
  const Job* job = state.configuration.reclaimable_pods ? state.job_of(workload) : nullptr;
  if (!assignment || job == nullptr || pod_set >= job->pod_sets.size()) return {};
  const JobPodSet& own = job->pod_sets[pod_set];
  // Of a job that starts smaller than it is, ranks have no places of their own.
  if (std::cmp_less(placement::pods_in(*assignment), own.count)) return {};
  return own.done_ranks;
}

std::vector<int64_t> slice_sizes(const api::WorkloadPodSet& pod_set) {
  std::vector<int64_t> sizes;
  for (const api::SliceConstraint& layer : layers_of(pod_set)) sizes.push_back(layer.size);
  return sizes;
}

std::vector<std::string> slice_levels(const State& state, const WorkloadState& workload,
                                      size_t pod_set) {
  const std::string& name = workload.object.pod_sets[pod_set].name;
  const api::PodSetAssignment* assignment = assignment_of(workload.object, name);
  if (assignment == nullptr) return {};
  for (const auto& [resource, flavor_name] : assignment->flavors) {
    const api::ResourceFlavor* flavor = state.flavor(flavor_name);
    if (flavor == nullptr) continue;
    const auto topology = state.topologies.find(flavor->topology_name);
    if (topology != state.topologies.end()) return topology->second.spec.levels;
  }
  return {};
}

std::vector<std::string> domains_of_layers(const State& state, const api::WorkloadPodSet& pod_set,
                                           const std::vector<std::string>& levels,
                                           const std::string& host) {
  std::vector<std::string> domains;
  for (const api::SliceConstraint& layer : layers_of(pod_set)) {
    std::string path;
    for (const std::string& level : levels) {
      path += state.account.label_of_host(host, level) + "/";
      if (level == layer.topology) break;
    }
    domains.push_back(std::move(path));
  }
  return domains;
}

}  // namespace phalanx::core
