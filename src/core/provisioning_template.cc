#include "core/provisioning_template.h"

#include "base/json_patch.h"
#include "base/json_path.h"
#include "base/quantity.h"
#include "core/adapter.h"
#include "core/names.h"

namespace phalanx::core {
namespace {

// What the start of the job will add for the flavors.
Injection injection_of(const State& state, const api::PodSetAssignment& assignment) {
  Injection injection;
  for (const auto& [resource, name] : assignment.flavors) {
    const api::ResourceFlavor* flavor = state.flavor(name);
    if (flavor == nullptr) continue;
    for (const auto& [key, value] : flavor->node_labels) injection.node_selector[key] = value;
    for (const json::value& toleration : flavor->toleration_documents) {
      injection.tolerations.push_back(toleration);
    }
  }
  return injection;
}

// The requests of a container, or of a whole pod, as PodResources::effective() counts them: what
// is written, else the limits, else the defaults.
void complete_requests(json::value& owner, const api::ContainerDefaults& defaults) {
  const json::object* written = object_at(owner, {"resources", "limits"});
  const json::object limits = written == nullptr ? json::object() : *written;
  if (limits.empty() && defaults.requests.empty()) return;
  json::object& requests = ensure_object(owner, {"resources", "requests"});
  for (const auto& limit : limits) requests.emplace(limit.key(), limit.value());
  json::object default_limits;
  for (const auto& [resource, amount] : defaults.requests) {
    if (requests.contains(resource)) continue;
    requests.emplace(resource, format_amount(resource, amount));
    const auto limit = defaults.limits.find(resource);
    if (limit == defaults.limits.end()) continue;
    default_limits.emplace(resource, format_amount(resource, limit->second));
  }
  if (default_limits.empty()) return;
  // API servers take no request of a device without its limit.
  json::object& completed = ensure_object(owner, {"resources", "limits"});
  for (const auto& limit : default_limits) completed.emplace(limit.key(), limit.value());
}

void complete_containers(json::value& pod_template, std::string_view field,
                         const api::ContainerDefaults& defaults) {
  json::array* containers = array_at(pod_template, {"spec", field});
  if (containers == nullptr) return;
  for (json::value& container : *containers) complete_requests(container, defaults);
}

void add_overhead(json::value& pod_template, const State& state,
                  const api::PodTemplate& as_written) {
  const auto runtime = state.runtime_classes.find(as_written.runtime_class);
  if (runtime == state.runtime_classes.end() || !as_written.resources.overhead.empty()) return;
  if (runtime->second.overhead.empty()) return;
  json::object& overhead = ensure_object(pod_template, {"spec", "overhead"});
  for (const auto& [resource, amount] : runtime->second.overhead) {
    overhead[resource] = format_amount(resource, amount);
  }
}

// A template may have been copied from pods that were started once.
void drop_marks_of_a_start(json::value& pod_template) {
  erase_at(pod_template, {"metadata", "annotations", names::kConsumeRequestAnnotation});
  erase_at(pod_template, {"metadata", "annotations", names::kProvisioningClassAnnotation});
  const json::array* gates = array_at(pod_template, {"spec", "schedulingGates"});
  if (gates == nullptr) return;
  json::array others;
  for (const json::value& gate : *gates) {
    if (string_at(gate, {"name"}) != names::kTopologyGate) others.push_back(gate);
  }
  if (others.size() == gates->size()) return;
  if (others.empty()) return erase_at(pod_template, {"spec", "schedulingGates"});
  ensure_object(pod_template, {"spec"})["schedulingGates"] = std::move(others);
}

}  // namespace

json::value template_for_autoscaler(const State& state, const std::string& namespace_,
                                    const api::WorkloadPodSet& pod_set,
                                    const api::PodSetAssignment* assignment) {
  json::value document = pod_set.document;
  if (assignment != nullptr) {
    apply_merge_patch(document, inject(pod_set.pod_template, injection_of(state, *assignment)));
  }
  const api::ContainerDefaults defaults = state.container_defaults(namespace_);
  complete_containers(document, "initContainers", defaults);
  complete_containers(document, "containers", defaults);
  if (json::value* spec = find_at(document, {"spec"})) complete_requests(*spec, {});
  add_overhead(document, state, pod_set.pod_template);
  drop_marks_of_a_start(document);
  return document;
}

}  // namespace phalanx::core
