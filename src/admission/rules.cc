#include "admission/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "admission/names.h"
#include "api/node.h"
#include "api/topology.h"

namespace phalanx::admission {
namespace {

struct KindRules {
  std::string_view kind;
  void (*check)(const Change& change, ProblemList& problems);
};
constexpr std::array kRules{
    KindRules{"Topology", check_topology},
    KindRules{"ResourceFlavor", check_resource_flavor},
    KindRules{"ClusterQueue", check_cluster_queue},
    KindRules{"Cohort", check_cohort},
    KindRules{"LocalQueue", check_local_queue},
    KindRules{"AdmissionCheck", check_admission_check},
    KindRules{"ProvisioningRequestConfig", check_provisioning_request_config},
    KindRules{"Workload", check_workload},
};

bool is_effect(std::string_view effect) {
  return effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
}

void check_label_key(std::string_view key, const std::string& path, ProblemList& problems) {
  if (is_label_key(key)) return;
  problems.add(path, fmt::format("\"{}\" is not a label key; use up to 63 letters, digits, '-', "
                                 "'_' and '.', with an optional DNS name and '/' before them",
                                 key));
}

void check_label_value(const Place& value, ProblemList& problems) {
  if (is_label_value(value.text())) return;
  problems.add(value.path(), fmt::format("\"{}\" is not a label value; use up to 63 letters, "
                                         "digits, '-', '_' and '.', with a letter or digit at both "
                                         "ends",
                                         value.text()));
}

std::vector<std::string> level_keys(const Place& levels) {
  std::vector<std::string> keys;
  for (const Place& level : levels.elements()) keys.emplace_back(level["nodeLabel"].text());
  return keys;
}

bool ends_with_hostname(const std::vector<std::string>& levels) {
  return !levels.empty() && levels.back() == api::kHostnameLabel;
}

void check_toleration(const Place& toleration, ProblemList& problems) {
  const std::string_view effect = toleration["effect"].text();
  const std::string_view operation = toleration["operator"].text();
  const bool exists = operation == "Exists";
  if (!toleration["key"].present() && !exists) {
    problems.add(toleration.path(),
                 "has no key, so it needs the operator Exists; name a key or set the operator");
  }
  if (toleration["tolerationSeconds"].present() && effect != "NoExecute") {
    problems.add(toleration["tolerationSeconds"].path(),
                 "needs the effect NoExecute; set it, or remove tolerationSeconds");
  }
  if (toleration["operator"].present() && !exists && operation != "Equal") {
    problems.add(toleration["operator"].path(),
                 fmt::format("\"{}\" is not supported; use Equal or Exists", operation));
  }
  if (exists && toleration["value"].present()) {
    problems.add(toleration["value"].path(),
                 "does not go with the operator Exists, which accepts every value; remove it");
  }
  if (toleration["effect"].present() && !is_effect(effect)) {
    problems.add(toleration["effect"].path(),
                 fmt::format("\"{}\" is not supported; use NoSchedule, PreferNoSchedule or "
                             "NoExecute, or leave it out for all of them",
                             effect));
  }
  if (!toleration["key"].text().empty()) {
    check_label_key(toleration["key"].text(), toleration["key"].path(), problems);
  }
}

void check_taints(const Place& taints, ProblemList& problems) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Place& taint : taints.elements()) {
    const std::string_view effect = taint["effect"].text();
    const std::string_view key = taint["key"].text();
    if (!is_effect(effect)) {
      problems.add(
          taint["effect"].path(),
          fmt::format("\"{}\" is not supported; use NoSchedule, PreferNoSchedule or NoExecute",
                      effect));
    }
    check_label_key(key, taint["key"].path(), problems);
    check_label_value(taint["value"], problems);
    if (!seen.emplace(key, effect).second) {
      problems.add(
          taint.path(),
          fmt::format("the key {} has the effect {} twice; remove one of the taints", key, effect));
    }
  }
}

}  // namespace

void check_rules(std::string_view kind, const Change& change, ProblemList& problems) {
  const auto* found = std::ranges::find(kRules, kind, &KindRules::kind);
  if (found != kRules.end()) found->check(change, problems);
}

void check_topology(const Change& change, ProblemList& problems) {
  const Place place = change.after["spec"]["levels"];
  const std::vector<std::string> levels = level_keys(place);
  if (auto problem = api::problem_of_levels(levels)) {
    problems.add(place.path(), *problem);
    return;
  }
  const std::vector<std::string> old_levels = level_keys(change.before["spec"]["levels"]);
  if (levels == old_levels) return;
  for (const Place& level : place.elements()) {
    check_label_key(level["nodeLabel"].text(), level["nodeLabel"].path(), problems);
  }
  // Only where hosts are the leaves do the assignments that exist keep their meaning.
  if (old_levels.empty()) return;
  if (ends_with_hostname(levels) && ends_with_hostname(old_levels)) return;
  problems.add(place.path(),
               fmt::format("can be changed only while {} is the lowest level, before and after; "
                           "create another Topology instead",
                           api::kHostnameLabel));
}

void check_resource_flavor(const Change& change, ProblemList& problems) {
  const Place spec = change.after["spec"];
  const Place topology = spec["topologyName"];
  if (topology.present() && spec["nodeLabels"].size() == 0) {
    problems.add(spec["nodeLabels"].path(),
                 "must have at least 1 entry beside a topologyName, so that the nodes of the "
                 "flavor are known");
  }
  const Place old_topology = change.before["spec"]["topologyName"];
  if (old_topology.present() && !topology.same_as(old_topology)) {
    problems.add(topology.path(),
                 fmt::format("is {} and cannot be changed or removed; create another "
                             "ResourceFlavor instead",
                             old_topology.text()));
  }
  check_labels(spec["nodeLabels"], problems);
  check_taints(spec["nodeTaints"], problems);
  check_tolerations(spec["tolerations"], problems);
}

void check_provisioning_request_config(const Change& change, ProblemList& problems) {
  const Place updates = change.after["spec"]["podSetUpdates"]["nodeSelector"];
  for (const Place& update : updates.elements()) {
    check_label_key(update["key"].text(), update["key"].path(), problems);
  }
}

void check_labels(const Place& labels, ProblemList& problems) {
  for (const auto& [key, value] : labels.entries()) {
    check_label_key(key, value.path(), problems);
    check_label_value(value, problems);
  }
}

void check_tolerations(const Place& tolerations, ProblemList& problems) {
  for (const Place& toleration : tolerations.elements()) check_toleration(toleration, problems);
}

void check_label_selector(const Place& selector, ProblemList& problems) {
  check_labels(selector["matchLabels"], problems);
  for (const Place& requirement : selector["matchExpressions"].elements()) {
    const std::string_view operation = requirement["operator"].text();
    const bool wants_values = operation == "In" || operation == "NotIn";
    check_label_key(requirement["key"].text(), requirement["key"].path(), problems);
    if (!wants_values && operation != "Exists" && operation != "DoesNotExist") {
      problems.add(
          requirement["operator"].path(),
          fmt::format("\"{}\" is not supported; use In, NotIn, Exists or DoesNotExist", operation));
      continue;
    }
    const Place values = requirement["values"];
    if (wants_values && values.size() == 0) {
      problems.add(values.path(),
                   fmt::format("must have at least 1 item for the operator {}", operation));
    }
    if (!wants_values && values.size() > 0) {
      problems.add(values.path(),
                   fmt::format("must be empty for the operator {}; remove it", operation));
    }
    for (const Place& value : values.elements()) check_label_value(value, problems);
  }
}

}  // namespace phalanx::admission
