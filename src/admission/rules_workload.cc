// Rules of Workload: what is asked for, and what may change while it holds quota.
#include <fmt/format.h>

#include <map>
#include <set>

#include "admission/rules.h"
#include "api/pod_template.h"
#include "api/topology_request.h"
#include "base/check.h"

namespace phalanx::admission {
namespace {

constexpr std::string_view kReserved = "QuotaReserved";
constexpr std::string_view kAdmitted = "Admitted";

// What a decoder of src/api reports, "path: reason", as a problem.
void add_reported(const DecodeStatus& status, ProblemList& problems) {
  if (!status.error()) return;
  const std::string& text = status.error()->message;
  const size_t colon = text.find(": ");
  CHECK(colon != std::string::npos);  // every reader here was given a path
  problems.add(text.substr(0, colon), text.substr(colon + 2));
}

void check_layers(const std::vector<api::SliceConstraint>& layers, const Place& place,
                  ProblemList& problems) {
  const std::vector<Place> places = place.elements();
  std::set<std::string> seen;
  for (size_t i = 0; i < layers.size() && i < places.size(); ++i) {
    if (!seen.insert(layers[i].topology).second) {
      problems.add(places[i]["topology"].path(),
                   fmt::format("names the level {} twice; remove one of them", layers[i].topology));
    }
    if (i == 0 || layers[i].size < 1 || layers[i - 1].size % layers[i].size == 0) continue;
    problems.add(places[i]["size"].path(),
                 fmt::format("is {}, but the size of the layer above it, {}, must be a multiple of "
                             "it",
                             layers[i].size, layers[i - 1].size));
  }
}

void check_topology_request(const Place& request, ProblemList& problems) {
  DecodeStatus status;
  const api::TopologyRequest read =
      api::read_topology_request(JsonReader(request.value(), request.path(), status));
  add_reported(status, problems);
  check_layers(read.slice_constraints, request["podsetSliceRequiredTopologyConstraints"], problems);
  const Place topology = request["podSetSliceRequiredTopology"];
  const Place size = request["podSetSliceSize"];
  if (topology.present() && !size.present()) {
    problems.add(size.path(), "is required beside podSetSliceRequiredTopology");
  }
  if (size.present() && !topology.present()) {
    problems.add(topology.path(), "is required beside podSetSliceSize");
  }
}

void check_template(const Place& pod_set, ProblemList& problems) {
  const Place pod_template = pod_set["template"];
  if (pod_template["spec"].present()) {
    DecodeStatus status;
    (void)api::read_pod_template(JsonReader(pod_template.value(), pod_template.path(), status));
    add_reported(status, problems);
  }
  // A topologyRequest is what the annotations were turned into, with defaults of the kind of job.
  if (pod_set["topologyRequest"].present()) return;
  const Place annotations = pod_template["metadata"]["annotations"];
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : annotations.entries()) texts.emplace(key, value.text());
  DecodeStatus status;
  (void)api::topology_request_from_annotations(texts, annotations.path(), status);
  add_reported(status, problems);
}

// Pod sets of a group are placed together, so they have to ask for the same level.
void check_groups(const std::vector<Place>& pod_sets, ProblemList& problems) {
  std::map<std::string, Place> first_of_group;
  for (const Place& pod_set : pod_sets) {
    const Place request = pod_set["topologyRequest"];
    const std::string group(request["podSetGroupName"].text());
    if (group.empty()) continue;
    if (!request["required"].present() && !request["preferred"].present()) {
      problems.add(
          request.path(),
          fmt::format("is in the group {}, so it needs a required or preferred level", group));
    }
    const auto [entry, is_new] = first_of_group.emplace(group, request);
    const Place& first = entry->second;
    if (is_new || (request["required"].same_as(first["required"]) &&
                   request["preferred"].same_as(first["preferred"]))) {
      continue;
    }
    problems.add(request.path(),
                 fmt::format("asks for another level than {}, which is in the same group {}; ask "
                             "for the same",
                             first.path(), group));
  }
}

void check_pod_sets(const std::vector<Place>& pod_sets, ProblemList& problems) {
  std::string reducible;  // path of the pod set that has a minCount
  for (const Place& pod_set : pod_sets) {
    const Place least = pod_set["minCount"];
    if (least.present()) {
      const int64_t count = pod_set["count"].number().value_or(0);
      if (least.number().value_or(0) > count) {
        problems.add(least.path(), fmt::format("is {}, but must be at most the count of {}",
                                               least.number().value_or(0), count));
      }
      if (!reducible.empty()) {
        problems.add(least.path(),
                     fmt::format("only one pod set may have a minCount, and {} has one; remove "
                                 "one of them",
                                 reducible));
      }
      reducible = pod_set.path();
    }
    if (pod_set["topologyRequest"].present()) {
      check_topology_request(pod_set["topologyRequest"], problems);
    }
    check_template(pod_set, problems);
  }
  check_groups(pod_sets, problems);
}

void check_spec(const Place& spec, ProblemList& problems) {
  check_pod_sets(spec["podSets"].elements(), problems);
  const Place reference = spec["priorityClassRef"];
  if (!reference.present()) return;
  if (!spec["priority"].present()) {
    problems.add(spec["priority"].path(), "is required beside a priorityClassRef");
  }
  const bool of_pods = reference["group"].text() == "scheduling.k8s.io";
  const std::string_view kind = of_pods ? "PriorityClass" : "WorkloadPriorityClass";
  if (reference["kind"].text() != kind) {
    problems.add(reference["kind"].path(),
                 fmt::format("must be {} for the group {}", kind, reference["group"].text()));
  }
}

void check_unchanged(const Place& before, const Place& after, std::string_view why,
                     ProblemList& problems) {
  if (!before.same_as(after)) {
    problems.add(after.path(), fmt::format("cannot be changed while {}", why));
  }
}

void check_priority_class_update(const Place& before, const Place& after, ProblemList& problems) {
  constexpr std::string_view kWhy = "quota is reserved";
  if (before.present() != after.present()) {
    problems.add(after.path(),
                 fmt::format("cannot be {} while {}", after.present() ? "added" : "removed", kWhy));
    return;
  }
  check_unchanged(before["group"], after["group"], kWhy, problems);
  check_unchanged(before["kind"], after["kind"], kWhy, problems);
  // The priority of pods that run cannot change; that of a workload can.
  if (after["kind"].text() == "PriorityClass") {
    check_unchanged(before["name"], after["name"],
                    "quota is reserved; use a WorkloadPriorityClass to change priorities",
                    problems);
  }
}

void check_spec_update(const Change& change, ProblemList& problems) {
  const Place before = change.before["spec"];
  const Place after = change.after["spec"];
  if (has_condition(change.before, kReserved)) {
    check_unchanged(before["podSets"], after["podSets"], "quota is reserved", problems);
    check_priority_class_update(before["priorityClassRef"], after["priorityClassRef"], problems);
    if (has_condition(change.after, kReserved)) {
      check_unchanged(before["queueName"], after["queueName"],
                      "quota is reserved; set active to false first", problems);
    }
  }
  const Place old_limit = before["maximumExecutionTimeSeconds"];
  const Place limit = after["maximumExecutionTimeSeconds"];
  if (has_condition(change.before, kAdmitted) && has_condition(change.after, kAdmitted) &&
      old_limit.number().value_or(0) != limit.number().value_or(0)) {
    problems.add(limit.path(), "cannot be changed while the workload is admitted");
  }
}

}  // namespace

void check_workload(const Change& change, ProblemList& problems) {
  if (!change.status) {
    check_spec(change.after["spec"], problems);
    if (change.before.present()) check_spec_update(change, problems);
  }
  check_workload_status(change, problems);
}

}  // namespace phalanx::admission
