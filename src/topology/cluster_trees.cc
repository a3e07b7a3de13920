// The part of Cluster that knows trees: building them from node labels, and finding things in them.
#include <algorithm>

#include "base/check.h"
#include "base/saturating.h"
#include "topology/cluster.h"

namespace phalanx::topology {

bool Cluster::in_flavor(const DomainTree& tree, const NodeRecord& node) const {
  return std::ranges::all_of(tree.spec_.node_labels, [&](const auto& wanted) {
    const std::pair label{strings_.find(wanted.first), strings_.find(wanted.second)};
    return label.first.valid() && label.second.valid() &&
           std::ranges::binary_search(node.labels, label);
  });
}

std::vector<StringId> Cluster::node_path(const DomainTree& tree, const NodeRecord& node) const {
  std::vector<StringId> path;
  if (!in_flavor(tree, node)) return path;
  for (const std::string& key : tree.spec_.levels) {
    const StringId value = label(node, strings_.find(key));
    if (!value.valid()) return {};
    path.push_back(value);
  }
  return path;
}

bool Cluster::path_is(const DomainTree& tree, uint32_t leaf,
                      const std::vector<StringId>& path) const {
  for (int level = tree.lowest(); level >= 0; --level) {
    if (tree.value(level, leaf) != path[level]) return false;
    if (level > 0) leaf = tree.parent(level, leaf);
  }
  return true;
}

TreeId Cluster::add_tree(TreeSpec spec) {
  CHECK(!spec.levels.empty() && spec.levels.size() <= 16);
  auto tree = std::make_unique<DomainTree>();
  tree->by_host_ = spec.levels.back() == api::kHostnameLabel;
  tree->spec_ = std::move(spec);
  const auto empty = std::ranges::find_if(trees_, [](const auto& t) { return t->removed_; });
  if (empty == trees_.end()) {
    trees_.push_back(std::move(tree));
    return TreeId(trees_.size() - 1);
  }
  tree->structure_ = (*empty)->structure_;  // so that nothing cached of the old one seems to hold
  *empty = std::move(tree);
  return TreeId(static_cast<size_t>(empty - trees_.begin()));
}

void Cluster::remove_tree(TreeId id) {
  CHECK(open_attempts_ == 0);
  auto gravestone = std::make_unique<DomainTree>();
  gravestone->structure_ = trees_[id.value]->structure_ + 1;
  gravestone->removed_ = true;
  trees_[id.value] = std::move(gravestone);
}

const DomainTree& Cluster::tree(TreeId id) {
  CHECK(!trees_[id.value]->removed_);
  if (trees_[id.value]->stale_) rebuild(id);
  return *trees_[id.value];
}

void Cluster::rebuild(TreeId id) {
  CHECK(open_attempts_ == 0);
  DomainTree& tree = *trees_[id.value];
  build_structure(tree);
  tree.stale_ = false;
  tree.free_.clear();
  tree.used_.clear();
  tree.leaf_nodes_.assign(tree.leaf_count(), 0);
  tree.active_leaves_ = 0;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (active(nodes_[node])) attach(tree, NodeId(node), +1);
  }
  CHECK(!tree.stale_);
  if (!tree.by_host_) {
    for (const auto& [workload, usages] : usages_) {
      for (UsageRecord usage : usages) {
        if (usage.tree != id) continue;
        usage.hosts.clear();  // those are part of the nodes' own accounts
        apply_usage(usage, +1);
      }
    }
  }
  tree.log_base_ += tree.log_.size();
  tree.log_.clear();
  ++tree.structure_;
}

// Sorts the paths of all nodes by text and lays the domains out in that order.
void Cluster::build_structure(DomainTree& tree) {
  const size_t level_count = tree.spec_.levels.size();
  struct Entry {
    std::vector<StringId> path;
    NodeId node;
  };
  std::vector<Entry> entries;
  std::vector<StringId> values;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].present) continue;
    std::vector<StringId> path = node_path(tree, nodes_[node]);
    if (path.empty()) continue;
    values.insert(values.end(), path.begin(), path.end());
    entries.push_back({std::move(path), NodeId(node)});
  }
  // Comparing ranks instead of strings: each distinct value is compared as text only once.
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::ranges::sort(values, {}, [&](StringId id) -> const std::string& { return text(id); });
  boost::unordered_flat_map<uint32_t, uint32_t> rank;
  for (size_t index = 0; index < values.size(); ++index) {
    rank[values[index].value] = static_cast<uint32_t>(index);
  }
  for (Entry& entry : entries) {
    for (StringId& id : entry.path) id = StringId(rank[id.value]);
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.path != b.path ? a.path < b.path : a.node < b.node;
  });

  tree.levels_.assign(level_count, {});
  tree.node_of_leaf_.clear();
  tree.leaf_of_node_.assign(nodes_.size(), NodeId::kNone);
  const std::vector<StringId>* previous = nullptr;
  for (const Entry& entry : entries) {
    size_t level = 0;
    while (previous != nullptr && level < level_count && (*previous)[level] == entry.path[level]) {
      ++level;
    }
    for (; level < level_count; ++level) {
      if (level + 1 < level_count) {
        tree.levels_[level].first_child.push_back(
            static_cast<uint32_t>(tree.levels_[level + 1].values.size()));
      }
      if (level > 0) {
        tree.levels_[level].parents.push_back(
            static_cast<uint32_t>(tree.levels_[level - 1].values.size() - 1));
      }
      tree.levels_[level].values.push_back(values[entry.path[level].value]);
      if (level + 1 == level_count && tree.by_host_) tree.node_of_leaf_.push_back(entry.node);
    }
    tree.leaf_of_node_[entry.node.value] = tree.leaf_count() - 1;
    previous = &entry.path;
  }
  for (size_t level = 0; level + 1 < level_count; ++level) {
    tree.levels_[level].first_child.push_back(
        static_cast<uint32_t>(tree.levels_[level + 1].values.size()));
  }
}

std::optional<uint32_t> Cluster::find_leaf(TreeId id, std::span<const std::string> values) {
  const auto leaf = find_any_leaf(id, values);
  if (leaf && !tree(id).leaf_active(*leaf)) return std::nullopt;
  return leaf;
}

std::optional<uint32_t> Cluster::find_any_leaf(TreeId id, std::span<const std::string> values) {
  const DomainTree& view = tree(id);
  if (!view.by_host()) return find_path(view, values);
  const NodeId node = values.empty() ? NodeId() : node_with_host(values.back());
  return node.valid() ? view.leaf_of(node) : std::nullopt;
}

void Cluster::need_leaf(TreeId id, std::string_view hostname) {
  const NodeId node = node_with_host(hostname);
  DomainTree& view = *trees_[id.value];
  if (!node.valid() || view.stale_) return;
  const std::vector<StringId> path = node_path(view, nodes_[node.value]);
  const auto leaf = view.leaf_of(node);
  if (!path.empty() && (!leaf || !path_is(view, *leaf, path))) view.stale_ = true;
}

std::optional<uint32_t> Cluster::find_path(const DomainTree& tree,
                                           std::span<const std::string> values) const {
  if (values.size() != tree.spec_.levels.size()) return std::nullopt;
  uint32_t domain = 0;
  for (int level = 0; level < tree.level_count(); ++level) {
    auto [begin, end] = tree.children(level - 1, domain);
    const auto value_of = [&](uint32_t index) -> const std::string& {
      return text(tree.value(level, index));
    };
    while (begin < end) {  // siblings are sorted by value
      const uint32_t middle = begin + (end - begin) / 2;
      if (value_of(middle) < values[level]) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    if (begin >= tree.children(level - 1, domain).end || value_of(begin) != values[level]) {
      return std::nullopt;
    }
    domain = begin;
  }
  return domain;
}

std::vector<std::string> Cluster::path(const DomainTree& tree, int level, uint32_t domain) const {
  std::vector<std::string> values(level + 1);
  for (; level >= 0; --level) {
    values[level] = text(tree.value(level, domain));
    if (level > 0) domain = tree.parent(level, domain);
  }
  return values;
}

std::string Cluster::hostname_of(std::string_view node_name) const {
  const NodeId id = node_names_.find(node_name);
  if (!id.valid()) return std::string(node_name);
  const NodeRecord& node = nodes_[id.value];
  const HostId host = node.host.valid() ? node.host : node.last_host;
  return host.valid() ? host_names_.text(host) : std::string(node_name);
}

LeftOutNodes Cluster::left_out(TreeId id) const {
  const DomainTree& tree = *trees_[id.value];
  LeftOutNodes result;
  result.lacking_level.assign(tree.spec_.levels.size(), 0);
  for (const NodeRecord& node : nodes_) {
    if (!node.present) continue;
    if (!in_flavor(tree, node)) {
      ++result.other_flavor;
      continue;
    }
    size_t lacking = 0;
    const auto& levels = tree.spec_.levels;
    while (lacking < levels.size() && label(node, strings_.find(levels[lacking])).valid()) {
      ++lacking;
    }
    if (lacking < tree.spec_.levels.size()) {
      ++result.lacking_level[lacking];
    } else if (!node.ready) {
      ++result.not_ready;
    } else if (!node.schedulable) {
      ++result.unschedulable;
    }
  }
  return result;
}

std::vector<LeafUsers> Cluster::workloads_in(TreeId id, std::span<const LeafUse> uses,
                                             size_t at_most) {
  const DomainTree& view = tree(id);
  std::vector<LeafUsers> result(uses.size());
  std::vector<WorkloadShare> shares(uses.size());
  std::vector<int64_t> per_pod(uses.size());
  const auto add = [&](uint32_t leaf, int64_t count) {
    for (size_t use = 0; use < uses.size(); ++use) {
      const auto [begin, end] = uses[use].leaves;
      if (leaf < begin || leaf >= end || per_pod[use] == 0) continue;
      shares[use].pods += count;
      shares[use].amount =
          saturating_add(shares[use].amount, saturating_multiply(per_pod[use], count));
    }
  };
  for (const auto& [workload, usages] : usages_) {
    shares.assign(uses.size(), {});
    for (const UsageRecord& usage : usages) {
      for (size_t use = 0; use < uses.size(); ++use) {
        const auto need = std::ranges::find(usage.requests, uses[use].resource, &Request::resource);
        per_pod[use] = need == usage.requests.end() ? 0 : need->amount;
      }
      for (const auto& [host, count] : usage.hosts) {
        const NodeId node = host_nodes_[host.value];
        if (!node.valid() || !active(nodes_[node.value])) continue;
        if (const auto leaf = view.leaf_of(node)) add(*leaf, count);
      }
      if (usage.tree != id) continue;
      for (const auto& [values, count] : usage.paths) {
        if (const auto leaf = find_path(view, values)) add(*leaf, count);
      }
    }
    for (size_t use = 0; use < uses.size(); ++use) {
      if (shares[use].amount <= 0) continue;
      shares[use].workload = workload;
      auto& most = result[use].most;  // workloads come in name order, so equals stay in it
      most.insert(std::ranges::upper_bound(most, shares[use].amount, std::ranges::greater(),
                                           &WorkloadShare::amount),
                  std::move(shares[use]));
      if (most.size() <= at_most) continue;
      most.pop_back();
      ++result[use].others;
    }
  }
  return result;
}

}  // namespace phalanx::topology
