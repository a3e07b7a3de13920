#include "placement/placer.h"

#include <algorithm>

#include "placement/assignment.h"
#include "placement/joint.h"
#include "placement/replacement.h"
#include "placement/units.h"

namespace phalanx::placement {
namespace {

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
      if (leader_ != nullptr && !has_old_leader && !place_leader_alone()) return false;
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

  // A leader that is new while the workers stay where they are.
  bool place_leader_alone() {
    auto topology = workers_.topology;
    if (topology) {
      topology->slice_required_topology.reset();
      topology->slice_size.reset();
      topology->slice_constraints.clear();
    }
    auto placed = placer_.place(tree_, {leader_, nullptr, 1, topology, std::nullopt}, options_);
    if (!placed) {
      report(*members_.leader, placed.error());
      return false;
    }
    succeed(*members_.leader, *leader_, workers_of(*placed));
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

}  // namespace

std::vector<PodSetResult> Placer::place(TreeId tree, const Workload& workload,
                                        const Options& options) {
  cluster_.tree(tree);  // rebuilt now, if it must be: an open Attempt forbids it
  if (!workload.unhealthy_nodes.empty()) return replace_failed_nodes(tree, workload, options);
  std::vector<PodSetResult> results = place_in_order(tree, workload, options);
  const bool all_placed = std::ranges::all_of(
      results, [](const PodSetResult& result) { return result.assignment.has_value(); });
  const bool may_search = options.joint_pod_sets && workload.pod_sets.size() > 1 &&
                          !options.elastic_resize && !options.simulate_empty;
  if (all_placed || !may_search) return results;
  // One after another they do not fit: an earlier one may have taken what a later one needs. If no
  // order and no other choice helps either, the texts of the ordinary way stand.
  return place_jointly(cluster_, tree, workload, options).value_or(std::move(results));
}

std::vector<PodSetResult> Placer::place_in_order(TreeId tree, const Workload& workload,
                                                 const Options& options) {
  std::vector<PodSetResult> results = empty_results(workload);
  const topology::Attempt attempt(cluster_);
  for (const Members& unit : units_of(workload, options)) {
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
