// metav1.LabelSelector. An absent selector matches nothing, an empty one everything.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/node_affinity.h"
#include "base/json.h"

namespace phalanx::api {

struct LabelSelector {
  std::map<std::string, std::string> match_labels;
  std::vector<NodeSelectorRequirement> expressions;  // In, NotIn, Exists, DoesNotExist

  [[nodiscard]] bool matches(const std::map<std::string, std::string>& labels) const;
  bool operator==(const LabelSelector&) const = default;
};

// The field of a parent object; nullopt if it is absent or null.
std::optional<LabelSelector> read_label_selector(const JsonReader& parent, std::string_view field);

}  // namespace phalanx::api
