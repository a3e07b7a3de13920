#include "quota/flavor_assignment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

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

// What the pods of one pod set need together of a resource.
int64_t total_of(const placement::PodSet& pod_set, const std::string& resource) {
  if (resource == kPods) {
    const auto extra = pod_set.requests.find(resource);
    const int64_t each = extra == pod_set.requests.end() ? 1 : saturating_add(extra->second, 1);
    return saturating_multiply(each, pod_set.count);
  }
  const auto found = pod_set.requests.find(resource);
  return found == pod_set.requests.end() ? 0 : saturating_multiply(found->second, pod_set.count);
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

FlavorAssigner::FlavorAssigner(const api::ClusterQueue& queue, const Usage& reserved,
                               FindFlavor find_flavor, Place place)
    : queue_(queue),
      reserved_(reserved),
      find_flavor_(std::move(find_flavor)),
      place_(std::move(place)) {
  only_topology_flavors_ = !queue.groups.empty();
  for (const api::ResourceGroup& group : queue.groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      const api::ResourceFlavor* flavor = find_flavor_(quotas.flavor);
      if (flavor == nullptr || flavor->topology_name.empty()) only_topology_flavors_ = false;
    }
  }
}

std::expected<std::vector<FlavorChoice>, Refused> FlavorAssigner::assign(
    const placement::Workload& workload) {
  assumed_.clear();
  earlier_.clear();
  std::vector<FlavorChoice> choices(workload.pod_sets.size());
  for (const placement::Members& unit : placement::units_of(workload, {})) {
    if (auto refused = assign_unit(workload, unit.all, choices)) {
      refused->pod_set = unit.all.front();
      refused->earlier = earlier_;
      return std::unexpected(std::move(*refused));
    }
  }
  return choices;
}

bool FlavorAssigner::by_topology(const std::vector<const placement::PodSet*>& members) const {
  return only_topology_flavors_ || std::ranges::any_of(members, [](const placement::PodSet* m) {
           return m->topology.has_value();
         });
}

std::optional<Refused> FlavorAssigner::assign_unit(const placement::Workload& workload,
                                                   const std::vector<size_t>& unit,
                                                   std::vector<FlavorChoice>& choices) {
  std::vector<const placement::PodSet*> members;
  for (const size_t index : unit) members.push_back(&workload.pod_sets[index]);
  const bool no_pods = std::ranges::all_of(members, [](const auto* m) { return m->count == 0; });
  if (no_pods) return std::nullopt;
  auto needs = group_needs(members);
  if (!needs) return Refused{0, {needs.error()}};
  const bool placed = by_topology(members);
  if (placed && needs->size() > 1) {
    return Refused{0,
                   {{Obstacle::kNoMatchingFlavor, "",
                     "its resources belong to several resource groups, but pods that are placed by "
                     "a topology take all of them from one flavor"}}};
  }
  for (const GroupNeed& need : *needs) {
    Refused refused;
    bool found = false;
    for (const api::FlavorQuotas& quotas : need.group->flavors) {
      auto refusal = check_flavor(quotas, need, members);
      if (!refusal && placed) refusal = place(quotas.flavor, unit, choices);
      if (!refusal) {
        take(quotas.flavor, need, members, unit, choices);
        found = true;
        break;
      }
      refused.refusals.push_back(std::move(*refusal));
    }
    if (!found) return refused;
    earlier_.insert(earlier_.end(), refused.refusals.begin(), refused.refusals.end());
  }
  return std::nullopt;
}

std::expected<std::vector<FlavorAssigner::GroupNeed>, Refusal> FlavorAssigner::group_needs(
    const std::vector<const placement::PodSet*>& members) const {
  api::ResourceAmounts amounts;
  for (const placement::PodSet* member : members) {
    for (const auto& [resource, amount] : member->requests) {
      if (amount > 0 && resource != kPods) {
        amounts[resource] = saturating_add(amounts[resource], total_of(*member, resource));
      }
    }
    if (queue_.group_of(kPods) != nullptr) {
      const std::string pods(kPods);
      amounts[pods] = saturating_add(amounts[pods], total_of(*member, pods));
    }
  }
  std::vector<GroupNeed> needs;
  for (const auto& [resource, amount] : amounts) {
    const api::ResourceGroup* group = queue_.group_of(resource);
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
  return needs;
}

std::optional<Refusal> FlavorAssigner::check_flavor(
    const api::FlavorQuotas& quotas, const GroupNeed& need,
    const std::vector<const placement::PodSet*>& members) const {
  const auto never = [&](std::string text) {
    return Refusal{Obstacle::kNoMatchingFlavor, quotas.flavor, std::move(text)};
  };
  const api::ResourceFlavor* flavor = find_flavor_(quotas.flavor);
  if (flavor == nullptr) return never(fmt::format("flavor {} not found", quotas.flavor));
  const bool has_topology = !flavor->topology_name.empty();
  if (by_topology(members) && !has_topology) {
    return never(
        fmt::format("Flavor \"{}\" does not support TopologyAwareScheduling", quotas.flavor));
  }
  if (!by_topology(members) && has_topology) {
    return never(fmt::format("Flavor \"{}\" supports only TopologyAwareScheduling", quotas.flavor));
  }
  std::set<std::string> keys;
  for (const api::FlavorQuotas& other : need.group->flavors) {
    if (const api::ResourceFlavor* sibling = find_flavor_(other.flavor)) {
      for (const auto& [key, value] : sibling->node_labels) keys.insert(key);
    }
  }
  for (const placement::PodSet* member : members) {
    std::vector<api::Toleration> tolerations = member->tolerations;
    tolerations.insert(tolerations.end(), flavor->tolerations.begin(), flavor->tolerations.end());
    if (const api::Taint* taint = api::first_untolerated(flavor->node_taints, tolerations)) {
      return never(fmt::format("untolerated taint {} in flavor {}", taint->text(), quotas.flavor));
    }
    if (!selects(*member, *flavor, keys)) {
      return never(fmt::format("flavor {} doesn't match node affinity", quotas.flavor));
    }
  }
  return check_quota(quotas, need);
}

std::optional<Refusal> FlavorAssigner::check_quota(const api::FlavorQuotas& quotas,
                                                   const GroupNeed& need) const {
  std::optional<Refusal> waiting;
  for (const auto& [resource, amount] : need.amounts) {
    const api::ResourceQuota* quota = quotas.find(resource);
    const int64_t nominal = quota == nullptr ? 0 : quota->nominal;
    const int64_t assumed = amount_in(assumed_, quotas.flavor, resource);
    const int64_t wanted = saturating_add(assumed, amount);
    if (wanted > nominal) {
      return Refusal{
          Obstacle::kExceedsQuota, quotas.flavor,
          fmt::format("insufficient quota for {} in flavor {}, previously considered podsets "
                      "requests ({}) + current podset request ({}) > maximum capacity ({})",
                      resource, quotas.flavor, format_amount(resource, assumed),
                      format_amount(resource, amount), format_amount(resource, nominal))};
    }
    const int64_t reserved = amount_in(reserved_, quotas.flavor, resource);
    const int64_t lacking = saturating_subtract(saturating_add(reserved, wanted), nominal);
    if (lacking > 0 && !waiting) {
      waiting = {Obstacle::kWaitingForQuota, quotas.flavor,
                 fmt::format("insufficient unused quota for {} in flavor {}, {} more needed",
                             resource, quotas.flavor, format_amount(resource, lacking))};
    }
  }
  return waiting;
}

std::optional<Refusal> FlavorAssigner::place(const std::string& name,
                                             const std::vector<size_t>& unit,
                                             std::vector<FlavorChoice>& choices) {
  auto placed = place_(*find_flavor_(name), unit);
  if (!placed) return Refusal{Obstacle::kTopology, name, std::move(placed.error())};
  for (size_t i = 0; i < unit.size(); ++i) {
    choices[unit[i]].topology = std::move((*placed)[i]);
    choices[unit[i]].topology_flavor = name;
  }
  return std::nullopt;
}

void FlavorAssigner::take(const std::string& flavor, const GroupNeed& need,
                          const std::vector<const placement::PodSet*>& members,
                          const std::vector<size_t>& unit, std::vector<FlavorChoice>& choices) {
  for (size_t i = 0; i < unit.size(); ++i) {
    for (const auto& [resource, all] : need.amounts) {
      const int64_t amount = total_of(*members[i], resource);
      if (amount == 0) continue;
      choices[unit[i]].flavors[resource] = flavor;
      choices[unit[i]].usage[resource] = amount;
      int64_t& assumed = assumed_[{flavor, resource}];
      assumed = saturating_add(assumed, amount);
    }
    // Pods that ask for nothing still go to the flavor's nodes.
    if (choices[unit[i]].flavors.empty()) choices[unit[i]].flavors[std::string(kPods)] = flavor;
  }
}

}  // namespace phalanx::quota
