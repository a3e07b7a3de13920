// The workloads that wait in one ClusterQueue, in the order in which they are considered.
//
// Workloads that ask for the same (their shape, core/state.h) get the same answer, so the queue
// asks once for all of them: a "no" belongs to a shape, parks all its workloads, and holds until
// something happens that could change it. Higher priority goes first, then who waits longer, then
// the name.
//
// Cost: O(log n) to add, remove and take; waking looks at each parked shape, not at each workload.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/strong_id.h"
#include "base/time.h"

namespace phalanx::core {

struct PendingEntry {
  int32_t priority = 0;
  Time since{};
  std::string workload;  // "namespace/name"

  std::strong_ordering operator<=>(const PendingEntry& other) const {
    if (const auto order = other.priority <=> priority; order != 0) return order;
    if (const auto order = since <=> other.since; order != 0) return order;
    return workload <=> other.workload;
  }
  bool operator==(const PendingEntry&) const = default;
};

// Why a shape cannot be admitted now, and what would have to change: the counters of the things
// that stood in the way, as they were when it was asked.
struct No {
  std::string reason;  // of the condition QuotaReserved
  std::string message;
  uint64_t configuration = 0;        // queues, flavors, topologies, node labels and taints
  std::optional<uint64_t> releases;  // of quota in this queue
  std::vector<std::pair<TreeId, uint64_t>> gains;  // of room in these topologies
};

class PendingQueue {
 public:
  // Adds a workload, or moves it if it was there with another entry or shape. A new workload of a
  // parked shape is parked with it.
  void put(const PendingEntry& entry, const std::string& shape);
  void remove(const std::string& workload);
  [[nodiscard]] bool contains(const std::string& workload) const {
    return entries_.contains(workload);
  }
  [[nodiscard]] size_t size() const { return entries_.size(); }

  // The best of all, and the best of those whose shape is not parked; nullptr if there is none.
  [[nodiscard]] const PendingEntry* first() const;
  [[nodiscard]] const PendingEntry* first_awake() const;
  // The best of another shape behind this entry.
  [[nodiscard]] const PendingEntry* next_awake(const PendingEntry& entry) const;

  // Parks the shape of a workload.
  void park(const std::string& workload, No no);
  // Wakes every shape whose "no" may no longer hold.
  void wake(const std::function<bool(const No&)>& may_have_changed);

  // The "no" of a workload's shape; nullptr if it is not parked.
  [[nodiscard]] const No* no_of(const std::string& workload) const;
  // Workloads that have not been told their shape's present "no", and marks them as told: all that
  // have not heard this reason yet, and the first of the shape whenever the words change.
  std::vector<std::string> take_untold(const std::string& workload);
  // Workloads of parked shapes that joined since.
  std::vector<std::string> take_newcomers();

  // Where the workload stands, 1 for the first; 0 if it is not here.
  [[nodiscard]] size_t position(const std::string& workload) const;
  [[nodiscard]] std::vector<PendingEntry> in_order() const;

 private:
  struct Shape {
    std::set<PendingEntry> entries;
    bool parked = false;
    std::optional<No> no;          // the last one; it holds while parked
    std::set<std::string> untold;  // since the reason of the "no" came up
  };
  struct Where {
    PendingEntry entry;
    std::string shape;
  };

  std::map<std::string, Where> entries_;  // by workload
  std::map<std::string, Shape> shapes_;
  std::set<PendingEntry> all_heads_;    // the first of every shape
  std::set<PendingEntry> awake_heads_;  // likewise, of those that are not parked
  std::set<std::string> newcomers_;

  void refresh_heads(Shape& shape, const std::optional<PendingEntry>& old_head);
};

}  // namespace phalanx::core
