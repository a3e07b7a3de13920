#include "api/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace phalanx::api {
namespace {

constexpr int64_t kMaxPods = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxSeconds = std::numeric_limits<int32_t>::max();
constexpr std::string_view kDefaultPodSet = "main";
constexpr std::string_view kPriorityBoostAnnotation = "kueue.x-k8s.io/priority-boost";

// Annotations are anybody's to write, and no API server checks them: nonsense counts for nothing.
int32_t read_priority_boost(const ObjectMeta& meta) {
  const std::string* text = meta.annotation(kPriorityBoostAnnotation);
  if (text == nullptr) return 0;
  int32_t boost = 0;
  const char* end = text->data() + text->size();
  const auto [stop, code] = std::from_chars(text->data(), end, boost);
  return code == std::errc() && stop == end ? boost : 0;
}

WorkloadPodSet read_pod_set(const JsonReader& reader) {
  WorkloadPodSet pod_set;
  pod_set.name = reader.string("name", kDefaultPodSet);
  pod_set.count = static_cast<int32_t>(reader.integer("count", 1, 0, kMaxPods));
  if (const auto least = reader.optional_integer("minCount", 1, kMaxPods)) {
    pod_set.min_count = static_cast<int32_t>(*least);
    if (*least > pod_set.count) {
      reader.report("minCount",
                    fmt::format("is {}, but there are only {} pods", *least, pod_set.count));
    }
  }
  if (!reader.has("template")) reader.report("template", "is required");
  pod_set.pod_template = read_pod_template(reader.object("template"));
  if (reader.has("topologyRequest")) {
    const JsonReader request = reader.object("topologyRequest");
    pod_set.topology = read_topology_request(request);
    pod_set.index_label = request.string("podIndexLabel");
    // The request alone says only how the pods are ranked: that asks for nothing.
    if (*pod_set.topology == TopologyRequest()) pod_set.topology.reset();
  }
  // Our own wish has no field in the request; it stands on the template.
  const auto& annotations = pod_set.pod_template.annotations;
  const auto placement = annotations.find(std::string(kPlacementAnnotation));
  if (pod_set.topology && placement != annotations.end()) {
    pod_set.topology->balanced = placement->second == kBalancedPlacement;
  }
  return pod_set;
}

void read_owners(const JsonReader& metadata, Workload& workload) {
  metadata.each("ownerReferences", [&](const json::value& value, const std::string& path) {
    const JsonReader owner(&value, path, metadata.status());
    if (owner.string("kind") == "Job" && owner.string("apiVersion").starts_with("batch/")) {
      workload.owner_jobs.push_back(owner.string("name"));
    }
  });
}

std::optional<bool> whether(const Conditions& conditions, std::string_view type) {
  const Condition* condition = find_condition(conditions, type);
  if (condition == nullptr) return std::nullopt;
  return condition->holds;
}

constexpr std::array<std::pair<std::string_view, CheckState>, 4> kCheckStates{
    {{"Pending", CheckState::kPending},
     {"Ready", CheckState::kReady},
     {"Retry", CheckState::kRetry},
     {"Rejected", CheckState::kRejected}}};

PodSetUpdate read_update(const JsonReader& reader) {
  PodSetUpdate update{reader.string("name", kDefaultPodSet),   reader.string_map("labels"),
                      reader.string_map("annotations"),        reader.string_map("nodeSelector"),
                      read_tolerations(reader, "tolerations"), {}};
  reader.each("tolerations", [&](const json::value& value, const std::string& /*path*/) {
    update.toleration_documents.push_back(value);
  });
  return update;
}

AdmissionCheckStatus read_check(const JsonReader& reader) {
  AdmissionCheckStatus check;
  check.name = reader.string("name");
  const std::string state = reader.string("state", "Pending");
  const auto known =
      std::ranges::find(kCheckStates, state, &std::pair<std::string_view, CheckState>::first);
  if (known == kCheckStates.end()) {
    reader.report("state", fmt::format("\"{}\" is not Pending, Ready, Retry or Rejected", state));
  } else {
    check.state = known->second;
  }
  check.message = reader.string("message");
  check.changed = read_time(reader, "lastTransitionTime").value_or(Time{});
  check.retries = static_cast<int32_t>(reader.integer("retryCount", 0, 0, kMaxSeconds));
  if (const auto after = reader.optional_integer("requeueAfterSeconds", 0, kMaxSeconds)) {
    check.requeue_after_seconds = static_cast<int32_t>(*after);
  }
  reader.each("podSetUpdates", [&](const json::value& value, const std::string& path) {
    check.updates.push_back(read_update(JsonReader(&value, path, reader.status())));
  });
  return check;
}

void read_progress(const JsonReader& status, Workload& workload) {
  status.each("admissionChecks", [&](const json::value& value, const std::string& path) {
    workload.admission_checks.push_back(read_check(JsonReader(&value, path, status.status())));
  });
  if (status.has("requeueState")) {
    const JsonReader requeue = status.object("requeueState");
    workload.requeue = {static_cast<int32_t>(requeue.integer("count", 0, 0, kMaxSeconds)),
                        read_time(requeue, "requeueAt")};
  }
  status.each("unhealthyNodes", [&](const json::value& value, const std::string& path) {
    workload.unhealthy_nodes.push_back(JsonReader(&value, path, status.status()).string("name"));
  });
  workload.past_execution_seconds = static_cast<int32_t>(
      status.integer("accumulatedPastExecutionTimeSeconds", 0, 0, kMaxSeconds));
}

json::object strings_json(const std::map<std::string, std::string>& strings) {
  json::object object;
  for (const auto& [key, value] : strings) object[key] = value;
  return object;
}

json::object update_json(const PodSetUpdate& update) {
  json::object object{{"name", update.pod_set}};
  if (!update.labels.empty()) object["labels"] = strings_json(update.labels);
  if (!update.annotations.empty()) object["annotations"] = strings_json(update.annotations);
  if (!update.node_selector.empty()) object["nodeSelector"] = strings_json(update.node_selector);
  if (!update.toleration_documents.empty()) object["tolerations"] = update.toleration_documents;
  return object;
}

void read_status(const JsonReader& status, Workload& workload) {
  read_progress(status, workload);
  workload.conditions = read_conditions(status);
  workload.quota_reserved = whether(workload.conditions, "QuotaReserved");
  workload.admitted = whether(workload.conditions, "Admitted");
  workload.finished = holds(workload.conditions, "Finished");
  status.each("reclaimablePods", [&](const json::value& value, const std::string& path) {
    const JsonReader entry(&value, path, status.status());
    workload.reclaimable[entry.string("name", kDefaultPodSet)] =
        static_cast<int32_t>(entry.integer("count", 0, 0, kMaxPods));
  });
  const JsonReader stats = status.object("schedulingStats");
  stats.each("evictions", [&](const json::value& value, const std::string& path) {
    const JsonReader entry(&value, path, status.status());
    workload.evictions[{entry.string("reason"), entry.string("underlyingCause")}] =
        static_cast<int32_t>(entry.integer("count", 0, 0, std::numeric_limits<int32_t>::max()));
  });
}

// Templates are large: they are kept only where a check is still to be passed.
void keep_templates(const JsonReader& spec, Workload& workload) {
  if (std::ranges::find(workload.admission_checks, CheckState::kPending,
                        &AdmissionCheckStatus::state) == workload.admission_checks.end()) {
    return;
  }
  size_t index = 0;
  spec.each("podSets", [&](const json::value& value, const std::string& path) {
    const json::value* document = JsonReader(&value, path, spec.status()).find("template");
    if (document != nullptr) workload.pod_sets[index].document = *document;
    ++index;
  });
}

void read_spec(const JsonReader& spec, Workload& workload) {
  workload.queue_name = spec.string("queueName");
  workload.active = spec.boolean("active", true);
  workload.priority = static_cast<int32_t>(spec.integer(
      "priority", 0, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
  if (const auto seconds = spec.optional_integer("maximumExecutionTimeSeconds", 1, kMaxSeconds)) {
    workload.maximum_execution_seconds = static_cast<int32_t>(*seconds);
  }
  if (spec.has("priorityClassRef")) {
    const JsonReader reference = spec.object("priorityClassRef");
    workload.priority_class = {reference.string("group"), reference.string("kind"),
                               reference.string("name")};
  }
  spec.each("podSets", [&](const json::value& value, const std::string& path) {
    workload.pod_sets.push_back(read_pod_set(JsonReader(&value, path, spec.status())));
  });
}

PodSetAssignment read_assignment(const JsonReader& reader) {
  PodSetAssignment assignment;
  assignment.pod_set = reader.string("name", kDefaultPodSet);
  assignment.flavors = reader.string_map("flavors");
  assignment.usage = read_resources(reader, "resourceUsage");
  if (const auto count = reader.optional_integer("count", 0, kMaxPods)) {
    assignment.count = static_cast<int32_t>(*count);
  }
  if (const auto delayed = reader.optional_string("delayedTopologyRequest")) {
    assignment.delayed_topology = *delayed == "Pending";
  }
  assignment.path = reader.path_of("topologyAssignment");
  if (const json::value* raw = reader.find("topologyAssignment")) {
    assignment.topology_assignment = *raw;
  }
  return assignment;
}

}  // namespace

int32_t Workload::preemptions() const {
  int64_t times = 0;
  for (const auto& [why, count] : evictions) {
    if (why.first == "Preempted") times += count;
  }
  return static_cast<int32_t>(std::min<int64_t>(times, std::numeric_limits<int32_t>::max()));
}

std::optional<std::chrono::seconds> Workload::execution_left() const {
  if (!maximum_execution_seconds) return std::nullopt;
  return std::chrono::seconds(
      std::max<int64_t>(0, int64_t{*maximum_execution_seconds} - past_execution_seconds));
}

bool Workload::topology_is_delayed() const {
  return admission && std::ranges::any_of(*admission, [](const PodSetAssignment& assignment) {
           return assignment.delayed_topology.value_or(false);
         });
}

json::array admission_checks_json(const std::vector<AdmissionCheckStatus>& checks) {
  json::array list;
  for (const AdmissionCheckStatus& check : checks) {
    const auto state = std::ranges::find(kCheckStates, check.state,
                                         &std::pair<std::string_view, CheckState>::second);
    json::object object{{"name", check.name},
                        {"state", state->first},
                        {"message", check.message},
                        {"lastTransitionTime", format_time(check.changed)}};
    if (check.retries > 0) object["retryCount"] = check.retries;
    if (check.requeue_after_seconds) object["requeueAfterSeconds"] = *check.requeue_after_seconds;
    json::array updates;
    for (const PodSetUpdate& update : check.updates) updates.push_back(update_json(update));
    if (!updates.empty()) object["podSetUpdates"] = std::move(updates);
    list.push_back(std::move(object));
  }
  return list;
}

const WorkloadPodSet* Workload::find_pod_set(std::string_view pod_set) const {
  const auto found = std::ranges::find(pod_sets, pod_set, &WorkloadPodSet::name);
  return found == pod_sets.end() ? nullptr : &*found;
}

Workload read_workload(const JsonReader& object) {
  Workload workload;
  const JsonReader metadata = object.object("metadata");
  workload.meta = read_object_meta(object);
  workload.name = workload.meta.name;
  workload.priority_boost = read_priority_boost(workload.meta);
  workload.namespace_ = metadata.string("namespace", "default");
  read_owners(metadata, workload);
  read_spec(object.object("spec"), workload);
  const JsonReader status = object.object("status");
  read_status(status, workload);
  keep_templates(object.object("spec"), workload);
  if (!status.has("admission")) return workload;
  const JsonReader admission = status.object("admission");
  workload.cluster_queue = admission.string("clusterQueue");
  workload.admission.emplace();
  admission.each("podSetAssignments", [&](const json::value& value, const std::string& path) {
    workload.admission->push_back(read_assignment(JsonReader(&value, path, object.status())));
  });
  return workload;
}

}  // namespace phalanx::api
