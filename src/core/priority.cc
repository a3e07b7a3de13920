#include "core/priority.h"

#include "core/names.h"

namespace phalanx::core {
namespace {

constexpr std::string_view kSchedulingGroup = "scheduling.k8s.io";

Priority priority_in(const std::map<std::string, api::PriorityClass>& classes,
                     api::PriorityClassRef reference) {
  const auto found = classes.find(reference.name);
  if (found == classes.end()) return {};
  return {found->second.value, std::move(reference)};
}

}  // namespace

Priority priority_of(const State& state, const Job& job) {
  if (const std::string* name = job.meta.label(names::kPriorityClassLabel)) {
    return priority_in(state.workload_priority_classes,
                       {std::string(names::kKueueGroup), "WorkloadPriorityClass", *name});
  }
  for (const JobPodSet& pod_set : job.pod_sets) {
    const std::string& name = pod_set.pod_template.priority_class;
    if (name.empty()) continue;
    return priority_in(state.priority_classes,
                       {std::string(kSchedulingGroup), "PriorityClass", name});
  }
  for (const auto& [name, priority_class] : state.priority_classes) {
    if (!priority_class.global_default) continue;
    return {priority_class.value,
            api::PriorityClassRef{std::string(kSchedulingGroup), "PriorityClass", name}};
  }
  return {};
}

void put_priority(const Priority& priority, json::object& spec) {
  spec["priority"] = priority.value;
  if (!priority.reference) {
    spec["priorityClassRef"] = nullptr;
    return;
  }
  spec["priorityClassRef"] = json::object{{"group", priority.reference->group},
                                          {"kind", priority.reference->kind},
                                          {"name", priority.reference->name}};
}

}  // namespace phalanx::core
