#include "core/object.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json_path.h"
#include "core/adapter.h"
#include "core/names.h"

namespace phalanx::core {
namespace {

// API servers give their own 36 characters, and do not look at what others write into references.
constexpr size_t kLongestUid = 128;

PodPhase phase_of(std::string_view text) {
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return PodPhase::kPending;
}

std::optional<int64_t> read_rank(const std::string& text) {
  int64_t rank = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, rank);
  if (code != std::errc() || stop != end || rank < 0) return std::nullopt;
  return rank;
}

Pod read_pod(const JsonReader& object, const api::ObjectMeta& meta) {
  const JsonReader spec = object.object("spec");
  Pod pod;
  pod.created = meta.created;
  pod.terminating = meta.deleted.has_value();
  pod.phase = phase_of(object.object("status").string("phase"));
  pod.node_name = spec.string("nodeName");
  pod.requests = api::read_pod_resources(spec).effective();
  const std::string* workload = meta.annotation(names::kWorkloadAnnotation);
  // What cannot be the name of a Workload names none, and need not be kept.
  if (workload == nullptr || !api::is_object_name(*workload)) return pod;
  pod.workload = meta.namespace_ + "/" + *workload;
  const std::string* pod_set = meta.label(names::kPodSetLabel);
  pod.pod_set = pod_set == nullptr ? std::string(names::kDefaultPodSet) : *pod_set;
  const api::OwnerReference* controller = meta.controller();
  if (controller != nullptr && controller->uid.size() <= kLongestUid) {
    pod.controller = controller->uid;
  }
  for (const auto& [label, value] : meta.labels) {
    if (const auto rank = read_rank(value)) pod.ranks.emplace_back(label, *rank);
  }
  pod.ranks.shrink_to_fit();
  pod.node_selector = spec.string_map("nodeSelector");
  spec.each("schedulingGates", [&](const json::value& value, const std::string& path) {
    const JsonReader gate(&value, path, object.status());
    pod.gated |= gate.string("name") == names::kTopologyGate;
    pod.scheduling_gates.push_back(value);
  });
  if (!pod.gated) pod.scheduling_gates.clear();
  if (!pod.gated && pod.node_name.empty() && !pod.terminal()) {
    object.object("status").each("conditions", [&](const json::value& value, const std::string&) {
      pod.conditions.push_back(value);
    });
  }
  return pod;
}

template <typename Body>
void put(Object& object, Body body) {
  object.body = std::move(body);
}

void read_body(Object& object, const JsonReader& reader, const api::ObjectMeta& meta,
               const Adapters& adapters) {
  using api::Kind;
  switch (object.key.kind) {
    case Kind::kNamespace:
      return put(object, api::read_namespace(reader));
    case Kind::kNode:
      return put(object, Node{meta, api::read_node(reader)});
    case Kind::kPod:
      return put(object, read_pod(reader, meta));
    case Kind::kLimitRange:
      return put(object, api::read_limit_range(reader));
    case Kind::kPodTemplate:
      return put(object, api::read_stored_pod_template(reader));
    case Kind::kPriorityClass:
    case Kind::kWorkloadPriorityClass:
      return put(object, api::read_priority_class(reader));
    case Kind::kRuntimeClass:
      return put(object, api::read_runtime_class(reader));
    case Kind::kTopology:
      return put(object, Topology{meta, api::read_topology(reader)});
    case Kind::kResourceFlavor:
      return put(object, api::read_resource_flavor(reader));
    case Kind::kCohort:
      return put(object, api::read_cohort(reader));
    case Kind::kAdmissionCheck:
      return put(object, api::read_admission_check(reader));
    case Kind::kProvisioningRequestConfig:
      return put(object, api::read_provisioning_request_config(reader));
    case Kind::kProvisioningRequest:
      return put(object, api::read_provisioning_request(reader));
    case Kind::kClusterQueue:
      return put(object, api::read_cluster_queue(reader));
    case Kind::kLocalQueue:
      return put(object, api::read_local_queue(reader));
    case Kind::kWorkload:
      return put(object, api::read_workload(reader));
    case Kind::kJob:
      if (const JobAdapter* adapter = adapters.find(object.key.kind)) {
        put(object, adapter->read(reader));
      }
      return;
    case Kind::kEvent:
      return;
  }
}

}  // namespace

std::string full_name(const api::ObjectKey& key) {
  return key.namespace_.empty() ? key.name : key.namespace_ + "/" + key.name;
}

api::ObjectKey key_of(api::Kind kind, const std::string& full_name) {
  const size_t slash = full_name.find('/');
  if (slash == std::string::npos) return {kind, "", full_name};
  return {kind, full_name.substr(0, slash), full_name.substr(slash + 1)};
}

Result<Object> decode_object(const json::value& document, const Adapters& adapters) {
  if (!document.is_object()) return fail("the document is no object");
  const json::object& fields = document.get_object();
  const std::string_view version = string_field(fields, "apiVersion");
  const std::string_view name = string_field(fields, "kind");
  const auto kind = api::find_kind(version, name);
  if (!kind) return fail(fmt::format("{} {} is a kind that is not read here", version, name));
  DecodeStatus meta_status;
  const api::ObjectMeta meta = api::read_object_meta(JsonReader(&document, "", meta_status));
  if (meta.name.empty()) return fail(fmt::format("{}: metadata.name: is required", name));
  Object object;
  object.key = {*kind, api::info(*kind).namespaced ? meta.namespace_ : "", meta.name};
  object.uid = meta.uid;
  object.resource_version = meta.resource_version;
  DecodeStatus status;
  read_body(object, JsonReader(&document, "", status), meta, adapters);
  if (!meta_status.ok()) object.body = Unreadable{meta_status.error()->message};
  if (!status.ok()) object.body = Unreadable{status.error()->message};
  return object;
}

}  // namespace phalanx::core
