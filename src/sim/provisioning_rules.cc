#include "sim/provisioning_rules.h"

#include <fmt/format.h>

#include <limits>

#include "base/characters.h"
#include "sim/cluster_rules.h"
#include "sim/document.h"
#include "sim/names.h"
#include "sim/pod_spec_rules.h"

namespace phalanx::sim {
namespace {

constexpr size_t kMostPodSets = 32;
constexpr size_t kMostParameters = 100;
constexpr size_t kLongestParameter = 255;

void check_pod_sets(const JsonReader& spec, Problems& problems) {
  size_t pod_sets = 0;
  spec.each("podSets", [&](const json::value& value, const std::string& path) {
    ++pod_sets;
    const JsonReader pod_set(&value, path, spec.status());
    const std::string name = pod_set.object("podTemplateRef").required_string("name");
    const std::string problem = name.empty() ? "" : problem_of_dns_subdomain(name);
    if (!problem.empty()) problems.add(path + ".podTemplateRef.name", problem);
    if (!pod_set.optional_integer("count", 1, std::numeric_limits<int32_t>::max()) &&
        !pod_set.has("count")) {
      problems.add(path + ".count", "is required: how many such pods there will be");
    }
  });
  if (pod_sets == 0) problems.add("spec.podSets", "must hold at least one pod set");
  if (pod_sets > kMostPodSets) {
    problems.add("spec.podSets",
                 fmt::format("holds {} pod sets, but may hold at most {}", pod_sets, kMostPodSets));
  }
}

void check_parameters(const JsonReader& spec, Problems& problems) {
  const std::map<std::string, std::string> parameters = spec.string_map("parameters");
  if (parameters.size() > kMostParameters) {
    problems.add("spec.parameters", fmt::format("holds {} entries, but may hold at most {}",
                                                parameters.size(), kMostParameters));
  }
  for (const auto& [key, value] : parameters) {
    const size_t length = length_in_characters(value);
    if (length <= kLongestParameter) continue;
    problems.add("spec.parameters." + key, fmt::format("has {} characters, but may have at most {}",
                                                       length, kLongestParameter));
  }
}

}  // namespace

void default_pod_template(json::value& pod_template) {
  if (json::object* spec = object_at(pod_template, {"template", "spec"})) default_pod_spec(*spec);
}

void check_pod_template(const json::value& pod_template, Problems& problems) {
  check_template_metadata(find_at(pod_template, {"template", "metadata"}), "template.metadata",
                          problems);
  check_pod_spec(find_at(pod_template, {"template", "spec"}), "template.spec", problems);
}

void check_provisioning_request(const RuleInput& input, const json::value& request,
                                Problems& problems) {
  if (input.old_object != nullptr &&
      !same_value(find_at(*input.old_object, {"spec"}), find_at(request, {"spec"}))) {
    problems.add("spec", "cannot be changed; create another ProvisioningRequest");
    return;
  }
  DecodeStatus decoding;
  const JsonReader reader(&request, "", decoding);
  const JsonReader spec = reader.object("spec");
  const std::string class_name = spec.required_string("provisioningClassName");
  if (const std::string problem = class_name.empty() ? "" : problem_of_dns_subdomain(class_name);
      !problem.empty()) {
    problems.add("spec.provisioningClassName", problem);
  }
  check_pod_sets(spec, problems);
  check_parameters(spec, problems);
  if (decoding.error()) problems.add("", decoding.error()->message);
  check_conditions(request, problems);
}

}  // namespace phalanx::sim
