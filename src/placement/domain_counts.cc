#include "placement/domain_counts.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/saturating.h"

namespace phalanx::placement {
namespace {

constexpr int32_t kMaxCount = std::numeric_limits<int32_t>::max();
// Columns are visited block by block, so that what is counted stays in the nearest cache.
constexpr uint32_t kBlock = 2048;

int32_t clamp(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, 0, kMaxCount));
}

int64_t capacity(const topology::DomainTree& tree, ResourceId resource, uint32_t leaf,
                 bool simulate_empty) {
  const auto free = tree.free(resource);
  int64_t result = free.empty() ? 0 : free[leaf];
  if (simulate_empty) {
    const auto used = tree.used(resource);
    if (!used.empty()) result = saturating_add(result, used[leaf]);
  }
  return result;
}

// Lowers each of pods[begin, end) to what the column allows.
void lower_to_column(int32_t* pods, const int64_t* column, uint32_t begin, uint32_t end,
                     int64_t amount) {
  if (amount == 1) {
    for (uint32_t leaf = begin; leaf < end; ++leaf) {
      const int64_t fit = std::max<int64_t>(column[leaf], 0);
      pods[leaf] = static_cast<int32_t>(std::min<int64_t>(pods[leaf], fit));
    }
    return;
  }
  const Divisor divisor(amount);
  for (uint32_t leaf = begin; leaf < end; ++leaf) {
    pods[leaf] = static_cast<int32_t>(std::min<int64_t>(pods[leaf], divisor.divide(column[leaf])));
  }
}

// Lowers each of beside[0, size) to what the column allows once `taken` is gone from every leaf
// that `fits` marks. Most leaves lose nothing, which a multiplication tells without a branch: only
// the groups in which one does are divided.
void lower_beside_leader(int32_t* beside, const int64_t* column, const int64_t* fits, uint32_t size,
                         int64_t taken, int64_t amount) {
  constexpr uint32_t kGroup = 16;
  const Divisor divisor(amount);
  for (uint32_t begin = 0; begin < size; begin += kGroup) {
    const uint32_t end = std::min(begin + kGroup, size);
    // Neither can overflow: a marked leaf holds at least `taken`, and every leaf its pods.
    int64_t lost = 0;
    for (uint32_t index = begin; index < end; ++index) {
      lost |= column[index] - (fits[index] & taken) - beside[index] * amount;
    }
    if (lost >= 0) continue;
    for (uint32_t index = begin; index < end; ++index) {
      const int64_t left = column[index] - (fits[index] & taken);
      beside[index] = static_cast<int32_t>(std::min<int64_t>(beside[index], divisor.divide(left)));
    }
  }
}

void divide_column(const std::vector<int32_t>& pods, int32_t size, std::vector<int32_t>& slices) {
  if (size == 1) {
    slices = pods;
    return;
  }
  const Divisor divisor(size);
  for (size_t index = 0; index < pods.size(); ++index) {
    slices[index] = static_cast<int32_t>(divisor.divide(pods[index]));
  }
}

}  // namespace

LeafFit fit_in_leaf(const topology::DomainTree& tree, uint32_t leaf,
                    const topology::RequestVector& request, bool simulate_empty) {
  LeafFit fit{kMaxCount, {}};
  for (const topology::Request& need : request) {
    if (need.amount <= 0) continue;
    const int64_t pods = capacity(tree, need.resource, leaf, simulate_empty) / need.amount;
    if (!fit.limiting.valid() || clamp(pods) < fit.pods) fit = {clamp(pods), need.resource};
  }
  return fit;
}

DomainCounts::DomainCounts(const topology::DomainTree& tree, CountedShape shape,
                           std::shared_ptr<const NodeFilter> filter,
                           std::shared_ptr<const NodeFilter> leader_filter)
    : tree_(&tree),
      shape_(std::move(shape)),
      filter_(std::move(filter)),
      leader_filter_(std::move(leader_filter)),
      slices_are_pods_(shape_.slice_size == 1 && shape_.slice_level == tree.lowest()),
      has_scores_(!filter_->scores().empty()),
      levels_(tree.level_count()) {
  count_all();
}

void DomainCounts::count_all() {
  for (int level = 0; level < tree_->level_count(); ++level) {
    Level& counts = levels_[level];
    const uint32_t size = tree_->size(level);
    counts.pods.resize(size);
    if (!slices_are_pods_ && level <= shape_.slice_level) counts.slices.resize(size);
    if (has_leader()) {
      counts.pods_beside_leader.resize(size);
      if (!slices_are_pods_) counts.slices_beside_leader.resize(size);
      counts.leaders.resize(size);
    }
    if (has_scores_) counts.scores.resize(size);
  }
  if (has_scores_) {
    for (uint32_t leaf = 0; leaf < tree_->leaf_count(); ++leaf) set_leaf_score(leaf);
  }
  count_leaves();
  if (has_leader()) count_leader_leaves();
  if (!slices_are_pods_ && shape_.slice_level == tree_->lowest()) {
    Level& leaves = levels_[tree_->lowest()];
    divide_column(leaves.pods, shape_.slice_size, leaves.slices);
    divide_column(leaves.pods_beside_leader, shape_.slice_size, leaves.slices_beside_leader);
  }
  for (int level = tree_->lowest() - 1; level >= 0; --level) {
    if (has_scores_) {
      for (uint32_t domain = 0; domain < tree_->size(level); ++domain) {
        set_numbers(level, domain, roll_up(level, domain));
      }
    } else {
      roll_up_level(level);
    }
  }
  position_ = tree_->position();
}

void DomainCounts::count_leaves() {
  std::vector<int32_t>& pods = levels_[tree_->lowest()].pods;
  std::vector<int64_t> emptied;
  const uint32_t leaf_count = tree_->leaf_count();
  for (uint32_t begin = 0; begin < leaf_count; begin += kBlock) {
    const uint32_t end = std::min(begin + kBlock, leaf_count);
    std::fill(pods.begin() + begin, pods.begin() + end, kMaxCount);
    for (const topology::Request& need : shape_.worker) {
      if (need.amount <= 0) continue;
      const auto free = tree_->free(need.resource);
      if (shape_.simulate_empty) {
        emptied.resize(leaf_count);
        for (uint32_t leaf = begin; leaf < end; ++leaf) {
          emptied[leaf] = capacity(*tree_, need.resource, leaf, true);
        }
        lower_to_column(pods.data(), emptied.data(), begin, end, need.amount);
      } else if (free.empty()) {
        std::fill(pods.begin() + begin, pods.begin() + end, 0);
      } else {
        lower_to_column(pods.data(), free.data(), begin, end, need.amount);
      }
    }
    for (uint32_t leaf = begin; leaf < end && !filter_->admits_all(); ++leaf) {
      if (!filter_->admits(leaf)) pods[leaf] = 0;
    }
  }
}

bool DomainCounts::leader_may_enter(uint32_t leaf) const {
  return tree_->leaf_active(leaf) && filter_->admits(leaf) && leader_filter_->admits(leaf);
}

void DomainCounts::count_leader_leaves() {
  const uint32_t leaf_count = tree_->leaf_count();
  std::vector<int64_t> fits(kBlock);
  for (uint32_t begin = 0; begin < leaf_count; begin += kBlock) {
    const uint32_t end = std::min(begin + kBlock, leaf_count);
    if (!shape_.simulate_empty) {
      count_leader_block(begin, end, fits);
      continue;
    }
    for (uint32_t leaf = begin; leaf < end; ++leaf) count_leader_leaf(leaf);
  }
}

// Column by column, like the pods themselves: where the leader fits, and what is left beside it.
// `fits` holds all ones where it does and zero elsewhere, so that the loops need no branches.
void DomainCounts::count_leader_block(uint32_t begin, uint32_t end, std::vector<int64_t>& fits) {
  Level& counts = levels_[tree_->lowest()];
  const uint32_t size = end - begin;
  std::fill_n(fits.begin(), size, -1);
  const bool all_open = tree_->active_leaf_count() == tree_->leaf_count() &&
                        filter_->admits_all() && leader_filter_->admits_all();
  for (uint32_t index = 0; index < size && !all_open; ++index) {
    if (!leader_may_enter(begin + index)) fits[index] = 0;
  }
  for (const topology::Request& need : *shape_.leader) {
    if (need.amount <= 0) continue;
    const auto free = tree_->free(need.resource);
    if (free.empty()) {
      std::ranges::fill(fits, 0);
      continue;
    }
    const int64_t* column = free.data() + begin;
    const int64_t amount = need.amount;
    for (uint32_t index = 0; index < size; ++index) {
      fits[index] &= column[index] >= amount ? -1 : 0;
    }
  }
  uint8_t* leaders = counts.leaders.data() + begin;
  const int64_t* mask = fits.data();  // bytes alias everything: not to be read again every time
  for (uint32_t index = 0; index < size; ++index) {
    leaders[index] = static_cast<uint8_t>(mask[index] & 1);
  }
  int32_t* beside = counts.pods_beside_leader.data() + begin;
  std::copy(counts.pods.begin() + begin, counts.pods.begin() + end, beside);
  for (const topology::Request& need : shape_.worker) {
    const auto taken =
        std::ranges::find(*shape_.leader, need.resource, &topology::Request::resource);
    const auto free = tree_->free(need.resource);
    if (need.amount <= 0 || taken == shape_.leader->end() || free.empty()) continue;
    lower_beside_leader(beside, free.data() + begin, fits.data(), size, taken->amount, need.amount);
  }
}

// The workers' vector is counted in what the leader's leaves over.
void DomainCounts::count_leader_leaf(uint32_t leaf) {
  Level& counts = levels_[tree_->lowest()];
  counts.pods_beside_leader[leaf] = counts.pods[leaf];
  counts.leaders[leaf] = 0;
  const bool leader_fits =
      leader_may_enter(leaf) &&
      fit_in_leaf(*tree_, leaf, *shape_.leader, shape_.simulate_empty).pods > 0;
  if (!leader_fits) return;
  counts.leaders[leaf] = 1;
  int32_t beside = counts.pods[leaf];
  for (const topology::Request& need : shape_.worker) {
    if (need.amount <= 0) continue;
    const auto taken =
        std::ranges::find(*shape_.leader, need.resource, &topology::Request::resource);
    if (taken == shape_.leader->end()) continue;
    const int64_t left = saturating_subtract(
        capacity(*tree_, need.resource, leaf, shape_.simulate_empty), taken->amount);
    beside = std::min(beside, clamp(left / need.amount));
  }
  counts.pods_beside_leader[leaf] = beside;
}

void DomainCounts::set_leaf_score(uint32_t leaf) {
  levels_[tree_->lowest()].scores[leaf] = tree_->leaf_active(leaf) ? filter_->scores()[leaf] : 0;
}

void DomainCounts::set_leaf_slices(uint32_t leaf) {
  Level& counts = levels_[tree_->lowest()];
  counts.slices[leaf] = counts.pods[leaf] / shape_.slice_size;
  if (has_leader()) {
    counts.slices_beside_leader[leaf] = counts.pods_beside_leader[leaf] / shape_.slice_size;
  }
}

// The roll-up of whole levels without scores: segmented sums and minima.
void DomainCounts::roll_up_level(int level) {
  const auto first_child = tree_->first_children(level);
  const bool rounded = shape_.inner_size[level + 1] > 1;
  const bool sum_slices = !slices_are_pods_ && level < shape_.slice_level;
  const int32_t* child_pods = levels_[level + 1].pods.data();
  const int32_t* child_slices = sum_slices ? levels_[level + 1].slices.data() : nullptr;
  for (uint32_t domain = 0; domain < tree_->size(level); ++domain) {
    const uint32_t end = first_child[domain + 1];
    int64_t pods = 0;
    int64_t slices = 0;
    for (uint32_t child = first_child[domain]; child < end; ++child) {
      pods += rounded ? contribution(level + 1, child_pods[child]) : child_pods[child];
    }
    for (uint32_t child = first_child[domain]; child < end && sum_slices; ++child) {
      slices += child_slices[child];
    }
    set_sums(level, domain, pods, slices);
  }
}

// Sets a parent's numbers, given the sums of its children's; `slices` counts above the slice level.
void DomainCounts::set_sums(int level, uint32_t domain, int64_t pods, int64_t slices) {
  Level& parent = levels_[level];
  parent.pods[domain] = clamp(pods);
  if (has_leader()) roll_up_leader(level, domain, pods, slices);
  if (slices_are_pods_ || level > shape_.slice_level) return;
  const bool above = level < shape_.slice_level;
  parent.slices[domain] = above ? clamp(slices) : parent.pods[domain] / shape_.slice_size;
}

void DomainCounts::roll_up_leader(int level, uint32_t domain, int64_t pods, int64_t slices) {
  const auto [begin, end] = tree_->children(level, domain);
  const Level& children = levels_[level + 1];
  Level& parent = levels_[level];
  const uint8_t* leaders = children.leaders.data();
  constexpr int64_t kNoLoss = std::numeric_limits<int64_t>::max();
  // The smallest loss of any child that takes the leader; mostly one of the first loses nothing.
  const auto smallest = [&](const int32_t* whole, const int32_t* beside, bool rounded) {
    int64_t loss = kNoLoss;
    for (uint32_t child = begin; child < end && loss > 0; ++child) {
      if (leaders[child] == 0) continue;
      loss = std::min<int64_t>(loss, rounded ? contribution(level + 1, whole[child]) -
                                                   contribution(level + 1, beside[child])
                                             : whole[child] - beside[child]);
    }
    return loss;
  };
  const int64_t pod_loss = smallest(children.pods.data(), children.pods_beside_leader.data(),
                                    shape_.inner_size[level + 1] > 1);
  const bool any = pod_loss != kNoLoss;
  parent.leaders[domain] = any ? 1 : 0;
  parent.pods_beside_leader[domain] = any ? clamp(pods - pod_loss) : 0;
  if (slices_are_pods_) return;
  int32_t& beside = parent.slices_beside_leader[domain];
  beside = 0;
  if (any && level < shape_.slice_level) {
    beside = clamp(slices -
                   smallest(children.slices.data(), children.slices_beside_leader.data(), false));
  }
  if (level == shape_.slice_level) beside = parent.pods_beside_leader[domain] / shape_.slice_size;
}

namespace {

// Adds children up; a leader costs its parent the smallest loss of any child that can take it.
class RollUp {
 public:
  explicit RollUp(bool has_leader) : has_leader_(has_leader) {}

  void add(const DomainNumbers& part) {
    pods_ += part.pods;
    slices_ += part.slices;
    score_ += part.score;
    leaders_ = std::max(leaders_, part.leaders);
    if (has_leader_ && part.leaders == 0) return;
    pod_loss_ = std::min<int64_t>(pod_loss_, part.pods - part.pods_beside_leader);
    slice_loss_ = std::min<int64_t>(slice_loss_, part.slices - part.slices_beside_leader);
  }

  // `slice_size` is 0 above and below the slice level.
  [[nodiscard]] DomainNumbers total(int32_t slice_size) const {
    DomainNumbers sum;
    sum.pods = clamp(pods_);
    sum.slices = clamp(slices_);
    sum.leaders = leaders_;
    sum.score = score_;
    if (pod_loss_ != kNoChild) {
      sum.pods_beside_leader = clamp(pods_ - pod_loss_);
      sum.slices_beside_leader = clamp(slices_ - slice_loss_);
    }
    if (slice_size > 0) {
      sum.slices = sum.pods / slice_size;
      sum.slices_beside_leader = sum.pods_beside_leader / slice_size;
    }
    return sum;
  }

 private:
  static constexpr int64_t kNoChild = std::numeric_limits<int64_t>::max();
  bool has_leader_;
  int64_t pods_ = 0;
  int64_t slices_ = 0;
  int64_t score_ = 0;
  int32_t leaders_ = 0;
  int64_t pod_loss_ = kNoChild;
  int64_t slice_loss_ = kNoChild;
};

}  // namespace

DomainNumbers DomainCounts::roll_up(int level, uint32_t domain) const {
  const auto [begin, end] = tree_->children(level, domain);
  RollUp sum(has_leader());
  for (uint32_t child = begin; child < end; ++child) {
    DomainNumbers part = numbers(level + 1, child);
    part.pods = contribution(level + 1, part.pods);
    part.pods_beside_leader = contribution(level + 1, part.pods_beside_leader);
    sum.add(part);
  }
  return sum.total(level == shape_.slice_level ? shape_.slice_size : 0);
}

DomainNumbers DomainCounts::combine(int level, std::span<const DomainNumbers> children) const {
  RollUp sum(has_leader());
  for (const DomainNumbers& part : children) sum.add(part);
  return sum.total(level == shape_.slice_level ? shape_.slice_size : 0);
}

DomainNumbers DomainCounts::numbers(int level, uint32_t domain) const {
  const Level& counts = levels_[level];
  DomainNumbers result;
  result.pods = counts.pods[domain];
  result.slices = slices(level, domain);
  result.pods_beside_leader = result.pods;
  result.slices_beside_leader = result.slices;
  if (has_leader()) {
    result.pods_beside_leader = counts.pods_beside_leader[domain];
    result.slices_beside_leader =
        slices_are_pods_ ? result.pods_beside_leader : counts.slices_beside_leader[domain];
    result.leaders = counts.leaders[domain];
  }
  if (has_scores_) result.score = counts.scores[domain];
  return result;
}

void DomainCounts::set_numbers(int level, uint32_t domain, const DomainNumbers& numbers) {
  Level& counts = levels_[level];
  counts.pods[domain] = numbers.pods;
  if (!counts.slices.empty()) counts.slices[domain] = numbers.slices;
  if (has_leader()) {
    counts.pods_beside_leader[domain] = numbers.pods_beside_leader;
    if (!slices_are_pods_) counts.slices_beside_leader[domain] = numbers.slices_beside_leader;
    counts.leaders[domain] = static_cast<uint8_t>(numbers.leaders);
  }
  if (has_scores_) counts.scores[domain] = numbers.score;
}

void DomainCounts::refresh() {
  const auto changes = tree_->changes_since(position_);
  if (!changes || changes->size() > tree_->leaf_count() / 4 + 16) {
    count_all();
    return;
  }
  uint32_t previous = NodeId::kNone;
  for (const uint32_t leaf : *changes) {
    if (leaf != previous) recount_leaf(leaf);
    previous = leaf;
  }
  position_ = tree_->position();
}

void DomainCounts::recount_leaf(uint32_t leaf) {
  const int lowest = tree_->lowest();
  const DomainNumbers before = numbers(lowest, leaf);
  Level& counts = levels_[lowest];
  counts.pods[leaf] = tree_->leaf_active(leaf) && filter_->admits(leaf)
                          ? fit_in_leaf(*tree_, leaf, shape_.worker, shape_.simulate_empty).pods
                          : 0;
  if (has_scores_) set_leaf_score(leaf);
  if (has_leader()) count_leader_leaf(leaf);
  if (!slices_are_pods_ && shape_.slice_level == lowest) set_leaf_slices(leaf);
  update_ancestors(leaf, before);
}

// Carries the differences of one leaf upwards, as far as there are any: a few additions, whatever
// the fan-out. Only a leader's smallest loss is no sum, and is looked for among the children.
void DomainCounts::update_ancestors(uint32_t leaf, DomainNumbers before) {
  uint32_t domain = leaf;
  for (int level = tree_->lowest() - 1; level >= 0; --level) {
    const DomainNumbers after = numbers(level + 1, domain);
    if (after == before) return;
    domain = tree_->parent(level + 1, domain);
    const DomainNumbers sum = numbers(level, domain);
    const int64_t pods = int64_t{sum.pods} + contribution(level + 1, after.pods) -
                         contribution(level + 1, before.pods);
    // A number that stands at its limit no longer tells what it is the sum of.
    const bool saturated = sum.pods == kMaxCount || pods >= kMaxCount;
    if (saturated || has_scores_) {
      set_numbers(level, domain, roll_up(level, domain));
    } else {
      set_sums(level, domain, pods, int64_t{sum.slices} + after.slices - before.slices);
    }
    before = sum;
  }
}

}  // namespace phalanx::placement
