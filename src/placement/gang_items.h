// A gang tree resolved against the cluster: names turned to indices, every rule checked. What the
// search (placement/gang_search.h) works on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/domain_counts.h"
#include "placement/gang.h"

namespace phalanx::placement {

using SliceLayers = std::vector<std::pair<int, int32_t>>;  // level, size; coarsest first

// One group or pod set.
struct GangItem {
  std::string path;
  int parent = -1;
  std::vector<int> children;  // in the order they are to be served: hardest first
  bool is_leaf = false;

  int tree = -1;  // index of the topology its constraint is about; -1: no constraint
  int required = -1;
  int preferred = -1;
  int32_t min_children = 0;
  int64_t min_pods = 0;
  bool pods_counted = false;  // this or a group above has a minimum of pods

  // Leaves only.
  int shape = -1;
  int shape_tree = 0;   // the topology its slices and its spreading go by
  int32_t full = 0;     // new pods for the whole count
  int32_t minimum = 0;  // new pods for the minimum
  int32_t wanted = 0;   // count
  int32_t running_pods = 0;
  SliceLayers layers;
  int sliced = -1;  // index of the counts that know the slices
  std::map<NodeId, int32_t> running;

  [[nodiscard]] int32_t unit() const { return layers.empty() ? 1 : layers[0].second; }
  // Running pods may have left slices that are not whole.
  [[nodiscard]] bool slices_begun() const { return !layers.empty() && !running.empty(); }
};

// Pods that look alike to the capacity account.
struct GangShape {
  topology::RequestVector requests;
  std::vector<NodePredicates> predicates;             // all of them hold
  std::vector<std::unique_ptr<DomainCounts>> counts;  // by topology; plain pods, no slices
};

// The counts of a shape in slices.
struct SlicedShape {
  int shape = 0;
  int tree = 0;
  SliceLayers layers;
  std::unique_ptr<DomainCounts> counts;
};

struct GangItems {
  std::vector<TreeId> trees;
  std::vector<GangItem> items;  // [0] is the root; parents before children
  std::vector<GangShape> shapes;
  std::vector<SlicedShape> sliced;
  // If there are several shapes: the least that any of them asks for, anywhere. So many pods of the
  // gang cannot fit where not even as many of these do.
  std::optional<GangShape> floor;
  bool elastic = false;  // there is a minimum below the whole
  std::vector<std::string> remarks;
};

// What the predicates of a shape leave of a topology.
std::shared_ptr<const NodeFilter> filter_of(
    const topology::Cluster& cluster, const topology::DomainTree& tree, const GangShape& shape,
    std::optional<topology::DomainRange> confinement = std::nullopt);
// By level: the size of the layer inside the coarsest that covers it; 0 where none does.
std::vector<int32_t> inner_sizes(const topology::DomainTree& tree, const SliceLayers& layers);
CountedShape counted_shape(const topology::DomainTree& tree, topology::RequestVector requests,
                           const SliceLayers& layers);

Result<GangItems> resolve_gang(topology::Cluster& cluster,
                               const std::vector<std::pair<std::string, TreeId>>& topologies,
                               const Gang& gang);

}  // namespace phalanx::placement
