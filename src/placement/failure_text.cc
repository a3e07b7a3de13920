#include "placement/failure_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace phalanx::placement {
namespace {

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
  std::map<std::string, int64_t> excluded;
  for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    if (!tree.leaf_active(leaf)) continue;
    switch (filter.exclusion(leaf)) {
      case Exclusion::kTaint:
        ++excluded[fmt::format("taint \"{}\"", filter.blocking_taint(leaf).text())];
        break;
      case Exclusion::kNodeSelector:
        ++excluded["nodeSelector"];
        break;
      case Exclusion::kAffinity:
        ++excluded["affinity"];
        break;
      case Exclusion::kConfinement:
        ++excluded["topologyDomain"];
        break;
      case Exclusion::kNone:
        if (counts.pods(tree.lowest(), leaf) == 0) {
          const LeafFit fit =
              fit_in_leaf(tree, leaf, counts.shape().worker, counts.shape().simulate_empty);
          ++excluded[fmt::format("resource \"{}\"", cluster.resource_name(fit.limiting))];
        }
        break;
    }
  }
  std::vector<std::string> entries;
  for (const auto& [cause, count] : excluded)
    entries.push_back(fmt::format("{}: {}", cause, count));
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
