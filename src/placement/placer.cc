#include "placement/placer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "placement/assignment.h"
#include "placement/replacement.h"

namespace phalanx::placement {
namespace {

int64_t pods_in(const api::TopologyAssignment& assignment) {
  int64_t pods = 0;
  for (const api::DomainAssignment& domain : assignment.domains) pods += domain.count;
  return pods;
}

// Pod sets that are placed together, as indices into the workload.
struct Members {
  size_t workers = 0;
  std::optional<size_t> leader;
  std::vector<size_t> all;
};

std::vector<Members> group(const Workload& workload) {
  std::vector<Members> units;
  std::map<std::string, size_t> unit_of_group;
  for (size_t index = 0; index < workload.pod_sets.size(); ++index) {
    const auto& topology = workload.pod_sets[index].topology;
    if (topology && topology->group_name) {
      const auto [entry, is_new] = unit_of_group.emplace(*topology->group_name, units.size());
      if (!is_new) {
        units[entry->second].all.push_back(index);
        continue;
      }
    }
    units.push_back({index, std::nullopt, {index}});
  }
  return units;
}

// Who leads: the second pod set, unless it has more pods. At one pod each a resize goes by what
// they had before, so that workers shrunk to one stay the workers.
void assign_roles(const Workload& workload, const Options& options, Members& unit) {
  if (unit.all.size() != 2) return;
  const PodSet& first = workload.pod_sets[unit.all[0]];
  const PodSet& second = workload.pod_sets[unit.all[1]];
  bool swap = second.count > first.count;
  if (options.elastic_resize && second.count == first.count && first.previous && second.previous) {
    swap = pods_in(*second.previous) > pods_in(*first.previous);
  }
  unit.workers = unit.all[swap ? 1 : 0];
  unit.leader = unit.all[swap ? 0 : 1];
}

std::optional<std::string> malformed(const Workload& workload, const Members& unit) {
  if (unit.all.size() > 2) {
    return fmt::format("the pod set group has {} pod sets; it takes two, a leader and its workers",
                       unit.all.size());
  }
  if (unit.leader && workload.pod_sets[*unit.leader].count != 1) {
    return fmt::format(
        "the leader pod set \"{}\" has {} pods; of the two pod sets of a group one must have "
        "exactly one pod",
        workload.pod_sets[*unit.leader].name, workload.pod_sets[*unit.leader].count);
  }
  return std::nullopt;
}

// One unit on its way: what it asks for, and what it had.
class UnitRun {
 public:
  UnitRun(topology::Cluster& cluster, TreeId tree, UnitPlacer& placer, const Workload& workload,
          const Members& members, const Options& options, std::vector<PodSetResult>& results)
      : cluster_(cluster),
        tree_(tree),
        placer_(placer),
        members_(members),
        options_(options),
        results_(results),
        workers_(workload.pod_sets[members.workers]),
        leader_(members.leader ? &workload.pod_sets[*members.leader] : nullptr) {}

  // Whether the unit was placed.
  bool run() {
    if (options_.elastic_resize && workers_.previous) {
      const auto old_workers = to_leaves(cluster_, tree_, *workers_.previous);
      std::optional<PodsByLeaf> old_leader = PodsByLeaf();
      if (leader_ != nullptr && leader_->previous) {
        old_leader = to_leaves(cluster_, tree_, *leader_->previous);
      }
      if (old_workers && old_leader) return resize(*old_workers, *old_leader);
    }
    auto placed = place(workers_.count, leader_);
    if (!placed) {
      for (const size_t member : members_.all) report(member, placed.error());
      return false;
    }
    succeed(members_.workers, workers_, workers_of(*placed));
    if (leader_ != nullptr) succeed(*members_.leader, *leader_, leaders_of(*placed));
    return true;
  }

 private:
  std::expected<UnitPlacement, UnitFailure> place(int32_t count, const PodSet* leader) {
    return placer_.place(tree_, {&workers_, leader, count, workers_.topology, std::nullopt},
                         options_);
  }

  void take(const PodSet& pod_set, const PodsByLeaf& pods) {
    charge(cluster_, tree_, cluster_.make_request(pod_set.requests), pods);
  }

  void succeed(size_t member, const PodSet& pod_set, const PodsByLeaf& pods) {
    take(pod_set, pods);
    results_[member].assignment = to_assignment(cluster_, cluster_.tree(tree_), pods);
  }

  void report(size_t member, const UnitFailure& failure) {
    results_[member].failure = failure.text;
    results_[member].explanation = failure.explanation;
  }

  bool resize(const PodsByLeaf& old_workers, const PodsByLeaf& old_leader) {
    const int64_t old_count = pods_in(*workers_.previous);
    const bool has_old_leader = leader_ != nullptr && leader_->previous;
    if (has_old_leader) take(*leader_, old_leader);
    if (workers_.count <= old_count) {
      results_[members_.workers].assignment = shrunk();
      take(workers_, *to_leaves(cluster_, tree_, *results_[members_.workers].assignment));
    } else {
      take(workers_, old_workers);
      const auto grown = static_cast<int32_t>(workers_.count - old_count);
      auto placed = place(grown, has_old_leader ? nullptr : leader_);
      if (!placed) {
        report(members_.workers, placed.error());
        return false;
      }
      take(workers_, workers_of(*placed));
      PodsByLeaf all = old_workers;
      add_to(all, workers_of(*placed));
      results_[members_.workers].assignment = to_assignment(cluster_, cluster_.tree(tree_), all);
      if (leader_ != nullptr && !has_old_leader) {
        succeed(*members_.leader, *leader_, leaders_of(*placed));
      }
    }
    if (has_old_leader) results_[*members_.leader].assignment = leader_->previous;
    return true;
  }

  // The domains in their listed order, until the count is reached.
  [[nodiscard]] api::TopologyAssignment shrunk() const {
    api::TopologyAssignment kept{workers_.previous->levels, {}};
    int32_t remaining = workers_.count;
    for (const api::DomainAssignment& domain : workers_.previous->domains) {
      if (remaining <= 0) break;
      kept.domains.push_back({domain.values, std::min(domain.count, remaining)});
      remaining -= domain.count;
    }
    return kept;
  }

  topology::Cluster& cluster_;
  TreeId tree_;
  UnitPlacer& placer_;
  const Members& members_;
  const Options& options_;
  std::vector<PodSetResult>& results_;
  const PodSet& workers_;
  const PodSet* leader_;
};

std::vector<PodSetResult> empty_results(const Workload& workload) {
  std::vector<PodSetResult> results;
  for (const PodSet& pod_set : workload.pod_sets) {
    results.push_back({pod_set.name, std::nullopt, std::nullopt, nullptr});
  }
  return results;
}

}  // namespace

std::vector<PodSetResult> Placer::place(TreeId tree, const Workload& workload,
                                        const Options& options) {
  cluster_.tree(tree);  // rebuilt now, if it must be: an open Attempt forbids it
  if (!workload.unhealthy_nodes.empty()) return replace_failed_nodes(tree, workload, options);
  return place_in_order(tree, workload, options);
}

std::vector<PodSetResult> Placer::place_in_order(TreeId tree, const Workload& workload,
                                                 const Options& options) {
  std::vector<PodSetResult> results = empty_results(workload);
  const topology::Attempt attempt(cluster_);
  for (Members& unit : group(workload)) {
    assign_roles(workload, options, unit);
    if (auto problem = malformed(workload, unit)) {
      for (const size_t member : unit.all) results[member].failure = problem;
      break;
    }
    if (!UnitRun(cluster_, tree, units_, workload, unit, options, results).run()) break;
  }
  return results;
}

std::vector<PodSetResult> Placer::replace_failed_nodes(TreeId tree, const Workload& workload,
                                                       const Options& options) {
  std::vector<PodSetResult> results = empty_results(workload);
  const topology::Attempt attempt(cluster_);
  for (size_t index = 0; index < workload.pod_sets.size(); ++index) {
    const PodSet& pod_set = workload.pod_sets[index];
    if (!pod_set.previous) continue;
    if (workload.owned_by_single_pod && options.keep_single_pod_owner_assignment) {
      results[index].assignment = pod_set.previous;
      continue;
    }
    auto replaced =
        replace_failed(cluster_, tree, units_, pod_set, workload.unhealthy_nodes, options);
    if (!replaced) {
      results[index].failure = replaced.error().text;
      results[index].explanation = replaced.error().explanation;
      break;
    }
    results[index].assignment = std::move(replaced->assignment);
  }
  return results;
}

}  // namespace phalanx::placement
