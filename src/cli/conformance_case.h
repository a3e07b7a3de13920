// One placement case of the conformance format: a cluster, what already uses it, one workload, and
// the expected answer. Unknown fields are errors. The format is described in
// docs/reference/conformance.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/node.h"
#include "api/topology_assignment.h"
#include "base/error.h"
#include "base/json.h"
#include "placement/pod_set.h"
#include "topology/cluster.h"

namespace phalanx::cli {

struct OtherPod {
  std::string node_name;
  std::string phase;
  api::ResourceAmounts requests;
};

struct AdmittedPodSet {
  std::string workload;
  api::ResourceAmounts requests;
  api::TopologyAssignment assignment;
};

struct ConformanceCase {
  std::string name;
  topology::TreeSpec tree;
  std::vector<api::Node> nodes;
  std::vector<OtherPod> pods;
  std::vector<AdmittedPodSet> admitted;
  placement::Workload workload;
  placement::Options options;
  // Acceptable answers, each in the form results_json gives; empty: none is expected.
  std::vector<json::value> expected;
};

Result<ConformanceCase> read_case(std::string_view line);

// Builds the case's cluster and places its workload.
Result<std::vector<placement::PodSetResult>> answer(const ConformanceCase& input);

// [{"name":..., "topologyAssignment":{...}} | {"name":..., "failure":...} | {..., "notEvaluated"}].
json::value results_json(const std::vector<placement::PodSetResult>& results);
json::value assignment_json(const api::TopologyAssignment& assignment);

}  // namespace phalanx::cli
