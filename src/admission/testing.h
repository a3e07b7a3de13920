// Documents for tests: one good one of each kind, and ways to change it. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "admission/kueue_admission.h"
#include "base/yaml.h"

namespace phalanx::admission::testing {

inline json::value yaml(std::string_view text) {
  auto documents = parse_documents(text);
  EXPECT_TRUE(documents.has_value()) << (documents ? "" : documents.error().message) << "\n"
                                     << text;
  if (!documents || documents->size() != 1) return nullptr;
  return documents->front().value;
}

// A JSON merge patch (RFC 7386): null removes, lists are replaced.
inline void merge(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = json::object();
  for (const auto& [name, value] : patch.get_object()) {
    if (value.is_null()) {
      target.get_object().erase(name);
    } else {
      merge(target.get_object()[name], value);
    }
  }
}

// A good document of the kind, as v1beta2.
inline json::value good(std::string_view kind) {
  static constexpr std::pair<std::string_view, std::string_view> kSpecs[] = {
      {"Topology", R"(spec: {levels: [{nodeLabel: block}, {nodeLabel: rack}]})"},
      {"ResourceFlavor", R"(spec: {nodeLabels: {pool: gpu}})"},
      {"ClusterQueue", R"(
spec:
  cohortName: all
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: spot
      resources: [{name: cpu, nominalQuota: 9}, {name: memory, nominalQuota: 36Gi}]
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: a100
      resources: [{name: nvidia.com/gpu, nominalQuota: "8"}]
)"},
      {"Cohort", R"(
spec:
  parentName: root
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: spot
      resources: [{name: cpu, nominalQuota: 9}]
)"},
      {"LocalQueue", R"(spec: {clusterQueue: team-a})"},
      {"WorkloadPriorityClass", R"(value: 10)"},
      {"AdmissionCheck", R"(spec: {controllerName: example.com/check})"},
      {"ProvisioningRequestConfig", R"(
spec:
  provisioningClassName: check-capacity.autoscaling.x-k8s.io
  managedResources: [nvidia.com/gpu]
  podSetUpdates: {nodeSelector: [{key: pool, valueFromProvisioningClassDetail: NodePool}]}
)"},
      {"Workload", R"(
spec:
  queueName: main
  podSets:
  - {name: leader, count: 1, template: {spec: {containers: [{name: c}]}}}
  - {name: worker, count: 4, template: {spec: {containers: [{name: c}]}}}
)"},
  };
  for (const auto& [name, spec] : kSpecs) {
    if (name != kind) continue;
    json::value document = json::object{{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                                        {"kind", kind},
                                        {"metadata", json::object{{"name", "sample"}}}};
    merge(document, yaml(spec));
    return document;
  }
  ADD_FAILURE() << "no sample of " << kind;
  return nullptr;
}

// The same with a merge patch in YAML applied.
inline json::value good_with(std::string_view kind, std::string_view patch) {
  json::value document = good(kind);
  if (!patch.empty()) merge(document, yaml(patch));
  return document;
}

// The problems of a refusal, one a line; "" if it was admitted.
inline std::string problems_of(const Admitted& admitted) {
  std::string text;
  if (admitted) return text;
  for (const Problem& problem : admitted.error()) {
    text += (text.empty() ? "" : "\n") + problem.text();
  }
  return text;
}

// Loading the CRDs takes a while, and what is loaded never changes.
inline const KueueAdmission& admission() {
  static const KueueAdmission kLoaded;
  return kLoaded;
}

// To the version that is stored, and to the older one.
inline json::value up(std::string_view kind, json::value document) {
  return admission().convert(kind, std::move(document), "v1beta2").value();
}

inline json::value down(std::string_view kind, json::value document) {
  return admission().convert(kind, std::move(document), "v1beta1").value();
}

// Problems of creating a document: the good one with a patch.
inline std::string problems_of_new(std::string_view kind, std::string_view patch) {
  return problems_of(admission().admit(kind, nullptr, good_with(kind, patch)));
}

// Problems of changing one document to another, both given as patches of the good one. Where only
// the status differs, it is a write of the status.
inline std::string problems_of_change(std::string_view kind, std::string_view before,
                                      std::string_view after, AdmitOptions options = {}) {
  const auto stored = admission().admit(kind, nullptr, good_with(kind, before));
  EXPECT_TRUE(stored.has_value()) << problems_of(stored);
  if (!stored) return "not stored";
  return problems_of(admission().admit(kind, &*stored, good_with(kind, after), options));
}

}  // namespace phalanx::admission::testing
