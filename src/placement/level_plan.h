// A topology request read against the levels of one tree: which level is searched, what a slice
// is, which algorithm applies (reference/placement.md section 3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "placement/pod_set.h"
#include "topology/domain_tree.h"

namespace phalanx::placement {

struct LevelPlan {
  int32_t count = 0;        // pods to place
  int level = 0;            // requested level: where the search starts
  int slice_level = 0;      // each slice stays inside one domain of this level
  int32_t slice_size = 1;   // pods
  int32_t slices = 0;       // count / slice_size
  bool required = false;    // all in one domain of `level`
  bool anywhere = false;    // unconstrained, implicit or slice-only: no wish beyond the slices
  bool least_free = false;  // fill the domains with the least free capacity first
  bool balanced = false;    // try balanced placement first
  // By level: the size of the inner slice layer that covers the level; 0 where none does.
  std::vector<int32_t> inner_size;
  std::vector<api::SliceConstraint> constraints;

  [[nodiscard]] std::string_view unit() const { return slice_size == 1 ? "pod" : "slice"; }
};

// So many pods, from a level down wherever they fit best.
LevelPlan plan_anywhere(const topology::DomainTree& tree, int level, int32_t pods);

// `count` pods of a pod set; the error is the text that the user sees. `required: auto` must have
// been replaced by a level before (placement/placer.cc).
Result<LevelPlan> plan_levels(const topology::DomainTree& tree,
                              const std::optional<api::TopologyRequest>& request, int32_t count,
                              const Options& options);

}  // namespace phalanx::placement
