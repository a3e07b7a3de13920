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

bool holds_all(const DomainCounts& counts, const LevelPlan& plan, uint32_t domain) {
  if (!counts.has_leader()) return counts.slices(plan.level, domain) >= plan.slices;
  return counts.leader_column(plan.level)[domain] > 0 &&
         counts.slice_beside_leader_column(plan.level)[domain] >= plan.slices;
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

CountKey UnitPlacer::key_of(TreeId tree_id, const Unit& unit, const LevelPlan& plan,
                            const Options& options) {
  const topology::DomainTree& tree = cluster_.tree(tree_id);
  CountKey key{tree_id,
               options.preferred_node_affinity,
               {cluster_.make_request(unit.workers->requests), std::nullopt, plan.slice_level,
                plan.slice_size, plan.inner_size, options.simulate_empty},
               predicates_of(tree, *unit.workers),
               {}};
  if (unit.leader != nullptr) {
    key.shape.leader = cluster_.make_request(unit.leader->requests);
    key.leader_predicates = predicates_of(tree, *unit.leader);
  }
  return key;
}

std::unique_ptr<DomainCounts> UnitPlacer::count_anew(
    const CountKey& key, std::optional<topology::DomainRange> confinement) {
  const topology::DomainTree& tree = cluster_.tree(key.tree);
  auto filter =
      std::make_shared<NodeFilter>(cluster_, tree, key.predicates, confinement, key.scored);
  auto leader_filter = !key.shape.leader
                           ? filter
                           : std::make_shared<NodeFilter>(cluster_, tree, key.leader_predicates);
  return std::make_unique<DomainCounts>(tree, key.shape, std::move(filter),
                                        std::move(leader_filter));
}

const DomainCounts& UnitPlacer::count(const CountKey& key, size_t& place) {
  const topology::DomainTree& tree = cluster_.tree(key.tree);
  ++clock_;
  if (place >= remembered_.size() || remembered_[place].key != key) {
    place = static_cast<size_t>(std::ranges::find(remembered_, key, &Remembered::key) -
                                remembered_.begin());
  }
  if (place < remembered_.size()) {
    Remembered& known = remembered_[place];
    known.last_used = clock_;
    if (known.structure == tree.structure() && known.label_version == cluster_.label_version()) {
      known.counts->refresh();
      return *known.counts;
    }
    remembered_.erase(remembered_.begin() + static_cast<ptrdiff_t>(place));
  }
  if (remembered_.size() >= kMaxRemembered) {
    remembered_.erase(std::ranges::min_element(remembered_, {}, &Remembered::last_used));
  }
  place = remembered_.size();
  remembered_.push_back(
      {key, tree.structure(), cluster_.label_version(), count_anew(key, std::nullopt), clock_});
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
  const CountKey key = key_of(tree_id, unit, *plan, options);
  size_t place = 0;
  if (unit.confinement) confined_ = count_anew(key, unit.confinement);
  const DomainCounts& counts = unit.confinement ? *confined_ : count(key, place);

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

std::optional<UnitPlacer::DomainQuestion> UnitPlacer::one_domain(TreeId tree, const Unit& unit,
                                                                 const Options& options) {
  if (!unit.topology || is_auto(unit.topology->required)) return std::nullopt;
  auto plan = plan_levels(cluster_.tree(tree), unit.topology, unit.count, options);
  if (!plan || !plan->required) return std::nullopt;
  DomainQuestion question;
  question.key_ = key_of(tree, unit, *plan, options);
  question.plan_ = *std::move(plan);
  return question;
}

std::vector<uint32_t> UnitPlacer::fitting_domains(DomainQuestion& question) {
  const DomainCounts& counts = count(question.key_, question.remembered_);
  std::vector<uint32_t> domains;
  for (uint32_t domain = 0; domain < counts.tree().size(question.level()); ++domain) {
    if (holds_all(counts, question.plan_, domain)) domains.push_back(domain);
  }
  return domains;
}

bool UnitPlacer::fits(DomainQuestion& question) {
  const DomainCounts& counts = count(question.key_, question.remembered_);
  for (uint32_t domain = 0; domain < counts.tree().size(question.level()); ++domain) {
    if (holds_all(counts, question.plan_, domain)) return true;
  }
  return false;
}

bool UnitPlacer::fits_in(DomainQuestion& question, uint32_t domain) {
  return holds_all(count(question.key_, question.remembered_), question.plan_, domain);
}

}  // namespace phalanx::placement
