// Phase 2, first half: at which level, and in which of its domains, the pods go
// (reference/placement.md 7.1).
#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "placement/domain_counts.h"
#include "placement/level_plan.h"

namespace phalanx::placement {

struct Choice {
  int level = 0;
  std::vector<uint32_t> domains;  // in the order taken
};

// Nothing fits: how many slices would, and at which level the search ended.
struct Shortfall {
  int level = 0;
  int32_t fits = 0;
  bool no_domains = false;  // the level has none at all
};

std::expected<Choice, Shortfall> choose(const DomainCounts& counts, const LevelPlan& plan);

// The same by explicit sorting, which requests with scores need; every other kind must come out the
// same either way (a test compares both).
std::expected<Choice, Shortfall> choose_by_sorting(const DomainCounts& counts,
                                                   const LevelPlan& plan);

}  // namespace phalanx::placement
