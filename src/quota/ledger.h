// Who has how much of which flavor: the usage of every ClusterQueue, against its nominal quota.
//
// A flavor's resource is a FlavorResource. Reserved is what workloads hold that have a reservation,
// used what those hold that are admitted. Both are sums of what was booked by workload, so that
// booking and releasing cannot drift apart.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "api/queueing.h"

namespace phalanx::quota {

struct FlavorResource {
  std::string flavor;
  std::string resource;

  auto operator<=>(const FlavorResource&) const = default;
};

using Usage = std::map<FlavorResource, int64_t>;

// What one workload holds in one queue.
struct Reservation {
  std::string cluster_queue;
  std::string local_queue;  // "namespace/name"
  Usage usage;
  bool admitted = false;

  bool operator==(const Reservation&) const = default;
};

// Of one queue.
struct QueueTotals {
  Usage reserved;
  Usage used;
  int64_t reserving_workloads = 0;
  int64_t admitted_workloads = 0;
  // Grows whenever something was given back: what lacked quota is worth another look.
  uint64_t releases = 0;
};

class Ledger {
 public:
  // Books what a workload holds, in place of what it held before.
  void book(const std::string& workload, const Reservation& reservation);
  void release(const std::string& workload);
  // nullptr if it holds nothing.
  [[nodiscard]] const Reservation* find(const std::string& workload) const;

  // Totals of queues that nothing was ever booked in are zero.
  [[nodiscard]] const QueueTotals& of_cluster_queue(const std::string& name) const;
  [[nodiscard]] const QueueTotals& of_local_queue(const std::string& full_name) const;
  [[nodiscard]] const std::map<std::string, Reservation>& reservations() const {
    return reservations_;
  }

 private:
  void apply(const Reservation& reservation, int sign);

  std::map<std::string, Reservation> reservations_;  // by workload
  std::map<std::string, QueueTotals> cluster_queues_;
  std::map<std::string, QueueTotals> local_queues_;
};

}  // namespace phalanx::quota
