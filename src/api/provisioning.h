// Asking an autoscaler for room: ProvisioningRequest of autoscaling.x-k8s.io (v1), which a cluster
// autoscaler answers, and ProvisioningRequestConfig of kueue.x-k8s.io (v1beta2), by which an
// AdmissionCheck says how to ask. KEP-2724, "Support for ProvisioningRequests".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/object_meta.h"

namespace phalanx::api {

// What happens after a request that failed: the next one waits, twice as long each time.
struct RetryStrategy {
  int32_t base_seconds = 60;
  int32_t limit = 3;  // so many more requests, then the workload is rejected
  int32_t max_seconds = 1800;

  bool operator==(const RetryStrategy&) const = default;
};

enum class PodSetMergePolicy : uint8_t {
  kNone,
  kIdenticalTemplates,     // whole templates are the same
  kIdenticalRequirements,  // what decides where pods can run is the same
};

// The autoscaler says a value, and the pods select nodes by it.
struct NodeSelectorUpdate {
  std::string key;     // of the node selector
  std::string detail;  // key of status.provisioningClassDetails

  bool operator==(const NodeSelectorUpdate&) const = default;
};

struct ProvisioningRequestConfig {
  ObjectMeta meta;
  std::string class_name;
  std::map<std::string, std::string> parameters;
  std::vector<std::string> managed_resources;  // empty: all
  RetryStrategy retry;
  PodSetMergePolicy merge_policy = PodSetMergePolicy::kNone;
  std::vector<NodeSelectorUpdate> node_selector;
};

struct ProvisionedPodSet {
  std::string template_name;  // of a PodTemplate in the same namespace
  int32_t count = 1;

  bool operator==(const ProvisionedPodSet&) const = default;
};

struct ProvisioningRequest {
  ObjectMeta meta;
  std::string class_name;
  std::vector<ProvisionedPodSet> pod_sets;
  std::map<std::string, std::string> parameters;
  Conditions conditions;
  std::map<std::string, std::string> class_details;  // what the autoscaler tells its users
};

// core/v1 PodTemplate. What it holds is for the autoscaler; here counts only that it is there, and
// whose it is.
struct StoredPodTemplate {
  ObjectMeta meta;
};

ProvisioningRequestConfig read_provisioning_request_config(const JsonReader& object);
ProvisioningRequest read_provisioning_request(const JsonReader& object);
StoredPodTemplate read_stored_pod_template(const JsonReader& object);

}  // namespace phalanx::api
