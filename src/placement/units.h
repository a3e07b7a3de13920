// Which pod sets of a workload are placed together, and who leads
// (reference/placement.md section 2).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "placement/pod_set.h"

namespace phalanx::placement {

// Pod sets that are placed together, as indices into the workload.
struct Members {
  size_t workers = 0;
  std::optional<size_t> leader;
  std::vector<size_t> all;
};

// One entry for each unit, in workload order; roles are assigned.
std::vector<Members> units_of(const Workload& workload, const Options& options);

// What is wrong with a unit: more than two pod sets, or a leader of more than one pod.
std::optional<std::string> malformed(const Workload& workload, const Members& unit);

// A result for each pod set, none of them evaluated yet.
std::vector<PodSetResult> empty_results(const Workload& workload);

}  // namespace phalanx::placement
