#include "placement/failure_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>

namespace phalanx::placement {
namespace {

constexpr size_t kExclusions = static_cast<size_t>(Exclusion::kConfinement) + 1;

// What fits of each layer inside the domain of the search level that holds the most slices.
std::string layers_text(const DomainCounts& counts, const LevelPlan& plan, int search_level) {
  const topology::DomainTree& tree = counts.tree();
  uint32_t best = tree.size(search_level);
  for (uint32_t domain = 0; domain < tree.size(search_level); ++domain) {
    if (!tree.domain_active(search_level, domain)) continue;
    const bool none_yet = best == tree.size(search_level);
    if (none_yet || counts.slices(search_level, domain) > counts.slices(search_level, best)) {
      best = domain;
    }
  }
  std::string text;
  for (const api::SliceConstraint& layer : plan.constraints) {
    const int level = *tree.find_level(layer.topology);
    topology::DomainRange range{best, best + 1};
    for (int above = search_level; above < level; ++above) {
      range = {tree.children(above, range.begin).begin, tree.children(above, range.end - 1).end};
    }
    int64_t have = 0;
    for (uint32_t domain = range.begin; domain < range.end; ++domain) {
      have += counts.pods(level, domain) / layer.size;
    }
    text += fmt::format("; {}/{} slice(s) fit on level {}", have, plan.count / layer.size,
                        layer.topology);
  }
  return text;
}

// The reference has no leaders with constraints of their own; without them the text is its text.
std::string leader_exclusions(const DomainCounts& counts) {
  const topology::DomainTree& tree = counts.tree();
  if (!counts.has_leader() || counts.leader_filter().admits_all()) return "";
  int64_t excluded = 0;
  for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    excluded += tree.leaf_active(leaf) && counts.filter().admits(leaf) &&
                !counts.leader_filter().admits(leaf);
  }
  if (excluded == 0) return "";
  return fmt::format(". The leader's own taints, selectors or affinity exclude {} more of {} nodes",
                     excluded, tree.active_leaf_count());
}

}  // namespace

std::string exclusion_list(const topology::Cluster& cluster, const DomainCounts& counts) {
  const topology::DomainTree& tree = counts.tree();
  const NodeFilter& filter = counts.filter();
  // There may be 100 000 nodes and this is part of every "no": counted first, named afterwards.
  std::array<int64_t, kExclusions> by_filter{};
  std::vector<int64_t> by_resource(cluster.resource_count());
  std::map<api::Taint, int64_t> by_taint;
  for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    if (!tree.leaf_active(leaf)) continue;
    const Exclusion exclusion = filter.exclusion(leaf);
    if (exclusion == Exclusion::kNone) {
      if (counts.pods(tree.lowest(), leaf) != 0) continue;
      const LeafFit fit =
          fit_in_leaf(tree, leaf, counts.shape().worker, counts.shape().simulate_empty);
      if (fit.limiting.valid()) ++by_resource[fit.limiting.value];
    } else if (exclusion == Exclusion::kTaint) {
      ++by_taint[filter.blocking_taint(leaf)];
    } else {
      ++by_filter[static_cast<size_t>(exclusion)];
    }
  }
  std::vector<std::string> entries;
  const auto name = [&](const std::string& cause, int64_t count) {
    if (count > 0) entries.push_back(fmt::format("{}: {}", cause, count));
  };
  for (const auto& [taint, count] : by_taint)
    name(fmt::format("taint \"{}\"", taint.text()), count);
  name("nodeSelector", by_filter[static_cast<size_t>(Exclusion::kNodeSelector)]);
  name("affinity", by_filter[static_cast<size_t>(Exclusion::kAffinity)]);
  name("topologyDomain", by_filter[static_cast<size_t>(Exclusion::kConfinement)]);
  for (size_t i = 0; i < by_resource.size(); ++i) {
    name(fmt::format("resource \"{}\"", cluster.resource_name(ResourceId(i))), by_resource[i]);
  }
  std::ranges::sort(entries);
  return fmt::format("{}", fmt::join(entries, ", "));
}

std::string failure_text(const topology::Cluster& cluster, const DomainCounts& counts,
                         const LevelPlan& plan, const Shortfall& shortfall) {
  const topology::DomainTree& tree = counts.tree();
  if (shortfall.no_domains) {
    return fmt::format("no topology domains at level: {}", tree.level_key(shortfall.level));
  }
  std::string text;
  if (plan.constraints.size() >= 2) {
    text = fmt::format("topology \"{}\" doesn't allow to fit{}", tree.name(),
                       layers_text(counts, plan, shortfall.level));
  } else if (shortfall.fits == 0) {
    text = fmt::format("topology \"{}\" doesn't allow to fit any of {} {}(s)", tree.name(),
                       plan.slices, plan.unit());
  } else {
    text = fmt::format("topology \"{}\" allows to fit only {} out of {} {}(s)", tree.name(),
                       shortfall.fits, plan.slices, plan.unit());
  }
  const std::string excluded = exclusion_list(cluster, counts);
  if (!excluded.empty()) {
    text += fmt::format(". Total nodes: {}; excluded: {}", tree.active_leaf_count(), excluded);
  }
  text += leader_exclusions(counts);
  return text;
}

}  // namespace phalanx::placement
