// The second half of GangSearch: how the pods of one pod set are spread over the nodes of its
// region, first the way the reference would, then every other way that matters.
#include <algorithm>
#include <tuple>

#include "placement/choose.h"
#include "placement/descend.h"
#include "placement/gang_search.h"

namespace phalanx::placement {
namespace {

using topology::DomainRange;

// The plan of a pod set for the reference's descent: best fit, no wish but the slices.
LevelPlan plan_for(const GangItem& item, const topology::DomainTree& tree, int level,
                   int32_t pods) {
  LevelPlan plan = plan_anywhere(tree, std::max(level, 0), pods);
  // Inside a domain narrower than the slices there is nothing left of them to heed.
  if (item.layers.empty() || level > item.layers[0].first) return plan;
  plan.slice_level = item.layers[0].first;
  plan.slice_size = item.unit();
  plan.inner_size = inner_sizes(tree, item.layers);
  plan.slices = pods / plan.slice_size;
  return plan;
}

}  // namespace

bool GangSearch::distribute(const Task& task, const GangRegion& region) {
  const GangItem& item = gang_.items[task.item];
  if (target_ == Target::kFull) return distribute_count(task, region, item.full);
  if (!item.pods_counted && !item.slices_begun()) {
    return distribute_count(task, region, item.minimum);
  }
  // A minimum of pods further up may need more of this pod set than its own minimum, and so may
  // slices that are to be completed.
  const int64_t too_many = item.full - pods_in(gang_.shapes[item.shape], region);
  int64_t pods = item.full;
  if (too_many > 0) pods -= (too_many + item.unit() - 1) / item.unit() * item.unit();
  for (; pods >= item.minimum; pods -= item.unit()) {
    if (out_of_budget()) return false;
    if (distribute_count(task, region, static_cast<int32_t>(pods))) return true;
  }
  if (pods == item.full) note_obstacle(task.item, item.minimum, region);
  // The steps may have passed over "nothing new", which leaves slices as they are.
  const bool passed_over = item.minimum == 0 && pods + item.unit() != 0;
  return passed_over && distribute_count(task, region, 0);
}

bool GangSearch::distribute_count(const Task& task, const GangRegion& region, int32_t pods) {
  if (pods == 0) return apply(task, {});
  const GangItem& item = gang_.items[task.item];
  if (pods_in(gang_.shapes[item.shape], region) < pods) {
    note_obstacle(task.item, pods, region);
    return false;
  }
  if (const auto shares = first_distribution(item, region, pods)) {
    if (apply(task, *shares)) return true;
  }
  if (enumerate(task, region, pods)) return true;
  note_obstacle(task.item, pods, region);
  return false;
}

// Charges the pods and goes on with the agenda; undone if that leads nowhere.
bool GangSearch::apply(const Task& task, const std::vector<Share>& shares) {
  const GangItem& item = gang_.items[task.item];
  const topology::Attempt attempt(cluster_);
  look(static_cast<int64_t>(shares.size()));
  int64_t pods = 0;
  for (const Share& share : shares) {
    cluster_.charge(gang_.trees[item.shape_tree], share.domain, gang_.shapes[item.shape].requests,
                    share.pods);
    pods += share.pods;
  }
  pods_[task.item] = shares;
  if (++depth_ > deepest_) {
    deepest_ = depth_;
    look_budget_ += kSweepsPerPodSet * tree(item.shape_tree).leaf_count();
  }
  for (int group = task.item; group >= 0; group = gang_.items[group].parent) {
    pod_count_[group] += pods;
  }
  if (step(task.next)) return true;
  for (int group = task.item; group >= 0; group = gang_.items[group].parent) {
    pod_count_[group] -= pods;
  }
  --depth_;
  pods_[task.item].clear();
  return false;
}

std::optional<std::vector<Share>> GangSearch::first_distribution(const GangItem& item,
                                                                 const GangRegion& region,
                                                                 int32_t pods) {
  return item.slices_begun() ? complete_slices(item, region, pods) : spread(item, region, pods);
}

std::optional<std::vector<Share>> GangSearch::spread(const GangItem& item, const GangRegion& region,
                                                     int32_t pods) {
  const topology::DomainTree& view = tree(item.shape_tree);
  for (size_t index = 0; index < region.size(); ++index) {
    const bool narrowed = region[index].size() < tree(static_cast<int>(index)).leaf_count();
    if (narrowed && static_cast<int>(index) != item.shape_tree) return std::nullopt;
  }
  const DomainRange range = region[item.shape_tree];
  look(range.size() / 8 + 1);
  const auto here = as_domain(item.shape_tree, range);
  // A group whose preferred level is narrower than its region fills those domains one by one.
  for (int group = static_cast<int>(&item - gang_.items.data()); group >= 0;
       group = gang_.items[group].parent) {
    const GangItem& above = gang_.items[group];
    if (above.preferred < 0 || above.tree != item.shape_tree) continue;
    if (above.preferred <= (here ? here->first : -1)) break;
    if (!item.layers.empty() && above.preferred > item.layers[0].first) break;
    return by_preferred_level(item, group, above.preferred, range, pods);
  }
  if (here) return inside(item, here->first, here->second, pods);
  const DomainCounts& fits = leaf_counts(item);
  const LevelPlan plan = plan_for(item, view, 0, pods);
  const auto choice = choose(fits, plan);
  if (!choice) return std::nullopt;
  return descend(fits, plan, *choice);
}

std::optional<std::vector<Share>> GangSearch::inside(const GangItem& item, int level,
                                                     uint32_t domain, int32_t pods) {
  const bool below_slices = !item.layers.empty() && level > item.layers[0].first;
  const DomainCounts& fits = below_slices ? counts(item.shape, item.shape_tree) : leaf_counts(item);
  const LevelPlan plan = plan_for(item, tree(item.shape_tree), level, pods);
  return descend_from(fits, plan, level, domain);
}

// Domains of the preferred level that the group uses already come first, then the freest: the group
// ends up in as few of them as possible.
std::optional<std::vector<Share>> GangSearch::by_preferred_level(const GangItem& item, int group,
                                                                 int level, DomainRange range,
                                                                 int32_t pods) {
  const topology::DomainTree& view = tree(item.shape_tree);
  std::map<uint32_t, int64_t> used;
  for (size_t index = 0; index < gang_.items.size(); ++index) {
    const GangItem& other = gang_.items[index];
    if (!other.is_leaf || other.shape_tree != item.shape_tree) continue;
    int above = static_cast<int>(index);
    while (above >= 0 && above != group) above = gang_.items[above].parent;
    if (above != group) continue;
    for (const Share& share : pods_[index]) {
      used[view.ancestor(view.lowest(), share.domain, level)] += share.pods;
    }
    for (const auto& [node, count] : other.running) {
      if (const auto leaf = view.leaf_of(node)) {
        used[view.ancestor(view.lowest(), *leaf, level)] += count;
      }
    }
  }
  const DomainCounts& fits = leaf_counts(item);
  std::vector<std::tuple<int64_t, int64_t, int64_t, uint32_t>> order;
  const uint32_t first = view.ancestor(view.lowest(), range.begin, level);
  const uint32_t last = view.ancestor(view.lowest(), range.end - 1, level);
  for (uint32_t domain = first; domain <= last; ++domain) {
    const auto known = used.find(domain);
    order.emplace_back(known == used.end() ? 0 : -known->second, -fits.numbers(level, domain).score,
                       -fits.slices(level, domain), domain);
  }
  std::ranges::sort(order);
  std::vector<Share> shares;
  for (const auto& [in_use, score, free, domain] : order) {
    const auto room = static_cast<int64_t>(fits.slices(level, domain)) * item.unit();
    const auto part = static_cast<int32_t>(std::min<int64_t>(room, pods));
    if (part == 0) continue;
    const auto below = inside(item, level, domain, part);
    if (!below) return std::nullopt;
    shares.insert(shares.end(), below->begin(), below->end());
    pods -= part;
    if (pods == 0) break;
  }
  if (pods > 0) return std::nullopt;
  return shares;
}

// ---- Every other distribution

bool GangSearch::enumerate(const Task& task, const GangRegion& region, int32_t pods) {
  // Without anything left to place another distribution changes nothing.
  const Task* later = task.next;
  while (later != nullptr && later->close) later = later->next;
  const GangItem& item = gang_.items[task.item];
  const bool spread_narrower = region.size() > 1;  // the first distribution may not exist
  if (later == nullptr && item.layers.empty() && !spread_narrower) return false;

  // If all pods of the gang are alike only the counts in the narrowest domains that a constraint
  // speaks of matter; otherwise the nodes.
  const int level = cell_level_ >= 0 ? cell_level_ : tree(item.shape_tree).lowest();
  std::vector<PodDistributions::Cell> cells = cells_of(item, region, level);
  std::vector<PodDistributions::Layer> layers = layers_of(item, level, cells);
  PodDistributions distributions(std::move(cells), std::move(layers), pods);
  while (distributions.next([this] { return spend(); })) {
    const auto shares = shares_of(item, level, distributions);
    if (shares && apply(task, *shares)) return true;
  }
  return false;
}

// The domains of the level that have room, those that are alike next to one another within their
// parents. None if the region is narrower than such a domain: then there is nothing to choose.
std::vector<PodDistributions::Cell> GangSearch::cells_of(const GangItem& item,
                                                         const GangRegion& region, int level) {
  std::vector<PodDistributions::Cell> cells;
  const topology::DomainTree& view = tree(item.shape_tree);
  const DomainRange range = region[item.shape_tree];
  if (range.size() == 0) return cells;
  const uint32_t first = view.ancestor(view.lowest(), range.begin, level);
  const uint32_t last = view.ancestor(view.lowest(), range.end - 1, level);
  if (!contains_cells(level, first, last, item.shape_tree, range)) return cells;
  look(last - first + 1);
  const DomainCounts& fits = counts(item.shape, item.shape_tree);
  if (symmetry_) look(symmetry_->refresh());
  for (uint32_t cell = first; cell <= last; ++cell) {
    const int32_t room = fits.pods(level, cell);
    if (room == 0) continue;
    if (level == view.lowest() && !in_all_parts(item.shape_tree, cell, region)) continue;
    const uint64_t parent = level == 0 ? 0 : view.parent(level, cell);
    // Without symmetry every cell is a kind of its own.
    cells.push_back(
        {cell, room, symmetry_ ? parent << 32 | symmetry_->domain_class(level, cell) : cell});
  }
  std::ranges::sort(cells, {}, [](const auto& cell) { return std::pair(cell.kind, cell.domain); });
  return cells;
}

std::vector<PodDistributions::Layer> GangSearch::layers_of(
    const GangItem& item, int level, const std::vector<PodDistributions::Cell>& cells) {
  std::vector<PodDistributions::Layer> layers;
  for (const auto& [layer_level, size] : item.layers) {
    PodDistributions::Layer layer{size, {}, running_by_domain(item, layer_level)};
    for (const PodDistributions::Cell& cell : cells) {
      layer.domains.push_back(tree(item.shape_tree).ancestor(level, cell.domain, layer_level));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

// From the cells down to the nodes.
std::optional<std::vector<Share>> GangSearch::shares_of(const GangItem& item, int level,
                                                        const PodDistributions& distributions) {
  const topology::DomainTree& view = tree(item.shape_tree);
  const DomainCounts& fits = counts(item.shape, item.shape_tree);
  std::vector<Share> shares;
  for (const PodDistributions::Part& part : distributions.parts()) {
    const uint32_t cell = distributions.cell(part).domain;
    if (level == view.lowest()) {
      shares.push_back({cell, part.pods, 0});
      continue;
    }
    // The slices are settled: no layer of them is below the cells.
    const auto below = descend_from(fits, plan_anywhere(view, level, part.pods), level, cell);
    if (!below) return std::nullopt;
    shares.insert(shares.end(), below->begin(), below->end());
  }
  return shares;
}

// Whether the range consists of the whole cells [first, last].
bool GangSearch::contains_cells(int level, uint32_t first, uint32_t last, int tree_index,
                                DomainRange range) {
  const topology::DomainTree& view = tree(tree_index);
  return view.leaves(level, first).begin == range.begin &&
         view.leaves(level, last).end == range.end;
}

bool GangSearch::in_all_parts(int tree_index, uint32_t leaf, const GangRegion& region) {
  const topology::DomainTree& view = tree(tree_index);
  for (size_t index = 0; index < region.size(); ++index) {
    if (static_cast<int>(index) == tree_index) continue;
    if (region[index].size() == tree(static_cast<int>(index)).leaf_count()) continue;
    const auto other = tree(static_cast<int>(index)).leaf_of(view.leaf_node(leaf));
    if (!other || *other < region[index].begin || *other >= region[index].end) return false;
  }
  return true;
}

std::optional<std::vector<Share>> GangSearch::grow(int index, const GangRegion& region,
                                                   int32_t pods, bool begun) {
  const GangItem& item = gang_.items[index];
  if (pods_in(gang_.shapes[item.shape], region) < pods) return std::nullopt;
  return begun ? spread(item, region, pods) : first_distribution(item, region, pods);
}

}  // namespace phalanx::placement
