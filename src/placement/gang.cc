#include "placement/gang.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "placement/assignment.h"
#include "placement/gang_refusal.h"
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
        search_(cluster, items_, items_.elastic ? budget_ / 2 : budget_) {}

  GangResult run() {
    auto solution = search_.solve(GangSearch::Target::kFull);
    if (!solution && items_.elastic) {
      // Whether all pods fit decides nothing; the minimum does, and gets the rest of the budget.
      search_.add_budget(budget_ - budget_ / 2);
      solution = search_.solve(GangSearch::Target::kMinimum);
      if (solution) grow(*solution);
    }
    GangResult result;
    result.remarks = items_.remarks;
    result.steps = search_.steps();
    result.placed = solution.has_value();
    if (solution) {
      describe(*solution, result);
    } else {
      result.proven = !search_.out_of_budget();
      GangRefusal refusal = refuse_gang(cluster_, items_, gang_.name, search_);
      result.failure = std::move(refusal.failure);
      result.explanation = std::move(refusal.explanation);
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
      const auto target = GangSearch::Target::kMinimum;
      const auto child = static_cast<int>(index);
      auto part = search_.solve_part(child, solution.choices[parent]->region, target);
      if (!part) part = search_.solve_part(child, required_region(child, solution), target);
      if (!part) {
        refused_.insert(child);
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

  // The narrowest level, from the one chosen upwards, of which one domain holds all new pods of a
  // group: growth may have left a preferred one. -1: none does.
  int level_kept(int index, const GangSolution& solution) {
    const GangItem& group = items_.items[index];
    const GangChoice& choice = *solution.choices[index];
    const topology::DomainTree& view = tree(group.tree);
    int level = choice.level;
    for (size_t below = index; below < items_.items.size(); ++below) {
      int above = static_cast<int>(below);
      while (above > index) above = items_.items[above].parent;
      if (above != index) continue;
      const GangItem& part = items_.items[below];
      for (const Share& share : solution.pods[below]) {
        const auto leaf = part.shape_tree == group.tree
                              ? share.domain
                              : view.leaf_of(tree(part.shape_tree).leaf_node(share.domain));
        while (level >= 0 && leaf &&
               view.ancestor(view.lowest(), *leaf, level) !=
                   view.ancestor(choice.level, choice.domain, level)) {
          --level;
        }
      }
    }
    return level;
  }

  void describe(const GangSolution& solution, GangResult& result) {
    result.complete = true;
    for (size_t index = 0; index < items_.items.size(); ++index) {
      const GangItem& item = items_.items[index];
      const auto& choice = solution.choices[index];
      if (item.is_leaf) {
        const topology::DomainTree& view = tree(item.shape_tree);
        const auto placed = static_cast<int32_t>(pods_of(solution.pods[index]));
        result.leaves.push_back({item.path, item.wanted, item.running_pods, placed,
                                 to_assignment(cluster_, view, workers_of(solution.pods[index])),
                                 items_.trees[item.shape_tree],
                                 items_.shapes[item.shape].requests});
        result.complete = result.complete && placed == item.full;
      }
      if (item.tree >= 0 && choice) {
        GangGroupResult group{item.path, topologies_[item.tree].first, "", {}};
        const int level = level_kept(static_cast<int>(index), solution);
        if (level >= 0) {
          group.level = tree(item.tree).level_key(level);
          group.domain =
              cluster_.path(tree(item.tree), level,
                            tree(item.tree).ancestor(choice->level, choice->domain, level));
        }
        result.groups.push_back(std::move(group));
      }
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
