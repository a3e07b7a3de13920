#include "base/mailbox.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace phalanx {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Mailbox, KeepsTheOrderAndTheBound) {
  Mailbox<int> mailbox(4);
  constexpr int kCount = 10'000;
  std::jthread sender([&] {
    for (int i = 0; i < kCount; ++i) EXPECT_TRUE(mailbox.put(i));
  });
  std::vector<int> all;
  while (all.size() < kCount) {
    const std::vector<int> taken = mailbox.take(hours(1));
    EXPECT_LE(taken.size(), 4U);
    all.insert(all.end(), taken.begin(), taken.end());
  }
  std::vector<int> expected(kCount);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST(Mailbox, TakesNothingWhenTheTimeHasPassed) {
  Mailbox<int> mailbox(1);
  EXPECT_TRUE(mailbox.take(milliseconds(1)).empty());
}

TEST(Mailbox, ClosingWakesWhoWaitsForRoom) {
  Mailbox<int> mailbox(1);
  ASSERT_TRUE(mailbox.put(1));
  std::jthread sender([&] { EXPECT_FALSE(mailbox.put(2)); });
  mailbox.close();
  sender.join();
  EXPECT_EQ(mailbox.take(milliseconds(0)), std::vector<int>{1});
  EXPECT_FALSE(mailbox.put(3));
}

TEST(Mailbox, ClosingWakesWhoWaitsForSomething) {
  Mailbox<int> mailbox(1);
  std::jthread closer([&] { mailbox.close(); });
  EXPECT_TRUE(mailbox.take(hours(1)).empty());
}

}  // namespace
}  // namespace phalanx
