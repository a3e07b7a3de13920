// Whether a node can take a pod, and why not: the filters of the default scheduler. Pure.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "api/node.h"
#include "api/pod.h"
#include "sim/pod_resources.h"

namespace phalanx::sim {

// Everything about a pod that decides where it can run. Pods of equal shape get equal answers.
struct PodShape {
  api::ResourceAmounts demand;
  std::map<std::string, std::string> node_selector;
  std::vector<api::Toleration> tolerations;
  api::NodeAffinity affinity;

  auto operator<=>(const PodShape&) const = default;
};

PodShape shape_of(const json::value& pod);

struct SchedulableNode {
  api::Node node;
  NodeLoad load;
};

// Reads a Node. One that is not Ready has its taint even if nobody wrote it yet, so that no pod
// slips in between.
api::Node schedulable_node(const json::value& node);

// Empty if the pod fits; else the reasons, in the words Kubernetes counts nodes with: "Insufficient
// cpu", "node(s) had untolerated taint {key: value}". The first filter that refuses is heard.
std::vector<std::string> reasons_against(const PodShape& pod, const SchedulableNode& node);

// The reason of all nodes that a selector rules out.
inline constexpr std::string_view kNoSelectorMatch =
    "node(s) didn't match Pod's node affinity/selector";

// "0/4 nodes are available: 1 Insufficient cpu, 3 Too many pods."
std::string unschedulable_message(size_t nodes, const std::map<std::string, size_t>& reasons);

}  // namespace phalanx::sim
