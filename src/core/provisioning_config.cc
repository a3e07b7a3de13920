#include "core/provisioning_config.h"

#include <fmt/format.h>

#include "core/names.h"
#include "core/outbox.h"

namespace phalanx::core {

ConfigOfCheck config_of(const State& state, const api::AdmissionCheck& check) {
  constexpr std::string_view kKind = "ProvisioningRequestConfig";
  if (check.parameters_name.empty()) {
    return {nullptr, names::kParametersMissing,
            fmt::format("spec.parameters must name a {}", kKind)};
  }
  if (check.parameters_group != names::kKueueGroup || check.parameters_kind != kKind) {
    return {nullptr, names::kParametersUnsupported,
            fmt::format("spec.parameters names a {} of {}, but must name a {} of {}",
                        check.parameters_kind, check.parameters_group, kKind, names::kKueueGroup)};
  }
  const auto found = state.provisioning_configs.find(check.parameters_name);
  if (found == state.provisioning_configs.end()) {
    return {nullptr, names::kParametersNotFound,
            fmt::format("{} {} does not exist; create it", kKind, check.parameters_name)};
  }
  return {&found->second};
}

Verdict reconcile_admission_check(const State& state, const std::string& name) {
  const auto found = state.admission_checks.find(name);
  if (found == state.admission_checks.end()) return {};
  const api::AdmissionCheck& check = found->second;
  if (check.meta.deleted || check.controller_name != names::kProvisioningController) return {};
  const ConfigOfCheck of_check = config_of(state, check);
  const bool usable = of_check.config != nullptr;
  api::Condition active{std::string(names::kActive),
                        usable,
                        std::string(usable ? names::kActive : of_check.reason),
                        usable ? "The admission check is active" : of_check.message,
                        check.meta.generation,
                        state.now};
  api::Conditions conditions = check.conditions;
  if (!api::set_condition(conditions, active)) return {};
  const api::ObjectKey key{api::Kind::kAdmissionCheck, "", name};
  Verdict verdict;
  verdict.write = merge_patch(
      key, check.meta, {{"status", json::object{{"conditions", api::conditions_json(conditions)}}}},
      true);
  verdict.decision = Decision{usable ? "activate" : "deactivate",
                              key,
                              {{key.text(), check.meta.resource_version}},
                              active.message,
                              {}};
  return verdict;
}

}  // namespace phalanx::core
