// What is to be placed, how, and what came out: the words that the algorithms share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/node_affinity.h"
#include "api/resources.h"
#include "api/taint.h"
#include "api/topology_assignment.h"
#include "api/topology_request.h"

namespace phalanx::placement {

struct Explanation;  // placement/explanation.h

struct PodSet {
  std::string name;
  int32_t count = 1;
  api::ResourceAmounts requests;  // per pod
  std::map<std::string, std::string> node_selector;
  std::vector<api::Toleration> tolerations;
  api::NodeAffinity affinity;
  // Absent: the implicit default, which is like unconstrained.
  std::optional<api::TopologyRequest> topology;
  std::optional<api::TopologyAssignment> previous;
};

struct Workload {
  std::string name;
  std::vector<PodSet> pod_sets;
  // Not empty: the pods on these nodes are to be replaced, everything else stays.
  std::vector<std::string> unhealthy_nodes;
  bool owned_by_single_pod = false;
};

enum class Profile : uint8_t {
  kMixed,    // least free capacity for requests without a level, best fit for the rest
  kBestFit,  // best fit for everything
};

struct Options {
  Profile profile = Profile::kMixed;
  bool balanced = false;
  bool preferred_node_affinity = false;
  bool elastic_resize = false;
  bool simulate_empty = false;
  bool keep_single_pod_owner_assignment = true;
  // Search over all pod sets of a workload together instead of one after another.
  bool joint_pod_sets = false;
  // Attach the explanation to a failure (placement/explanation.h); costs a pass over the leaves.
  bool explain = false;

  bool operator==(const Options&) const = default;
};

struct PodSetResult {
  std::string name;
  // Exactly one of the two, or neither if an earlier pod set failed first.
  std::optional<api::TopologyAssignment> assignment;
  std::optional<std::string> failure;
  std::shared_ptr<const Explanation> explanation;  // with a failure, where there is one
};

}  // namespace phalanx::placement
