#include "api/workload.h"

#include <algorithm>
#include <limits>

namespace phalanx::api {
namespace {

constexpr int64_t kMaxPods = std::numeric_limits<int32_t>::max();
constexpr std::string_view kDefaultPodSet = "main";

WorkloadPodSet read_pod_set(const JsonReader& reader) {
  WorkloadPodSet pod_set;
  pod_set.name = reader.string("name", kDefaultPodSet);
  pod_set.count = static_cast<int32_t>(reader.integer("count", 1, 0, kMaxPods));
  if (!reader.has("template")) reader.report("template", "is required");
  pod_set.pod_template = read_pod_template(reader.object("template"));
  if (reader.has("topologyRequest")) {
    pod_set.topology = read_topology_request(reader.object("topologyRequest"));
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

void read_conditions(const JsonReader& status, Workload& workload) {
  status.each("conditions", [&](const json::value& value, const std::string& path) {
    const JsonReader condition(&value, path, status.status());
    const std::string type = condition.string("type");
    const bool holds = condition.string("status") == "True";
    if (type == "QuotaReserved") workload.quota_reserved = holds;
    if (type == "Admitted") workload.admitted = holds;
    if (type == "Finished") workload.finished = holds;
  });
}

}  // namespace

const WorkloadPodSet* Workload::find_pod_set(std::string_view pod_set) const {
  const auto found = std::ranges::find(pod_sets, pod_set, &WorkloadPodSet::name);
  return found == pod_sets.end() ? nullptr : &*found;
}

Workload read_workload(const JsonReader& object) {
  Workload workload;
  const JsonReader metadata = object.object("metadata");
  workload.name = metadata.required_string("name");
  workload.namespace_ = metadata.string("namespace", "default");
  read_owners(metadata, workload);
  object.object("spec").each("podSets", [&](const json::value& value, const std::string& path) {
    workload.pod_sets.push_back(read_pod_set(JsonReader(&value, path, object.status())));
  });
  const JsonReader status = object.object("status");
  read_conditions(status, workload);
  if (!status.has("admission")) return workload;
  const JsonReader admission = status.object("admission");
  workload.admission.emplace();
  admission.each("podSetAssignments", [&](const json::value& value, const std::string& path) {
    const JsonReader assignment(&value, path, object.status());
    PodSetAssignment read;
    read.pod_set = assignment.string("name", kDefaultPodSet);
    read.path = assignment.path_of("topologyAssignment");
    if (const json::value* raw = assignment.find("topologyAssignment")) {
      read.topology_assignment = *raw;
    }
    workload.admission->push_back(std::move(read));
  });
  return workload;
}

}  // namespace phalanx::api
