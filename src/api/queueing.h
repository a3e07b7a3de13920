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

// How much of a flavor's resource is taken, in a queue's status.
struct FlavorUsage {
  std::string flavor;
  ResourceAmounts totals;

  bool operator==(const FlavorUsage&) const = default;
};

struct QueueStatus {
  int64_t pending = 0;
  int64_t reserving = 0;
  int64_t admitted = 0;
  std::vector<FlavorUsage> reservation;
  std::vector<FlavorUsage> usage;
  Conditions conditions;
};

struct ClusterQueue {
  ObjectMeta meta;
  std::vector<ResourceGroup> groups;
  QueueingStrategy strategy = QueueingStrategy::kBestEffortFifo;
  std::optional<LabelSelector> namespace_selector;  // nullopt matches no namespace
  StopPolicy stop_policy = StopPolicy::kNone;
  std::vector<std::string> admission_checks;
  QueueStatus status;

  [[nodiscard]] const ResourceGroup* group_of(std::string_view resource) const;
};

struct LocalQueue {
  ObjectMeta meta;
  std::string cluster_queue;
  StopPolicy stop_policy = StopPolicy::kNone;
  QueueStatus status;
};

Namespace read_namespace(const JsonReader& object);
PriorityClass read_priority_class(const JsonReader& object);
ResourceFlavor read_resource_flavor(const JsonReader& object);
ClusterQueue read_cluster_queue(const JsonReader& object);
LocalQueue read_local_queue(const JsonReader& object);

// The whole status object of a queue. The totals of a ClusterQueue also say what is borrowed.
json::object queue_status_json(const QueueStatus& status, bool of_cluster_queue);

}  // namespace phalanx::api
