// The rules of a placement as a user reads them, and the search that tries everything.
#include <algorithm>
#include <functional>
#include <set>

#include "base/check.h"
#include "placement/testing.h"

namespace phalanx::placement::testing {
namespace {

bool matches(const api::Node& node, const api::NodeSelectorTerm& term) {
  if (term.expressions.empty()) return false;
  return std::ranges::all_of(term.expressions, [&](const auto& expression) {
    const auto label = node.labels.find(expression.key);
    return label == node.labels.end() ? expression.matches(std::nullopt)
                                      : expression.matches(label->second);
  });
}

bool admits(const topology::TreeSpec& spec, const api::Node& node, const PodSet& pod_set) {
  std::vector<api::Toleration> tolerations = pod_set.tolerations;
  tolerations.insert(tolerations.end(), spec.tolerations.begin(), spec.tolerations.end());
  if (api::first_untolerated(node.taints, tolerations) != nullptr) return false;
  for (const auto& [key, value] : pod_set.node_selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return false;
  }
  const auto& required = pod_set.affinity.required;
  return !required ||
         std::ranges::any_of(*required, [&](const auto& term) { return matches(node, term); });
}

bool takes_part(const topology::TreeSpec& spec, const api::Node& node) {
  if (!node.ready || node.unschedulable) return false;
  for (const auto& [key, value] : spec.node_labels) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return false;
  }
  return std::ranges::all_of(spec.levels,
                             [&](const std::string& key) { return node.labels.contains(key); });
}

void subtract(api::ResourceAmounts& free, const api::ResourceAmounts& requests, int64_t pods) {
  for (const auto& [name, amount] : requests) free[name] -= amount * pods;
  free["pods"] -= pods;
}

// What the new pods on one host need; nothing limits that is not asked for.
bool has_room(const Host& host, const Rules& rules, int64_t pods, bool leader) {
  api::ResourceAmounts need;
  subtract(need, rules.worker, -pods);
  if (leader) subtract(need, *rules.leader, -1);
  return std::ranges::all_of(need, [&](const auto& amount) {
    if (amount.second == 0) return true;
    const auto free = host.free.find(amount.first);
    return free != host.free.end() && amount.second <= free->second;
  });
}

std::vector<std::string> domain_of(const Host& host, int level) {
  return {host.path.begin(), host.path.begin() + level + 1};
}

bool in_one_domain(const std::vector<Host>& hosts, int level, const Distribution& distribution) {
  std::set<std::vector<std::string>> domains;
  for (size_t index = 0; index < hosts.size(); ++index) {
    const bool used = hosts[index].kept + distribution.pods[index] > 0;
    if (used || distribution.leader == index) domains.insert(domain_of(hosts[index], level));
  }
  return domains.size() <= 1;
}

bool slices_are_whole(const std::vector<Host>& hosts, int level, int32_t size,
                      const Distribution& distribution) {
  std::map<std::vector<std::string>, int32_t> pods;
  for (size_t index = 0; index < hosts.size(); ++index) {
    pods[domain_of(hosts[index], level)] += hosts[index].kept + distribution.pods[index];
  }
  return std::ranges::all_of(pods, [&](const auto& p) { return p.second % size == 0; });
}

bool keeps_topology(const std::vector<Host>& hosts, const Rules& rules,
                    const Distribution& distribution) {
  if (rules.required_level && !in_one_domain(hosts, *rules.required_level, distribution)) {
    return false;
  }
  return std::ranges::all_of(rules.layers, [&](const auto& layer) {
    return slices_are_whole(hosts, layer.first, layer.second, distribution);
  });
}

// Puts pods on the hosts from `index` on in every way that there is room for, in random order if
// there is a generator.
class Search {
 public:
  Search(const std::vector<Host>& hosts, const Rules& rules, Generator* generator)
      : hosts_(hosts),
        rules_(rules),
        generator_(generator),
        distribution_{std::vector<int32_t>(hosts.size(), 0), std::nullopt} {}

  std::optional<Distribution> run() {
    if (!rules_.leader) return place(0, rules_.count) ? std::optional(distribution_) : std::nullopt;
    for (size_t index = 0; index < hosts_.size(); ++index) {
      if (!hosts_[index].takes_leader || !has_room(hosts_[index], rules_, 0, true)) continue;
      distribution_.leader = index;
      if (place(0, rules_.count)) return distribution_;
    }
    return std::nullopt;
  }

 private:
  bool place(size_t index, int32_t remaining) {
    if (index == hosts_.size()) {
      return remaining == 0 && keeps_topology(hosts_, rules_, distribution_);
    }
    for (const int32_t pods : counts_for(index, remaining)) {
      distribution_.pods[index] = pods;
      if (place(index + 1, remaining - pods)) return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<int32_t> counts_for(size_t index, int32_t remaining) const {
    const Host& host = hosts_[index];
    std::vector<int32_t> counts{0};
    for (int32_t pods = 1; pods <= remaining && host.takes_workers; ++pods) {
      if (!has_room(host, rules_, pods, distribution_.leader == index)) break;
      counts.push_back(pods);
    }
    if (generator_ != nullptr) generator_->shuffle(counts);
    return counts;
  }

  const std::vector<Host>& hosts_;
  const Rules& rules_;
  Generator* generator_;
  Distribution distribution_;
};

}  // namespace

std::vector<Host> hosts_for(const TinyCluster& cluster, const PodSet& workers, const PodSet* leader,
                            bool simulate_empty) {
  std::vector<Host> hosts;
  for (const api::Node& node : cluster.nodes) {
    if (!takes_part(cluster.spec, node)) continue;
    Host host;
    host.hostname = node.labels.at(std::string(api::kHostnameLabel));
    for (const std::string& key : cluster.spec.levels) host.path.push_back(node.labels.at(key));
    host.free = node.allocatable;
    for (const TinyPod& pod : cluster.pods) {
      if (pod.node == node.name) subtract(host.free, pod.requests, 1);
    }
    for (const TinyUsage& usage : cluster.usages) {
      if (simulate_empty) break;
      for (const topology::DomainUsage& domain : usage.domains) {
        if (domain.values[0] == host.hostname) subtract(host.free, usage.requests, domain.count);
      }
    }
    host.takes_workers = admits(cluster.spec, node, workers);
    host.takes_leader =
        leader != nullptr && host.takes_workers && admits(cluster.spec, node, *leader);
    hosts.push_back(std::move(host));
  }
  return hosts;
}

Rules rules_for(const topology::TreeSpec& spec, const PodSet& workers, const PodSet* leader) {
  Rules rules;
  rules.count = workers.count;
  rules.worker = workers.requests;
  if (leader != nullptr) rules.leader = leader->requests;
  if (!workers.topology) return rules;
  const auto level_of = [&](const std::string& key) {
    const auto found = std::ranges::find(spec.levels, key);
    CHECK(found != spec.levels.end());
    return static_cast<int>(found - spec.levels.begin());
  };
  const auto& required = workers.topology->required;
  if (required && *required != api::kAutoLevel) rules.required_level = level_of(*required);
  for (const auto& [topology, size] : workers.topology->constraints()) {
    rules.layers.emplace_back(level_of(topology), size);
  }
  return rules;
}

std::string broken_rule(const std::vector<Host>& hosts, const Rules& rules,
                        const Distribution& distribution) {
  int32_t placed = 0;
  for (size_t index = 0; index < hosts.size(); ++index) {
    const Host& host = hosts[index];
    const int32_t pods = distribution.pods[index];
    const bool leads = distribution.leader == index;
    placed += pods;
    if (pods > 0 && !host.takes_workers) return host.hostname + " does not admit the pods";
    if (leads && !host.takes_leader) return host.hostname + " does not admit the leader";
    if ((pods > 0 || leads) && !has_room(host, rules, pods, leads)) {
      return host.hostname + " has no room for what it was given";
    }
  }
  if (placed != rules.count) return "not all pods are placed";
  if (rules.leader.has_value() != distribution.leader.has_value()) return "the leader is missing";
  if (rules.required_level && !in_one_domain(hosts, *rules.required_level, distribution)) {
    return "not in one domain of the required level";
  }
  for (const auto& [level, size] : rules.layers) {
    if (!slices_are_whole(hosts, level, size, distribution)) {
      return "slices of " + std::to_string(size) + " at level " + std::to_string(level) +
             " are not whole";
    }
  }
  return "";
}

bool can_be_placed(const std::vector<Host>& hosts, const Rules& rules) {
  return Search(hosts, rules, nullptr).run().has_value();
}

std::optional<Distribution> draw_placement(const std::vector<Host>& hosts, const Rules& rules,
                                           Generator& generator) {
  return Search(hosts, rules, &generator).run();
}

std::optional<std::vector<int32_t>> pods_by_host(const std::vector<Host>& hosts,
                                                 const api::TopologyAssignment& assignment) {
  std::vector<int32_t> pods(hosts.size(), 0);
  for (const api::DomainAssignment& domain : assignment.domains) {
    const auto host = std::ranges::find(hosts, domain.values.back(), &Host::hostname);
    if (host == hosts.end()) return std::nullopt;
    pods[host - hosts.begin()] += domain.count;
  }
  return pods;
}

void take_from(std::vector<Host>& hosts, const Rules& rules, const Distribution& distribution) {
  for (size_t index = 0; index < hosts.size(); ++index) {
    subtract(hosts[index].free, rules.worker, distribution.pods[index]);
    if (distribution.leader == index) subtract(hosts[index].free, *rules.leader, 1);
  }
}

}  // namespace phalanx::placement::testing
