// What a pod set asks of the topology: PodSetTopologyRequest of kueue.x-k8s.io, and the pod
// template annotations it is made from (KEP-2724, "User-facing API").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace phalanx::api {

// The value of required or preferred that stands for "the narrowest level that fits".
inline constexpr std::string_view kAutoLevel = "auto";

// Our own wish, on a pod template: the pods of a preferred request spread evenly.
inline constexpr std::string_view kPlacementAnnotation = "phalanx.dev/placement";
inline constexpr std::string_view kBalancedPlacement = "balanced";

struct SliceConstraint {
  std::string topology;  // level key
  int32_t size = 0;

  auto operator<=>(const SliceConstraint&) const = default;
};

struct TopologyRequest {
  std::optional<std::string> required;
  std::optional<std::string> preferred;
  bool unconstrained = false;
  std::optional<std::string> slice_required_topology;
  std::optional<int32_t> slice_size;
  std::vector<SliceConstraint> slice_constraints;  // multi-layer form, coarsest first
  std::optional<std::string> group_name;
  bool balanced = false;  // annotation phalanx.dev/placement: balanced

  // The multi-layer list, or the single pair as a list of one (size 0 if it is missing).
  [[nodiscard]] std::vector<SliceConstraint> constraints() const;
  auto operator<=>(const TopologyRequest&) const = default;
};

// Reads a PodSetTopologyRequest object, strictly.
TopologyRequest read_topology_request(const JsonReader& reader);

// As a PodSetTopologyRequest object.
json::object topology_request_json(const TopologyRequest& request);

// Reads the annotations of a pod template; nullopt if none of them asks for anything.
// Contradictions and malformed values are reported with the annotation's key.
std::optional<TopologyRequest> topology_request_from_annotations(
    const std::map<std::string, std::string>& annotations, const std::string& path,
    DecodeStatus& status);

}  // namespace phalanx::api
