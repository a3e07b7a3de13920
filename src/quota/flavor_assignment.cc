#include "quota/flavor_assignment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/quantity.h"
#include "base/saturating.h"
#include "placement/units.h"

namespace phalanx::quota {
namespace {

constexpr std::string_view kPods = "pods";

int64_t amount_in(const Usage& usage, const std::string& flavor, const std::string& resource) {
  const auto found = usage.find({flavor, resource});
  return found == usage.end() ? 0 : found->second;
}

// Whether labels that flavors of the group define agree with what the pods ask for. Keys that no
// flavor of the group has are the nodes' business.
bool selects(const placement::PodSet& pod_set, const api::ResourceFlavor& flavor,
             const std::set<std::string>& keys) {
  const auto value_of = [&](const std::string& key) -> std::optional<std::string_view> {
    const auto found = flavor.node_labels.find(key);
    if (found == flavor.node_labels.end()) return std::nullopt;
    return found->second;
  };
  for (const auto& [key, value] : pod_set.node_selector) {
    if (keys.contains(key) && value_of(key) != std::string_view(value)) return false;
  }
  if (!pod_set.affinity.required) return true;
  return std::ranges::any_of(*pod_set.affinity.required, [&](const api::NodeSelectorTerm& term) {
    return std::ranges::all_of(term.expressions, [&](const auto& requirement) {
      return !keys.contains(requirement.key) || requirement.matches(value_of(requirement.key));
    });
  });
}

}  // namespace

Obstacle Refused::obstacle() const {
  Obstacle best = Obstacle::kNoMatchingFlavor;
  for (const Refusal& refusal : refusals) best = std::max(best, refusal.obstacle);
  return best;
}

std::string Refused::text(const std::string& pod_set_name) const {
  std::set<std::string> texts;
  for (const Refusal& refusal : refusals) texts.insert(refusal.text);
  return fmt::format("couldn't assign flavors to pod set {}: {}", pod_set_name,
                     fmt::join(texts, ", "));
}

FlavorAssigner::FlavorAssigner(const api::ClusterQueue& queue, QuotaTree& tree,
                               FlavorMarket& market)
    : queue_(queue), tree_(tree), member_(tree.queue(queue.meta.name)), market_(market) {
  CHECK(member_.valid());
  only_topology_flavors_ = !queue.groups.empty();
  for (const api::ResourceGroup& group : queue.groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      const api::ResourceFlavor* flavor = market_.flavor(quotas.flavor);
      if (flavor == nullptr || flavor->topology_name.empty()) only_topology_flavors_ = false;
    }
  }
}

std::expected<Assigned, Refused> FlavorAssigner::assign(const Demand& demand) {
  demand_ = demand;
  assumed_.clear();
  earlier_.clear();
  assigned_ = {};
  assigned_.choices.resize(demand.workload->pod_sets.size());
  for (const placement::Members& unit : placement::units_of(*demand.workload, {})) {
    if (auto refused = assign_unit(unit.all)) {
      refused->pod_set = unit.all.front();
      refused->earlier = earlier_;
      return std::unexpected(std::move(*refused));
    }
  }
  assigned_.why.earlier = earlier_;
  return std::move(assigned_);
}

bool FlavorAssigner::by_topology(const std::vector<size_t>& members) const {
  return only_topology_flavors_ || std::ranges::any_of(members, [&](size_t member) {
           return demand_.workload->pod_sets[member].topology.has_value();
         });
}

bool FlavorAssigner::has_topology(const api::ResourceGroup& group) const {
  return std::ranges::any_of(group.flavors, [&](const api::FlavorQuotas& quotas) {
    const api::ResourceFlavor* flavor = market_.flavor(quotas.flavor);
    return flavor != nullptr && !flavor->topology_name.empty();
  });
}

std::optional<Refused> FlavorAssigner::assign_unit(const std::vector<size_t>& members) {
  const bool no_pods = std::ranges::all_of(
      members, [&](size_t member) { return demand_.workload->pod_sets[member].count == 0; });
  if (no_pods) return std::nullopt;
  auto needs = group_needs(members);
  if (!needs) return Refused{0, {needs.error()}};
  Unit unit{members, by_topology(members), std::move(*needs), {}};
  while (unit.flavors.size() < unit.needs.size()) {
    if (auto refused = choose(unit)) return refused;
  }
  return std::nullopt;
}

std::optional<Refused> FlavorAssigner::choose(Unit& unit) {
  const GroupNeed& need = unit.needs[unit.flavors.size()];
  Refused refused;
  Answer best;
  for (const api::FlavorQuotas& quotas : need.group->flavors) {
    std::vector<Refusal> refusals;
    const Answer answer = ask(unit, quotas, refusals);
    refused.refusals.insert(refused.refusals.end(), refusals.begin(), refusals.end());
    // Where the search ends that flavor is taken, also if an earlier one was better.
    const bool stops = stops_search(answer);
    if (stops || is_better(answer, best)) best = answer;
    if (stops) break;
  }
  if (best.fit == Fit::kNo) return refused;
  note(unit, need, *best.flavor, +1);
  unit.flavors.push_back(best.flavor);
  if (best.fit == Fit::kFits) {
    // Asked before, and nothing has changed since.
    const bool last = unit.flavors.size() == unit.needs.size();
    if (unit.placed && last && assigned_.fit == Fit::kFits) CHECK(!place(unit));
    earlier_.insert(earlier_.end(), refused.refusals.begin(), refused.refusals.end());
  } else if (assigned_.fit == Fit::kFits) {
    refused.pod_set = unit.members.front();
    assigned_.why = std::move(refused);
  }
  assigned_.fit = std::min(assigned_.fit, best.fit);
  assigned_.borrows |= best.borrows;
  return std::nullopt;
}

FlavorAssigner::Answer FlavorAssigner::ask(Unit& unit, const api::FlavorQuotas& quotas,
                                           std::vector<Refusal>& refusals) {
  if (auto refusal = check_flavor(unit, quotas.flavor)) {
    refusals.push_back(std::move(*refusal));
    return {};
  }
  const GroupNeed& need = unit.needs[unit.flavors.size()];
  const api::ResourceFlavor* flavor = market_.flavor(quotas.flavor);
  Answer answer{Fit::kFits, false, flavor};
  std::optional<Refusal> refusal = check_quota(quotas.flavor, need, answer.borrows);
  note(unit, need, *flavor, +1);
  unit.flavors.push_back(flavor);
  const bool last = unit.flavors.size() == unit.needs.size();
  if (!refusal && unit.placed && last) {
    // Once somebody has to go all places are found together.
    if (assigned_.fit == Fit::kFits) {
      refusal = place(unit);
      if (!refusal) market_.unplace();
    } else if (market_.if_others_went(assigned_.choices).fit == Fit::kNo) {
      refusal = {Obstacle::kTopology, quotas.flavor,
                 fmt::format("flavor {} has no room beside the pod sets before it", quotas.flavor)};
    }
  }
  if (refusal) {
    const bool hopeless = refusal->obstacle == Obstacle::kExceedsQuota;
    refusals.push_back(std::move(*refusal));
    const auto prospect =
        hopeless ? FlavorMarket::Prospect() : market_.if_others_went(assigned_.choices);
    answer.fit = prospect.fit;
    answer.borrows = prospect.borrows;
  }
  unit.flavors.pop_back();
  note(unit, need, *flavor, -1);
  return answer;
}

bool FlavorAssigner::stops_search(const Answer& answer) const {
  const api::FlavorFungibility& policy = queue_.fungibility;
  if (answer.fit == Fit::kNo) return false;
  if (answer.borrows && policy.next_when_can_borrow) return false;
  return answer.fit == Fit::kFits || !policy.next_when_can_preempt;
}

bool FlavorAssigner::is_better(const Answer& a, const Answer& b) const {
  if (a.fit == Fit::kNo || b.fit == Fit::kNo) return a.fit > b.fit;
  if (queue_.fungibility.preemption_over_borrowing && a.borrows != b.borrows) return b.borrows;
  if (a.fit != b.fit) return a.fit > b.fit;
  return b.borrows && !a.borrows;
}

int64_t FlavorAssigner::total_of(size_t pod_set, const std::string& resource) const {
  const api::ResourceAmounts& per_pod = (*demand_.per_pod)[pod_set];
  const int32_t count = demand_.workload->pod_sets[pod_set].count;
  const auto found = per_pod.find(resource);
  int64_t each = found == per_pod.end() ? 0 : found->second;
  if (resource == kPods) each = saturating_add(each, 1);
  return saturating_multiply(each, count);
}

std::expected<std::vector<FlavorAssigner::GroupNeed>, Refusal> FlavorAssigner::group_needs(
    const std::vector<size_t>& members) const {
  api::ResourceAmounts amounts;
  for (const size_t member : members) {
    for (const auto& [resource, amount] : (*demand_.per_pod)[member]) {
      if (amount > 0 && resource != kPods) {
        amounts[resource] = saturating_add(amounts[resource], total_of(member, resource));
      }
    }
    if (queue_.group_of(kPods) != nullptr) {
      const std::string pods(kPods);
      amounts[pods] = saturating_add(amounts[pods], total_of(member, pods));
    }
  }
  std::vector<GroupNeed> needs;
  for (const auto& [resource, amount] : amounts) {
    const api::ResourceGroup* group = queue_.group_of(resource);
    if (group == nullptr && demand_.ignore_undeclared) continue;
    if (group == nullptr) {
      return std::unexpected(
          Refusal{Obstacle::kNoMatchingFlavor, "",
                  fmt::format("resource {} unavailable in ClusterQueue", resource)});
    }
    auto known = std::ranges::find(needs, group, &GroupNeed::group);
    if (known == needs.end()) known = needs.insert(needs.end(), {group, {}});
    known->amounts[resource] = amount;
  }
  // Pods that ask for nothing take nothing, but they still need a place.
  if (needs.empty() && !queue_.groups.empty()) needs.push_back({&queue_.groups.front(), {}});
  // Those that say where the pods go come last: only then it is seen whether there is room.
  std::vector<GroupNeed> in_order;
  for (const bool placing : {false, true}) {
    for (GroupNeed& need : needs) {
      if (has_topology(*need.group) == placing) in_order.push_back(std::move(need));
    }
  }
  return in_order;
}

std::optional<Refusal> FlavorAssigner::check_flavor(const Unit& unit,
                                                    const std::string& name) const {
  const auto never = [&](std::string text) {
    return Refusal{Obstacle::kNoMatchingFlavor, name, std::move(text)};
  };
  const api::ResourceFlavor* flavor = market_.flavor(name);
  if (flavor == nullptr) return never(fmt::format("flavor {} not found", name));
  if (auto refusal = check_topology(unit, *flavor)) return refusal;
  std::set<std::string> keys;
  for (const api::FlavorQuotas& other : unit.needs[unit.flavors.size()].group->flavors) {
    if (const api::ResourceFlavor* sibling = market_.flavor(other.flavor)) {
      for (const auto& [key, value] : sibling->node_labels) keys.insert(key);
    }
  }
  for (const size_t index : unit.members) {
    const placement::PodSet& member = demand_.workload->pod_sets[index];
    std::vector<api::Toleration> tolerations = member.tolerations;
    tolerations.insert(tolerations.end(), flavor->tolerations.begin(), flavor->tolerations.end());
    if (const api::Taint* taint = api::first_untolerated(flavor->node_taints, tolerations)) {
      return never(fmt::format("untolerated taint {} in flavor {}", taint->text(), name));
    }
    if (!selects(member, *flavor, keys)) {
      return never(fmt::format("flavor {} doesn't match node affinity", name));
    }
  }
  return std::nullopt;
}

std::optional<Refusal> FlavorAssigner::check_topology(const Unit& unit,
                                                      const api::ResourceFlavor& flavor) const {
  const std::string& name = flavor.meta.name;
  const auto never = [&](std::string text) {
    return Refusal{Obstacle::kNoMatchingFlavor, name, std::move(text)};
  };
  if (!unit.placed) {
    if (flavor.topology_name.empty()) return std::nullopt;
    return never(fmt::format("Flavor \"{}\" supports only TopologyAwareScheduling", name));
  }
  if (flavor.topology_name.empty()) {
    // Another group may say where the pods go, if this one never could.
    const bool another = std::ranges::any_of(
        unit.needs, [&](const GroupNeed& need) { return has_topology(*need.group); });
    if (another && !has_topology(*unit.needs[unit.flavors.size()].group)) return std::nullopt;
    return never(fmt::format("Flavor \"{}\" does not support TopologyAwareScheduling", name));
  }
  for (const api::ResourceFlavor* earlier : unit.flavors) {
    if (earlier->topology_name.empty() || earlier->topology_name == flavor.topology_name) continue;
    return never(fmt::format(
        "flavor {} is of topology \"{}\", but flavor {} of the same pods is of topology \"{}\"",
        name, flavor.topology_name, earlier->meta.name, earlier->topology_name));
  }
  return std::nullopt;
}

std::optional<Refusal> FlavorAssigner::check_quota(const std::string& flavor, const GroupNeed& need,
                                                   bool& borrows) {
  std::optional<Refusal> waiting;
  for (const auto& [resource, amount] : need.amounts) {
    const FlavorResourceId what = tree_.id({flavor, resource});
    const int64_t assumed = amount_in(assumed_, flavor, resource);
    const int64_t wanted = saturating_add(assumed, amount);
    const int64_t maximum = tree_.maximum(member_, what);
    if (wanted > maximum) {
      return Refusal{
          Obstacle::kExceedsQuota, flavor,
          fmt::format("insufficient quota for {} in flavor {}, previously considered podsets "
                      "requests ({}) + current podset request ({}) > maximum capacity ({})",
                      resource, flavor, format_amount(resource, assumed),
                      format_amount(resource, amount), format_amount(resource, maximum))};
    }
    borrows |= tree_.borrows(member_, what, wanted);
    const int64_t lacking = saturating_subtract(wanted, tree_.available(member_, what));
    if (lacking > 0 && !waiting) {
      // More may be promised than there is, while those who have it are still there.
      const int64_t promised =
          std::max<int64_t>(0, tree_.available(member_, what, Book::kPromised));
      const int64_t more = saturating_subtract(
          wanted, std::min(promised, tree_.available(member_, what, Book::kHeld)));
      waiting = {Obstacle::kWaitingForQuota, flavor,
                 fmt::format("insufficient unused quota for {} in flavor {}, {} more needed",
                             resource, flavor, format_amount(resource, more))};
    }
  }
  return waiting;
}

std::optional<Refusal> FlavorAssigner::place(Unit& unit) {
  // First the one whose tree it is.
  std::vector<const api::ResourceFlavor*> flavors = unit.flavors;
  const auto first = std::ranges::find_if(
      flavors, [](const api::ResourceFlavor* flavor) { return !flavor->topology_name.empty(); });
  std::iter_swap(flavors.begin(), first);
  auto placed = market_.place(flavors, unit.members);
  const std::string& name = flavors.front()->meta.name;
  if (!placed) return Refusal{Obstacle::kTopology, name, std::move(placed.error())};
  for (size_t i = 0; i < unit.members.size(); ++i) {
    assigned_.choices[unit.members[i]].topology = std::move((*placed)[i]);
  }
  return std::nullopt;
}

// Writes down that the unit takes its need from the flavor, or no longer does.
void FlavorAssigner::note(const Unit& unit, const GroupNeed& need,
                          const api::ResourceFlavor& flavor, int sign) {
  const std::string& name = flavor.meta.name;
  for (const size_t member : unit.members) {
    FlavorChoice& choice = assigned_.choices[member];
    for (const auto& [resource, all] : need.amounts) {
      const int64_t amount = total_of(member, resource);
      if (amount == 0) continue;
      int64_t& assumed = assumed_[{name, resource}];
      assumed = saturating_add(assumed, sign * amount);
      if (sign > 0) {
        choice.flavors[resource] = name;
        choice.usage[resource] = amount;
      } else {
        choice.flavors.erase(resource);
        choice.usage.erase(resource);
      }
    }
    // Pods that ask for nothing still go to the flavor's nodes.
    const std::string pods(kPods);
    if (sign > 0 && choice.flavors.empty()) choice.flavors[pods] = name;
    if (sign < 0 && choice.usage.empty()) choice.flavors.erase(pods);
    if (unit.placed && !flavor.topology_name.empty()) {
      if (sign > 0 && choice.topology_flavor.empty()) {
        choice.topology_flavor = name;
      } else if (sign < 0 && choice.topology_flavor == name &&
                 std::ranges::find(unit.flavors, &flavor) == unit.flavors.end()) {
        choice.topology_flavor.clear();
      }
    }
    if (sign < 0) choice.topology.reset();
  }
}

}  // namespace phalanx::quota
