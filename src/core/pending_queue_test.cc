#include "core/pending_queue.h"

#include <gtest/gtest.h>

namespace phalanx::core {
namespace {

PendingEntry entry(const std::string& name, int32_t priority, int64_t seconds) {
  return {priority, Time(std::chrono::seconds(seconds)), name};
}

No no(const std::string& reason, const std::string& message) {
  No result;
  result.reason = reason;
  result.message = message;
  return result;
}

TEST(PendingQueueTest, PriorityGoesFirstThenWhoWaitsLonger) {
  PendingQueue queue;
  queue.put(entry("a", 0, 1), "x");
  queue.put(entry("b", 0, 0), "y");
  queue.put(entry("c", 5, 9), "x");
  std::vector<std::string> order;
  while (const PendingEntry* first = queue.first()) {
    order.push_back(first->workload);
    queue.remove(order.back());
  }
  EXPECT_EQ(order, (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(PendingQueueTest, OneNoParksAllOfAShape) {
  PendingQueue queue;
  queue.put(entry("a", 9, 0), "big");
  queue.put(entry("b", 8, 0), "big");
  queue.put(entry("c", 1, 0), "small");
  queue.park("a", no("R", "too big"));
  EXPECT_EQ(queue.first()->workload, "a");
  EXPECT_EQ(queue.first_awake()->workload, "c");
  EXPECT_EQ(queue.no_of("b")->message, "too big");
  EXPECT_EQ(queue.no_of("c"), nullptr);
  EXPECT_EQ(queue.parked(), 2U);
  queue.wake([](const No&) { return false; });
  EXPECT_EQ(queue.first_awake()->workload, "c");
  queue.send_away("b");
  EXPECT_EQ(queue.parked(), 1U) << "who is away is not considered, so nobody said no";
  queue.put(entry("b", 8, 0), "big");
  queue.wake([](const No&) { return true; });
  EXPECT_EQ(queue.parked(), 0U);
  EXPECT_EQ(queue.first_awake()->workload, "a");
  queue.remove("a");
  EXPECT_EQ(queue.first_awake()->workload, "b") << "the shape stays awake when its head leaves";
}

TEST(PendingQueueTest, EverybodyHearsTheReasonOnceAndTheFirstEveryChange) {
  PendingQueue queue;
  queue.put(entry("a", 9, 0), "big");
  queue.put(entry("b", 8, 0), "big");
  queue.park("a", no("R", "1 more needed"));
  EXPECT_EQ(queue.take_untold("a"), (std::vector<std::string>{"a", "b"}));
  queue.wake([](const No&) { return true; });
  queue.park("a", no("R", "2 more needed"));
  EXPECT_EQ(queue.take_untold("a"), std::vector<std::string>{"a"});
  queue.wake([](const No&) { return true; });
  queue.park("a", no("other", "2 more needed"));
  EXPECT_EQ(queue.take_untold("b"), (std::vector<std::string>{"a", "b"}));
  queue.put(entry("new", 0, 0), "big");
  EXPECT_EQ(queue.take_newcomers(), std::vector<std::string>{"new"});
  EXPECT_TRUE(queue.take_newcomers().empty());
  EXPECT_TRUE(queue.take_untold("a").empty());
}

TEST(PendingQueueTest, AWorkloadThatChangesMoves) {
  PendingQueue queue;
  queue.put(entry("a", 0, 0), "x");
  queue.put(entry("b", 1, 0), "x");
  EXPECT_EQ(queue.position("a"), 2U);
  queue.put(entry("a", 7, 0), "y");
  EXPECT_EQ(queue.position("a"), 1U);
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.position("nobody"), 0U);
  EXPECT_EQ(queue.in_order().front().workload, "a");
}

TEST(PendingQueueTest, RecentUsageGoesBeforePriority) {
  PendingQueue queue;
  queue.put(entry("a", 9, 0), "x", "ml/busy");
  queue.put(entry("b", 0, 5), "x", "ml/idle");
  queue.put(entry("c", 1, 5), "y", "ml/idle");
  queue.set_usage("ml/busy", 2);
  queue.set_usage("ml/idle", 1);
  const auto names = [&] {
    std::vector<std::string> names;
    for (const PendingEntry& each : queue.in_order()) names.push_back(each.workload);
    return names;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_EQ(queue.position("a"), 3U);
  EXPECT_TRUE(queue.goes_before("b", "a"));
  EXPECT_FALSE(queue.goes_before("a", "b"));
  EXPECT_FALSE(queue.goes_before("a", "elsewhere"));
  queue.set_usage("ml/idle", 3);
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "c", "b"}));
  EXPECT_EQ(queue.first()->workload, "a");
}

// It may preempt whom the one that was refused may not.
TEST(PendingQueueTest, WhoComesBeforeTheRefusedIsAskedAnew) {
  PendingQueue queue;
  queue.put(entry("a", 5, 0), "x");
  queue.park("a", no("WaitingForQuota", "2 more needed"));
  queue.put(entry("b", 5, 1), "x");
  EXPECT_EQ(queue.first_awake(), nullptr);
  queue.put(entry("c", 6, 2), "x");
  ASSERT_NE(queue.first_awake(), nullptr);
  EXPECT_EQ(queue.first_awake()->workload, "c");
}

}  // namespace
}  // namespace phalanx::core
