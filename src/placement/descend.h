// Phase 2, second half: from the chosen domains down to the leaves (reference/placement.md 7.2).
#pragma once

#include <optional>
#include <vector>

#include "placement/choose.h"
#include "placement/domain_counts.h"
#include "placement/level_plan.h"
#include "placement/take.h"

namespace phalanx::placement {

// Hands the pods out over `chosen` (domains of `level`, in order) and on to the leaves.
//
// Above the slice level the children of all domains are pooled, unless `keep_shares` (balanced
// placement) makes every domain keep what it was given. Below it each domain hands its own share to
// its own children. nullopt if the pods do not find room on the way, which only balanced placement
// can cause.
std::optional<std::vector<Share>> descend(const DomainCounts& counts, const LevelPlan& plan,
                                          int level, const CandidateList& chosen, bool keep_shares);

// From what choose() found.
std::optional<std::vector<Share>> descend(const DomainCounts& counts, const LevelPlan& plan,
                                          const Choice& choice);
// From one domain, which holds them all.
std::optional<std::vector<Share>> descend_from(const DomainCounts& counts, const LevelPlan& plan,
                                               int level, uint32_t domain);

}  // namespace phalanx::placement
