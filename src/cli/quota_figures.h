// What a workload that waits needs of a flavor's quota, and who has it: figures that add up to the
// core's "no".
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "core/core.h"

namespace phalanx::cli {

// One resource of one flavor, for all pods of the pod set that found no place.
struct QuotaFigures {
  using Shares = std::vector<std::pair<std::string, int64_t>>;

  std::string resource;
  int64_t needed = 0;
  std::optional<int64_t> least;  // of one that is content with fewer pods
  int64_t used = 0;              // by its queue
  int64_t nominal = 0;
  int64_t available = 0;  // what it could still get, of its own quota or borrowed
  std::string cohort;     // empty: there is nobody to borrow from
  Shares borrowed_by;     // other queues of the cohort tree, if they have what is its queue's own
  Shares held_for;        // workloads with a place that is held, if too little is left beside them

  [[nodiscard]] int64_t wanted() const { return least.value_or(needed); }
  [[nodiscard]] int64_t own_left() const { return std::max<int64_t>(0, nominal - used); }
  [[nodiscard]] int64_t missing() const { return wanted() - available; }
};

std::vector<QuotaFigures> quota_figures(core::Core& core, const core::WorkloadState& workload,
                                        size_t pod_set, const api::ClusterQueue& queue,
                                        const std::string& flavor);

std::string figures_text(const QuotaFigures& figures);
json::object figures_json(const QuotaFigures& figures);

}  // namespace phalanx::cli
