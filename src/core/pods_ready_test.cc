#include "core/pods_ready.h"

#include <gtest/gtest.h>

#include <set>

namespace phalanx::core {
namespace {

using std::chrono::seconds;

api::ObjectMeta workload(const std::string& uid) {
  api::ObjectMeta meta;
  meta.uid = uid;
  return meta;
}

TEST(PodsReadyTest, DelaysDoubleUpToTheLongest) {
  WaitForPodsReady wait;
  wait.longest_backoff = seconds(300);
  const auto base = [&](int32_t times) {
    // What is on top of it is at most a twentieth.
    const Duration delay = requeue_delay(wait, workload("a"), times);
    for (const int64_t whole : {60, 120, 240, 300}) {
      if (delay >= seconds(whole) && delay <= seconds(whole) + seconds(whole) / 20) return whole;
    }
    return int64_t{0};
  };
  EXPECT_EQ(base(1), 60);
  EXPECT_EQ(base(2), 120);
  EXPECT_EQ(base(3), 240);
  EXPECT_EQ(base(4), 300);
  EXPECT_EQ(base(2'000'000'000), 300);
}

TEST(PodsReadyTest, TheJitterIsTheWorkloadsOwn) {
  const WaitForPodsReady wait;
  std::set<Duration> delays;
  for (int i = 0; i < 50; ++i) {
    const api::ObjectMeta meta = workload(std::to_string(i));
    EXPECT_EQ(requeue_delay(wait, meta, 1), requeue_delay(wait, meta, 1));
    delays.insert(requeue_delay(wait, meta, 1));
  }
  EXPECT_GT(delays.size(), 30U);
}

TEST(PodsReadyTest, ShortDelaysHaveJitterToo) {
  WaitForPodsReady wait;
  wait.backoff = seconds(1);
  std::set<Duration> delays;
  for (int i = 0; i < 50; ++i) {
    delays.insert(requeue_delay(wait, workload(std::to_string(i)), 1));
  }
  EXPECT_GT(delays.size(), 15U);
  EXPECT_GE(*delays.begin(), seconds(1));
  EXPECT_LE(*delays.rbegin(), std::chrono::milliseconds(1050));
}

TEST(PodsReadyTest, NobodyStaysAwayForLongerThanTheLongest) {
  WaitForPodsReady wait;
  wait.longest_backoff = seconds(100);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(requeue_delay(wait, workload(std::to_string(i)), 2), seconds(100));
  }
}

TEST(PodsReadyTest, WithoutADelayItIsBackAtOnce) {
  WaitForPodsReady wait;
  wait.backoff = seconds(0);
  EXPECT_EQ(requeue_delay(wait, workload("a"), 2'000'000'000), seconds(0));
}

TEST(PodsReadyTest, SaysStartedThenWaitsForRecoveryThenRecovered) {
  WorkloadState state;
  Job job;
  const auto next = [&](bool ready) {
    job.pods_ready = ready;
    auto condition = pods_ready_now(state, job);
    if (!condition) return std::string("as it was");
    api::set_condition(state.object.conditions, *condition);
    return condition->reason;
  };
  EXPECT_EQ(next(false), "WaitForStart");
  EXPECT_EQ(next(false), "as it was");
  EXPECT_EQ(next(true), "Started");
  EXPECT_EQ(next(true), "as it was");
  EXPECT_EQ(next(false), "WaitForRecovery");
  EXPECT_EQ(next(false), "as it was");
  EXPECT_EQ(next(true), "Recovered");
  EXPECT_EQ(next(true), "as it was");
  EXPECT_EQ(next(false), "WaitForRecovery");
  EXPECT_EQ(next(true), "Recovered");
}

}  // namespace
}  // namespace phalanx::core
