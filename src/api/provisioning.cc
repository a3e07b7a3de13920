#include "api/provisioning.h"

#include <fmt/format.h>

#include <limits>

namespace phalanx::api {
namespace {

constexpr int64_t kMinInt32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

int32_t read_int32(const JsonReader& reader, std::string_view field, int32_t fallback) {
  return static_cast<int32_t>(reader.integer(field, fallback, kMinInt32, kMaxInt32));
}

RetryStrategy read_retry(const JsonReader& reader) {
  const RetryStrategy usual;
  return {read_int32(reader, "backoffBaseSeconds", usual.base_seconds),
          read_int32(reader, "backoffLimitCount", usual.limit),
          read_int32(reader, "backoffMaxSeconds", usual.max_seconds)};
}

PodSetMergePolicy read_merge_policy(const JsonReader& spec) {
  const std::string text = spec.string("podSetMergePolicy");
  if (text.empty()) return PodSetMergePolicy::kNone;
  if (text == "IdenticalPodTemplates") return PodSetMergePolicy::kIdenticalTemplates;
  if (text == "IdenticalWorkloadSchedulingRequirements") {
    return PodSetMergePolicy::kIdenticalRequirements;
  }
  spec.report("podSetMergePolicy", fmt::format("\"{}\" is not IdenticalPodTemplates or "
                                               "IdenticalWorkloadSchedulingRequirements",
                                               text));
  return PodSetMergePolicy::kNone;
}

}  // namespace

ProvisioningRequestConfig read_provisioning_request_config(const JsonReader& object) {
  const JsonReader spec = object.object("spec");
  ProvisioningRequestConfig config{read_object_meta(object),
                                   spec.required_string("provisioningClassName"),
                                   spec.string_map("parameters"),
                                   spec.strings("managedResources"),
                                   read_retry(spec.object("retryStrategy")),
                                   read_merge_policy(spec),
                                   {}};
  const JsonReader updates = spec.object("podSetUpdates");
  updates.each("nodeSelector", [&](const json::value& value, const std::string& path) {
    const JsonReader update(&value, path, object.status());
    config.node_selector.push_back({update.required_string("key"),
                                    update.required_string("valueFromProvisioningClassDetail")});
  });
  return config;
}

ProvisioningRequest read_provisioning_request(const JsonReader& object) {
  const JsonReader spec = object.object("spec");
  const JsonReader status = object.object("status");
  ProvisioningRequest request{read_object_meta(object),
                              spec.required_string("provisioningClassName"),
                              {},
                              spec.string_map("parameters"),
                              read_conditions(status),
                              status.string_map("provisioningClassDetails")};
  spec.each("podSets", [&](const json::value& value, const std::string& path) {
    const JsonReader pod_set(&value, path, object.status());
    request.pod_sets.push_back({pod_set.object("podTemplateRef").required_string("name"),
                                static_cast<int32_t>(pod_set.integer("count", 1, 1, kMaxInt32))});
  });
  return request;
}

StoredPodTemplate read_stored_pod_template(const JsonReader& object) {
  return {read_object_meta(object)};
}

}  // namespace phalanx::api
