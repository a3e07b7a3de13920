// All pod sets of a workload searched together: an earlier one gives way where a later one would
// not fit otherwise. Exact within the gang search's step budget (placement/gang.h).
#pragma once

#include <optional>
#include <vector>

#include "placement/pod_set.h"
#include "topology/cluster.h"

namespace phalanx::placement {

// nullopt if there is no placement of all of them, or none was found within the budget.
std::optional<std::vector<PodSetResult>> place_jointly(topology::Cluster& cluster, TreeId tree,
                                                       const Workload& workload,
                                                       const Options& options);

}  // namespace phalanx::placement
