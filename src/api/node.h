// core/v1 Node: what placement decides by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/resources.h"
#include "api/taint.h"

namespace phalanx::api {

inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

struct Node {
  std::string name;
  std::map<std::string, std::string> labels;
  ResourceAmounts allocatable;
  std::vector<Taint> taints;
  bool unschedulable = false;
  bool ready = true;
  // Since when its Ready condition says so; nullopt: it has none, or it does not say.
  std::optional<Time> ready_changed = {};
  bool reports = true;  // it has a Ready condition
};

// Reads a Node object as the API server prints it. A node without a Ready condition is not ready.
Node read_node(const JsonReader& object);

}  // namespace phalanx::api
