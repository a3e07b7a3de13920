#include "api/workload.h"

#include <fmt/format.h>

#include <algorithm>
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

void read_status(const JsonReader& status, Workload& workload) {
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
