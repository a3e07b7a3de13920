// Which of some domains to use: the fewest that hold the request, and among those the ones that
// waste the least room (reference/placement.md 8, greedy, and 8.2).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/take.h"

namespace phalanx::placement {

// How far a greedy walk from the largest domain downwards gets.
struct GreedyFit {
  int32_t domains = 0;  // used
  std::optional<DomainNumbers> last_leader;
  std::optional<DomainNumbers> last_other;
};
// nullopt if the slices (and the leader, if there is one) do not fit.
// The same for bare sizes: without leader and scores it does not matter whose they are.
std::optional<GreedyFit> greedy_fit(std::span<const int32_t> sizes, int32_t slices);
std::optional<GreedyFit> greedy_fit(const CandidateList& list, int32_t slices, bool leader,
                                    bool scored);

// The subset, in list order; nullopt if none of the greedy walk's size holds everything. The search
// is bounded: past that it is the greedy walk's own subset.
std::optional<CandidateList> optimal_subset(const CandidateList& list, int32_t slices,
                                            int32_t slice_size, bool leader, bool scored);

}  // namespace phalanx::placement
