// Who has how much of which flavor: what every workload holds, and what its queue has left.
//
// Reserved is what workloads hold that have a reservation, used what those hold that are admitted.
// Both are sums of what was booked by workload, so that booking and releasing cannot drift apart.
// The quota tree is told everything: what is held, and what is promised (quota/quota_tree.h). Who
// is leaving is no longer promised what it holds; who waits for somebody's place is promised it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "quota/quota_tree.h"

namespace phalanx::quota {

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
};

class Ledger {
 public:
  // Books what a workload holds, in place of what it held before.
  void book(const std::string& workload, const Reservation& reservation);
  void release(const std::string& workload);
  // nullptr if it holds nothing.
  [[nodiscard]] const Reservation* find(const std::string& workload) const;

  // Whether what it holds will be given back: then others may be promised it.
  void set_leaving(const std::string& workload, bool leaving);
  [[nodiscard]] const std::set<std::string>& leaving() const { return leaving_; }
  // Somebody who holds nothing yet is promised something.
  void promise(const std::string& workload, const std::string& cluster_queue, const Usage& usage);
  void withdraw(const std::string& workload);

  // ClusterQueues or Cohorts have changed.
  void set_members(const std::map<std::string, api::ClusterQueue>& queues,
                   const std::map<std::string, api::Cohort>& cohorts);
  // Whoever changes it puts it back as it was.
  QuotaTree& tree() { return tree_; }
  [[nodiscard]] const QuotaTree& tree() const { return tree_; }
  // Grows whenever more became available in the tree of this queue: what lacked quota is worth
  // another look.
  [[nodiscard]] uint64_t releases(const std::string& cluster_queue) const;
  // Grows whenever more was taken in the tree of this queue: what others took can be reclaimed.
  [[nodiscard]] uint64_t takes(const std::string& cluster_queue) const;

  // Totals of queues that nothing was ever booked in are zero.
  [[nodiscard]] const QueueTotals& of_cluster_queue(const std::string& name) const;
  [[nodiscard]] const QueueTotals& of_local_queue(const std::string& full_name) const;
  // Of everybody who holds something: what, by the tree's ids.
  struct Booking {
    Reservation reservation;
    Amounts amounts;
  };
  [[nodiscard]] const std::map<std::string, Booking>& bookings() const { return bookings_; }

 private:
  struct Promise {
    std::string cluster_queue;
    Amounts amounts;
  };

  [[nodiscard]] uint64_t count_of(const std::map<MemberId, uint64_t>& counts,
                                  const std::string& cluster_queue) const;
  void apply(const std::string& workload, const Booking& booking, int sign);
  void change(const std::string& cluster_queue, const Amounts& amounts, int sign, Book book);

  std::map<std::string, Booking> bookings_;  // by workload
  std::map<std::string, QueueTotals> cluster_queues_;
  std::map<std::string, QueueTotals> local_queues_;
  std::set<std::string> leaving_;
  std::map<std::string, Promise> promises_;
  QuotaTree tree_;
  // By root; both counts are of all changes, so that no old one comes back.
  std::map<MemberId, uint64_t> releases_;
  std::map<MemberId, uint64_t> takes_;
  uint64_t changes_ = 0;
  uint64_t members_changed_ = 0;  // the count of roots with which nothing has happened since
};

}  // namespace phalanx::quota
