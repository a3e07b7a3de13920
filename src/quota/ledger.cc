#include "quota/ledger.h"

#include <algorithm>

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

// What no workload has. A sum that ends at 64 bits cannot be taken back: whoever is let into a
// queue of boundless quota with 2^63 of something must not spoil the sums of the others.
constexpr int64_t kMostOfWorkload = int64_t{1} << 57;

Usage bounded(Usage usage) {
  for (auto& [what, amount] : usage) amount = std::min(amount, kMostOfWorkload);
  return usage;
}

void apply_to(QueueTotals& totals, const Reservation& reservation, int sign) {
  add(totals.reserved, reservation.usage, sign);
  totals.reserving_workloads += sign;
  if (reservation.admitted) {
    add(totals.used, reservation.usage, sign);
    totals.admitted_workloads += sign;
  }
  CHECK(totals.reserving_workloads >= totals.admitted_workloads);
}

}  // namespace

void Ledger::book(const std::string& workload, const Reservation& asked) {
  Reservation reservation = asked;
  reservation.usage = bounded(std::move(reservation.usage));
  const auto found = bookings_.find(workload);
  if (found != bookings_.end()) {
    if (found->second.reservation == reservation) return;
    apply(workload, found->second, -1);
  }
  Booking& booking = bookings_[workload];
  booking = {std::move(reservation), {}};
  booking.amounts = tree_.amounts(booking.reservation.usage);
  apply(workload, booking, +1);
}

void Ledger::release(const std::string& workload) {
  const auto found = bookings_.find(workload);
  if (found == bookings_.end()) return;
  apply(workload, found->second, -1);
  leaving_.erase(workload);
  bookings_.erase(found);
}

const Reservation* Ledger::find(const std::string& workload) const {
  const auto found = bookings_.find(workload);
  return found == bookings_.end() ? nullptr : &found->second.reservation;
}

void Ledger::set_leaving(const std::string& workload, bool leaving) {
  const auto found = bookings_.find(workload);
  if (found == bookings_.end() || leaving_.contains(workload) == leaving) return;
  if (leaving) {
    leaving_.insert(workload);
  } else {
    leaving_.erase(workload);
  }
  change(found->second.reservation.cluster_queue, found->second.amounts, leaving ? -1 : +1,
         Book::kPromised);
}

void Ledger::promise(const std::string& workload, const std::string& cluster_queue,
                     const Usage& usage) {
  withdraw(workload);
  const Promise& promise = promises_[workload] = {cluster_queue, tree_.amounts(bounded(usage))};
  change(cluster_queue, promise.amounts, +1, Book::kPromised);
}

void Ledger::withdraw(const std::string& workload) {
  const auto found = promises_.find(workload);
  if (found == promises_.end()) return;
  change(found->second.cluster_queue, found->second.amounts, -1, Book::kPromised);
  promises_.erase(found);
}

void Ledger::set_members(const std::map<std::string, api::ClusterQueue>& queues,
                         const std::map<std::string, api::Cohort>& cohorts) {
  tree_.set_members(queues, cohorts);
  for (const auto& [workload, booking] : bookings_) {
    const std::string& queue = booking.reservation.cluster_queue;
    change(queue, booking.amounts, +1, Book::kHeld);
    if (!leaving_.contains(workload)) change(queue, booking.amounts, +1, Book::kPromised);
  }
  for (const auto& [workload, promise] : promises_) {
    change(promise.cluster_queue, promise.amounts, +1, Book::kPromised);
  }
  // The roots have other numbers now, and any of them may have more, or lend more, than before.
  releases_.clear();
  takes_.clear();
  members_changed_ = ++changes_;
}

uint64_t Ledger::releases(const std::string& cluster_queue) const {
  return count_of(releases_, cluster_queue);
}

uint64_t Ledger::takes(const std::string& cluster_queue) const {
  return count_of(takes_, cluster_queue);
}

uint64_t Ledger::count_of(const std::map<MemberId, uint64_t>& counts,
                          const std::string& cluster_queue) const {
  const MemberId queue = tree_.queue(cluster_queue);
  if (!queue.valid()) return 0;
  const auto found = counts.find(tree_.root(queue));
  return found == counts.end() ? members_changed_ : found->second;
}

const QueueTotals& Ledger::of_cluster_queue(const std::string& name) const {
  return find_or_empty(cluster_queues_, name);
}

const QueueTotals& Ledger::of_local_queue(const std::string& full_name) const {
  return find_or_empty(local_queues_, full_name);
}

void Ledger::change(const std::string& cluster_queue, const Amounts& amounts, int sign, Book book) {
  const MemberId queue = tree_.queue(cluster_queue);
  if (!queue.valid()) return;
  tree_.add(queue, amounts, sign, book);
  (sign < 0 ? releases_ : takes_)[tree_.root(queue)] = ++changes_;
}

void Ledger::apply(const std::string& workload, const Booking& booking, int sign) {
  const Reservation& reservation = booking.reservation;
  apply_to(cluster_queues_[reservation.cluster_queue], reservation, sign);
  apply_to(local_queues_[reservation.local_queue], reservation, sign);
  change(reservation.cluster_queue, booking.amounts, sign, Book::kHeld);
  if (leaving_.contains(workload)) return;
  change(reservation.cluster_queue, booking.amounts, sign, Book::kPromised);
}

}  // namespace phalanx::quota
