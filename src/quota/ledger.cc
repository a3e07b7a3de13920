#include "quota/ledger.h"

#include "base/check.h"
#include "base/saturating.h"

namespace phalanx::quota {
namespace {

const QueueTotals& find_or_empty(const std::map<std::string, QueueTotals>& queues,
                                 const std::string& name) {
  static const QueueTotals kEmpty;
  const auto found = queues.find(name);
  return found == queues.end() ? kEmpty : found->second;
}

void add(Usage& total, const Usage& usage, int sign) {
  for (const auto& [what, amount] : usage) {
    int64_t& sum = total[what];
    sum = sign > 0 ? saturating_add(sum, amount) : saturating_subtract(sum, amount);
    if (sum == 0) total.erase(what);
  }
}

void apply_to(QueueTotals& totals, const Reservation& reservation, int sign) {
  add(totals.reserved, reservation.usage, sign);
  totals.reserving_workloads += sign;
  if (reservation.admitted) {
    add(totals.used, reservation.usage, sign);
    totals.admitted_workloads += sign;
  }
  if (sign < 0) ++totals.releases;
  CHECK(totals.reserving_workloads >= totals.admitted_workloads);
}

}  // namespace

void Ledger::book(const std::string& workload, const Reservation& reservation) {
  const auto found = reservations_.find(workload);
  if (found != reservations_.end()) {
    if (found->second == reservation) return;
    apply(found->second, -1);
    found->second = reservation;
  } else {
    reservations_.emplace(workload, reservation);
  }
  apply(reservation, +1);
}

void Ledger::release(const std::string& workload) {
  const auto found = reservations_.find(workload);
  if (found == reservations_.end()) return;
  apply(found->second, -1);
  reservations_.erase(found);
}

const Reservation* Ledger::find(const std::string& workload) const {
  const auto found = reservations_.find(workload);
  return found == reservations_.end() ? nullptr : &found->second;
}

const QueueTotals& Ledger::of_cluster_queue(const std::string& name) const {
  return find_or_empty(cluster_queues_, name);
}

const QueueTotals& Ledger::of_local_queue(const std::string& full_name) const {
  return find_or_empty(local_queues_, full_name);
}

void Ledger::apply(const Reservation& reservation, int sign) {
  apply_to(cluster_queues_[reservation.cluster_queue], reservation, sign);
  apply_to(local_queues_[reservation.local_queue], reservation, sign);
}

}  // namespace phalanx::quota
