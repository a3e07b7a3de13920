#include "core/unit_market.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "placement/assignment.h"

namespace phalanx::core {

placement::Workload UnitPlacement::unit_request(
    const std::vector<const api::ResourceFlavor*>& flavors, const std::vector<size_t>& unit) const {
  placement::Workload request{request_.name, {}, {}, false};
  for (const size_t index : unit) {
    placement::PodSet& pod_set = request.pod_sets.emplace_back(request_.pod_sets[index]);
    // The tree brings those of its own flavor.
    for (size_t i = 1; i < flavors.size(); ++i) {
      for (const auto& [key, value] : flavors[i]->node_labels) pod_set.node_selector[key] = value;
      pod_set.tolerations.insert(pod_set.tolerations.end(), flavors[i]->tolerations.begin(),
                                 flavors[i]->tolerations.end());
    }
  }
  return request;
}

placement::Options UnitPlacement::unit_options(const placement::Workload& unit) const {
  placement::Options options = options_;
  for (const placement::PodSet& pod_set : unit.pod_sets) {
    options.balanced |= pod_set.topology && pod_set.topology->balanced;
  }
  return options;
}

bool UnitPlacement::is_delayed(const std::vector<const api::ResourceFlavor*>& flavors) const {
  return std::ranges::any_of(
      flavors, [&](const auto* flavor) { return delayed_.contains(flavor->meta.name); });
}

UnitPlacement::Placed UnitPlacement::place(const std::vector<const api::ResourceFlavor*>& flavors,
                                           const std::vector<size_t>& unit,
                                           Explanations* explanations) {
  if (is_delayed(flavors)) {
    charges_.emplace_back();
    return std::vector<api::TopologyAssignment>(unit.size());
  }
  const api::ResourceFlavor& flavor = *flavors.front();
  const auto tree = state_.account.tree_of(flavor.meta.name);
  if (!tree) {
    return std::unexpected(fmt::format("Topology \"{}\" of flavor {} is not known",
                                       flavor.topology_name, flavor.meta.name));
  }
  const placement::Workload request = unit_request(flavors, unit);
  const auto results = state_.account.placer().place(*tree, request, unit_options(request));
  for (const placement::PodSetResult& result : results) {
    if (!result.failure) continue;
    if (result.explanation && explanations != nullptr) {
      (*explanations)[flavor.meta.name] = result.explanation;
    }
    return std::unexpected(*result.failure);
  }
  std::vector<api::TopologyAssignment> assignments;
  topology::Cluster& cluster = state_.account.cluster();
  auto& charges = charges_.emplace_back();
  for (size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].assignment);
    const auto pods = placement::to_leaves(cluster, *tree, *results[i].assignment);
    CHECK(pods);
    const topology::RequestVector requests = cluster.make_request(request.pod_sets[i].requests);
    for (const auto& [leaf, count] : *pods) {
      cluster.charge(*tree, leaf, requests, count);
      charges.push_back({*tree, leaf, requests, count});
    }
    assignments.push_back(*results[i].assignment);
  }
  return assignments;
}

void UnitPlacement::unplace() {
  CHECK(!charges_.empty());
  for (const Charge& charge : charges_.back()) {
    state_.account.cluster().charge(charge.tree, charge.leaf, charge.requests, -charge.count);
  }
  charges_.pop_back();
}

void UnitPlacement::lift_all() {
  for (const auto& charges : charges_) {
    for (const Charge& charge : charges) {
      state_.account.cluster().charge(charge.tree, charge.leaf, charge.requests, -charge.count);
    }
  }
}

WorkloadRoom::WorkloadRoom(UnitPlacement& placement,
                           const std::vector<quota::FlavorChoice>& choices)
    : placement_(placement) {
  State& state = placement_.state();
  for (const placement::Members& unit : placement::units_of(placement_.request(), {})) {
    const quota::FlavorChoice& choice = choices[unit.all.front()];
    const api::ResourceFlavor* home = state.flavor(choice.topology_flavor);
    if (choice.topology_flavor.empty() || home == nullptr) continue;
    PlacedUnit placed{unit.all, {home}, {}};
    for (const size_t member : unit.all) {
      for (const auto& [resource, name] : choices[member].flavors) {
        const api::ResourceFlavor* flavor = state.flavor(name);
        if (flavor != nullptr &&
            std::ranges::find(placed.flavors, flavor) == placed.flavors.end()) {
          placed.flavors.push_back(flavor);
        }
      }
    }
    if (placement_.is_delayed(placed.flavors)) continue;
    const auto tree = state.account.tree_of(choice.topology_flavor);
    known_ &= tree.has_value();
    if (!tree) continue;
    placed.tree = *tree;
    if (std::ranges::find(trees_, *tree) == trees_.end()) trees_.push_back(*tree);
    units_.push_back(std::move(placed));
  }
  if (units_.size() == 1) {
    single_ = placement_.unit_request(units_[0].flavors, units_[0].members);
    roles_ = placement::units_of(single_, {}).front();
    if (known_) {
      question_ = state.account.placer().units().one_domain(units_[0].tree, only_unit(),
                                                            placement_.unit_options(single_));
    }
  }
}

bool WorkloadRoom::place_all(std::vector<quota::FlavorChoice>* choices) {
  if (!known_) return false;
  const topology::Attempt attempt(placement_.state().account.cluster());
  size_t placed_units = 0;
  bool fits = true;
  for (const PlacedUnit& unit : units_) {
    auto placed = placement_.place(unit.flavors, unit.members);
    fits = placed.has_value();
    if (!fits) break;
    ++placed_units;
    for (size_t i = 0; i < unit.members.size() && choices != nullptr; ++i) {
      (*choices)[unit.members[i]].topology = std::move((*placed)[i]);
    }
  }
  placement_.forget(placed_units);
  return fits;
}

bool WorkloadRoom::fits() {
  // Where it is to go nobody asks, nor why not.
  if (question_) return placement_.state().account.placer().units().fits(*question_);
  return place_all(nullptr);
}

bool WorkloadRoom::place(std::vector<quota::FlavorChoice>& choices) {
  return place_all(&choices);
}

placement::Unit WorkloadRoom::only_unit() const {
  const placement::PodSet& workers = single_.pod_sets[roles_.workers];
  const placement::PodSet* leader = roles_.leader ? &single_.pod_sets[*roles_.leader] : nullptr;
  return {&workers, leader, workers.count, workers.topology, std::nullopt};
}

std::optional<quota::OneDomain> WorkloadRoom::one_domain() {
  if (!question_) return std::nullopt;
  return quota::OneDomain{
      units_[0].tree, question_->level(),
      placement_.state().account.cluster().make_request(only_unit().workers->requests),
      question_->pods()};
}

std::vector<uint32_t> WorkloadRoom::fitting_domains() {
  return placement_.state().account.placer().units().fitting_domains(*question_);
}

bool WorkloadRoom::fits_in(uint32_t domain) {
  return placement_.state().account.placer().units().fits_in(*question_, domain);
}

}  // namespace phalanx::core
