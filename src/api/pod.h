// core/v1 Pod and PodSpec: what placement decides by.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/node_affinity.h"
#include "api/resources.h"
#include "api/taint.h"

namespace phalanx::api {

// Where a pod may run and what it takes there.
struct PodSpec {
  ResourceAmounts requests;  // effective: see read_pod_spec
  std::map<std::string, std::string> node_selector;
  std::vector<Toleration> tolerations;
  NodeAffinity affinity;
};

struct Pod {
  std::string name;
  std::string namespace_;
  std::string node_name;
  std::string phase;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  ResourceAmounts requests;

  // Whether it holds resources of a node: bound, and neither Succeeded nor Failed.
  [[nodiscard]] bool occupies_node() const {
    return !node_name.empty() && phase != "Succeeded" && phase != "Failed";
  }
};

// Effective requests follow the kubelet: containers and sidecars add up, an init container counts
// together with the sidecars started before it, pod-level resources replace the sum of the
// containers, a limit without a request is the request, overhead comes on top.
PodSpec read_pod_spec(const JsonReader& spec);
Pod read_pod(const JsonReader& object);

}  // namespace phalanx::api
