// Rules of the status of a Workload: its admission, and what admission checks and jobs report.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "admission/conversion.h"
#include "admission/rules.h"
#include "base/quantity.h"
#include "core/names.h"

namespace phalanx::admission {
namespace {

constexpr std::string_view kReserved = "QuotaReserved";

// The pod set of this name, or an absent place.
Place pod_set_named(const Place& workload, std::string_view name) {
  for (const Place& pod_set : workload["spec"]["podSets"].elements()) {
    if (pod_set["name"].text() == name) return pod_set;
  }
  return Place(nullptr);
}

void check_known(const Place& workload, const Place& name, ProblemList& problems) {
  if (pod_set_named(workload, name.text()).present()) return;
  problems.add(name.path(), fmt::format("\"{}\" is none of spec.podSets", name.text()));
}

void check_slice(const Place& slice, size_t levels, ProblemList& problems) {
  const auto domains = static_cast<size_t>(slice["domainCount"].number().value_or(0));
  const Place values = slice["valuesPerLevel"];
  if (values.size() != levels) {
    problems.add(values.path(), fmt::format("has {}, but must have {}, one for each of levels",
                                            counted(values.size(), "item"), levels));
  }
  std::vector<Place> choices = values.elements();
  choices.push_back(slice["podCounts"]);
  for (const Place& choice : choices) {
    if (choice["universal"].present() == choice["individual"].present()) {
      problems.add(choice.path(), "set exactly one of universal and individual");
      continue;
    }
    if (choice["universal"].present()) continue;
    const Place roots = choice["individual"]["roots"];
    const Place list = roots.present() ? roots : choice["individual"];
    if (list.size() == domains) continue;
    problems.add(list.path(), fmt::format("has {}, but must have {}, the domainCount",
                                          counted(list.size(), "item"), domains));
  }
}

void check_usage(const Place& assignment, ProblemList& problems) {
  const int64_t count = assignment["count"].number().value_or(0);
  for (const auto& [resource, quantity] : assignment["resourceUsage"].entries()) {
    const auto amount = parse_amount(resource, quantity.quantity());
    if (!amount) {
      problems.add(quantity.path(), amount.error().message);
    } else if (count > 0 && *amount % count != 0) {
      problems.add(quantity.path(), fmt::format("is {}, but must be a multiple of the count of {}: "
                                                "all pods of a set ask for the same",
                                                quantity.quantity(), count));
    }
  }
}

void check_admission(const Place& workload, ProblemList& problems) {
  const Place assignments = workload["status"]["admission"]["podSetAssignments"];
  const size_t pod_sets = workload["spec"]["podSets"].size();
  if (!workload["status"]["admission"].present()) return;
  if (has_condition(workload, kReserved)) {
    if (assignments.size() != pod_sets) {
      problems.add(assignments.path(),
                   fmt::format("has {}, but must have {}, one for each of spec.podSets",
                               counted(assignments.size(), "item"), pod_sets));
    }
    for (const Place& assignment : assignments.elements()) {
      check_known(workload, assignment["name"], problems);
      check_usage(assignment, problems);
    }
  }
  ProblemList of_slices;
  for (const Place& assignment : assignments.elements()) {
    const Place topology = assignment["topologyAssignment"];
    for (const Place& slice : topology["slices"].elements()) {
      check_slice(slice, topology["levels"].size(), of_slices);
    }
  }
  // What could not be shown in v1beta1 must not be written.
  if (of_slices.empty()) of_slices.add_all(problems_of_assignments(*workload.value()));
  problems.add_all(std::move(of_slices).take());
}

void check_reclaimable_pods(const Place& workload, ProblemList& problems) {
  for (const Place& reclaimable : workload["status"]["reclaimablePods"].elements()) {
    check_known(workload, reclaimable["name"], problems);
    const Place pod_set = pod_set_named(workload, reclaimable["name"].text());
    const int64_t most = pod_set["count"].number().value_or(0);
    const int64_t count = reclaimable["count"].number().value_or(0);
    if (!pod_set.present() || count <= most) continue;
    problems.add(reclaimable["count"].path(),
                 fmt::format("is {}, but the pod set has only {} pods", count, most));
  }
}

void check_admission_checks(const Place& workload, ProblemList& problems) {
  const size_t pod_sets = workload["spec"]["podSets"].size();
  for (const Place& check : workload["status"]["admissionChecks"].elements()) {
    const Place updates = check["podSetUpdates"];
    if (updates.size() != 0 && updates.size() != pod_sets) {
      problems.add(updates.path(),
                   fmt::format("has {}, but must have {}, one for each of spec.podSets, or none",
                               counted(updates.size(), "item"), pod_sets));
    }
    for (const Place& update : updates.elements()) {
      check_known(workload, update["name"], problems);
      check_labels(update["labels"], problems);
      check_labels(update["nodeSelector"], problems);
      check_tolerations(update["tolerations"], problems);
    }
  }
}

bool same_usage(const Place& before, const Place& after) {
  if (before.size() != after.size()) return false;
  return std::ranges::all_of(before.entries(), [&](const auto& entry) {
    const auto& [resource, quantity] = entry;
    const Place other = after[resource];
    if (!other.present()) return false;
    const auto amount = parse_amount(resource, quantity.quantity());
    const auto other_amount = parse_amount(resource, other.quantity());
    return amount && other_amount && *amount == *other_amount;
  });
}

// Quota that was reserved is given back before other quota is taken. Where the pods go may change:
// nodes are replaced, and some assignments are made late.
void check_admission_update(const Place& before, const Place& after, ProblemList& problems) {
  if (!before.present() || !after.present()) return;
  constexpr std::string_view kRemedy = "cannot be changed; remove status.admission first";
  if (!before["clusterQueue"].same_as(after["clusterQueue"])) {
    problems.add(after["clusterQueue"].path(), std::string(kRemedy));
  }
  const std::vector<Place> old_assignments = before["podSetAssignments"].elements();
  const std::vector<Place> assignments = after["podSetAssignments"].elements();
  if (old_assignments.size() != assignments.size()) {
    problems.add(after["podSetAssignments"].path(), std::string(kRemedy));
    return;
  }
  for (size_t i = 0; i < assignments.size(); ++i) {
    for (const std::string_view field : {"name", "count", "flavors"}) {
      if (old_assignments[i][field].same_as(assignments[i][field])) continue;
      problems.add(assignments[i][field].path(), std::string(kRemedy));
    }
    if (!same_usage(old_assignments[i]["resourceUsage"], assignments[i]["resourceUsage"])) {
      problems.add(assignments[i]["resourceUsage"].path(), std::string(kRemedy));
    }
  }
}

// Pods that have succeeded stay so while the workload holds its quota.
void check_reclaimable_update(const Change& change, ProblemList& problems) {
  if (!has_condition(change.before, kReserved) || !has_condition(change.after, kReserved)) return;
  const Place after = change.after["status"]["reclaimablePods"];
  for (const Place& old : change.before["status"]["reclaimablePods"].elements()) {
    const std::vector<Place> now = after.elements();
    const auto found = std::ranges::find_if(
        now, [&](const Place& place) { return place["name"].same_as(old["name"]); });
    const int64_t least = old["count"].number().value_or(0);
    if (found == now.end()) {
      problems.add(after.path(), fmt::format("the entry of {} cannot be removed while quota is "
                                             "reserved",
                                             old["name"].text()));
    } else if ((*found)["count"].number().value_or(0) < least) {
      problems.add((*found)["count"].path(),
                   fmt::format("cannot fall below {} while quota is reserved", least));
    }
  }
}

void check_cluster_name(const Place& before, const Place& after, ProblemList& problems) {
  const Place name = after["clusterName"];
  if (!name.present()) return;
  if (before["clusterName"].present() && !name.same_as(before["clusterName"])) {
    problems.add(name.path(), fmt::format("is {} and cannot be changed; remove it first",
                                          before["clusterName"].text()));
  }
  if (after["nominatedClusterNames"].size() > 0) {
    problems.add(after["nominatedClusterNames"].path(), "must be empty once clusterName is set");
  }
}

// Conditions by which admission goes; others are their owners' affair.
bool is_of_admission(std::string_view type) {
  namespace names = core::names;
  constexpr std::array kTypes{
      names::kQuotaReserved, names::kAdmitted,           names::kEvicted,
      names::kPreempted,     names::kRequeued,           names::kFinished,
      names::kPodsReady,     names::kDeactivationTarget, names::kSecondPassFailed};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

std::map<std::string, Place, std::less<>> conditions_of_admission(const Place& status) {
  std::map<std::string, Place, std::less<>> conditions;
  for (const Place& condition : status["conditions"].elements()) {
    const std::string_view type = condition["type"].text();
    if (is_of_admission(type)) conditions.emplace(type, condition);
  }
  return conditions;
}

}  // namespace

void check_status_is_kept(const Change& change, ProblemList& problems) {
  constexpr std::string_view kRemedy =
      "is written by those only who may \"admit\" workloads.kueue.x-k8s.io; a controller of "
      "admission checks writes status.admissionChecks";
  const Place before = change.before["status"];
  const Place after = change.after["status"];
  std::set<std::string_view> fields;
  for (const Place& status : {before, after}) {
    for (const auto& [field, value] : status.entries()) fields.insert(field);
  }
  for (const std::string_view field : fields) {
    if (field == "admissionChecks" || field == "conditions") continue;
    if (before[field].same_as(after[field])) continue;
    problems.add(after[field].path(), std::string(kRemedy));
  }
  const auto old_conditions = conditions_of_admission(before);
  const auto conditions = conditions_of_admission(after);
  const auto check = [&](const auto& all, const auto& others) {
    for (const auto& [type, condition] : all) {
      const auto other = others.find(type);
      if (other != others.end() && other->second.same_as(condition)) continue;
      problems.add(fmt::format("status.conditions[{}]", type), std::string(kRemedy));
    }
  };
  check(conditions, old_conditions);
  check(old_conditions, conditions);
}

void check_workload_status(const Change& change, ProblemList& problems) {
  const Place before = change.before["status"];
  const Place after = change.after["status"];
  check_admission(change.after, problems);
  check_admission_update(before["admission"], after["admission"], problems);
  check_reclaimable_pods(change.after, problems);
  check_reclaimable_update(change, problems);
  check_admission_checks(change.after, problems);
  check_cluster_name(before, after, problems);
}

}  // namespace phalanx::admission
