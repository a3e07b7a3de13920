#include "placement/gang.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "placement/assignment.h"
#include "placement/explanation.h"
#include "placement/gang_search.h"

namespace phalanx::placement {
namespace {

class GangPlacer {
 public:
  GangPlacer(topology::Cluster& cluster,
             const std::vector<std::pair<std::string, TreeId>>& topologies, const Gang& gang,
             const GangOptions& options, GangItems items)
      : cluster_(cluster),
        topologies_(topologies),
        gang_(gang),
        budget_(options.step_budget),
        items_(std::move(items)),
        search_(cluster, items_, budget_ / 2) {}

  GangResult run() {
    auto solution = search_.solve(GangSearch::Target::kFull);
    if (!solution) {
      // Whether all pods fit decides nothing; the minimum does, and gets the rest of the budget.
      search_.add_budget(budget_ - budget_ / 2);
      solution = search_.solve(GangSearch::Target::kMinimum);
      if (solution) grow(*solution);
    }
    GangResult result;
    result.steps = search_.steps();
    result.placed = solution.has_value();
    if (solution) {
      describe(*solution, result);
    } else {
      result.proven = !search_.out_of_budget();
      refuse(result);
    }
    return result;
  }

 private:
  [[nodiscard]] const topology::DomainTree& tree(int index) {
    return cluster_.tree(items_.trees[index]);
  }

  static int64_t pods_of(const std::vector<Share>& shares) {
    int64_t pods = 0;
    for (const Share& share : shares) pods += share.pods;
    return pods;
  }

  void charge_leaf(int index, const std::vector<Share>& shares) {
    const GangItem& item = items_.items[index];
    for (const Share& share : shares) {
      cluster_.charge(items_.trees[item.shape_tree], share.domain,
                      items_.shapes[item.shape].requests, share.pods);
    }
  }

  // From the minimum towards the whole count, the pod set that has the least of it first. Nothing
  // leaves a required domain; a preferred one is left only when it is full.
  void grow(GangSolution& solution) {
    const topology::Attempt attempt(cluster_);
    for (size_t index = 0; index < items_.items.size(); ++index) {
      if (items_.items[index].is_leaf) charge_leaf(static_cast<int>(index), solution.pods[index]);
    }
    while (add_child(solution)) {
    }
    std::vector<bool> stuck(items_.items.size(), false);
    for (;;) {
      std::optional<std::tuple<double, size_t>> next;
      for (size_t index = 0; index < items_.items.size(); ++index) {
        const GangItem& item = items_.items[index];
        if (!item.is_leaf || stuck[index] || !solution.choices[index]) continue;
        const int64_t placed = pods_of(solution.pods[index]);
        if (placed + next_unit(item, placed) > item.full) continue;
        const double share = static_cast<double>(placed + item.wanted - item.full) /
                             std::max<double>(1, item.wanted - item.full + item.minimum);
        if (!next || std::tuple(share, index) < *next) next = {share, index};
      }
      if (!next) return;
      const auto index = std::get<1>(*next);
      if (!grow_leaf(static_cast<int>(index), solution)) stuck[index] = true;
    }
  }

  // A pod, or what is missing of a slice.
  static int32_t next_unit(const GangItem& item, int64_t placed) {
    const int64_t present = placed + item.wanted - item.full;
    return static_cast<int32_t>(item.unit() - present % item.unit());
  }

  bool grow_leaf(int index, GangSolution& solution) {
    const GangItem& item = items_.items[index];
    auto& pods = solution.pods[index];
    const int64_t placed = pods_of(pods);
    const bool begun = placed > 0;
    for (int32_t unit = next_unit(item, placed); placed + unit <= item.full; unit += item.unit()) {
      auto more = search_.grow(index, solution.choices[index]->region, unit, begun);
      if (!more) more = search_.grow(index, required_region(index, solution), unit, begun);
      if (more) {
        charge_leaf(index, *more);
        pods.insert(pods.end(), more->begin(), more->end());
        return true;
      }
      // Slices that running pods began, in several domains, may take more than one unit.
      if (begun || !item.slices_begun()) return false;
    }
    return false;
  }

  // What the required levels alone leave to a leaf, given the domains chosen.
  GangRegion required_region(int index, const GangSolution& solution) {
    GangRegion region = search_.everywhere();
    for (int group = index; group >= 0; group = items_.items[group].parent) {
      const GangItem& item = items_.items[group];
      const auto& choice = solution.choices[group];
      if (item.required < 0 || !choice || choice->level < item.required) continue;
      const topology::DomainRange leaves = tree(item.tree).leaves(
          item.required, tree(item.tree).ancestor(choice->level, choice->domain, item.required));
      if (leaves.size() < region[item.tree].size()) region[item.tree] = leaves;
    }
    return region;
  }

  // Places one child that the minimum left out, if its group still has room for it.
  bool add_child(GangSolution& solution) {
    for (size_t index = 1; index < items_.items.size(); ++index) {
      const int parent = items_.items[index].parent;
      if (solution.choices[index] || !solution.choices[parent]) continue;
      if (refused_.contains(static_cast<int>(index))) continue;
      const auto part = search_.solve_part(
          static_cast<int>(index), solution.choices[parent]->region, GangSearch::Target::kMinimum);
      if (!part) {
        refused_.insert(static_cast<int>(index));
        continue;
      }
      for (size_t below = index; below < items_.items.size(); ++below) {
        if (!part->choices[below]) continue;
        solution.choices[below] = part->choices[below];
        solution.pods[below] = part->pods[below];
        if (items_.items[below].is_leaf) {
          charge_leaf(static_cast<int>(below), part->pods[below]);
        }
      }
      return true;
    }
    return false;
  }

  void describe(const GangSolution& solution, GangResult& result) {
    result.complete = true;
    for (size_t index = 0; index < items_.items.size(); ++index) {
      const GangItem& item = items_.items[index];
      const auto& choice = solution.choices[index];
      if (item.is_leaf) {
        const topology::DomainTree& view = tree(item.shape_tree);
        const auto placed = static_cast<int32_t>(pods_of(solution.pods[index]));
        result.leaves.push_back({item.path, item.wanted, item.wanted - item.full, placed,
                                 to_assignment(cluster_, view, workers_of(solution.pods[index]))});
        result.complete = result.complete && placed == item.full;
      }
      if (item.tree >= 0 && choice) {
        GangGroupResult group{item.path, topologies_[item.tree].first, "", {}};
        if (choice->level >= 0) {
          group.level = tree(item.tree).level_key(choice->level);
          group.domain = cluster_.path(tree(item.tree), choice->level, choice->domain);
        }
        result.groups.push_back(std::move(group));
      }
    }
  }

  void refuse(GangResult& result) {
    const GangObstacle& obstacle = search_.obstacle();
    const std::string verdict =
        result.proven
            ? ""
            : fmt::format("; not proven, the search stopped after {} steps", result.steps);
    if (obstacle.item < 0) {
      result.failure = fmt::format("gang \"{}\" does not fit{}", gang_.name, verdict);
      return;
    }
    const GangItem& item = items_.items[obstacle.item];
    const std::string who = item.path.empty() ? "the gang" : fmt::format("group \"{}\"", item.path);
    const std::string where =
        item.required >= 0 ? fmt::format(" in one {}", tree(item.tree).level_key(item.required))
                           : "";
    explain_obstacle(obstacle, result);
    if (item.path.empty() && !result.explanation) {
      result.failure = fmt::format(
          "gang \"{}\" does not fit: its {} pods together ask for more than is free{}{}",
          gang_.name, obstacle.wanted, where, verdict);
      return;
    }
    result.failure = fmt::format("gang \"{}\" does not fit: {} finds no room for {} pod(s){}{}{}",
                                 gang_.name, who, obstacle.wanted, where,
                                 result.explanation ? "" : " beside the rest of the gang", verdict);
  }

  // The same account of the obstacle that a single pod set gets, on the cluster as it is: of the
  // first kind of pods that does not even fit alone. If each does, they are in one another's way.
  void explain_obstacle(const GangObstacle& obstacle, GangResult& result) {
    const GangItem& group = items_.items[obstacle.item];
    const int tree_index = std::max(group.tree, 0);
    for (const auto& [shape, pods] : search_.minimum_needs(obstacle.item)) {
      LevelPlan plan;
      plan.count = plan.slices = static_cast<int32_t>(std::min<int64_t>(pods, INT32_MAX));
      plan.required = group.required >= 0;
      plan.anywhere = !plan.required;
      plan.level = plan.required ? group.required : 0;
      plan.slice_level = tree(tree_index).lowest();
      plan.inner_size.assign(tree(tree_index).level_count(), 0);
      DomainCounts& counts = *items_.shapes[shape].counts[tree_index];
      counts.refresh();
      Shortfall shortfall{plan.level, 0};
      int64_t total = 0;
      for (uint32_t domain = 0; domain < tree(tree_index).size(plan.level); ++domain) {
        const int32_t fits = counts.pods(plan.level, domain);
        total += fits;
        shortfall.fits = std::max(shortfall.fits, fits);
      }
      if (!plan.required) {
        shortfall.fits = static_cast<int32_t>(std::min<int64_t>(total, INT32_MAX));
      }
      if (shortfall.fits >= plan.count) continue;
      result.explanation = explain(cluster_, items_.trees[tree_index], counts, plan, shortfall);
      return;
    }
  }

  topology::Cluster& cluster_;
  const std::vector<std::pair<std::string, TreeId>>& topologies_;
  const Gang& gang_;
  int64_t budget_;
  GangItems items_;
  GangSearch search_;
  std::set<int> refused_;
};

}  // namespace

Result<GangResult> place_gang(topology::Cluster& cluster,
                              const std::vector<std::pair<std::string, TreeId>>& topologies,
                              const Gang& gang, const GangOptions& options) {
  for (const auto& [name, tree] : topologies) cluster.tree(tree);  // rebuilt now, if it must be
  ASSIGN_OR_RETURN(GangItems items, resolve_gang(cluster, topologies, gang));
  return GangPlacer(cluster, topologies, gang, options, std::move(items)).run();
}

}  // namespace phalanx::placement
