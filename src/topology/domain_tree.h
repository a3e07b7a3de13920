// The tree of topology domains that node labels describe, with what is free in every leaf.
//
// A node's path is its label values in level order; every prefix of a path is a domain, so equal
// rack names in different blocks are different domains (KEP-2724, "Hierarchy representation").
// Domains of a level are stored in path order (bytewise, value by value). Hence the order of
// indices is the order of paths, the children of a domain are one contiguous range of the next
// level, and its leaves one contiguous range of the lowest level.
//
// If the lowest level is kubernetes.io/hostname a leaf is one node; otherwise a leaf adds up the
// nodes that share its path. A leaf whose nodes are all gone or not ready stays in place, inactive
// and without capacity, until the tree is next rebuilt: nothing is placed there. Texts about what
// fits must not speak of it (domain_active).
//
// Free capacity is one int64 column per resource, in leaf order. The tree is owned and kept
// current by a Cluster (topology/cluster.h); everybody else reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/taint.h"
#include "base/strong_id.h"

namespace phalanx::topology {

class Cluster;

// Indices [begin, end) of one level.
struct DomainRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  [[nodiscard]] uint32_t size() const { return end - begin; }
};

// Which nodes a tree is made of, and by which labels.
struct TreeSpec {
  std::string name = "default";     // of the Topology object
  std::vector<std::string> levels;  // node label keys, coarsest first, 1..16
  std::vector<std::pair<std::string, std::string>> node_labels;  // of the ResourceFlavor
  std::vector<api::Toleration> tolerations;  // of the ResourceFlavor, for every pod set
};

class DomainTree {
 public:
  [[nodiscard]] const std::string& name() const { return spec_.name; }
  [[nodiscard]] const TreeSpec& spec() const { return spec_; }
  [[nodiscard]] int level_count() const { return static_cast<int>(spec_.levels.size()); }
  [[nodiscard]] int lowest() const { return level_count() - 1; }
  [[nodiscard]] const std::string& level_key(int level) const { return spec_.levels[level]; }
  [[nodiscard]] std::optional<int> find_level(std::string_view key) const;
  [[nodiscard]] bool by_host() const { return by_host_; }

  [[nodiscard]] uint32_t size(int level) const {
    return static_cast<uint32_t>(levels_[level].values.size());
  }
  [[nodiscard]] uint32_t leaf_count() const { return size(lowest()); }
  // Leaves that have a ready node behind them.
  [[nodiscard]] uint32_t active_leaf_count() const { return active_leaves_; }
  [[nodiscard]] bool leaf_active(uint32_t leaf) const { return leaf_nodes_[leaf] > 0; }
  // Whether the domain has a ready node; costs a look at its leaves if some in the tree have none.
  [[nodiscard]] bool domain_active(int level, uint32_t domain) const;

  [[nodiscard]] uint32_t parent(int level, uint32_t domain) const {
    return levels_[level].parents[domain];
  }
  // Children at level + 1; level -1 stands for the root above the highest level.
  [[nodiscard]] DomainRange children(int level, uint32_t domain) const {
    if (level < 0) return {0, size(0)};
    const auto& first = levels_[level].first_child;
    return {first[domain], first[domain + 1]};
  }
  [[nodiscard]] std::span<const uint32_t> first_children(int level) const {
    return levels_[level].first_child;
  }
  [[nodiscard]] DomainRange leaves(int level, uint32_t domain) const;
  [[nodiscard]] uint32_t ancestor(int level, uint32_t domain, int ancestor_level) const;

  [[nodiscard]] StringId value(int level, uint32_t domain) const {
    return levels_[level].values[domain];
  }
  // The node behind a leaf of a host topology.
  [[nodiscard]] NodeId leaf_node(uint32_t leaf) const { return node_of_leaf_[leaf]; }
  // The leaf a node is part of, or nullopt.
  [[nodiscard]] std::optional<uint32_t> leaf_of(NodeId node) const;

  // Free capacity by leaf; empty if no node of the cluster has the resource.
  [[nodiscard]] std::span<const int64_t> free(ResourceId resource) const {
    return column(free_, resource);
  }
  // What admitted workloads use, by leaf; free plus used is what an emptied cluster would have.
  [[nodiscard]] std::span<const int64_t> used(ResourceId resource) const {
    return column(used_, resource);
  }

  // Changes to leaves, for those who cache what they computed from them. `structure` changes when
  // the tree is rebuilt; then nothing cached holds. Otherwise the leaves changed since `position`
  // are `changes_since(position)`, or nullopt if that is too long ago.
  [[nodiscard]] uint64_t structure() const { return structure_; }
  [[nodiscard]] uint64_t position() const { return log_base_ + log_.size(); }
  [[nodiscard]] std::optional<std::span<const uint32_t>> changes_since(uint64_t position) const;
  // Grows whenever more may fit than before: a node came, or something on it went. Attempts do not
  // count. What did not fit needs another look only if this has grown (or labels and taints
  // changed: Cluster::label_version).
  [[nodiscard]] uint64_t gains() const { return gains_; }

 private:
  friend class Cluster;
  using Columns = std::vector<std::vector<int64_t>>;

  struct Level {
    std::vector<uint32_t> parents;      // empty at the highest level
    std::vector<uint32_t> first_child;  // size + 1 entries; empty at the lowest level
    std::vector<StringId> values;
  };

  [[nodiscard]] static std::span<const int64_t> column(const Columns& columns,
                                                       ResourceId resource) {
    if (resource.value >= columns.size()) return {};
    return columns[resource.value];
  }
  static void add(Columns& columns, ResourceId resource, uint32_t leaf, uint32_t leaf_count,
                  int64_t amount);
  void log_change(uint32_t leaf);

  TreeSpec spec_;
  bool by_host_ = false;
  bool stale_ = true;     // to be rebuilt before its next use
  bool removed_ = false;  // its place may be taken by another
  std::vector<Level> levels_;
  std::vector<NodeId> node_of_leaf_;    // host topologies only
  std::vector<uint32_t> leaf_of_node_;  // by NodeId; StrongId::kNone where not part of the tree
  std::vector<uint32_t> leaf_nodes_;    // active nodes behind each leaf
  uint32_t active_leaves_ = 0;
  Columns free_;
  Columns used_;
  uint64_t structure_ = 0;
  uint64_t gains_ = 0;
  uint64_t log_base_ = 0;
  std::vector<uint32_t> log_;
};

}  // namespace phalanx::topology
