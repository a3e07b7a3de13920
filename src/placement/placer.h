// Places a whole workload: pod sets in order, groups of leader and workers as one, each seeing what
// the earlier ones took; or replaces failed nodes, or resizes
// (reference/placement.md sections 2, 9 and 10).
#pragma once

#include <vector>

#include "placement/pod_set.h"
#include "placement/unit_placer.h"
#include "topology/cluster.h"

namespace phalanx::placement {

class Placer {
 public:
  explicit Placer(topology::Cluster& cluster) : cluster_(cluster), units_(cluster) {}

  // One result for each pod set, in workload order. The cluster is unchanged afterwards.
  std::vector<PodSetResult> place(TreeId tree, const Workload& workload, const Options& options);

  UnitPlacer& units() { return units_; }

 private:
  std::vector<PodSetResult> place_in_order(TreeId tree, const Workload& workload,
                                           const Options& options);
  std::vector<PodSetResult> replace_failed_nodes(TreeId tree, const Workload& workload,
                                                 const Options& options);

  topology::Cluster& cluster_;
  UnitPlacer units_;
};

}  // namespace phalanx::placement
