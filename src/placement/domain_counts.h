// Phase 1: how many pods and slices of one shape every domain holds
// (reference/placement.md 4.2 and 4.3).
//
// For each domain: the pods that fit (p) and, if a leader comes along, the pods that fit beside it
// (pl), whether a leader fits (l), the whole slices without and beside the leader (s, sl), and the
// preferred-affinity score (a). Leaves come from the capacity columns in one pass, parents from
// their children. Domains below the slice level hold no slices.
//
// The counts can follow the cluster: `refresh` recounts only the leaves that changed and their
// ancestors, which is what makes a repeated question cheap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/divisor.h"
#include "placement/level_plan.h"
#include "placement/node_filter.h"
#include "topology/cluster.h"

namespace phalanx::placement {

// The numbers of one domain.
struct DomainNumbers {
  int32_t pods = 0;
  int32_t pods_beside_leader = 0;
  int32_t slices = 0;
  int32_t slices_beside_leader = 0;
  int32_t leaders = 0;
  int64_t score = 0;

  bool operator==(const DomainNumbers&) const = default;
};

// What is being counted.
struct CountedShape {
  topology::RequestVector worker;
  std::optional<topology::RequestVector> leader;
  int slice_level = 0;
  int32_t slice_size = 1;
  std::vector<int32_t> inner_size;
  bool simulate_empty = false;

  bool operator==(const CountedShape&) const = default;
};

// How many pods of the request fit into one leaf, and the resource that limits the number: among
// equals the alphabetically first (a request is sorted by name).
struct LeafFit {
  int32_t pods = 0;
  ResourceId limiting;
};
LeafFit fit_in_leaf(const topology::DomainTree& tree, uint32_t leaf,
                    const topology::RequestVector& request, bool simulate_empty);

class DomainCounts {
 public:
  // `leader_filter` is what the leader itself asks of a node, beside what the workers ask.
  DomainCounts(const topology::DomainTree& tree, CountedShape shape,
               std::shared_ptr<const NodeFilter> filter,
               std::shared_ptr<const NodeFilter> leader_filter);

  // Recounts what changed in the tree since the last time.
  void refresh();

  [[nodiscard]] const topology::DomainTree& tree() const { return *tree_; }
  [[nodiscard]] const CountedShape& shape() const { return shape_; }
  [[nodiscard]] const NodeFilter& filter() const { return *filter_; }
  [[nodiscard]] const NodeFilter& leader_filter() const { return *leader_filter_; }
  [[nodiscard]] bool has_leader() const { return shape_.leader.has_value(); }
  [[nodiscard]] bool has_scores() const { return has_scores_; }

  [[nodiscard]] int32_t pods(int level, uint32_t domain) const {
    return levels_[level].pods[domain];
  }
  [[nodiscard]] int32_t slices(int level, uint32_t domain) const {
    if (slices_are_pods_) return levels_[level].pods[domain];
    return level > shape_.slice_level ? 0 : levels_[level].slices[domain];
  }
  // Slices of every domain of a level at or above the slice level, as one column.
  [[nodiscard]] const std::vector<int32_t>& slice_column(int level) const {
    return slices_are_pods_ ? levels_[level].pods : levels_[level].slices;
  }
  [[nodiscard]] const std::vector<int32_t>& pod_column(int level) const {
    return levels_[level].pods;
  }
  // The same beside a leader, and whether one fits; empty without a leader.
  [[nodiscard]] const std::vector<int32_t>& slice_beside_leader_column(int level) const {
    return slices_are_pods_ ? levels_[level].pods_beside_leader
                            : levels_[level].slices_beside_leader;
  }
  [[nodiscard]] const std::vector<int32_t>& pod_beside_leader_column(int level) const {
    return levels_[level].pods_beside_leader;
  }
  [[nodiscard]] const std::vector<uint8_t>& leader_column(int level) const {
    return levels_[level].leaders;
  }
  [[nodiscard]] DomainNumbers numbers(int level, uint32_t domain) const;
  // A parent's numbers from those of its children.
  [[nodiscard]] DomainNumbers roll_up(int level, uint32_t domain) const;
  // The same from numbers of one's own, without the rounding of the inner slice layers (balanced
  // placement prunes children first).
  [[nodiscard]] DomainNumbers combine(int level, std::span<const DomainNumbers> children) const;

 private:
  struct Level {
    std::vector<int32_t> pods;
    std::vector<int32_t> slices;  // unless they equal the pods
    // The following three only with a leader.
    std::vector<int32_t> pods_beside_leader;
    std::vector<int32_t> slices_beside_leader;  // unless they equal the pods
    std::vector<uint8_t> leaders;
    std::vector<int64_t> scores;  // only with preferred affinity
  };

  void count_all();
  void count_leaves();
  // What the workers ask of a node holds for their leader, too.
  [[nodiscard]] bool leader_may_enter(uint32_t leaf) const;
  void count_leader_leaves();
  void count_leader_block(uint32_t begin, uint32_t end, std::vector<int64_t>& fits);
  void count_leader_leaf(uint32_t leaf);
  void set_numbers(int level, uint32_t domain, const DomainNumbers& numbers);
  void roll_up_level(int level);
  void set_sums(int level, uint32_t domain, int64_t pods, int64_t slices);
  void roll_up_leader(int level, uint32_t domain, int64_t pods, int64_t slices);
  void recount_leaf(uint32_t leaf);
  void update_ancestors(uint32_t leaf, DomainNumbers before);
  void set_leaf_slices(uint32_t leaf);
  void set_leaf_score(uint32_t leaf);
  [[nodiscard]] int32_t contribution(int level, int32_t pods) const {
    const int32_t size = shape_.inner_size[level];
    return size > 1 ? pods - pods % size : pods;
  }

  const topology::DomainTree* tree_;
  CountedShape shape_;
  std::shared_ptr<const NodeFilter> filter_;
  std::shared_ptr<const NodeFilter> leader_filter_;
  bool slices_are_pods_ = false;
  bool has_scores_ = false;
  std::vector<Level> levels_;
  uint64_t position_ = 0;  // in the tree's log of changes
};

}  // namespace phalanx::placement
