#include "placement/joint.h"

#include <string>

#include "placement/gang.h"
#include "placement/units.h"

namespace phalanx::placement {
namespace {

// `auto` is the narrowest level that fits: preferred from the bottom, required at the top.
void resolve_auto(const topology::DomainTree& tree, GangGroup& group) {
  const auto& slices = group.pods->slices;
  const std::string lowest = slices.empty() ? tree.level_key(tree.lowest()) : slices[0].topology;
  if (group.required == api::kAutoLevel) {
    group.required = tree.level_key(0);
    group.preferred = lowest;
  }
  if (group.preferred == api::kAutoLevel) group.preferred = lowest;
}

// Preferred affinity counts only where it is switched on.
void forget_wishes(GangGroup& group) {
  if (group.pods) group.pods->affinity.preferred.clear();
  for (GangGroup& child : group.children) forget_wishes(child);
}

GangGroup gang_group(const topology::DomainTree& tree, const PodSet& pod_set,
                     const std::string& name) {
  GangGroup group;
  group.name = name;
  group.pods.emplace();
  group.pods->count = pod_set.count;
  group.pods->requests = pod_set.requests;
  group.pods->node_selector = pod_set.node_selector;
  group.pods->tolerations = pod_set.tolerations;
  group.pods->affinity = pod_set.affinity;
  if (pod_set.topology) {
    group.required = pod_set.topology->required;
    group.preferred = pod_set.topology->preferred;
    group.pods->slices = pod_set.topology->constraints();
    resolve_auto(tree, group);
  }
  return group;
}

}  // namespace

std::optional<std::vector<PodSetResult>> place_jointly(topology::Cluster& cluster, TreeId tree,
                                                       const Workload& workload,
                                                       const Options& options) {
  const topology::DomainTree& view = cluster.tree(tree);
  Gang gang;
  gang.name = workload.name;
  for (const Members& unit : units_of(workload, {})) {
    if (malformed(workload, unit)) return std::nullopt;
    const PodSet& workers = workload.pod_sets[unit.workers];
    GangGroup group = gang_group(view, workers, std::to_string(unit.workers));
    if (unit.leader) {
      GangGroup both = group;
      group.required.reset();
      group.preferred.reset();
      both.pods.reset();
      both.name = "group " + both.name;
      GangGroup leader =
          gang_group(view, workload.pod_sets[*unit.leader], std::to_string(*unit.leader));
      leader.required.reset();
      leader.preferred.reset();
      leader.pods->slices.clear();
      leader.pods->also = {{workers.node_selector, workers.tolerations, workers.affinity}};
      both.children = {std::move(leader), std::move(group)};
      group = std::move(both);
    }
    gang.root.children.push_back(std::move(group));
  }
  if (!options.preferred_node_affinity) forget_wishes(gang.root);
  const auto placed = place_gang(cluster, {{view.name(), tree}}, gang, {});
  if (!placed || !placed->placed) return std::nullopt;
  std::vector<PodSetResult> results = empty_results(workload);
  for (const GangLeafResult& leaf : placed->leaves) {
    const size_t index = std::stoul(leaf.path.substr(leaf.path.rfind('/') + 1));
    results[index].assignment = leaf.assignment;
  }
  return results;
}

}  // namespace phalanx::placement
