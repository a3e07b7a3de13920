#include "api/topology.h"

#include <fmt/format.h>

#include <set>

#include "api/node.h"

namespace phalanx::api {

std::optional<std::string> problem_of_levels(const std::vector<std::string>& levels) {
  if (levels.empty() || levels.size() > kMaxTopologyLevels) {
    return fmt::format("holds {} levels, but must hold 1 to {}", levels.size(), kMaxTopologyLevels);
  }
  std::set<std::string> seen;
  for (const std::string& level : levels) {
    if (level.empty()) return "holds an empty level; every level is a node label key";
    if (level.size() > kMaxLevelKeyLength) {
      return fmt::format("holds a level of {} characters; a label key has at most {}", level.size(),
                         kMaxLevelKeyLength);
    }
    if (!seen.insert(level).second) {
      return fmt::format("names the level {} twice; remove one of them", level);
    }
    if (level == kHostnameLabel && &level != &levels.back()) {
      return fmt::format("names {} before other levels; a host is the finest level, put it last",
                         level);
    }
  }
  return std::nullopt;
}

Topology read_topology(const JsonReader& object) {
  Topology topology;
  topology.name = object.object("metadata").required_string("name");
  const JsonReader spec = object.object("spec");
  spec.each("levels", [&](const json::value& value, const std::string& path) {
    topology.levels.push_back(
        JsonReader(&value, path, object.status()).required_string("nodeLabel"));
  });
  if (auto problem = problem_of_levels(topology.levels)) spec.report("levels", *problem);
  return topology;
}

}  // namespace phalanx::api
