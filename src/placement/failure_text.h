// The one-line texts for "does not fit" that users of Kueue know (reference/placement.md 11).
// The structured account of the same "no" is placement/explanation.h.
#pragma once

#include <string>

#include "placement/choose.h"
#include "placement/domain_counts.h"
#include "placement/level_plan.h"

namespace phalanx::placement {

std::string failure_text(const topology::Cluster& cluster, const DomainCounts& counts,
                         const LevelPlan& plan, const Shortfall& shortfall);

// How many leaves each cause excludes, as the sorted list of the text: `nodeSelector: 3, ...`.
// Empty if nothing is excluded.
std::string exclusion_list(const topology::Cluster& cluster, const DomainCounts& counts);

}  // namespace phalanx::placement
