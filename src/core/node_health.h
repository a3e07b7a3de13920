// Which nodes a workload can no longer count on: those that are gone, not ready, or closed to its
// pods by taints (docs/explanation/staying-alive.md).
//
// Whether a node is lost is a question of one workload: a cordoned node is not, as long as its pods
// run there, and a taint is nothing to those that tolerate it. Nothing is remembered of the answer;
// it follows from the Node, the pods and the time. A node that is well again in time was never
// lost.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/node.h"
#include "base/time.h"

namespace phalanx::core {

struct State;
struct WorkloadState;

// What is wrong with a node. Most nodes have nothing of this, and are not remembered.
struct NodeTrouble {
  bool silent = false;                 // it has no Ready condition
  std::optional<Time> not_ready = {};  // since when
  bool unschedulable = false;
  std::vector<api::Taint> taints = {};  // that keep pods away, but for those that say the above

  [[nodiscard]] bool any() const { return silent || not_ready || unschedulable || !taints.empty(); }
  bool operator==(const NodeTrouble& other) const;
};

NodeTrouble trouble_of(const api::Node& node);

class NodeHealth {
 public:
  // By hostname, which assignments name nodes by. Returns whether anything changed.
  bool put(const std::string& host, NodeTrouble trouble);
  bool remove(const std::string& host) { return troubles_.erase(host) > 0; }
  // nullptr: nothing is wrong with it, if it is there.
  [[nodiscard]] const NodeTrouble* find(const std::string& host) const;

 private:
  std::map<std::string, NodeTrouble> troubles_;
};

// The nodes that a workload has lost, by hostname.
struct LostNodes {
  std::map<std::string, std::string> why = {};  // by host, in words: no pod can start there
  // Those whose places are still needed, in order. Where pods are done for good, fewer are.
  std::set<std::string> needed = {};
  // How many of their places, by pod set and host.
  std::map<size_t, std::map<std::string, int64_t>> places = {};
  std::optional<Time> look_again = {};  // when there may be more, though nothing happens

  [[nodiscard]] std::vector<std::string> names() const { return {needed.begin(), needed.end()}; }
};
// Cost: the pods of the workload, and only if something is wrong with one of its nodes.
LostNodes lost_nodes(const State& state, const WorkloadState& workload);

// How many of them status.unhealthyNodes has room for.
inline constexpr size_t kMostUnhealthyNodes = 8;

}  // namespace phalanx::core
