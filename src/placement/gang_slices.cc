// The third part of GangSearch: slices that running pods have begun. A slice is whole with its
// running pods: what a lost node took away comes back into the domain where the rest of the slice
// still is.
#include <algorithm>

#include "placement/descend.h"
#include "placement/gang_search.h"

namespace phalanx::placement {

using topology::DomainRange;

GangSearch::PodsByDomain GangSearch::running_by_domain(const GangItem& item, int level) {
  const topology::DomainTree& view = tree(item.shape_tree);
  PodsByDomain pods;
  for (const auto& [node, count] : item.running) {
    if (const auto leaf = view.leaf_of(node)) {
      pods[view.ancestor(view.lowest(), *leaf, level)] += count;
    }
  }
  return pods;
}

// First what is missing of the slices that were begun, the innermost layer first, then whole ones.
std::optional<std::vector<Share>> GangSearch::complete_slices(const GangItem& item,
                                                              const GangRegion& region,
                                                              int32_t pods) {
  const topology::Attempt attempt(cluster_);
  std::vector<Share> shares;
  for (size_t layer = item.layers.size(); layer-- > 0;) {
    if (!complete_layer(item, layer, region, pods, shares)) return std::nullopt;
  }
  if (pods == 0) return shares;
  const auto rest = spread(item, region, pods);
  if (!rest) return std::nullopt;
  shares.insert(shares.end(), rest->begin(), rest->end());
  return shares;
}

bool GangSearch::complete_layer(const GangItem& item, size_t layer, const GangRegion& region,
                                int32_t& pods, std::vector<Share>& shares) {
  const topology::DomainTree& view = tree(item.shape_tree);
  const auto [level, size] = item.layers[layer];
  PodsByDomain present = running_by_domain(item, level);
  for (const Share& share : shares) {
    present[view.ancestor(view.lowest(), share.domain, level)] += share.pods;
  }
  for (const auto& [domain, count] : present) {
    const auto missing = static_cast<int32_t>((size - count % size) % size);
    if (missing == 0) continue;
    if (missing > pods) return false;
    const auto added = add_to_slice(item, layer, region, domain, missing);
    if (!added) return false;
    for (const Share& share : *added) {
      cluster_.charge(gang_.trees[item.shape_tree], share.domain, gang_.shapes[item.shape].requests,
                      share.pods);
    }
    shares.insert(shares.end(), added->begin(), added->end());
    pods -= missing;
  }
  return true;
}

// Pods for one domain of a layer, in whole slices of the layer below it. It need not find every
// way: the enumeration knows the others.
std::optional<std::vector<Share>> GangSearch::add_to_slice(const GangItem& item, size_t layer,
                                                           const GangRegion& region,
                                                           uint32_t domain, int32_t pods) {
  const topology::DomainTree& view = tree(item.shape_tree);
  const DomainRange range = view.leaves(item.layers[layer].first, domain);
  const DomainRange allowed = region[item.shape_tree];
  if (range.begin < allowed.begin || range.end > allowed.end) return std::nullopt;
  const bool innermost = layer + 1 == item.layers.size();
  const int level = item.layers[innermost ? layer : layer + 1].first;
  const int32_t size = innermost ? 1 : item.layers[layer + 1].second;
  const DomainCounts& fits = counts(item.shape, item.shape_tree);
  std::vector<Share> shares;
  const uint32_t last = view.ancestor(view.lowest(), range.end - 1, level);
  for (uint32_t part = view.ancestor(view.lowest(), range.begin, level); part <= last; ++part) {
    const int32_t room = fits.pods(level, part);
    const int32_t added = std::min(room - room % size, pods);
    if (added == 0) continue;
    const auto below = descend_from(fits, plan_anywhere(view, level, added), level, part);
    if (!below) return std::nullopt;
    shares.insert(shares.end(), below->begin(), below->end());
    pods -= added;
    if (pods == 0) return shares;
  }
  return std::nullopt;
}

}  // namespace phalanx::placement
