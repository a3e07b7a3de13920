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
  LevelPlan plan;
  plan.count = pods;
  plan.level = std::max(level, 0);
  plan.slice_level = tree.lowest();
  plan.inner_size.assign(tree.level_count(), 0);
  plan.anywhere = true;
  // Inside a domain narrower than the slices there is nothing left of them to heed.
  if (!item.layers.empty() && level <= item.layers[0].first) {
    plan.slice_level = item.layers[0].first;
    plan.slice_size = item.unit();
    for (size_t layer = 1; layer < item.layers.size(); ++layer) {
      for (int k = item.layers[layer - 1].first + 1; k <= item.layers[layer].first; ++k) {
        plan.inner_size[k] = item.layers[layer].second;
      }
    }
  }
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
  CandidateList chosen;
  for (const uint32_t domain : choice->domains) {
    chosen.push_back({domain, fits.numbers(choice->level, domain)});
  }
  return descend(fits, plan, choice->level, chosen, /*keep_shares=*/false);
}

std::optional<std::vector<Share>> GangSearch::inside(const GangItem& item, int level,
                                                     uint32_t domain, int32_t pods) {
  const bool below_slices = !item.layers.empty() && level > item.layers[0].first;
  const DomainCounts& fits = below_slices ? counts(item.shape, item.shape_tree) : leaf_counts(item);
  const LevelPlan plan = plan_for(item, tree(item.shape_tree), level, pods);
  return descend(fits, plan, level, {{domain, fits.numbers(level, domain)}},
                 /*keep_shares=*/false);
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

// The cells that pods are counted in, and the choice made so far. If all pods of the gang are alike
// only the counts in the narrowest domains that a constraint speaks of matter; otherwise the nodes.
struct GangSearch::Enumeration {
  const Task& task;
  const GangRegion& region;
  int level;
  std::vector<uint32_t> cells;
  std::vector<int32_t> room;
  std::vector<std::pair<uint32_t, uint32_t>> kind;  // parent and class; equal: interchangeable
  std::vector<int64_t> room_from;                   // of this cell and all after it
  std::vector<std::pair<size_t, int32_t>> taken;    // cell index, pods
};

bool GangSearch::enumerate(const Task& task, const GangRegion& region, int32_t pods) {
  // Without anything left to place another distribution changes nothing.
  const Task* later = task.next;
  while (later != nullptr && later->close) later = later->next;
  const GangItem& item = gang_.items[task.item];
  const bool spread_narrower = region.size() > 1;  // the first distribution may not exist
  if (later == nullptr && item.layers.empty() && !spread_narrower) return false;

  const topology::DomainTree& view = tree(item.shape_tree);
  Enumeration e{task, region, cell_level_ >= 0 ? cell_level_ : view.lowest(), {}, {}, {}, {}, {}};
  const DomainCounts& fits = counts(item.shape, item.shape_tree);
  const DomainRange range = region[item.shape_tree];
  if (range.size() == 0) return false;
  const uint32_t first = view.ancestor(view.lowest(), range.begin, e.level);
  const uint32_t last = view.ancestor(view.lowest(), range.end - 1, e.level);
  const bool whole_cells = contains_cells(e.level, first, last, item.shape_tree, range);
  if (!whole_cells) return false;  // the region is narrower than a cell: nothing to choose
  look(last - first + 1);
  for (uint32_t cell = first; cell <= last; ++cell) {
    int32_t room = fits.pods(e.level, cell);
    if (e.level == view.lowest() && !in_all_parts(item.shape_tree, cell, region)) room = 0;
    if (room == 0) continue;
    e.cells.push_back(cell);
    e.room.push_back(room);
  }
  if (symmetry_) sort_alike(e, view);
  e.room_from.assign(e.cells.size() + 1, 0);
  for (size_t index = e.cells.size(); index-- > 0;) {
    e.room_from[index] = e.room_from[index + 1] + e.room[index];
  }
  return enumerate_from(e, 0, pods);
}

bool GangSearch::enumerate_from(Enumeration& e, size_t cell, int32_t remaining) {
  const GangItem& item = gang_.items[e.task.item];
  if (remaining == 0) {
    if (!slices_whole(e, std::nullopt)) return false;
    std::vector<Share> shares;
    for (const auto& [index, pods] : e.taken) {
      if (e.level == tree(item.shape_tree).lowest()) {
        shares.push_back({e.cells[index], pods, 0});
        continue;
      }
      const DomainCounts& fits = counts(item.shape, item.shape_tree);
      GangItem plain;  // the slices are settled: e.level is the narrowest of them
      plain.shape_tree = item.shape_tree;
      const LevelPlan plan = plan_for(plain, tree(item.shape_tree), e.level, pods);
      const auto below = descend(fits, plan, e.level,
                                 {{e.cells[index], fits.numbers(e.level, e.cells[index])}}, false);
      if (!below) return false;
      shares.insert(shares.end(), below->begin(), below->end());
    }
    return apply(e.task, shares);
  }
  for (size_t index = cell; index < e.cells.size(); ++index) {
    if (e.room_from[index] < remaining) return false;
    // Of cells that are alike only the first unused one is worth a try.
    const bool twin = index > 0 && !e.kind.empty() && e.kind[index - 1] == e.kind[index];
    const bool twin_taken = !e.taken.empty() && e.taken.back().first == index - 1;
    if (twin && !twin_taken && index > cell) continue;
    if (!slices_whole(e, e.cells[index])) return false;
    int32_t most = std::min(e.room[index], remaining);
    if (twin && twin_taken) most = std::min(most, e.taken.back().second);
    for (int32_t pods = most; pods > 0; --pods) {
      if (!spend()) return false;
      e.taken.emplace_back(index, pods);
      const bool done = enumerate_from(e, index + 1, remaining - pods);
      if (done) return true;
      e.taken.pop_back();
    }
  }
  return false;
}

// Whether the slices in all domains that were left behind are whole, running pods included; `next`
// is the next cell, so that its own domains are still open.
bool GangSearch::slices_whole(const Enumeration& e, std::optional<uint32_t> next) {
  const GangItem& item = gang_.items[e.task.item];
  const topology::DomainTree& view = tree(item.shape_tree);
  for (const auto& [level, size] : item.layers) {
    const PodsByDomain running = running_by_domain(item, level);
    PodsByDomain sums = next ? PodsByDomain() : running;
    for (const auto& [index, pods] : e.taken) {
      const uint32_t domain = view.ancestor(e.level, e.cells[index], level);
      const auto [sum, is_new] = sums.try_emplace(domain, 0);
      const auto here = is_new ? running.find(domain) : running.end();
      sum->second += pods + (here == running.end() ? 0 : here->second);
    }
    for (const auto& [domain, pods] : sums) {
      const bool open = next && view.ancestor(e.level, *next, level) == domain;
      if (!open && pods % size != 0) return false;
    }
  }
  return true;
}

// Brings cells that are alike next to one another, within their parents.
void GangSearch::sort_alike(Enumeration& e, const topology::DomainTree& view) {
  look(symmetry_->refresh());
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t, int32_t>> order;
  for (size_t index = 0; index < e.cells.size(); ++index) {
    const uint32_t cell = e.cells[index];
    order.emplace_back(e.level == 0 ? 0 : view.parent(e.level, cell),
                       symmetry_->domain_class(e.level, cell), cell, e.room[index]);
  }
  std::ranges::sort(order);
  for (size_t index = 0; index < order.size(); ++index) {
    e.cells[index] = std::get<2>(order[index]);
    e.room[index] = std::get<3>(order[index]);
    e.kind.emplace_back(std::get<0>(order[index]), std::get<1>(order[index]));
  }
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
