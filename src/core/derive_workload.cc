// What is derived from a Workload: what its pods take, what decides about it, and where it is.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/quota_resources.h"
#include "core/state.h"
#include "placement/assignment.h"
#include "topology/assignment_encoding.h"

namespace phalanx::core {
namespace {

void append(std::string& text, std::string_view name, std::string_view value) {
  // Lengths keep "a"+"bc" and "ab"+"c" apart.
  text += fmt::format("{}={}:{};", name, value.size(), value);
}

void append_terms(std::string& text, std::string_view name,
                  const std::vector<api::NodeSelectorRequirement>& requirements) {
  for (const auto& requirement : requirements) {
    append(text, name, requirement.key);
    append(text, "op", std::to_string(static_cast<int>(requirement.op)));
    for (const std::string& value : requirement.values) append(text, "v", value);
  }
}

void append_topology(std::string& text, const api::TopologyRequest& request) {
  append(text, "required", request.required.value_or("-"));
  append(text, "preferred", request.preferred.value_or("-"));
  append(text, "group", request.group_name.value_or("-"));
  text += fmt::format("u{}b{};", request.unconstrained, request.balanced);
  for (const api::SliceConstraint& layer : request.constraints()) {
    append(text, std::to_string(layer.size), layer.topology);
  }
}

void append_pod_set(std::string& text, const placement::PodSet& pod_set) {
  text += fmt::format("{}[{};", pod_set.name, pod_set.count);
  for (const auto& [resource, amount] : pod_set.requests) {
    append(text, resource, std::to_string(amount));
  }
  text += "selector;";
  for (const auto& [key, value] : pod_set.node_selector) append(text, key, value);
  text += "tolerations;";
  for (const api::Toleration& toleration : pod_set.tolerations) {
    append(text, "t", toleration.key);
    append(text, toleration.exists ? "exists" : "equals", toleration.value);
    append(text, "e", toleration.effect);
  }
  if (pod_set.affinity.required) {
    text += "affinity;";
    for (const api::NodeSelectorTerm& term : *pod_set.affinity.required) {
      text += "|";
      append_terms(text, "x", term.expressions);
      append_terms(text, "f", term.fields);
    }
  }
  for (const api::PreferredTerm& preferred : pod_set.affinity.preferred) {
    text += fmt::format("prefer{};", preferred.weight);
    append_terms(text, "x", preferred.term.expressions);
    append_terms(text, "f", preferred.term.fields);
  }
  if (pod_set.topology) {
    text += "topology;";
    append_topology(text, *pod_set.topology);
  }
  text += "]";
}

void append_quota(std::string& text, const api::ResourceAmounts& amounts,
                  std::optional<int32_t> min_count) {
  text += "quota;";
  for (const auto& [resource, amount] : amounts) append(text, resource, std::to_string(amount));
  if (min_count) text += fmt::format("least{};", *min_count);
}

int32_t boosted(int32_t priority, int32_t boost) {
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::clamp(int64_t{priority} + boost, kLeast, kMost));
}

// What one pod takes on a node: as API servers will make it, with the defaults of its namespace and
// the overhead of its runtime.
api::ResourceAmounts requests_of(const State& state, const api::PodTemplate& pod_template,
                                 const api::ContainerDefaults& defaults) {
  const auto runtime = state.runtime_classes.find(pod_template.runtime_class);
  if (runtime == state.runtime_classes.end() || !pod_template.resources.overhead.empty()) {
    return pod_template.resources.effective(defaults);
  }
  api::PodResources resources = pod_template.resources;
  resources.overhead = runtime->second.overhead;
  return resources.effective(defaults);
}

// A host is known by its name; whoever writes the levels above it, too, says no more.
void reduce_to_hosts(api::TopologyAssignment& assignment) {
  if (assignment.levels.size() <= 1 || assignment.levels.back() != api::kHostnameLabel) return;
  assignment.levels.erase(assignment.levels.begin(), assignment.levels.end() - 1);
  for (api::DomainAssignment& domain : assignment.domains) {
    domain.values.erase(domain.values.begin(), domain.values.end() - 1);
  }
}

void decode_assignments(const api::Workload& object, WorkloadState& workload) {
  workload.assignments.resize(object.pod_sets.size());
  if (!object.admission) return;
  for (const api::PodSetAssignment& assignment : *object.admission) {
    if (!assignment.topology_assignment) continue;
    auto decoded = topology::decode_assignment(*assignment.topology_assignment, assignment.path);
    if (!decoded) {
      workload.problem = decoded.error().message;
      continue;
    }
    reduce_to_hosts(*decoded);
    for (size_t i = 0; i < object.pod_sets.size(); ++i) {
      const api::WorkloadPodSet& pod_set = object.pod_sets[i];
      if (pod_set.name != assignment.pod_set) continue;
      const int64_t places = placement::pods_in(*decoded);
      if (places > pod_set.count) {
        workload.problem =
            fmt::format("{}: gives {} places to {} pods", assignment.path, places, pod_set.count);
        continue;
      }
      workload.assignments[i] = *decoded;
    }
  }
}

// Problems that no change of the cluster can solve, only a change of the workload.
std::string problem_of(const WorkloadState& workload) {
  for (const placement::PodSet& pod_set : workload.request.pod_sets) {
    if (!pod_set.topology) continue;
    const auto constraints = pod_set.topology->constraints();
    if (constraints.empty() || constraints.front().size <= 0 || pod_set.count == 0) continue;
    const int32_t size = constraints.front().size;
    if (pod_set.count % size != 0) {
      return fmt::format(
          "pod set {}: the slice size {} does not divide its {} pods; choose a size that does, or "
          "another number of pods",
          pod_set.name, size, pod_set.count);
    }
  }
  return "";
}

}  // namespace

WorkloadState derive_workload(const State& state, api::Workload object) {
  WorkloadState workload;
  const api::ContainerDefaults defaults = state.container_defaults(object.namespace_);
  workload.request.name = object.namespace_ + "/" + object.name;
  workload.priority = object.priority;
  if (state.configuration.priority_boost) {
    workload.priority = boosted(object.priority, object.priority_boost);
  }
  workload.shape = fmt::format("priority{};", workload.priority);
  for (const api::WorkloadPodSet& pod_set : object.pod_sets) {
    const api::PodSpec& spec = pod_set.pod_template.spec;
    placement::PodSet request{
        pod_set.name,       pod_set.count,    requests_of(state, pod_set.pod_template, defaults),
        spec.node_selector, spec.tolerations, spec.affinity,
        pod_set.topology,   std::nullopt};
    if (!state.configuration.topology_aware_scheduling) request.topology.reset();
    append_pod_set(workload.shape, request);
    workload.quota_requests.push_back(counted(state.configuration.resources, request.requests));
    append_quota(workload.shape, workload.quota_requests.back(), pod_set.min_count);
    workload.request.pod_sets.push_back(std::move(request));
  }
  decode_assignments(object, workload);
  workload.object = std::move(object);
  if (workload.problem.empty()) workload.problem = problem_of(workload);
  return workload;
}

}  // namespace phalanx::core
