// Places one unit, a pod set or a leader with its workers, and remembers what it counted.
//
// This is phase 1 and phase 2 put together (reference/placement.md sections 3 to 8). The counts of
// a request shape are kept and follow the cluster's changes, so that asking again costs a fraction
// of asking first.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/domain_counts.h"
#include "placement/explanation.h"
#include "placement/level_plan.h"
#include "placement/pod_set.h"
#include "placement/take.h"
#include "topology/cluster.h"

namespace phalanx::placement {

struct Unit {
  const PodSet* workers = nullptr;
  const PodSet* leader = nullptr;  // one pod of it is placed with the workers
  int32_t count = 0;               // workers to place
  std::optional<api::TopologyRequest> topology;
  std::optional<topology::DomainRange> confinement;  // leaves a replacement must stay in
};

struct UnitFailure {
  std::string text;
  std::shared_ptr<const Explanation> explanation;
};

// Leaves with what they were given; those that got nothing are left out. Sorted by path.
using UnitPlacement = std::vector<Share>;

// What is counted, and on which nodes.
struct CountKey {
  TreeId tree;
  bool scored = false;
  CountedShape shape;
  NodePredicates predicates;
  NodePredicates leader_predicates;

  bool operator==(const CountKey&) const = default;
};

class UnitPlacer {
 public:
  explicit UnitPlacer(topology::Cluster& cluster) : cluster_(cluster) {}

  std::expected<UnitPlacement, UnitFailure> place(TreeId tree, const Unit& unit,
                                                  const Options& options);

  // A unit of which one domain must hold all, asked about again and again while the cluster
  // changes: what stays the same of the question is worked out once.
  class DomainQuestion {
   public:
    [[nodiscard]] int level() const { return plan_.level; }
    // Pods that the domain must hold.
    [[nodiscard]] int64_t pods() const { return plan_.count; }

   private:
    friend class UnitPlacer;
    LevelPlan plan_;
    CountKey key_;
    size_t remembered_ = 0;  // where the counts were found last
  };
  // nullopt if the unit may spread, or if no level can be read from its request.
  std::optional<DomainQuestion> one_domain(TreeId tree, const Unit& unit, const Options& options);
  // The domains that hold it now, whether there is any, and whether a certain one does.
  std::vector<uint32_t> fitting_domains(DomainQuestion& question);
  bool fits(DomainQuestion& question);
  bool fits_in(DomainQuestion& question, uint32_t domain);

  // Drops all remembered counts.
  void forget() { remembered_.clear(); }

 private:
  struct Remembered {
    CountKey key;
    uint64_t structure = 0;
    uint64_t label_version = 0;
    std::unique_ptr<DomainCounts> counts;
    uint64_t last_used = 0;
  };

  std::expected<UnitPlacement, UnitFailure> place_at_level(TreeId tree, const Unit& unit,
                                                           const Options& options);
  // `required: auto` and `preferred: auto`: the narrowest level that fits.
  std::expected<UnitPlacement, UnitFailure> place_automatically(TreeId tree, const Unit& unit,
                                                                const Options& options);
  CountKey key_of(TreeId tree, const Unit& unit, const LevelPlan& plan, const Options& options);
  // Counts on the nodes as they are now; `place` is where they are remembered, and a guess before.
  const DomainCounts& count(const CountKey& key, size_t& place);
  [[nodiscard]] std::unique_ptr<DomainCounts> count_anew(
      const CountKey& key, std::optional<topology::DomainRange> confinement);
  [[nodiscard]] NodePredicates predicates_of(const topology::DomainTree& tree,
                                             const PodSet& pod_set) const;

  topology::Cluster& cluster_;
  std::vector<Remembered> remembered_;
  std::unique_ptr<DomainCounts> confined_;  // counts of a confined request are not worth keeping
  uint64_t clock_ = 0;
};

}  // namespace phalanx::placement
