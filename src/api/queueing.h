// The queueing objects of kueue.x-k8s.io (v1beta2), and the few core objects that queueing looks
// at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/label_selector.h"
#include "api/object_meta.h"
#include "api/resources.h"
#include "api/taint.h"

namespace phalanx::api {

struct Namespace {
  ObjectMeta meta;
};

// node.k8s.io RuntimeClass: what its pods take beside their containers.
struct RuntimeClass {
  ObjectMeta meta;
  ResourceAmounts overhead;
};

// scheduling.k8s.io PriorityClass and kueue.x-k8s.io WorkloadPriorityClass alike.
struct PriorityClass {
  ObjectMeta meta;
  int32_t value = 0;
  bool global_default = false;  // PriorityClass only
};

struct ResourceFlavor {
  ObjectMeta meta;
  std::map<std::string, std::string> node_labels;
  std::vector<Taint> node_taints;
  std::vector<Toleration> tolerations;
  json::array toleration_documents;  // as written, to be put into pod templates
  std::string topology_name;         // empty: quota only
};

struct ResourceQuota {
  std::string resource;
  int64_t nominal = 0;
  std::optional<int64_t> borrowing_limit = {};
  std::optional<int64_t> lending_limit = {};
};

struct FlavorQuotas {
  std::string flavor;
  std::vector<ResourceQuota> resources;

  [[nodiscard]] const ResourceQuota* find(std::string_view resource) const;
};

struct ResourceGroup {
  std::vector<std::string> covered_resources;
  std::vector<FlavorQuotas> flavors;

  [[nodiscard]] bool covers(std::string_view resource) const;
};

enum class StopPolicy : uint8_t { kNone, kHold, kHoldAndDrain };
enum class QueueingStrategy : uint8_t { kStrictFifo, kBestEffortFifo };

enum class PreemptionPolicy : uint8_t {
  kNever,
  kLowerPriority,
  kLowerOrNewerEqualPriority,  // within a ClusterQueue only
  kAny,                        // within a cohort only
};

struct Preemption {
  PreemptionPolicy within_cluster_queue = PreemptionPolicy::kNever;
  PreemptionPolicy reclaim_within_cohort = PreemptionPolicy::kNever;
  bool borrow_within_cohort = false;  // from those of lower priority
  std::optional<int32_t> max_priority_threshold = {};
};

struct FlavorFungibility {
  bool next_when_can_borrow = false;  // whenCanBorrow: TryNextFlavor
  bool next_when_can_preempt = true;  // whenCanPreempt: TryNextFlavor
  bool preemption_over_borrowing = false;
};

// fairSharing.weight, in thousandths.
constexpr int64_t kDefaultWeightMilli = 1000;

// How much of a flavor's resource is taken, in a queue's status.
struct FlavorUsage {
  std::string flavor;
  ResourceAmounts totals;
  ResourceAmounts borrowed = {};  // of ClusterQueues; without those of which it is 0

  bool operator==(const FlavorUsage&) const = default;
};

// What a LocalQueue used lately, by resource, at a time.
struct RecentUsage {
  ResourceAmounts consumed;
  Time at{};

  bool operator==(const RecentUsage&) const = default;
};

struct QueueStatus {
  int64_t pending = 0;
  int64_t reserving = 0;
  int64_t admitted = 0;
  std::vector<FlavorUsage> reservation;
  std::vector<FlavorUsage> usage;
  Conditions conditions;
  std::optional<int64_t> weighted_share = {};    // with fair sharing
  std::optional<RecentUsage> recent_usage = {};  // of LocalQueues, with admission fair sharing
};

// An AdmissionCheck that a ClusterQueue asks for.
struct AdmissionCheckReference {
  std::string name;
  std::vector<std::string> on_flavors;  // empty: on all
};

struct ClusterQueue {
  ObjectMeta meta;
  std::string cohort;  // empty: alone
  std::vector<ResourceGroup> groups;
  Preemption preemption;
  FlavorFungibility fungibility;
  int64_t weight_milli = kDefaultWeightMilli;
  bool usage_based_admission = false;
  QueueingStrategy strategy = QueueingStrategy::kBestEffortFifo;
  std::optional<LabelSelector> namespace_selector;  // nullopt matches no namespace
  StopPolicy stop_policy = StopPolicy::kNone;
  std::vector<AdmissionCheckReference> admission_checks;
  QueueStatus status;

  [[nodiscard]] const ResourceGroup* group_of(std::string_view resource) const;
};

struct LocalQueue {
  ObjectMeta meta;
  std::string cluster_queue;
  StopPolicy stop_policy = StopPolicy::kNone;
  QueueStatus status;
  int64_t weight_milli = kDefaultWeightMilli;
};

struct Cohort {
  ObjectMeta meta;
  std::string parent;  // empty: a root
  std::vector<ResourceGroup> groups;
  int64_t weight_milli = kDefaultWeightMilli;
  std::optional<int64_t> weighted_share = {};  // of its status
};

struct AdmissionCheck {
  ObjectMeta meta;
  std::string controller_name;
  std::string parameters_group;  // what it is set up by; empty: nothing
  std::string parameters_name;
  Conditions conditions;
  std::string parameters_kind = {};
};

Namespace read_namespace(const JsonReader& object);
PriorityClass read_priority_class(const JsonReader& object);
ResourceFlavor read_resource_flavor(const JsonReader& object);
ClusterQueue read_cluster_queue(const JsonReader& object);
LocalQueue read_local_queue(const JsonReader& object);
Cohort read_cohort(const JsonReader& object);
AdmissionCheck read_admission_check(const JsonReader& object);
RuntimeClass read_runtime_class(const JsonReader& object);

QueueStatus read_queue_status(const JsonReader& status);

// The whole status object of a queue, as a merge patch of the old one: what is no longer said is
// null. The totals of a ClusterQueue also say what is borrowed.
json::object queue_status_json(const QueueStatus& status, const QueueStatus& old,
                               bool of_cluster_queue);

}  // namespace phalanx::api
