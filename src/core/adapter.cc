#include "core/adapter.h"

#include <algorithm>
#include <array>

#include "core/names.h"

namespace phalanx::core {
namespace {

constexpr std::array<std::string_view, 4> kControllersLabels{"batch.kubernetes.io/controller-uid",
                                                             "batch.kubernetes.io/job-name",
                                                             "controller-uid", "job-name"};

bool is_controllers(std::string_view label) {
  return std::ranges::find(kControllersLabels, label) != kControllersLabels.end();
}

json::object to_json(const std::map<std::string, std::string>& map) {
  json::object object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

json::array joined(const json::array& first, const json::array& second) {
  json::array list = first;
  for (const json::value& element : second) {
    if (std::ranges::find(list, element) == list.end()) list.push_back(element);
  }
  return list;
}

// Into the patch, what turns one map into another. A map that was not there is not there again,
// rather than empty.
void put_difference(json::object& object, std::string_view name,
                    const std::map<std::string, std::string>& current,
                    const std::map<std::string, std::string>& wanted) {
  if (current == wanted) return;
  if (wanted.empty()) {
    object[name] = nullptr;
    return;
  }
  json::object patch;
  for (const auto& [key, value] : current) {
    if (!wanted.contains(key)) patch[key] = nullptr;
  }
  for (const auto& [key, value] : wanted) {
    const auto found = current.find(key);
    if (found == current.end() || found->second != value) patch[key] = value;
  }
  object[name] = std::move(patch);
}

void put_unless_empty(json::object& object, std::string_view name, json::object value) {
  if (!value.empty()) object[name] = std::move(value);
}

void put_if_different(json::object& object, std::string_view name, const json::array& current,
                      const json::array& wanted) {
  if (current == wanted) return;
  object[name] = wanted.empty() ? json::value(nullptr) : json::value(wanted);
}

// Every start leaves it in the pod templates.
bool bears_mark(const api::PodTemplate& pod_template) {
  return pod_template.labels.contains(std::string(names::kPodSetLabel));
}

}  // namespace

json::object inject(const api::PodTemplate& pod_template, const Injection& injection) {
  json::object metadata;
  put_unless_empty(metadata, "labels", to_json(injection.labels));
  put_unless_empty(metadata, "annotations", to_json(injection.annotations));
  json::object spec;
  put_unless_empty(spec, "nodeSelector", to_json(injection.node_selector));
  put_if_different(spec, "tolerations", pod_template.tolerations,
                   joined(pod_template.tolerations, injection.tolerations));
  put_if_different(spec, "schedulingGates", pod_template.scheduling_gates,
                   joined(pod_template.scheduling_gates, injection.scheduling_gates));
  json::object patch;
  put_unless_empty(patch, "metadata", std::move(metadata));
  put_unless_empty(patch, "spec", std::move(spec));
  return patch;
}

std::map<std::string, std::string> users_labels(const std::map<std::string, std::string>& labels) {
  auto result = labels;
  std::erase_if(result, [](const auto& label) { return is_controllers(label.first); });
  return result;
}

std::optional<json::object> restore(const api::PodTemplate& current,
                                    const api::PodTemplate& original) {
  json::object metadata;
  auto labels = users_labels(original.labels);
  for (const auto& [key, value] : current.labels) {
    if (is_controllers(key)) labels[key] = value;
  }
  put_difference(metadata, "labels", current.labels, labels);
  put_difference(metadata, "annotations", current.annotations, original.annotations);
  json::object spec;
  put_difference(spec, "nodeSelector", current.spec.node_selector, original.spec.node_selector);
  put_if_different(spec, "tolerations", current.tolerations, original.tolerations);
  put_if_different(spec, "schedulingGates", current.scheduling_gates, original.scheduling_gates);
  json::object patch;
  put_unless_empty(patch, "metadata", std::move(metadata));
  put_unless_empty(patch, "spec", std::move(spec));
  if (patch.empty()) return std::nullopt;
  return patch;
}

std::optional<int32_t> admitted_count(const api::Workload& workload, const std::string& pod_set) {
  if (!workload.admission) return std::nullopt;
  const auto found =
      std::ranges::find(*workload.admission, pod_set, &api::PodSetAssignment::pod_set);
  return found == workload.admission->end() ? std::nullopt : found->count;
}

bool is_reduced(const JobPodSet& of_job, const api::WorkloadPodSet& of_workload,
                const api::Workload& workload) {
  if (!of_workload.min_count || of_job.count < *of_workload.min_count ||
      of_job.count >= of_workload.count) {
    return false;
  }
  // A start reduces and marks in one write, and a stop takes back both. A user who has the mark in
  // the template loses it as a sign, and the admission must do.
  if (bears_mark(of_workload.pod_template)) return workload.admission.has_value();
  return bears_mark(of_job.pod_template);
}

std::vector<Original> originals_of(const Job& job, const api::Workload& workload) {
  std::vector<Original> originals;
  for (size_t i = 0; i < workload.pod_sets.size(); ++i) {
    const api::WorkloadPodSet& written = workload.pod_sets[i];
    Original original{&written.pod_template, std::nullopt};
    // A number that is not the admitted one is the user's own change, made while it ran.
    const JobPodSet& current = job.pod_sets[i];
    const bool as_admitted =
        admitted_count(workload, written.name).value_or(current.count) == current.count;
    if (as_admitted && is_reduced(current, written, workload)) original.count = written.count;
    originals.push_back(original);
  }
  return originals;
}

bool needs_restoring(const Job& job, const api::Workload& workload) {
  if (job.pod_sets.size() != workload.pod_sets.size()) return false;
  const std::vector<Original> originals = originals_of(job, workload);
  for (size_t i = 0; i < job.pod_sets.size(); ++i) {
    const api::PodTemplate& current = job.pod_sets[i].pod_template;
    const api::PodTemplate& original = *originals[i].pod_template;
    if (originals[i].count) return true;
    // Without an admission a difference is the user's own change, unless it bears our mark.
    const bool ours =
        workload.admission.has_value() || (bears_mark(current) && !bears_mark(original));
    if (ours && restore(current, original)) return true;
  }
  return false;
}

}  // namespace phalanx::core
