// Tiny clusters, requests and a brute force, for property tests of placement.
//
// A TinyProblem is plain data: a cluster of at most six hosts, what uses it, one workload, options.
// It is made from a seed, can be loaded into a Cluster in any order, and prints as a line of the
// conformance format, so that a failing one can be tried with `phalanx conformance`.
//
// The brute force knows nothing of counting, rolling up or choosing: it takes the rules as a user
// reads them (all pods in one domain, slices whole at every layer, node filters, capacity) and
// tries every way of putting the pods on the hosts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "api/node.h"
#include "base/json.h"
#include "placement/pod_set.h"
#include "topology/cluster.h"

namespace phalanx::placement::testing {

struct TinyPod {
  std::string key;
  std::string node;
  api::ResourceAmounts requests;
};

struct TinyUsage {
  std::string workload;
  api::ResourceAmounts requests;  // per pod
  std::vector<topology::DomainUsage> domains;
};

struct TinyCluster {
  topology::TreeSpec spec;  // the lowest level is the host
  std::vector<api::Node> nodes;
  std::vector<TinyPod> pods;
  std::vector<TinyUsage> usages;
};

struct TinyProblem {
  TinyCluster cluster;
  Workload workload;
  Options options;
};

// The problem as a line of the conformance format.
std::string as_case(const TinyProblem& problem);

// Puts all of it into an empty cluster.
TreeId load(const TinyCluster& tiny, topology::Cluster& cluster);

// Places the problem's workload in a cluster of its own.
std::vector<PodSetResult> place_fresh(const TinyProblem& problem);

// What a result says, for comparing and printing.
std::string text_of(const std::vector<PodSetResult>& results);

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  // 0 <= result < bound.
  int below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool chance(int percent) { return below(100) < percent; }
  int between(int low, int high) { return low + below(high - low + 1); }
  template <typename List>
  auto& any_of(List& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }
  template <typename List>
  void shuffle(List& list) {
    std::shuffle(list.begin(), list.end(), random_);
  }

  TinyCluster cluster();
  // A new node or another version of an existing one: same name, everything else drawn again.
  api::Node node(const topology::TreeSpec& spec, int number);
  TinyPod pod(const TinyCluster& cluster, int number);
  TinyUsage usage(const TinyCluster& cluster, int number);
  // One pod set, or a group of a leader and its workers; sometimes another pod set after it.
  Workload workload(const topology::TreeSpec& spec);
  // `name`d, with a request of one of the kinds that the engine knows.
  PodSet pod_set(const topology::TreeSpec& spec, const std::string& name);
  Options options();
  TinyProblem problem();

 private:
  void draw_filters(PodSet& pod_set);
  api::TopologyRequest request(const topology::TreeSpec& spec);

  std::mt19937_64 random_;
};

// One host as the rules see it.
struct Host {
  std::string hostname;
  std::vector<std::string> path;  // one value for each level, the hostname last
  api::ResourceAmounts free;
  bool takes_workers = false;
  bool takes_leader = false;
  int32_t kept = 0;  // pods of the set that are there already and stay
};

// A request in the terms of a user: which constraints an answer must keep.
struct Rules {
  int32_t count = 0;
  api::ResourceAmounts worker;                  // per pod
  std::optional<api::ResourceAmounts> leader;   // one pod of it
  std::optional<int> required_level;            // all pods in one domain of this level
  std::vector<std::pair<int, int32_t>> layers;  // slices: level, size
};

// The active hosts of a cluster with what is free on them, and whom they admit.
std::vector<Host> hosts_for(const TinyCluster& cluster, const PodSet& workers, const PodSet* leader,
                            bool simulate_empty);

// The rules of a request; `auto` counts as no requirement.
Rules rules_for(const topology::TreeSpec& spec, const PodSet& workers, const PodSet* leader);

// New pods by host, and the host of the leader, if there is one.
struct Distribution {
  std::vector<int32_t> pods;
  std::optional<size_t> leader;
};

// The first rule that a distribution breaks; empty if it keeps all.
std::string broken_rule(const std::vector<Host>& hosts, const Rules& rules,
                        const Distribution& distribution);

// Whether any distribution keeps all rules: tries them all.
bool can_be_placed(const std::vector<Host>& hosts, const Rules& rules);
// Some distribution that keeps all rules, drawn without regard to what the engine would choose.
std::optional<Distribution> draw_placement(const std::vector<Host>& hosts, const Rules& rules,
                                           Generator& generator);

// An assignment as pods by host; nullopt if it names a host that is not in the list.
std::optional<std::vector<int32_t>> pods_by_host(const std::vector<Host>& hosts,
                                                 const api::TopologyAssignment& assignment);

// Takes the new pods' needs out of the hosts' free amounts.
void take_from(std::vector<Host>& hosts, const Rules& rules, const Distribution& distribution);

}  // namespace phalanx::placement::testing
