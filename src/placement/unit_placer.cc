#include "placement/unit_placer.h"

#include <algorithm>

#include "base/check.h"
#include "placement/balanced.h"
#include "placement/choose.h"
#include "placement/descend.h"
#include "placement/failure_text.h"

namespace phalanx::placement {
namespace {

// As many request shapes as are worth remembering: each costs 4 to 20 bytes a node.
constexpr size_t kMaxRemembered = 64;

bool is_auto(const std::optional<std::string>& level) {
  return level == api::kAutoLevel;
}

}  // namespace

std::expected<UnitPlacement, UnitFailure> UnitPlacer::place(TreeId tree, const Unit& unit,
                                                            const Options& options) {
  if (unit.topology && (is_auto(unit.topology->required) || is_auto(unit.topology->preferred))) {
    return place_automatically(tree, unit, options);
  }
  return place_at_level(tree, unit, options);
}

std::expected<UnitPlacement, UnitFailure> UnitPlacer::place_automatically(TreeId tree_id,
                                                                          const Unit& unit,
                                                                          const Options& options) {
  const topology::DomainTree& tree = cluster_.tree(tree_id);
  int narrowest = tree.lowest();
  const auto constraints = unit.topology->constraints();
  if (!constraints.empty())
    narrowest = tree.find_level(constraints[0].topology).value_or(narrowest);
  Unit attempt = unit;
  const bool required = is_auto(unit.topology->required);
  for (int level = narrowest;; --level) {
    (required ? attempt.topology->required : attempt.topology->preferred) = tree.level_key(level);
    auto placed = place_at_level(tree_id, attempt, options);
    // A preferred request climbs by itself.
    if (placed || level == 0 || !required) return placed;
  }
}

NodePredicates UnitPlacer::predicates_of(const topology::DomainTree& tree,
                                         const PodSet& pod_set) const {
  NodePredicates predicates{pod_set.node_selector, pod_set.tolerations, pod_set.affinity};
  const auto& flavor = tree.spec().tolerations;
  predicates.tolerations.insert(predicates.tolerations.end(), flavor.begin(), flavor.end());
  return predicates;
}

const DomainCounts& UnitPlacer::count(TreeId tree_id, const Unit& unit, const LevelPlan& plan,
                                      const Options& options) {
  const topology::DomainTree& tree = cluster_.tree(tree_id);
  CountedShape shape{cluster_.make_request(unit.workers->requests),
                     std::nullopt,
                     plan.slice_level,
                     plan.slice_size,
                     plan.inner_size,
                     options.simulate_empty};
  NodePredicates predicates = predicates_of(tree, *unit.workers);
  NodePredicates leader_predicates;
  if (unit.leader != nullptr) {
    shape.leader = cluster_.make_request(unit.leader->requests);
    leader_predicates = predicates_of(tree, *unit.leader);
  }
  const bool scored = options.preferred_node_affinity;
  const auto count_now = [&] {
    auto filter =
        std::make_shared<NodeFilter>(cluster_, tree, predicates, unit.confinement, scored);
    auto leader_filter = unit.leader == nullptr
                             ? filter
                             : std::make_shared<NodeFilter>(cluster_, tree, leader_predicates);
    return std::make_unique<DomainCounts>(tree, shape, std::move(filter), std::move(leader_filter));
  };
  if (unit.confinement) {
    confined_ = count_now();
    return *confined_;
  }

  ++clock_;
  const auto known = std::ranges::find_if(remembered_, [&](const Remembered& entry) {
    return entry.tree == tree_id && entry.scored == scored && entry.shape == shape &&
           entry.predicates == predicates && entry.leader_predicates == leader_predicates;
  });
  if (known != remembered_.end()) {
    known->last_used = clock_;
    if (known->structure == tree.structure() && known->label_version == cluster_.label_version()) {
      known->counts->refresh();
      return *known->counts;
    }
    remembered_.erase(known);
  }
  if (remembered_.size() >= kMaxRemembered) {
    remembered_.erase(std::ranges::min_element(remembered_, {}, &Remembered::last_used));
  }
  remembered_.push_back({tree_id, tree.structure(), cluster_.label_version(), predicates,
                         leader_predicates, scored, shape, count_now(), clock_});
  return *remembered_.back().counts;
}

std::expected<UnitPlacement, UnitFailure> UnitPlacer::place_at_level(TreeId tree_id,
                                                                     const Unit& unit,
                                                                     const Options& options) {
  const topology::DomainTree& tree = cluster_.tree(tree_id);
  auto plan = plan_levels(tree, unit.topology, unit.count, options);
  if (!plan) {
    UnitFailure failure{plan.error().message, nullptr};
    if (options.explain) {
      failure.explanation = explain_unreadable(tree, unit.count, failure.text);
    }
    return std::unexpected(std::move(failure));
  }
  const DomainCounts& counts = count(tree_id, unit, *plan, options);

  std::optional<std::vector<Share>> shares;
  if (plan->balanced) shares = place_balanced(counts, *plan);
  if (!shares) {
    const auto choice = choose(counts, *plan);
    if (!choice) {
      UnitFailure failure{failure_text(cluster_, counts, *plan, choice.error()), nullptr};
      if (options.explain) {
        failure.explanation = explain(cluster_, tree_id, counts, *plan, choice.error());
      }
      return std::unexpected(std::move(failure));
    }
    shares = descend(counts, *plan, *choice);
    // The counts said that it fits; running out of room on the way down would be our mistake.
    CHECK(shares.has_value());
  }
  std::erase_if(*shares, [](const Share& share) { return share.pods == 0 && share.leaders == 0; });
  if (!std::ranges::is_sorted(*shares, {}, &Share::domain)) {
    std::ranges::sort(*shares, {}, &Share::domain);
  }
  return *std::move(shares);
}

}  // namespace phalanx::placement
