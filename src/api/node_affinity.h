// Node selectors and node affinity, as core/v1 defines them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace phalanx::api {

enum class SelectorOperator : uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct NodeSelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kIn;
  std::vector<std::string> values;

  // Whether a node with this value of the key (nullopt: without it) satisfies the requirement.
  [[nodiscard]] bool matches(std::optional<std::string_view> value) const;
  auto operator<=>(const NodeSelectorRequirement&) const = default;
};

// All requirements hold. A term without any requirement matches nothing.
struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> expressions;  // on labels
  std::vector<NodeSelectorRequirement> fields;       // on metadata.name

  auto operator<=>(const NodeSelectorTerm&) const = default;
};

struct PreferredTerm {
  int32_t weight = 1;
  NodeSelectorTerm term;

  auto operator<=>(const PreferredTerm&) const = default;
};

struct NodeAffinity {
  // Terms are alternatives. Present but empty matches nothing.
  std::optional<std::vector<NodeSelectorTerm>> required;
  std::vector<PreferredTerm> preferred;

  [[nodiscard]] bool empty() const { return !required && preferred.empty(); }
  auto operator<=>(const NodeAffinity&) const = default;
};

// Reads a NodeAffinity object: {requiredDuringScheduling...: ..., preferredDuringScheduling...:
// ...}.
NodeAffinity read_node_affinity(const JsonReader& reader);

}  // namespace phalanx::api
