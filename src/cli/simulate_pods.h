// Which pods of which workloads run, for the history of a run: counted by workload, and only where
// somebody can vouch for them. A pod whose node is not Ready, or gone, does not run for anybody who
// waits for its work, whatever its status still says.
//
// Cost: a change of a pod costs the pod, a change of a node's state the pods of all workloads.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "api/kind.h"
#include "sim/informer.h"

namespace phalanx::cli {

// "ml/job-train-1a2b3" of a pod that belongs to a Workload; "" of any other.
std::string workload_of(const json::value& pod);
// How many pods of a Workload have succeeded for good.
int64_t done_pods(const json::value& workload);
// What a node is besides Ready: "NotReady", "Unreachable", "Ready, cordoned".
std::string node_state(const json::value& node);

class RunningPods {
 public:
  void observe_pod(const sim::Change& change);
  void observe_node(const sim::Change& change);

  [[nodiscard]] int64_t running(const std::string& workload) const;
  // Why pods of the workload that were running do not run any more: "node n7 is NotReady", "a pod
  // is gone"; "" if none was lost since they all ran.
  [[nodiscard]] std::string loss(const std::string& workload) const;
  void forget_loss(const std::string& workload);
  // Workloads whose count has changed since the last call.
  std::set<std::string> take_changed() { return std::exchange(changed_, {}); }

 private:
  struct Pods {
    std::map<api::ObjectKey, std::string> nodes;  // of pods that run, by pod
    std::string lost;
  };

  std::map<std::string, Pods> workloads_;
  std::map<std::string, std::string> bad_nodes_;  // those that are not Ready, with their state
  std::set<std::string> changed_;
};

}  // namespace phalanx::cli
