#include "kube/server_clock.h"

#include <gtest/gtest.h>

namespace phalanx::kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Time kNow = parse_time("2026-01-01T12:00:00Z").value();

TEST(ServerClock, AClockThatIsRightIsLeftAlone) {
  ServerClock clock;
  clock.observe(kNow, kNow, kNow + milliseconds(10));
  clock.observe(kNow, kNow + milliseconds(990), kNow + milliseconds(999));
  clock.observe(kNow, kNow + milliseconds(1900), kNow + milliseconds(1950));
  clock.observe(kNow, kNow - milliseconds(900), kNow - milliseconds(850));
  EXPECT_EQ(clock.offset(), Duration(0));
}

TEST(ServerClock, AClockThatIsAheadOrBehindIsCorrected) {
  for (const Duration apart : {Duration(hours(1)), Duration(-hours(20)), Duration(seconds(10))}) {
    ServerClock clock;
    clock.observe(kNow, kNow + apart, kNow + apart + milliseconds(10));
    EXPECT_NEAR(static_cast<double>((clock.offset() + apart).count()), 0, 1000);
    // It does not move with every answer.
    const Duration first = clock.offset();
    clock.observe(kNow, kNow + apart + milliseconds(900), kNow + apart + milliseconds(910));
    EXPECT_EQ(clock.offset(), first);
    // Somebody has set the clock of this machine right.
    clock.observe(kNow, kNow, kNow + milliseconds(10));
    EXPECT_EQ(clock.offset(), Duration(0));
  }
}

TEST(ServerClock, AnAnswerThatTookLongSaysLittle) {
  ServerClock clock;
  clock.observe(kNow, kNow - seconds(30), kNow + milliseconds(10));
  clock.observe(kNow, kNow, kNow + seconds(30));
  EXPECT_EQ(clock.offset(), Duration(0));
  clock.observe(kNow, kNow + hours(1), kNow + hours(1) + seconds(30));
  EXPECT_NEAR(static_cast<double>((clock.offset() + hours(1)).count()), 0, 20'000);
  clock.observe(kNow, kNow + hours(1), kNow + hours(1) + milliseconds(10));
  EXPECT_NEAR(static_cast<double>((clock.offset() + hours(1)).count()), 0, 1000);
}

}  // namespace
}  // namespace phalanx::kube
