#include "placement/optimal_subset.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace phalanx::placement {
namespace {

CandidateList domains(const std::vector<int32_t>& slices) {
  CandidateList list;
  for (uint32_t domain = 0; domain < slices.size(); ++domain) {
    DomainNumbers numbers;
    numbers.pods = numbers.pods_beside_leader = slices[domain];
    numbers.slices = numbers.slices_beside_leader = slices[domain];
    list.push_back({domain, numbers});
  }
  return list;
}

int64_t total(const CandidateList& list) {
  int64_t slices = 0;
  for (const Candidate& candidate : list) slices += candidate.numbers.slices;
  return slices;
}

TEST(OptimalSubset, WastesTheLeastWithTheFewestDomains) {
  // Two of them must do; 6 + 5 is exact, where the largest two waste 4.
  const auto subset = optimal_subset(domains({8, 6, 7, 5}), 11, 1, false, false);
  ASSERT_TRUE(subset);
  EXPECT_EQ(subset->size(), 2);
  EXPECT_EQ(total(*subset), 11);
}

TEST(OptimalSubset, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(optimal_subset(domains({3, 4}), 8, 1, false, false));
}

// Exactly solved, this takes minutes: so many sums are possible.
TEST(OptimalSubset, ManyDomainsThatAllDifferAreAnsweredAnyway) {
  std::vector<int32_t> sizes;
  for (int32_t domain = 0; domain < 2000; ++domain) sizes.push_back(1000 + domain * 7919 % 2000);
  const CandidateList list = domains(sizes);
  const int32_t wanted = 1'000'001;
  const auto subset = optimal_subset(list, wanted, 1, false, false);
  ASSERT_TRUE(subset);
  EXPECT_EQ(subset->size(), greedy_fit(list, wanted, false, false)->domains);
  EXPECT_GE(total(*subset), wanted);
  EXPECT_TRUE(std::ranges::is_sorted(*subset, {}, &Candidate::domain));
}

}  // namespace
}  // namespace phalanx::placement
