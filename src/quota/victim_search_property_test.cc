// What the choice of victims must keep, on many tiny clusters, against a brute force
// (quota/victim_testing.h).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include "quota/victim_testing.h"

namespace phalanx::quota::testing {
namespace {

const std::vector<Court>& courts() {
  static const std::vector<Court> kCourts{
      {Judgement::kReclaim, {}},
      {Judgement::kBorrow, {}},
      {Judgement::kFairSharing, {FairStrategy::kFinalShare, FairStrategy::kInitialShare}},
      {Judgement::kFairSharing, {FairStrategy::kFinalShare}},
      {Judgement::kFairSharing, {FairStrategy::kInitialShare}},
  };
  return kCourts;
}

uint32_t set_of(const Victims& victims) {
  uint32_t set = 0;
  for (const size_t index : victims.holders) set |= uint32_t{1} << index;
  return set;
}

std::string text_of(const std::optional<uint32_t>& set) {
  if (!set) return "none";
  std::vector<size_t> members;
  for (size_t i = 0; i < 32; ++i) {
    if ((*set >> i & 1U) != 0) members.push_back(i);
  }
  return fmt::format("{}", fmt::join(members, " "));
}

// Whatever the budget: allowed, sufficient, minimal, nothing changed, the same again.
std::optional<Victims> find_and_check(VictimBed& bed, VictimBruteForce& brute, const Court& court,
                                      size_t steps) {
  const std::string before = bed.state();
  auto victims = bed.find(court, steps);
  EXPECT_EQ(bed.state(), before);
  const auto again = bed.find(court, steps);
  EXPECT_EQ(bed.state(), before);
  EXPECT_EQ(victims.has_value(), again.has_value());
  if (!victims || !again) return std::nullopt;
  EXPECT_EQ(victims->holders, again->holders);
  EXPECT_EQ(victims->reasons, again->reasons);
  EXPECT_EQ(victims->reasons.size(), victims->holders.size());
  const uint32_t set = set_of(*victims);
  EXPECT_TRUE(brute.will_do(set)) << text_of(set);
  for (const size_t index : victims->holders) {
    EXPECT_FALSE(brute.will_do(set & ~(uint32_t{1} << index)))
        << index << " could stay, of " << text_of(set);
  }
  if (set != 0) EXPECT_EQ(victims->highest_priority, brute.highest_priority(set));
  return victims;
}

// More of them can be asked for while the search is being changed.
uint64_t cases() {
  const char* more = std::getenv("PHALANX_VICTIM_CASES");
  return more == nullptr ? 400 : std::strtoull(more, nullptr, 10);
}

std::string trace_of(const VictimCase& tiny, uint64_t seed, const Court& court) {
  return fmt::format("seed {} judgement {} strategies {}\n{}", seed,
                     static_cast<int>(court.judgement), court.strategies.size(), text_of(tiny));
}

TEST(VictimSearchProperty, FindsTheBestSetThereIs) {
  uint64_t found = 0;
  uint64_t none = 0;
  uint64_t several = 0;
  for (uint64_t seed = 1; seed <= cases(); ++seed) {
    const VictimCase tiny = random_victim_case(seed);
    for (const Court& court : courts()) {
      VictimBruteForce brute(tiny, court);
      VictimBed bed(tiny);
      SCOPED_TRACE(trace_of(tiny, seed, court));
      const auto victims = find_and_check(bed, brute, court, size_t{1} << 20);
      const auto best = brute.best();
      if (brute.room_is_monotone()) {
        EXPECT_EQ(text_of(victims ? std::optional(set_of(*victims)) : std::nullopt), text_of(best));
        if (victims) EXPECT_TRUE(victims->exact);
      }
      if (HasFailure()) FAIL() << "seed " << seed;
      if (best == 0U) continue;
      ++(best ? found : none);
      if (best && std::popcount(*best) > 1) ++several;
    }
  }
  // The cases are of use only as long as there are all kinds.
  EXPECT_GT(found, cases() / 2);
  EXPECT_GT(none, cases() / 2);
  EXPECT_GT(several, cases() / 4);
}

TEST(VictimSearchProperty, WithFewStepsTheLowestPriorityIsKept) {
  uint64_t questions = 0;
  uint64_t worse = 0;   // sets than the best one, of the same highest priority
  uint64_t higher = 0;  // priorities than necessary, or nobody was found
  for (uint64_t seed = 1; seed <= cases(); ++seed) {
    const VictimCase tiny = random_victim_case(seed);
    for (const Court& court : courts()) {
      VictimBruteForce brute(tiny, court);
      const auto best = brute.best();
      if (!best || *best == 0 || !brute.room_is_monotone()) continue;
      VictimBed bed(tiny);
      const int32_t lowest = brute.highest_priority(*best);
      for (const size_t steps : {0, 1, 5, 20}) {
        SCOPED_TRACE(trace_of(tiny, seed, court));
        const auto victims = find_and_check(bed, brute, court, steps);
        const bool kept = victims && victims->highest_priority == lowest;
        // Otherwise it depends on who is asked first, and to find that out takes steps.
        if (brute.all_may_go(lowest)) EXPECT_TRUE(kept);
        if (victims && set_of(*victims) != *best) EXPECT_FALSE(victims->exact);
        if (HasFailure()) FAIL() << "seed " << seed << " steps " << steps;
        ++questions;
        higher += kept ? 0 : 1;
        worse += kept && set_of(*victims) != *best ? 1 : 0;
      }
    }
  }
  EXPECT_LT(higher, questions / 100);
  EXPECT_LT(worse, questions / 5);
  EXPECT_GT(worse, 0U);
}

}  // namespace
}  // namespace phalanx::quota::testing
