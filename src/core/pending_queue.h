// The workloads that wait in one ClusterQueue, in the order in which they are considered.
//
// Workloads that ask for the same (their shape, core/state.h) get the same answer, so the queue
// asks once for all of them: a "no" belongs to a shape, parks all its workloads, and holds until
// something happens that could change it. Who comes later in the order of a shape can be refused
// for the same reasons, but who comes before the one that was refused may yet preempt, and is asked
// anew. Higher priority goes first, then who waits longer, then the name. Where the order is by the
// recent usage of LocalQueues, that comes before all.
//
// Cost: O(log n) to add, remove and take; waking and counting the parked look at each
// shape, not at each workload.
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
  std::optional<uint64_t> releases;  // of quota in the tree of this queue
  std::optional<uint64_t> takes;     // likewise: what others take may be reclaimed
  std::vector<std::pair<TreeId, uint64_t>> gains;  // of room in these topologies
  std::optional<Time> until = {};                  // then it may ask more of them to go
  std::optional<uint64_t> readiness = {};          // somebody's pods have to be ready first
};

class PendingQueue {
 public:
  // Adds a workload, or moves it if it was there with another entry or shape. A new workload of a
  // parked shape is parked with it, unless it comes before the one that was refused. With a
  // LocalQueue the order is by its recent usage first.
  void put(const PendingEntry& entry, const std::string& shape,
           const std::string& local_queue = "");
  void set_usage(const std::string& local_queue, double usage);
  void remove(const std::string& workload);
  // It is counted, but not considered: it has to stay away for a while.
  void send_away(const std::string& workload);
  [[nodiscard]] bool contains(const std::string& workload) const {
    return entries_.contains(workload);
  }
  [[nodiscard]] size_t size() const { return entries_.size() + away_.size(); }

  // The best of all, and the best of those whose shape is not parked; nullptr if there is none.
  [[nodiscard]] const PendingEntry* first() const;
  [[nodiscard]] const PendingEntry* first_awake() const;
  // The best of another shape behind this entry.
  [[nodiscard]] const PendingEntry* next_awake(const PendingEntry& entry) const;

  // Parks the shape of a workload.
  void park(const std::string& workload, No no);
  // Wakes every shape whose "no" may no longer hold.
  void wake(const std::function<bool(const No&)>& may_have_changed);
  // Wakes the shape of a workload.
  void wake(const std::string& workload);

  // The "no" of a workload's shape; nullptr if it is not parked.
  [[nodiscard]] const No* no_of(const std::string& workload) const;
  // How many workloads have one.
  [[nodiscard]] size_t parked() const;
  // Workloads that have not been told their shape's present "no", and marks them as told: all that
  // have not heard this reason yet, and the first of the shape whenever the words change.
  std::vector<std::string> take_untold(const std::string& workload);
  // Workloads of parked shapes that joined since.
  std::vector<std::string> take_newcomers();

  // Whether one comes before the other; false if either is not here.
  [[nodiscard]] bool goes_before(const std::string& one, const std::string& other) const;
  // Where the workload stands, 1 for the first; 0 if it is not here.
  [[nodiscard]] size_t position(const std::string& workload) const;
  [[nodiscard]] std::vector<PendingEntry> in_order() const;

 private:
  struct Shape {
    std::string local_queue;  // empty: of any
    std::set<PendingEntry> entries;
    bool parked = false;
    std::optional<PendingEntry> refused;  // while parked
    std::optional<No> no;                 // the last one; it holds while parked
    std::set<std::string> untold;         // since the reason of the "no" came up
  };
  struct Where {
    PendingEntry entry;
    std::string shape;
  };

  // The first of a shape, with the recent usage that it is ordered by.
  struct Head {
    double usage = 0;
    PendingEntry entry;

    bool operator<(const Head& other) const {
      return usage != other.usage ? usage < other.usage : entry < other.entry;
    }
  };

  [[nodiscard]] Head head_of(const Shape& shape) const;
  void erase_head(const Shape& shape);
  void insert_head(const Shape& shape);

  std::map<std::string, Where> entries_;  // by workload
  std::set<std::string> away_;
  std::map<std::string, Shape> shapes_;
  std::set<Head> all_heads_;    // the first of every shape
  std::set<Head> awake_heads_;  // likewise, of those that are not parked
  std::set<std::string> newcomers_;
  std::map<std::string, double> usages_;  // by LocalQueue
};

}  // namespace phalanx::core
