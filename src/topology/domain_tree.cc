#include "topology/domain_tree.h"

#include <algorithm>

#include "base/saturating.h"

namespace phalanx::topology {
namespace {

// A reader further behind than this is better off counting afresh.
constexpr size_t kMaxLog = 1 << 14;

}  // namespace

std::optional<int> DomainTree::find_level(std::string_view key) const {
  const auto found = std::ranges::find(spec_.levels, key);
  if (found == spec_.levels.end()) return std::nullopt;
  return static_cast<int>(found - spec_.levels.begin());
}

DomainRange DomainTree::leaves(int level, uint32_t domain) const {
  if (level < 0) return {0, leaf_count()};
  DomainRange range{domain, domain + 1};
  for (; level < lowest(); ++level) {
    const auto& first = levels_[level].first_child;
    range = {first[range.begin], first[range.end]};
  }
  return range;
}

bool DomainTree::domain_active(int level, uint32_t domain) const {
  if (active_leaves_ == leaf_count()) return true;
  const auto [begin, end] = leaves(level, domain);
  for (uint32_t leaf = begin; leaf < end; ++leaf) {
    if (leaf_active(leaf)) return true;
  }
  return false;
}

uint32_t DomainTree::ancestor(int level, uint32_t domain, int ancestor_level) const {
  for (; level > ancestor_level; --level) domain = levels_[level].parents[domain];
  return domain;
}

std::optional<uint32_t> DomainTree::leaf_of(NodeId node) const {
  if (node.value >= leaf_of_node_.size()) return std::nullopt;
  const uint32_t leaf = leaf_of_node_[node.value];
  if (leaf == NodeId::kNone) return std::nullopt;
  return leaf;
}

std::optional<std::span<const uint32_t>> DomainTree::changes_since(uint64_t position) const {
  if (position < log_base_) return std::nullopt;
  return std::span(log_).subspan(position - log_base_);
}

void DomainTree::log_change(uint32_t leaf) {
  if (log_.size() >= kMaxLog) {
    log_base_ += log_.size();
    log_.clear();
  }
  log_.push_back(leaf);
}

void DomainTree::add(Columns& columns, ResourceId resource, uint32_t leaf, uint32_t leaf_count,
                     int64_t amount) {
  if (resource.value >= columns.size()) columns.resize(resource.value + 1);
  auto& column = columns[resource.value];
  if (column.empty()) column.assign(leaf_count, 0);
  column[leaf] = saturating_add(column[leaf], amount);
}

}  // namespace phalanx::topology
