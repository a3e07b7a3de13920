#include "placement/gang_symmetry.h"

#include <algorithm>
#include <map>

#include "base/saturating.h"

namespace phalanx::placement {

GangSymmetry::GangSymmetry(const topology::DomainTree& tree, const GangItems& gang, int tree_index)
    : tree_(tree), pinned_(tree.leaf_count(), false), classes_(tree.level_count()) {
  std::map<ResourceId, int64_t> most;
  for (const GangItem& item : gang.items) {
    if (!item.is_leaf) continue;
    for (const topology::Request& request : gang.shapes[item.shape].requests) {
      int64_t& sum = most[request.resource];
      sum = saturating_add(sum, saturating_multiply(request.amount, item.full));
    }
    for (const auto& [node, count] : item.running) {
      if (const auto leaf = tree.leaf_of(node)) pinned_[*leaf] = true;
    }
  }
  for (const auto& [resource, amount] : most) resources_.push_back({resource, amount});
  for (const GangShape& shape : gang.shapes)
    filters_.push_back(&shape.counts[tree_index]->filter());

  for (int level = tree.lowest(); level >= 0; --level) {
    classes_[level].resize(tree.size(level));
    for (uint32_t domain = 0; domain < tree.size(level); ++domain) {
      classes_[level][domain] =
          level == tree.lowest() ? describe_leaf(domain) : describe_domain(level, domain);
    }
  }
  describe_root();
  position_ = tree.position();
}

int64_t GangSymmetry::refresh() {
  const auto changes = tree_.changes_since(position_);
  std::vector<uint32_t> touched;
  if (changes) {
    touched.assign(changes->begin(), changes->end());
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  } else {
    for (uint32_t leaf = 0; leaf < tree_.leaf_count(); ++leaf) touched.push_back(leaf);
  }
  position_ = tree_.position();
  int64_t looked_at = 0;
  for (int level = tree_.lowest(); level >= 0 && !touched.empty(); --level) {
    std::vector<uint32_t> parents;
    for (const uint32_t domain : touched) {
      looked_at += level == tree_.lowest() ? 1 : tree_.children(level, domain).size();
      const uint32_t now =
          level == tree_.lowest() ? describe_leaf(domain) : describe_domain(level, domain);
      if (now == classes_[level][domain]) continue;
      classes_[level][domain] = now;
      const uint32_t parent = level > 0 ? tree_.parent(level, domain) : 0;
      if (parents.empty() || parents.back() != parent) parents.push_back(parent);
    }
    touched = std::move(parents);
  }
  if (!touched.empty()) {
    describe_root();
    looked_at += tree_.size(0);
  }
  return looked_at;
}

uint32_t GangSymmetry::intern(Description description) {
  constexpr size_t kMaxRemembered = 16'000'000;
  const auto found = known_.find(description);
  if (found != known_.end()) return found->second;
  remembered_ += description.size();
  if (remembered_ <= kMaxRemembered) known_.emplace(std::move(description), next_class_);
  return next_class_++;
}

uint32_t GangSymmetry::describe_leaf(uint32_t leaf) {
  Description description{-1, tree_.leaf_active(leaf) ? 1 : 0, pinned_[leaf] ? leaf + 1 : 0};
  for (const Relevant& relevant : resources_) {
    const auto free = tree_.free(relevant.resource);
    description.push_back(std::clamp<int64_t>(free.empty() ? 0 : free[leaf], 0, relevant.most));
  }
  for (const NodeFilter* filter : filters_) description.push_back(filter->admits(leaf) ? 1 : 0);
  return intern(std::move(description));
}

uint32_t GangSymmetry::describe_domain(int level, uint32_t domain) {
  const auto [begin, end] = tree_.children(level, domain);
  Description description(classes_[level + 1].begin() + begin, classes_[level + 1].begin() + end);
  std::ranges::sort(description);
  description.push_back(-2 - level);
  return intern(std::move(description));
}

void GangSymmetry::describe_root() {
  Description description(classes_[0].begin(), classes_[0].end());
  std::ranges::sort(description);
  description.push_back(-2 - tree_.level_count());
  root_class_ = intern(std::move(description));
}

}  // namespace phalanx::placement
