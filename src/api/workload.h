// Workload of kueue.x-k8s.io (v1beta1, v1beta2): what was asked for, and where it was put.
//
// The topology assignment is kept as the JSON it came in, because its two wire forms are decoded a
// layer above (topology/assignment_encoding.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/object_meta.h"
#include "api/pod_template.h"
#include "api/topology_request.h"

namespace phalanx::api {

struct WorkloadPodSet {
  std::string name;
  int32_t count = 1;
  std::optional<int32_t> min_count;  // it may be admitted with as few
  PodTemplate pod_template;
  std::optional<TopologyRequest> topology;
  std::string index_label;  // label of the pods that holds their rank; empty: not said
  // The template as written, kept only while an admission check may have to show it to somebody.
  json::value document = {};
};

struct PodSetAssignment {
  std::string pod_set;
  std::map<std::string, std::string> flavors;  // by resource
  ResourceAmounts usage;                       // of all its pods
  std::optional<int32_t> count;
  // Places are found in a second pass, once all checks are ready; false when they have been.
  std::optional<bool> delayed_topology;
  std::optional<json::value> topology_assignment;  // either wire form
  std::string path;                                // of topology_assignment, for errors
};

struct PriorityClassRef {
  std::string group;
  std::string kind;
  std::string name;

  bool operator==(const PriorityClassRef&) const = default;
};

enum class CheckState : uint8_t { kPending, kReady, kRetry, kRejected };

// What an AdmissionCheck adds to the pods of a pod set.
struct PodSetUpdate {
  std::string pod_set;
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  std::map<std::string, std::string> node_selector = {};
  std::vector<Toleration> tolerations = {};
  json::array toleration_documents = {};  // as written

  bool operator==(const PodSetUpdate&) const = default;
};

// What an AdmissionCheck says of a workload that has its quota.
struct AdmissionCheckStatus {
  std::string name;
  CheckState state = CheckState::kPending;
  std::string message = {};
  Time changed{};  // lastTransitionTime
  int32_t retries = 0;
  std::optional<int32_t> requeue_after_seconds = {};
  std::vector<PodSetUpdate> updates = {};

  bool operator==(const AdmissionCheckStatus&) const = default;
};

// How often it was sent back because it did not start, and until when it stays away.
struct RequeueState {
  int32_t count = 0;
  std::optional<Time> at = {};

  bool operator==(const RequeueState&) const = default;
};

struct Workload {
  std::string name;
  std::string namespace_;
  ObjectMeta meta;
  std::string queue_name;
  bool active = true;
  int32_t priority = 0;
  int32_t priority_boost = 0;  // of the annotation; counts if the gate PriorityBoost is on
  std::optional<int32_t> maximum_execution_seconds;
  std::optional<PriorityClassRef> priority_class;
  std::vector<std::string> owner_jobs;  // names of batch/v1 Jobs among the ownerReferences
  std::vector<WorkloadPodSet> pod_sets;
  std::string cluster_queue;  // of the admission
  // status.admission; nullopt if there is none.
  std::optional<std::vector<PodSetAssignment>> admission;
  std::optional<bool> quota_reserved;  // conditions; nullopt if absent
  std::optional<bool> admitted;
  bool finished = false;
  Conditions conditions;
  std::map<std::string, int32_t> reclaimable;  // pods that are done for good, by pod set
  // How often it was evicted, by reason and what lay behind it (status.schedulingStats).
  std::map<std::pair<std::string, std::string>, int32_t> evictions;
  std::vector<AdmissionCheckStatus> admission_checks;
  std::optional<RequeueState> requeue;
  std::vector<std::string> unhealthy_nodes;  // the first of them
  int32_t past_execution_seconds = 0;        // of earlier admissions

  // Whether it holds what its admission says: from the reservation of quota until it is finished.
  // An admission without either condition counts, so that a shortened object still does.
  [[nodiscard]] bool holds_capacity() const {
    if (!admission || finished) return false;
    if (!quota_reserved && !admitted) return true;
    return quota_reserved.value_or(false) || admitted.value_or(false);
  }
  // How often it was evicted to make room.
  [[nodiscard]] int32_t preemptions() const;
  // Whether a pod set still waits for its places.
  [[nodiscard]] bool topology_is_delayed() const;
  // How long it may run once it is admitted; nullopt: for ever.
  [[nodiscard]] std::optional<std::chrono::seconds> execution_left() const;
  [[nodiscard]] const WorkloadPodSet* find_pod_set(std::string_view pod_set) const;
};

Workload read_workload(const JsonReader& object);

// For status.admissionChecks.
json::array admission_checks_json(const std::vector<AdmissionCheckStatus>& checks);

}  // namespace phalanx::api
