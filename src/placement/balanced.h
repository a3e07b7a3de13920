// Balanced placement: as few domains as possible, filled as evenly as possible
// (KEP-2724, "Balanced placement"; reference/placement.md section 8).
//
// Applies to preferred requests. Of all places where the request fits it takes the one whose
// fullest-possible minimum share T is largest; cuts away everything that cannot hold T slices;
// picks the smallest sufficient set of domains with the least waste; and gives each T slices, the
// extras to the first that hold them. Any obstacle means: no answer, and the ordinary algorithm
// goes on with the untouched numbers.
#pragma once

#include <optional>
#include <vector>

#include "placement/domain_counts.h"
#include "placement/level_plan.h"
#include "placement/take.h"

namespace phalanx::placement {

std::optional<std::vector<Share>> place_balanced(const DomainCounts& counts, const LevelPlan& plan);

}  // namespace phalanx::placement
