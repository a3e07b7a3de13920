#include "core/priority.h"

#include "core/names.h"

namespace phalanx::core {
namespace {

constexpr std::string_view kSchedulingGroup = "scheduling.k8s.io";

int32_t value_in(const std::map<std::string, api::PriorityClass>& classes,
                 const std::string& name) {
  const auto found = classes.find(name);
  return found == classes.end() ? 0 : found->second.value;
}

}  // namespace

Priority priority_of(const State& state, const Job& job) {
  if (const std::string* name = job.meta.label(names::kPriorityClassLabel)) {
    return {value_in(state.workload_priority_classes, *name),
            api::PriorityClassRef{std::string(names::kKueueGroup), "WorkloadPriorityClass", *name}};
  }
  for (const JobPodSet& pod_set : job.pod_sets) {
    const std::string& name = pod_set.pod_template.priority_class;
    if (name.empty()) continue;
    return {value_in(state.priority_classes, name),
            api::PriorityClassRef{std::string(kSchedulingGroup), "PriorityClass", name}};
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
