// The exact search for a gang tree: depth first, most constrained first, with undo on the cluster's
// own account (placement/gang.h says what it promises).
//
// An agenda lists the groups still to be placed, each with the region its parent chose. Placing a
// group means trying the domains it may use, tightest first, and for each the rest of the agenda:
// a failure further down comes back here for the next domain, whoever caused it. A pod set tries
// the reference's distribution over the nodes first and then every other one that could make a
// difference to what comes after it.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "placement/gang_items.h"
#include "placement/gang_symmetry.h"
#include "placement/pod_distributions.h"
#include "placement/take.h"

namespace phalanx::placement {

// The part of each topology that a group may use: a leaf range by topology.
using GangRegion = std::vector<topology::DomainRange>;

// Where a group went: a domain of its topology, or (level -1) no single one.
struct GangChoice {
  int level = -1;
  uint32_t domain = 0;
  GangRegion region;
};

struct GangSolution {
  std::vector<std::optional<GangChoice>> choices;  // by item; absent: the child was left out
  std::vector<std::vector<Share>> pods;            // by item: new pods by leaf of its topology
};

// The hardest obstacle met: a group for which no domain was large enough.
struct GangObstacle {
  int item = 0;
  int64_t wanted = 0;  // pods
  int64_t alike = 1;   // so many pod sets like it, this one included, were still to be placed
  GangRegion region;   // where the groups above it are
  std::vector<std::pair<int, std::vector<Share>>> placed;  // pod sets before it
};

class GangSearch {
 public:
  enum class Target : uint8_t { kFull, kMinimum };

  GangSearch(topology::Cluster& cluster, GangItems& gang, int64_t budget);

  // A placement of the whole gang. The cluster is unchanged afterwards.
  std::optional<GangSolution> solve(Target target);
  // A placement of one item and all below it inside a region, with what is already charged.
  std::optional<GangSolution> solve_part(int item, const GangRegion& region, Target target);

  // More pods of a leaf inside a region, wherever they fit best; `begun`: some are placed already.
  std::optional<std::vector<Share>> grow(int item, const GangRegion& region, int32_t pods,
                                         bool begun);

  void add_budget(int64_t steps) {
    budget_ = steps_ + steps;
    look_budget_ = looks_ + steps * kLooksPerStep;
  }
  [[nodiscard]] int64_t steps() const { return steps_; }
  [[nodiscard]] bool out_of_budget() const { return steps_ >= budget_ || looks_ >= look_budget_; }
  [[nodiscard]] const GangObstacle& obstacle() const { return obstacle_; }
  // New pods that the minimum of an item certainly needs, and the whole of it, by shape.
  [[nodiscard]] const std::map<int, int64_t>& minimum_needs(int item) const {
    return needs_min_[item];
  }
  [[nodiscard]] const std::map<int, int64_t>& whole_needs(int item) const {
    return needs_full_[item];
  }
  [[nodiscard]] GangRegion everywhere() const;

 private:
  // A step is something tried; in a large cluster it may mean looking at many domains. Both are
  // bounded, so that the time is. Getting further than ever before earns some sweeps over the
  // cluster, so that a way without detours is never cut short.
  static constexpr int64_t kLooksPerStep = 20;
  static constexpr int64_t kSweepsPerPodSet = 8;

  struct Task {
    int item = 0;
    bool close = false;  // all children are done: check the group's minimum
    const GangRegion* region = nullptr;
    const Task* next = nullptr;
  };
  using StateKey = std::vector<int64_t>;

  const topology::DomainTree& tree(int index) { return cluster_.tree(gang_.trees[index]); }
  DomainCounts& counts(int shape, int tree_index) {
    return counts(gang_.shapes[shape], tree_index);
  }
  DomainCounts& counts(GangShape& shape, int tree_index);
  DomainCounts& leaf_counts(const GangItem& item);
  bool spend();
  void look(int64_t domains) { looks_ += domains; }

  bool step(const Task* task);
  bool place(const Task& task);
  bool try_choice(const Task& task, GangChoice choice);
  bool open_children(const Task& task, const GangRegion& region);
  bool leave_out(const Task& task);

  std::vector<GangChoice> choices(const GangItem& item, const GangRegion& region);
  void collect(const GangItem& item, const GangRegion& region, int level, uint32_t domain,
               int target_level, std::vector<GangChoice>& found);
  void prefer_running(const GangItem& item, std::vector<GangChoice>& found);
  int64_t running_in(const GangItem& item, const GangChoice& choice, int level);
  int64_t running_among(const GangItem& item, topology::DomainRange range);
  bool has_room(int item, const GangRegion& region);
  bool alike_fit(const GangItem& item, const GangRegion& region);
  std::optional<int> narrowing_tree(const GangRegion& region);
  int64_t pods_in(GangShape& shape, const GangRegion& region);
  int64_t need(int item, int shape) const;

  bool distribute(const Task& task, const GangRegion& region);
  bool distribute_count(const Task& task, const GangRegion& region, int32_t pods);
  std::optional<std::vector<Share>> first_distribution(const GangItem& item,
                                                       const GangRegion& region, int32_t pods);
  std::optional<std::vector<Share>> spread(const GangItem& item, const GangRegion& region,
                                           int32_t pods);
  std::optional<std::vector<Share>> complete_slices(const GangItem& item, const GangRegion& region,
                                                    int32_t pods);
  bool complete_layer(const GangItem& item, size_t layer, const GangRegion& region, int32_t& pods,
                      std::vector<Share>& shares);
  std::optional<std::vector<Share>> add_to_slice(const GangItem& item, size_t layer,
                                                 const GangRegion& region, uint32_t domain,
                                                 int32_t pods);
  using PodsByDomain = std::map<uint32_t, int64_t>;
  PodsByDomain running_by_domain(const GangItem& item, int level);
  std::optional<std::vector<Share>> by_preferred_level(const GangItem& item, int group, int level,
                                                       topology::DomainRange range, int32_t pods);
  std::optional<std::vector<Share>> inside(const GangItem& item, int level, uint32_t domain,
                                           int32_t pods);
  bool enumerate(const Task& task, const GangRegion& region, int32_t pods);
  std::vector<PodDistributions::Cell> cells_of(const GangItem& item, const GangRegion& region,
                                               int level);
  std::vector<PodDistributions::Layer> layers_of(const GangItem& item, int level,
                                                 const std::vector<PodDistributions::Cell>& cells);
  std::optional<std::vector<Share>> shares_of(const GangItem& item, int level,
                                              const PodDistributions& distributions);
  bool contains_cells(int level, uint32_t first, uint32_t last, int tree_index,
                      topology::DomainRange range);
  bool in_all_parts(int tree_index, uint32_t leaf, const GangRegion& region);
  bool apply(const Task& task, const std::vector<Share>& shares);

  StateKey state_key(const Task& task);
  [[nodiscard]] std::optional<std::pair<int, uint32_t>> as_domain(int tree_index,
                                                                  topology::DomainRange range);
  void note_obstacle(int item, int64_t wanted, const GangRegion& region, int64_t alike = 1);

  topology::Cluster& cluster_;
  GangItems& gang_;
  Target target_ = Target::kFull;
  int64_t steps_ = 0;
  int64_t budget_ = 0;
  int64_t looks_ = 0;
  int64_t look_budget_ = 0;
  int symmetric_tree_ = -1;  // the only topology of the gang, or -1
  int cell_level_ = 0;       // the level at which distributions differ for the rest of the gang
  bool one_shape_ = false;
  std::unique_ptr<GangSymmetry> symmetry_;
  std::vector<bool> has_running_;                   // by item: pods run below it
  std::vector<std::map<int, int64_t>> needs_full_;  // by item: pods by shape
  std::vector<std::map<int, int64_t>> needs_min_;

  std::vector<std::optional<GangChoice>> chosen_;
  std::vector<std::vector<Share>> pods_;
  std::vector<int32_t> left_out_;   // by group: children left out
  std::vector<int64_t> pod_count_;  // by group: new pods placed below it
  int depth_ = 0;                   // pod sets placed
  int deepest_ = 0;
  std::optional<GangSolution> solution_;
  GangObstacle obstacle_;
  int obstacle_depth_ = -1;  // pod sets placed when it was met
  boost::unordered_flat_set<StateKey, boost::hash<StateKey>> failed_;
};

}  // namespace phalanx::placement
