#include "quota/ledger.h"

#include <gtest/gtest.h>

#include "quota/testing.h"

namespace phalanx::quota {
namespace {

const FlavorResource kCpu{"gpu", "cpu"};

Reservation reservation(int64_t cpu, bool admitted, const std::string& queue = "team") {
  return {queue, "ml/main", {{kCpu, cpu}}, admitted};
}

// "team" and "other" in a cohort, "alone" by itself.
class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() { set_quota(10'000); }

  void set_quota(int64_t team) {
    testing::Queues queues;
    testing::add_queue(queues, "team", "all", {{kCpu, team}});
    testing::add_queue(queues, "other", "all", {{kCpu, 5000}});
    testing::add_queue(queues, "alone", "", {{kCpu, 1000}});
    ledger_.set_members(queues, {});
  }

  int64_t used(const std::string& queue, Book book) {
    return ledger_.tree().usage(ledger_.tree().queue(queue), ledger_.tree().id(kCpu), book);
  }
  // As the books say it: held, promised.
  std::pair<int64_t, int64_t> books(const std::string& queue = "team") {
    return {used(queue, Book::kHeld), used(queue, Book::kPromised)};
  }
  int64_t available(const std::string& queue) {
    return ledger_.tree().available(ledger_.tree().queue(queue), ledger_.tree().id(kCpu));
  }

  Ledger ledger_;
};

using Books = std::pair<int64_t, int64_t>;

TEST_F(LedgerTest, AddsUpWhatIsBookedAndForgetsWhatIsReleased) {
  ledger_.book("ml/a", reservation(3000, true));
  ledger_.book("ml/b", reservation(2000, false));
  const QueueTotals& totals = ledger_.of_cluster_queue("team");
  EXPECT_EQ(totals.reserved.at(kCpu), 5000);
  EXPECT_EQ(totals.used.at(kCpu), 3000);
  EXPECT_EQ(totals.reserving_workloads, 2);
  EXPECT_EQ(totals.admitted_workloads, 1);
  EXPECT_EQ(ledger_.of_local_queue("ml/main").reserved, totals.reserved);
  EXPECT_EQ(ledger_.bookings().size(), 2U);
  EXPECT_EQ(ledger_.bookings().at("ml/a").amounts, (Amounts{{ledger_.tree().id(kCpu), 3000}}));
  EXPECT_EQ(books(), Books(5000, 5000));
  ledger_.release("ml/a");
  ledger_.release("ml/b");
  ledger_.release("ml/b");
  EXPECT_TRUE(totals.reserved.empty());
  EXPECT_EQ(totals.reserving_workloads, 0);
  EXPECT_TRUE(ledger_.bookings().empty());
  EXPECT_EQ(books(), Books(0, 0));
}

TEST_F(LedgerTest, BookingAgainReplaces) {
  ledger_.book("ml/a", reservation(3000, true));
  const uint64_t releases = ledger_.releases("team");
  ledger_.book("ml/a", reservation(3000, true));  // nothing new
  EXPECT_EQ(ledger_.releases("team"), releases);
  ledger_.book("ml/a", reservation(1000, true));
  EXPECT_EQ(ledger_.of_cluster_queue("team").reserved.at(kCpu), 1000);
  EXPECT_EQ(ledger_.of_cluster_queue("team").reserving_workloads, 1);
  EXPECT_GT(ledger_.releases("team"), releases);
  ledger_.book("ml/a", reservation(1000, true, "other"));
  EXPECT_EQ(ledger_.of_cluster_queue("team").reserving_workloads, 0);
  EXPECT_EQ(books("team"), Books(0, 0));
  EXPECT_EQ(books("other"), Books(1000, 1000));
  EXPECT_EQ(ledger_.find("ml/a")->cluster_queue, "other");
}

TEST_F(LedgerTest, AQueueThatNobodyUsesHasNothing) {
  EXPECT_TRUE(ledger_.of_cluster_queue("none").reserved.empty());
  EXPECT_EQ(ledger_.find("ml/a"), nullptr);
  EXPECT_EQ(ledger_.releases("none"), 0U);
  EXPECT_EQ(ledger_.takes("none"), 0U);
}

TEST_F(LedgerTest, WhoLeavesIsNoLongerPromisedWhatItHolds) {
  ledger_.book("ml/a", reservation(9000, true));
  EXPECT_EQ(available("team"), 6000);
  const uint64_t releases = ledger_.releases("other");
  ledger_.set_leaving("ml/a", true);
  EXPECT_EQ(books(), Books(9000, 0));
  EXPECT_EQ(ledger_.leaving(), std::set<std::string>{"ml/a"});
  EXPECT_GT(ledger_.releases("other"), releases);
  EXPECT_EQ(available("team"), 6000);  // it is still in use
  ledger_.set_leaving("ml/a", true);
  EXPECT_EQ(books(), Books(9000, 0));

  ledger_.book("ml/a", reservation(4000, true));  // smaller, and still leaving
  EXPECT_EQ(books(), Books(4000, 0));
  const uint64_t takes = ledger_.takes("other");
  ledger_.set_leaving("ml/a", false);
  EXPECT_EQ(books(), Books(4000, 4000));
  EXPECT_GT(ledger_.takes("other"), takes);
  EXPECT_TRUE(ledger_.leaving().empty());

  ledger_.set_leaving("ml/a", true);
  ledger_.release("ml/a");
  EXPECT_EQ(books(), Books(0, 0));
  ledger_.book("ml/a", reservation(4000, true));  // it came back, and stays
  EXPECT_EQ(books(), Books(4000, 4000));
}

TEST_F(LedgerTest, WhoHoldsNothingCannotLeave) {
  ledger_.set_leaving("ml/a", true);
  EXPECT_TRUE(ledger_.leaving().empty());
  EXPECT_EQ(books(), Books(0, 0));
}

TEST_F(LedgerTest, WhatIsPromisedIsAvailableToNobody) {
  ledger_.book("ml/a", reservation(9000, true));
  ledger_.set_leaving("ml/a", true);
  ledger_.promise("ml/b", "other", {{kCpu, 8000}});
  EXPECT_EQ(books("team"), Books(9000, 0));
  EXPECT_EQ(books("other"), Books(0, 8000));
  EXPECT_EQ(available("team"), 6000);  // 15000 - 9000 held; 15000 - 8000 promised
  ledger_.release("ml/a");
  EXPECT_EQ(available("team"), 7000);
  ledger_.promise("ml/b", "team", {{kCpu, 1000}});  // in place of the first
  EXPECT_EQ(books("team"), Books(0, 1000));
  EXPECT_EQ(books("other"), Books(0, 0));
  ledger_.withdraw("ml/b");
  ledger_.withdraw("ml/b");
  EXPECT_EQ(books("team"), Books(0, 0));
}

TEST_F(LedgerTest, OtherMembersKeepWhatIsUsed) {
  ledger_.book("ml/a", reservation(9000, true));
  ledger_.book("ml/b", reservation(2000, true, "other"));
  ledger_.book("ml/c", reservation(500, true, "unknown"));
  ledger_.set_leaving("ml/b", true);
  ledger_.promise("ml/d", "team", {{kCpu, 700}});
  set_quota(20'000);
  EXPECT_EQ(books("team"), Books(9000, 9700));
  EXPECT_EQ(books("other"), Books(2000, 0));
  EXPECT_EQ(available("team"), 14'000);
  testing::Queues queues;
  testing::add_queue(queues, "unknown", "", {{kCpu, 1000}});
  ledger_.set_members(queues, {});
  EXPECT_EQ(books("unknown"), Books(500, 500));
  EXPECT_FALSE(ledger_.tree().queue("team").valid());
  ledger_.withdraw("ml/d");  // of a queue that is gone
  ledger_.release("ml/a");
  set_quota(10'000);
  EXPECT_EQ(books("team"), Books(0, 0));
  EXPECT_EQ(books("other"), Books(2000, 0));
}

TEST_F(LedgerTest, CountsAreOfTheWholeTreeAndNeverComeBack) {
  const uint64_t alone = ledger_.releases("alone");
  uint64_t releases = ledger_.releases("team");
  uint64_t takes = ledger_.takes("team");
  ledger_.book("ml/a", reservation(1000, true, "other"));
  EXPECT_EQ(ledger_.releases("team"), releases);
  EXPECT_GT(ledger_.takes("team"), takes);
  takes = ledger_.takes("team");
  ledger_.release("ml/a");
  EXPECT_GT(ledger_.releases("team"), releases);
  EXPECT_EQ(ledger_.takes("team"), takes);
  EXPECT_EQ(ledger_.releases("alone"), alone);
  // More quota is as good as a release, also in a tree that nothing ever happened in.
  releases = ledger_.releases("team");
  set_quota(20'000);
  EXPECT_GT(ledger_.releases("team"), releases);
  EXPECT_GT(ledger_.takes("team"), takes);
  EXPECT_GT(ledger_.releases("alone"), alone);
}

}  // namespace
}  // namespace phalanx::quota
