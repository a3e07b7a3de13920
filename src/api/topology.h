// Topology objects: the node label keys that make up the levels of a domain tree, coarsest first.
//
// kueue.x-k8s.io (v1beta1, v1beta2) and kai.scheduler (v1alpha1) describe a topology the same way.
// KEP-2724, "Topology representation".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace phalanx::api {

inline constexpr size_t kMaxTopologyLevels = 16;
inline constexpr size_t kMaxLevelKeyLength = 316;

struct Topology {
  std::string name;
  std::vector<std::string> levels;  // node label keys, coarsest first
};

// What is wrong with a list of levels, with its remedy, or nullopt: 1 to 16 of them, none empty or
// too long, none twice, the hostname last if at all.
std::optional<std::string> problem_of_levels(const std::vector<std::string>& levels);

Topology read_topology(const JsonReader& object);

}  // namespace phalanx::api
