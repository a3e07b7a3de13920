#include "placement/joint.h"

#include <algorithm>
#include <string>

#include "placement/gang.h"
#include "placement/units.h"

namespace phalanx::placement {
namespace {

GangGroup gang_group(const PodSet& pod_set, const std::string& name) {
  GangGroup group;
  group.name = name;
  group.pods = GangPods{pod_set.count,
                        std::nullopt,
                        pod_set.requests,
                        pod_set.node_selector,
                        pod_set.tolerations,
                        pod_set.affinity,
                        {},
                        {}};
  if (pod_set.topology) {
    group.required = pod_set.topology->required;
    group.preferred = pod_set.topology->preferred;
    group.pods->slices = pod_set.topology->constraints();
  }
  return group;
}

// Narrows a selector by another: both must hold. Tolerations must be in both to count; a required
// affinity of the other is added where there is none.
void add_constraints(const GangPods& more, GangPods& pods) {
  bool impossible = false;  // no node has both values of a label
  for (const auto& [key, value] : more.node_selector) {
    const auto [entry, is_new] = pods.node_selector.emplace(key, value);
    impossible |= !is_new && entry->second != value;
  }
  std::erase_if(pods.tolerations, [&](const api::Toleration& toleration) {
    return std::ranges::find(more.tolerations, toleration) == more.tolerations.end();
  });
  if (!pods.affinity.required) {
    pods.affinity.required = more.affinity.required;
  } else if (more.affinity.required) {
    std::vector<api::NodeSelectorTerm> both;
    for (const api::NodeSelectorTerm& one : *pods.affinity.required) {
      for (api::NodeSelectorTerm other : *more.affinity.required) {
        const bool never = (one.expressions.empty() && one.fields.empty()) ||
                           (other.expressions.empty() && other.fields.empty());
        if (never) continue;
        other.expressions.insert(other.expressions.end(), one.expressions.begin(),
                                 one.expressions.end());
        other.fields.insert(other.fields.end(), one.fields.begin(), one.fields.end());
        both.push_back(std::move(other));
      }
    }
    pods.affinity.required = std::move(both);
  }
  if (impossible) pods.affinity.required.emplace();
}

}  // namespace

std::optional<std::vector<PodSetResult>> place_jointly(topology::Cluster& cluster, TreeId tree,
                                                       const Workload& workload) {
  Gang gang;
  gang.name = workload.name;
  for (const Members& unit : units_of(workload, {})) {
    if (malformed(workload, unit)) return std::nullopt;
    const PodSet& workers = workload.pod_sets[unit.workers];
    GangGroup group = gang_group(workers, std::to_string(unit.workers));
    if (unit.leader) {
      GangGroup both = group;
      group.required.reset();
      group.preferred.reset();
      both.pods.reset();
      both.name = "group " + both.name;
      GangGroup leader = gang_group(workload.pod_sets[*unit.leader], std::to_string(*unit.leader));
      leader.required.reset();
      leader.preferred.reset();
      leader.pods->slices.clear();
      // Beside its own constraints the leader heeds the workers'.
      add_constraints(*group.pods, *leader.pods);
      both.children = {std::move(leader), std::move(group)};
      group = std::move(both);
    }
    gang.root.children.push_back(std::move(group));
  }
  const auto placed = place_gang(cluster, {{cluster.tree(tree).name(), tree}}, gang, {});
  if (!placed || !placed->placed) return std::nullopt;
  std::vector<PodSetResult> results = empty_results(workload);
  for (const GangLeafResult& leaf : placed->leaves) {
    const size_t index = std::stoul(leaf.path.substr(leaf.path.rfind('/') + 1));
    results[index].assignment = leaf.assignment;
  }
  return results;
}

}  // namespace phalanx::placement
