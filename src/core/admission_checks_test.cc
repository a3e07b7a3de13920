#include "core/admission_checks.h"

#include <gtest/gtest.h>

#include "core/names.h"
#include "core/workload_status.h"

namespace phalanx::core {
namespace {

using api::CheckState;
using std::chrono::hours;
using std::chrono::seconds;

constexpr Time kFailed = Time(hours(1'000'000));

api::Workload workload_with(std::vector<api::AdmissionCheckStatus> checks) {
  api::Workload workload;
  workload.admission_checks = std::move(checks);
  return workload;
}

TEST(AdmissionChecksTest, ARetryIsCountedAndWhoPassedStartsOver) {
  api::AdmissionCheckStatus retry{"retry", CheckState::kRetry};
  retry.retries = 2;
  api::AdmissionCheckStatus ready{"ready", CheckState::kReady};
  ready.retries = 2;
  api::AdmissionCheckStatus pending{"pending", CheckState::kPending};
  pending.retries = 2;
  const auto reset = checks_reset(State(), workload_with({retry, ready, pending}));
  EXPECT_EQ(reset[0].retries, 3);
  EXPECT_EQ(reset[1].retries, 0);
  EXPECT_EQ(reset[2], pending);
  EXPECT_EQ(reset[0].state, CheckState::kPending);
}

TEST(AdmissionChecksTest, WhatIsSaidOfTheLastTimeFitsTheField) {
  const std::string longest = std::string(kLongestMessage - 1, 'x') + "\u00f6";
  const auto reset =
      checks_reset(State(), workload_with({{"check", CheckState::kRetry, longest.substr(1)}}));
  EXPECT_EQ(reset[0].message.size(), kLongestMessage);
  EXPECT_TRUE(reset[0].message.ends_with('x'));
}

TEST(AdmissionChecksTest, PlacesAreSoughtEverMoreSlowlyForFiveMinutes) {
  const std::vector<int64_t> attempts{10, 30, 70, 150, 300};
  Time now = kFailed;
  for (const int64_t attempt : attempts) {
    const auto next = next_second_pass(kFailed, now);
    ASSERT_TRUE(next);
    EXPECT_EQ(*next, kFailed + seconds(attempt));
    now = *next;
  }
  EXPECT_FALSE(next_second_pass(kFailed, now));
}

TEST(AdmissionChecksTest, ATimeThatIsYetToComeIsNotBelieved) {
  api::Workload workload;
  EXPECT_FALSE(second_pass_failed_at(workload, kFailed));
  workload.conditions = {
      {std::string(names::kSecondPassFailed), true, "TopologyPlacementFailed", "", 1, kFailed}};
  EXPECT_EQ(second_pass_failed_at(workload, kFailed + hours(1)), kFailed);
  EXPECT_EQ(second_pass_failed_at(workload, kFailed - seconds(5)), kFailed)
      << "clocks differ a little";
  EXPECT_FALSE(second_pass_failed_at(workload, kFailed - hours(1)));
}

}  // namespace
}  // namespace phalanx::core
