#include "quota/ledger.h"

#include <gtest/gtest.h>

namespace phalanx::quota {
namespace {

Reservation reservation(int64_t cpu, bool admitted) {
  return {"team", "ml/main", {{{"gpu", "cpu"}, cpu}}, admitted};
}

TEST(LedgerTest, AddsUpWhatIsBookedAndForgetsWhatIsReleased) {
  Ledger ledger;
  ledger.book("ml/a", reservation(3000, true));
  ledger.book("ml/b", reservation(2000, false));
  const QueueTotals& totals = ledger.of_cluster_queue("team");
  EXPECT_EQ(totals.reserved.at({"gpu", "cpu"}), 5000);
  EXPECT_EQ(totals.used.at({"gpu", "cpu"}), 3000);
  EXPECT_EQ(totals.reserving_workloads, 2);
  EXPECT_EQ(totals.admitted_workloads, 1);
  EXPECT_EQ(ledger.of_local_queue("ml/main").reserved, totals.reserved);
  ledger.release("ml/a");
  ledger.release("ml/b");
  ledger.release("ml/b");
  EXPECT_TRUE(totals.reserved.empty());
  EXPECT_EQ(totals.reserving_workloads, 0);
}

TEST(LedgerTest, BookingAgainReplaces) {
  Ledger ledger;
  ledger.book("ml/a", reservation(3000, true));
  const uint64_t releases = ledger.of_cluster_queue("team").releases;
  ledger.book("ml/a", reservation(3000, true));  // nothing new
  EXPECT_EQ(ledger.of_cluster_queue("team").releases, releases);
  ledger.book("ml/a", reservation(1000, true));
  EXPECT_EQ(ledger.of_cluster_queue("team").reserved.at({"gpu", "cpu"}), 1000);
  EXPECT_EQ(ledger.of_cluster_queue("team").reserving_workloads, 1);
  EXPECT_GT(ledger.of_cluster_queue("team").releases, releases);
}

TEST(LedgerTest, AQueueThatNobodyUsesHasNothing) {
  const Ledger ledger;
  EXPECT_TRUE(ledger.of_cluster_queue("none").reserved.empty());
  EXPECT_EQ(ledger.find("ml/a"), nullptr);
}

}  // namespace
}  // namespace phalanx::quota
