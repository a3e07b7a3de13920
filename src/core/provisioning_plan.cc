#include "core/provisioning_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/characters.h"
#include "base/json_path.h"
#include "core/admitted_pods.h"
#include "core/names.h"
#include "core/provisioning_names.h"
#include "core/provisioning_template.h"

namespace phalanx::core {
namespace {

constexpr size_t kMaxParameters = 100;
constexpr size_t kMaxParameter = 255;

json::object strings_json(const std::map<std::string, std::string>& strings) {
  json::object object;
  for (const auto& [key, value] : strings) object[key] = value;
  return object;
}

bool needs_provisioning(const api::ProvisioningRequestConfig& config,
                        const api::ResourceAmounts& requests) {
  if (config.managed_resources.empty()) return true;
  return std::ranges::any_of(config.managed_resources, [&](const std::string& resource) {
    const auto amount = requests.find(resource);
    return amount != requests.end() && amount->second > 0;
  });
}

struct Candidate {
  PlannedPods pods;
  const api::ResourceAmounts* requests = nullptr;
};

bool can_merge(api::PodSetMergePolicy policy, const Candidate& a, const Candidate& b) {
  switch (policy) {
    case api::PodSetMergePolicy::kNone:
      return false;
    case api::PodSetMergePolicy::kIdenticalTemplates:
      return a.pods.pod_template == b.pods.pod_template;
    case api::PodSetMergePolicy::kIdenticalRequirements:
      return *a.requests == *b.requests &&
             std::ranges::all_of(
                 std::initializer_list<std::string_view>{"nodeSelector", "tolerations", "affinity",
                                                         "resourceClaims"},
                 [&](std::string_view field) {
                   return same_value(find_at(a.pods.pod_template, {"spec", field}),
                                     find_at(b.pods.pod_template, {"spec", field}));
                 });
  }
  return false;
}

std::vector<Candidate> candidates_of(const State& state, const WorkloadState& workload,
                                     const api::ProvisioningRequestConfig& config,
                                     const ProvisioningNames& naming,
                                     const std::set<std::string>& taken) {
  std::vector<Candidate> result;
  for (size_t i = 0; i < workload.object.pod_sets.size(); ++i) {
    const api::WorkloadPodSet& pod_set = workload.object.pod_sets[i];
    const api::ResourceAmounts& requests = workload.request.pod_sets[i].requests;
    const api::PodSetAssignment* assignment = assignment_of(workload.object, pod_set.name);
    const int32_t count =
        assignment == nullptr ? pod_set.count : assignment->count.value_or(pod_set.count);
    if (count == 0 || !needs_provisioning(config, requests)) continue;
    Candidate candidate;
    candidate.pods.template_name = naming.pod_template(pod_set.name, taken);
    candidate.pods.count = count;
    candidate.pods.pod_template =
        template_for_autoscaler(state, workload.object.namespace_, pod_set, assignment);
    candidate.pods.pod_sets = {pod_set.name};
    candidate.requests = &requests;
    result.push_back(std::move(candidate));
  }
  return result;
}

void add_parameters(const api::ObjectMeta& meta, std::map<std::string, std::string>& parameters) {
  for (const auto& [key, value] : meta.annotations) {
    if (!key.starts_with(names::kProvisioningParameterPrefix)) continue;
    parameters[key.substr(names::kProvisioningParameterPrefix.size())] = value;
  }
}

json::object metadata_json(const WorkloadState& workload, const std::string& name,
                           json::object annotations) {
  const api::ObjectMeta& owner = workload.object.meta;
  const json::object reference{{"apiVersion", api::api_version(api::Kind::kWorkload)},
                               {"kind", api::info(api::Kind::kWorkload).name},
                               {"name", owner.name},
                               {"uid", owner.uid},
                               {"controller", true}};
  return {{"name", name},
          {"namespace", workload.object.namespace_},
          {"labels", json::object{{names::kManagedLabel, "true"}}},
          {"annotations", std::move(annotations)},
          {"ownerReferences", json::array{reference}}};
}

}  // namespace

std::string reservation_of(const WorkloadState& workload) {
  const api::Condition* reserved =
      api::find_condition(workload.object.conditions, names::kQuotaReserved);
  return reserved == nullptr ? "" : format_time(reserved->changed);
}

ProvisioningPlan plan_provisioning(const State& state, const WorkloadState& workload,
                                   const api::ProvisioningRequestConfig& config,
                                   const std::string& check, int64_t attempt,
                                   const std::set<std::string>& taken) {
  const ProvisioningNames naming(state, workload, check, attempt);
  ProvisioningPlan plan;
  plan.name = naming.request();
  plan.class_name = config.class_name;
  plan.parameters = config.parameters;
  add_parameters(workload.object.meta, plan.parameters);
  if (const Job* job = state.job_of(workload)) add_parameters(job->meta, plan.parameters);
  std::vector<Candidate> kept;
  for (Candidate& candidate : candidates_of(state, workload, config, naming, taken)) {
    const auto same = std::ranges::find_if(kept, [&](const Candidate& earlier) {
      return can_merge(config.merge_policy, earlier, candidate);
    });
    if (same == kept.end()) {
      kept.push_back(std::move(candidate));
      continue;
    }
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    same->pods.count = static_cast<int32_t>(
        std::min(kMost, int64_t{same->pods.count} + int64_t{candidate.pods.count}));
    same->pods.pod_sets.push_back(candidate.pods.pod_sets.front());
  }
  for (Candidate& candidate : kept) {
    candidate.pods.fingerprint =
        fmt::format("{:016x}", json_fingerprint(candidate.pods.pod_template));
    plan.pods.push_back(std::move(candidate.pods));
  }
  return plan;
}

std::string problem_of_parameters(const ProvisioningPlan& plan, const std::string& config) {
  if (plan.parameters.size() > kMaxParameters) {
    return fmt::format(
        "There are {} parameters, but a ProvisioningRequest has at most {}; remove some of "
        "ProvisioningRequestConfig {} or of the annotations {}*",
        plan.parameters.size(), kMaxParameters, config, names::kProvisioningParameterPrefix);
  }
  for (const auto& [key, value] : plan.parameters) {
    const size_t length = length_in_characters(value);
    if (length <= kMaxParameter) continue;
    return fmt::format(
        "The parameter {} has {} characters, but one of a ProvisioningRequest has at most {}; "
        "shorten it in ProvisioningRequestConfig {} or in the annotation {}{}",
        key, length, kMaxParameter, config, names::kProvisioningParameterPrefix, key);
  }
  return "";
}

json::object request_document(const WorkloadState& workload, const ProvisioningPlan& plan) {
  json::array pod_sets;
  for (const PlannedPods& pods : plan.pods) {
    pod_sets.push_back(json::object{{"podTemplateRef", json::object{{"name", pods.template_name}}},
                                    {"count", pods.count}});
  }
  json::object spec{{"provisioningClassName", plan.class_name}, {"podSets", std::move(pod_sets)}};
  if (!plan.parameters.empty()) spec["parameters"] = strings_json(plan.parameters);
  return {{"apiVersion", api::api_version(api::Kind::kProvisioningRequest)},
          {"kind", api::info(api::Kind::kProvisioningRequest).name},
          {"metadata", metadata_json(workload, plan.name,
                                     {{names::kReservationAnnotation, reservation_of(workload)}})},
          {"spec", std::move(spec)}};
}

json::object template_document(const WorkloadState& workload, const PlannedPods& pods) {
  return {{"apiVersion", api::api_version(api::Kind::kPodTemplate)},
          {"kind", api::info(api::Kind::kPodTemplate).name},
          {"metadata", metadata_json(workload, pods.template_name,
                                     {{names::kTemplateFingerprintAnnotation, pods.fingerprint}})},
          {"template", pods.pod_template}};
}

bool asks_for(const api::ProvisioningRequest& request, const ProvisioningPlan& plan) {
  if (request.class_name != plan.class_name || request.parameters != plan.parameters) return false;
  return std::ranges::equal(request.pod_sets, plan.pods,
                            [](const api::ProvisionedPodSet& written, const PlannedPods& wanted) {
                              return written.template_name == wanted.template_name &&
                                     written.count == wanted.count;
                            });
}

}  // namespace phalanx::core
