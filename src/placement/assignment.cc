#include "placement/assignment.h"

#include <limits>

namespace phalanx::placement {

PodsByLeaf workers_of(const std::vector<Share>& shares) {
  PodsByLeaf pods;
  for (const Share& share : shares) {
    if (share.pods > 0) pods[share.domain] += share.pods;
  }
  return pods;
}

PodsByLeaf leaders_of(const std::vector<Share>& shares) {
  PodsByLeaf pods;
  for (const Share& share : shares) {
    if (share.leaders > 0) pods[share.domain] += share.leaders;
  }
  return pods;
}

void add_to(PodsByLeaf& total, const PodsByLeaf& pods) {
  for (const auto& [leaf, count] : pods) total[leaf] += count;
}

api::TopologyAssignment to_assignment(const topology::Cluster& cluster,
                                      const topology::DomainTree& tree, const PodsByLeaf& pods) {
  api::TopologyAssignment assignment;
  assignment.levels =
      tree.by_host() ? std::vector{tree.level_key(tree.lowest())} : tree.spec().levels;
  assignment.domains.reserve(pods.size());
  for (const auto& [leaf, count] : pods) {
    auto values = tree.by_host() ? std::vector{cluster.text(tree.value(tree.lowest(), leaf))}
                                 : cluster.path(tree, tree.lowest(), leaf);
    assignment.domains.push_back({std::move(values), count});
  }
  return assignment;
}

int64_t pods_in(const api::TopologyAssignment& assignment) {
  int64_t pods = 0;
  for (const api::DomainAssignment& domain : assignment.domains) pods += domain.count;
  return pods;
}

std::optional<PodsByLeaf> to_leaves(topology::Cluster& cluster, TreeId tree,
                                    const api::TopologyAssignment& assignment) {
  if (pods_in(assignment) > std::numeric_limits<int32_t>::max()) return std::nullopt;
  PodsByLeaf pods;
  for (const api::DomainAssignment& domain : assignment.domains) {
    const auto leaf = cluster.find_leaf(tree, domain.values);
    if (!leaf) return std::nullopt;
    pods[*leaf] += domain.count;
  }
  return pods;
}

void charge(topology::Cluster& cluster, TreeId tree, const topology::RequestVector& requests,
            const PodsByLeaf& pods) {
  for (const auto& [leaf, count] : pods) cluster.charge(tree, leaf, requests, count);
}

}  // namespace phalanx::placement
