// Ranks and slices of a pod set that is placed by host, and where hosts are as far as these care.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ranked_places.h"
#include "core/state.h"

namespace phalanx::core {

// The rank that a pod says it has; nullopt: none.
std::optional<int64_t> rank_of(const Pod& pod, const api::WorkloadPodSet& pod_set);

// The ranks of a pod set that are done for good, in order: nobody comes back to their places. Empty
// where pods have no ranks of their own and may come back anywhere.
std::vector<int32_t> done_ranks(const State& state, const WorkloadState& workload, size_t pod_set);

// Pods of a slice of each layer, the coarsest first.
std::vector<int64_t> slice_sizes(const api::WorkloadPodSet& pod_set);

// The levels of the topology that an admitted pod set is placed in, the highest first.
std::vector<std::string> slice_levels(const State& state, const WorkloadState& workload,
                                      size_t pod_set);

// The domain of each layer that a host is in. A domain is its whole path: two racks of different
// blocks may have the same name.
std::vector<std::string> domains_of_layers(const State& state, const api::WorkloadPodSet& pod_set,
                                           const std::vector<std::string>& levels,
                                           const std::string& host);

}  // namespace phalanx::core
