#include "cli/topology_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace phalanx::cli {
namespace {

using Keys = std::vector<std::string_view>;

const Keys& geographic_keys() {
  static const Keys kKeys{"topology.kubernetes.io/region", "topology.kubernetes.io/zone"};
  return kKeys;
}

// One family a line, coarsest key first.
const std::vector<Keys>& families() {
  static const std::vector<Keys> kFamilies{
      {"cloud.provider.com/datacenter", "cloud.provider.com/aizone",
       "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack",
       "cloud.provider.com/block", "cloud.provider.com/rack"},
      {"topology.kubernetes.io/datacenter", "topology.kubernetes.io/block",
       "topology.kubernetes.io/rack"},
      {"cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock",
       "cloud.google.com/gce-topology-host"},
      {"topology.k8s.aws/network-node-layer-1", "topology.k8s.aws/network-node-layer-2",
       "topology.k8s.aws/network-node-layer-3", "topology.k8s.aws/network-node-layer-4"},
      {"oci.oraclecloud.com/rdma.hpc_island_id", "oci.oraclecloud.com/rdma.network_block_id",
       "oci.oraclecloud.com/rdma.local_block_id"},
      // Topograph, under its older and its newer names.
      {"network.topology.nvidia.com/datacenter", "network.topology.nvidia.com/core",
       "network.topology.nvidia.com/spine", "network.topology.nvidia.com/block",
       "network.topology.nvidia.com/leaf", "network.topology.nvidia.com/accelerator"},
  };
  return kFamilies;
}

using Counts = std::map<std::string, size_t, std::less<>>;

Counts count_labels(const std::vector<api::Node>& nodes) {
  Counts counts;
  for (const api::Node& node : nodes) {
    for (const auto& [key, value] : node.labels) ++counts[key];
  }
  return counts;
}

size_t count_of(const Counts& counts, std::string_view key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

// The level keys that the Jobs ask for.
std::set<std::string, std::less<>> asked_keys(const std::vector<api::Job>& jobs) {
  std::set<std::string, std::less<>> keys;
  for (const api::Job& job : jobs) {
    if (!job.topology) continue;
    if (job.topology->required) keys.insert(*job.topology->required);
    if (job.topology->preferred) keys.insert(*job.topology->preferred);
    for (const api::SliceConstraint& layer : job.topology->constraints()) {
      keys.insert(layer.topology);
    }
  }
  return keys;
}

class LabelGuess {
 public:
  explicit LabelGuess(const ClusterInput& input)
      : node_count_(input.nodes.size()),
        counts_(count_labels(input.nodes)),
        asked_(asked_keys(input.jobs)) {}

  TopologyChoice choose() {
    std::vector<std::string>& levels = choice_.spec.levels;
    take(geographic_keys(), levels);
    const Keys* family = best_family();
    if (family != nullptr) take(*family, levels);
    levels.emplace_back(api::kHostnameLabel);
    std::string remark = fmt::format(
        "no Topology in the input; levels from the node labels: {}; choose others with "
        "--levels",
        fmt::join(levels, ", "));
    choice_.remarks.insert(choice_.remarks.begin(), std::move(remark));
    remark_unused(family);
    return std::move(choice_);
  }

 private:
  [[nodiscard]] bool usable(std::string_view key) const {
    const size_t carried = count_of(counts_, key);
    return carried * 2 > node_count_ || (carried > 0 && asked_.contains(key));
  }

  void take(const Keys& keys, std::vector<std::string>& levels) const {
    for (const std::string_view key : keys) {
      if (usable(key)) levels.emplace_back(key);
    }
  }

  // The family with most keys that Jobs ask for, then with most keys; nullptr if none has any.
  [[nodiscard]] const Keys* best_family() const {
    const Keys* best = nullptr;
    std::pair<size_t, size_t> best_score;
    for (const Keys& family : families()) {
      std::pair<size_t, size_t> score;
      for (const std::string_view key : family) {
        if (!usable(key)) continue;
        ++score.second;
        if (asked_.contains(key)) ++score.first;
      }
      if (score > best_score) {
        best_score = score;
        best = &family;
      }
    }
    return best;
  }

  // Well-known keys that some nodes carry and that are not used, so that nobody wonders.
  void remark_unused(const Keys* chosen) {
    std::vector<std::string> unused;
    const auto note = [&](const Keys& keys, bool of_chosen_family) {
      for (const std::string_view key : keys) {
        const size_t carried = count_of(counts_, key);
        if (carried == 0 || (of_chosen_family && usable(key))) continue;
        unused.push_back(fmt::format("{} (on {} of {} nodes)", key, carried, node_count_));
      }
    };
    note(geographic_keys(), true);
    for (const Keys& family : families()) note(family, &family == chosen);
    if (unused.empty()) return;
    choice_.remarks.push_back(fmt::format("not used as levels: {}", fmt::join(unused, ", ")));
  }

  size_t node_count_;
  Counts counts_;
  std::set<std::string, std::less<>> asked_;
  TopologyChoice choice_;
};

Result<TopologyChoice> choose_levels(const ClusterInput& input, std::vector<std::string> levels) {
  if (const auto problem = api::problem_of_levels(levels)) return fail("--levels: " + *problem);
  const Counts counts = count_labels(input.nodes);
  for (const std::string& level : levels) {
    if (count_of(counts, level) > 0) continue;
    constexpr size_t kMaxShown = 12;
    std::vector<std::string> carried;
    for (const auto& [key, count] : counts) {
      if (carried.size() < kMaxShown) carried.push_back(key);
    }
    return fail(
        fmt::format("--levels: no node carries the label {}; the nodes carry: {}{}", level,
                    carried.empty() ? "no labels" : fmt::format("{}", fmt::join(carried, ", ")),
                    counts.size() > carried.size() ? ", ..." : ""));
  }
  TopologyChoice choice;
  choice.spec.levels = std::move(levels);
  return choice;
}

std::string names_of(const std::vector<api::Topology>& topologies) {
  std::vector<std::string> names;
  for (const api::Topology& topology : topologies) names.push_back(topology.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

TopologyChoice use(const api::Topology& topology, const ClusterInput& input) {
  TopologyChoice choice;
  choice.spec.name = topology.name;
  choice.spec.levels = topology.levels;
  const Counts counts = count_labels(input.nodes);
  for (const std::string& level : topology.levels) {
    if (count_of(counts, level) > 0) continue;
    choice.remarks.push_back(
        fmt::format("Topology {}: no node carries the label {}; nothing can be placed by it",
                    topology.name, level));
  }
  return choice;
}

// The finest level names hosts: no two nodes may share a name. One without a name is left out.
Result<void> check_hostnames(const ClusterInput& input) {
  const std::string hostname(api::kHostnameLabel);
  std::map<std::string, const api::Node*> holders;
  for (const api::Node& node : input.nodes) {
    const auto label = node.labels.find(hostname);
    if (label == node.labels.end()) continue;
    const auto [entry, is_new] = holders.emplace(label->second, &node);
    if (!is_new) {
      return fail(fmt::format(
          "Node {}: metadata.labels[{}]: \"{}\" is also the hostname of node {}; hostnames must be "
          "unique, correct the label of one of them",
          node.name, hostname, label->second, entry->second->name));
    }
  }
  return {};
}

Result<TopologyChoice> choose(const ClusterInput& input, const TopologyWish& wish) {
  if (!wish.levels.empty()) return choose_levels(input, wish.levels);
  const auto& topologies = input.topologies;
  if (!wish.name.empty()) {
    const auto found = std::ranges::find(topologies, wish.name, &api::Topology::name);
    if (found != topologies.end()) return use(*found, input);
    return fail(fmt::format("--topology: there is no Topology \"{}\" in the input; {}", wish.name,
                            topologies.empty()
                                ? "there is none at all, name the levels with --levels instead"
                                : "there are: " + names_of(topologies)));
  }
  if (topologies.size() > 1) {
    return fail(fmt::format("the input holds {} Topologies; choose one with --topology: {}",
                            topologies.size(), names_of(topologies)));
  }
  if (topologies.size() == 1) return use(topologies.front(), input);
  return LabelGuess(input).choose();
}

}  // namespace

Result<TopologyChoice> choose_topology(const ClusterInput& input, const TopologyWish& wish) {
  ASSIGN_OR_RETURN(TopologyChoice choice, choose(input, wish));
  RETURN_IF_ERROR(check_hostnames(input));
  return choice;
}

}  // namespace phalanx::cli
