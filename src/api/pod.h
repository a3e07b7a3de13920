// core/v1 Pod and PodSpec: what placement decides by.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/limit_range.h"
#include "api/node_affinity.h"
#include "api/resources.h"
#include "api/taint.h"

namespace phalanx::api {

// What the containers of a pod say they need, before anything is added up.
struct ContainerResources {
  enum class Role : uint8_t { kMain, kInit, kSidecar };
  Role role = Role::kMain;
  ResourceAmounts requests;
  ResourceAmounts limits;
};

struct PodResources {
  std::vector<ContainerResources> containers;  // init containers and sidecars in their order
  ResourceAmounts of_pod;                      // pod-level requests, or else limits
  ResourceAmounts overhead;

  // Follows the kubelet: containers and sidecars add up, an init container counts together with the
  // sidecars started before it, pod-level resources replace the sum of the containers, a limit
  // without a request is the request, overhead comes on top. Containers that say nothing about a
  // resource get the namespace's default.
  [[nodiscard]] ResourceAmounts effective(const ContainerDefaults& defaults = {}) const;
};

// Where a pod may run and what it takes there.
struct PodSpec {
  ResourceAmounts requests;  // effective, without defaults of a namespace
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

PodResources read_pod_resources(const JsonReader& spec);
PodSpec read_pod_spec(const JsonReader& spec);
Pod read_pod(const JsonReader& object);

}  // namespace phalanx::api
