#include "quota/victim_leaves.h"

#include <algorithm>

#include "base/saturating.h"

namespace phalanx::quota {

void VictimLeaves::clear() {
  leaves_.clear();
  kinds_.clear();
  together_.clear();
}

uint32_t VictimLeaves::kind_of(const topology::LeafUsage& usage) {
  const auto known = std::ranges::find_if(kinds_, [&](const Kind& kind) {
    return kind.tree == usage.tree && kind.requests == *usage.requests;
  });
  if (known == kinds_.end()) {
    kinds_.push_back({usage.tree, *usage.requests});
    return static_cast<uint32_t>(kinds_.size() - 1);
  }
  return static_cast<uint32_t>(known - kinds_.begin());
}

VictimLeaves::Range VictimLeaves::look_up(std::span<const TreeId> trees,
                                          const std::string& workload) {
  found_.clear();
  cluster_.add_usage_in(trees, workload, found_);
  const size_t begin = leaves_.size();
  const topology::LeafUsage* previous = nullptr;
  for (const topology::LeafUsage& usage : found_) {
    const bool alike =
        previous != nullptr && previous->tree == usage.tree && previous->requests == usage.requests;
    leaves_.push_back({usage.leaf, alike ? leaves_.back().kind : kind_of(usage), usage.count});
    previous = &usage;
  }
  const auto added = std::span(leaves_).subspan(begin);
  const auto place = [&](const Leaf& leaf) { return std::pair(kinds_[leaf.kind].tree, leaf.leaf); };
  if (!std::ranges::is_sorted(added, {}, place)) std::ranges::sort(added, {}, place);
  return {begin, leaves_.size()};
}

VictimLeaves::Range VictimLeaves::within(Range range, topology::DomainRange domain) const {
  const auto leaves = in(range);
  const auto begin = std::ranges::lower_bound(leaves, domain.begin, {}, &Leaf::leaf);
  const auto end = std::ranges::lower_bound(begin, leaves.end(), domain.end, {}, &Leaf::leaf);
  return {range.begin + static_cast<size_t>(begin - leaves.begin()),
          range.begin + static_cast<size_t>(end - leaves.begin())};
}

std::vector<int64_t> VictimLeaves::amounts(ResourceId resource) const {
  std::vector<int64_t> amounts;
  for (const Kind& kind : kinds_) {
    const auto part = std::ranges::find(kind.requests, resource, &topology::Request::resource);
    amounts.push_back(part == kind.requests.end() ? 0 : part->amount);
  }
  return amounts;
}

void VictimLeaves::move(Range range, int sign) {
  for (const Leaf& leaf : in(range)) {
    const Kind& kind = kinds_[leaf.kind];
    cluster_.shift(kind.tree, leaf.leaf, kind.requests, sign * leaf.count);
  }
}

void VictimLeaves::move_all(std::span<const Range> ranges, int sign) {
  size_t moved = 0;
  for (const Range range : ranges) moved += range.size();
  size_t slots = 0;
  for (const Kind& kind : kinds_) slots += cluster_.tree(kind.tree).leaf_count();
  if (moved < slots) {
    for (const Range range : ranges) move(range, sign);
    return;
  }
  together_.resize(kinds_.size());
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    together_[kind].resize(cluster_.tree(kinds_[kind].tree).leaf_count());
  }
  for (const Range range : ranges) {
    for (const Leaf& leaf : in(range)) together_[leaf.kind][leaf.leaf] += leaf.count;
  }
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    const auto& [tree, requests] = kinds_[kind];
    auto& pods = together_[kind];
    for (uint32_t leaf = 0; leaf < pods.size(); ++leaf) {
      if (pods[leaf] == 0) continue;
      cluster_.shift(tree, leaf, requests, sign * pods[leaf]);
      pods[leaf] = 0;
    }
  }
}

}  // namespace phalanx::quota
