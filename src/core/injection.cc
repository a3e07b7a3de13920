#include "core/injection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/printable.h"
#include "core/admitted_pods.h"
#include "core/names.h"

namespace phalanx::core {
namespace {

void add_toleration(Injection& injection, const json::value& toleration) {
  if (std::ranges::find(injection.tolerations, toleration) == injection.tolerations.end()) {
    injection.tolerations.push_back(toleration);
  }
}

// What the admission checks of the workload add to the pods of a pod set.
void add_updates(const api::Workload& workload, const std::string& pod_set, Injection& injection) {
  for (const api::PodSetUpdate* update : updates_of(workload, pod_set)) {
    injection.labels.insert(update->labels.begin(), update->labels.end());
    injection.annotations.insert(update->annotations.begin(), update->annotations.end());
    for (const auto& [key, value] : update->node_selector) injection.node_selector[key] = value;
    for (const json::value& toleration : update->toleration_documents) {
      add_toleration(injection, toleration);
    }
  }
}

using Strings = std::map<std::string, std::string>;

// What has been said of the pods of one pod set, and by whom.
class Sayings {
 public:
  explicit Sayings(const std::string& pod_set) : pod_set_(pod_set) {}

  // Who has said something first is believed; whoever says something else contradicts.
  void add(std::string_view field, const Strings& values, const std::string& by) {
    for (const auto& [key, value] : values) {
      const auto& said = said_.try_emplace({field, key}, value, by).first->second;
      if (said.first == value || contradiction_) continue;
      contradiction_ =
          fmt::format("{} wants the {} {} of pod set {} to be \"{}\", but {} says \"{}\"", by,
                      field, key, pod_set_, excerpt(value), said.second, excerpt(said.first));
    }
  }
  [[nodiscard]] const std::optional<std::string>& contradiction() const { return contradiction_; }

 private:
  const std::string& pod_set_;
  // By field and key: the value and whose it is.
  std::map<std::pair<std::string_view, std::string>, std::pair<std::string, std::string>> said_;
  std::optional<std::string> contradiction_;
};

std::optional<std::string> contradiction_about(const State& state, const api::Workload& workload,
                                               const api::WorkloadPodSet& pod_set) {
  constexpr std::string_view kLabel = "label";
  constexpr std::string_view kAnnotation = "annotation";
  constexpr std::string_view kNodeSelector = "nodeSelector";
  Sayings sayings(pod_set.name);
  const std::string by_user = "its template";
  sayings.add(kLabel, pod_set.pod_template.labels, by_user);
  sayings.add(kAnnotation, pod_set.pod_template.annotations, by_user);
  sayings.add(kNodeSelector, pod_set.pod_template.spec.node_selector, by_user);
  if (const api::PodSetAssignment* assignment = assignment_of(workload, pod_set.name)) {
    for (const auto& [resource, name] : assignment->flavors) {
      const api::ResourceFlavor* flavor = state.flavor(name);
      if (flavor == nullptr) continue;
      sayings.add(kNodeSelector, flavor->node_labels, "ResourceFlavor " + name);
    }
  }
  // Flavors are chosen so that they agree with the template: from here on it is about the checks.
  for (const api::AdmissionCheckStatus& check : workload.admission_checks) {
    for (const api::PodSetUpdate& update : check.updates) {
      if (update.pod_set != pod_set.name) continue;
      const std::string by_check = "AdmissionCheck " + check.name;
      sayings.add(kLabel, update.labels, by_check);
      sayings.add(kAnnotation, update.annotations, by_check);
      sayings.add(kNodeSelector, update.node_selector, by_check);
    }
  }
  return sayings.contradiction();
}

}  // namespace

std::optional<std::string> contradiction_of_checks(const State& state,
                                                   const WorkloadState& workload) {
  const api::Workload& object = workload.object;
  if (std::ranges::all_of(object.admission_checks,
                          [](const auto& check) { return check.updates.empty(); })) {
    return std::nullopt;
  }
  for (const api::WorkloadPodSet& pod_set : object.pod_sets) {
    if (auto contradiction = contradiction_about(state, object, pod_set)) return contradiction;
  }
  return std::nullopt;
}

Injection injection_for(const State& state, const Job& job, const WorkloadState& workload,
                        size_t index) {
  const api::Workload& object = workload.object;
  const std::string& pod_set = job.pod_sets[index].name;
  Injection result;
  result.labels[std::string(names::kPodSetLabel)] = pod_set;
  result.annotations[std::string(names::kWorkloadAnnotation)] = object.name;
  const api::PodSetAssignment* assignment = assignment_of(object, pod_set);
  if (assignment == nullptr) return result;
  if (assignment->count && *assignment->count != job.pod_sets[index].count) {
    result.count = assignment->count;
  }
  for (const auto& [resource, name] : assignment->flavors) {
    const api::ResourceFlavor* flavor = state.flavor(name);
    if (flavor == nullptr) continue;
    for (const auto& [key, value] : flavor->node_labels) result.node_selector[key] = value;
    for (const json::value& toleration : flavor->toleration_documents) {
      add_toleration(result, toleration);
    }
  }
  add_updates(object, pod_set, result);
  if (assignment->topology_assignment) {
    result.scheduling_gates.push_back(json::object{{"name", names::kTopologyGate}});
  }
  return result;
}

}  // namespace phalanx::core
