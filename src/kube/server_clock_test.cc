#include "kube/server_clock.h"

#include <gtest/gtest.h>

namespace phalanx::kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Time kNow = parse_time("2026-01-01T12:00:00Z").value();
const Instant kStart{std::chrono::minutes(10)};

class ServerClockTest : public testing::Test {
 protected:
  // An answer that was sent for at `sent` and came at `received`, both counted from the start.
  void observe(Time said, Duration sent, Duration received, Time wall) {
    clock_.observe(said, kStart + sent, kStart + received, wall);
  }
  // How far the clock is from where one is that was right at the start.
  [[nodiscard]] Duration off() const { return clock_.at(kStart) - kNow; }
  void expect_near(Duration off_by, Duration at_most) const {
    EXPECT_LE(std::chrono::abs(off() - off_by), at_most) << off().count();
  }

  ServerClock clock_{kNow, kStart};
};

TEST_F(ServerClockTest, TimePassesByTheMonotonicClock) {
  EXPECT_EQ(clock_.at(kStart + hours(1)), kNow + hours(1));
}

TEST_F(ServerClockTest, AClockThatIsRightIsLeftAlone) {
  observe(kNow, milliseconds(0), milliseconds(10), kNow + milliseconds(10));
  observe(kNow, milliseconds(990), milliseconds(999), kNow + milliseconds(999));
  observe(kNow, milliseconds(1900), milliseconds(1950), kNow + milliseconds(1950));
  observe(kNow + seconds(3), milliseconds(2100), milliseconds(2150), kNow + milliseconds(2150));
  EXPECT_EQ(off(), Duration(0));
}

TEST_F(ServerClockTest, AClockThatIsAheadOrBehindIsCorrected) {
  for (const Duration apart : {Duration(hours(1)), Duration(-hours(20)), Duration(seconds(10))}) {
    const Time said = kNow - apart;
    observe(said, milliseconds(0), milliseconds(10), kNow + milliseconds(10));
    expect_near(-apart, seconds(1));
    // It does not move with every answer.
    const Duration first = off();
    observe(said, milliseconds(900), milliseconds(910), kNow + milliseconds(910));
    EXPECT_EQ(off(), first);
  }
}

TEST_F(ServerClockTest, AClockThatSomebodySetsChangesNothing) {
  observe(kNow, milliseconds(0), milliseconds(10), kNow + milliseconds(10));
  // Also while an answer is under way, in either direction.
  for (const Duration set : {Duration(hours(1)), Duration(-hours(1))}) {
    observe(kNow + seconds(5), seconds(5), milliseconds(5010), kNow + set + milliseconds(5010));
    EXPECT_EQ(off(), Duration(0));
  }
}

TEST_F(ServerClockTest, AClockThatAgreesIsFinerThanTheAnswer) {
  // The machine stood still for an hour without its monotonic clock noticing.
  const Time later = kNow + hours(1);
  observe(later, milliseconds(0), milliseconds(10), later + milliseconds(217));
  EXPECT_EQ(off(), hours(1) + milliseconds(207));
}

TEST_F(ServerClockTest, AnAnswerThatTookLongSaysLittle) {
  observe(kNow + seconds(30), milliseconds(0), seconds(30), kNow + seconds(30));
  observe(kNow, milliseconds(0), seconds(30), kNow + seconds(30));
  EXPECT_EQ(off(), Duration(0));
  observe(kNow - hours(1), milliseconds(0), seconds(30), kNow + seconds(30));
  expect_near(-hours(1), seconds(20));
  observe(kNow - hours(1), milliseconds(0), milliseconds(10), kNow + milliseconds(10));
  expect_near(-hours(1), seconds(1));
}

}  // namespace
}  // namespace phalanx::kube
