#include "api/node_affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace phalanx::api {
namespace {

constexpr std::pair<std::string_view, SelectorOperator> kOperators[] = {
    {"In", SelectorOperator::kIn},         {"NotIn", SelectorOperator::kNotIn},
    {"Exists", SelectorOperator::kExists}, {"DoesNotExist", SelectorOperator::kDoesNotExist},
    {"Gt", SelectorOperator::kGt},         {"Lt", SelectorOperator::kLt},
};

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

NodeSelectorRequirement read_requirement(const JsonReader& reader, bool field) {
  reader.allow_only({"key", "operator", "values"});
  NodeSelectorRequirement requirement;
  requirement.key = reader.required_string("key");
  requirement.values = reader.strings("values");
  const std::string name = reader.required_string("operator");
  const auto* known = std::ranges::find(kOperators, name, [](const auto& o) { return o.first; });
  if (known == std::end(kOperators)) {
    reader.report("operator",
                  fmt::format("\"{}\" is not In, NotIn, Exists, DoesNotExist, Gt or Lt", name));
    return requirement;
  }
  requirement.op = known->second;
  const size_t count = requirement.values.size();
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (count == 0) reader.report("values", fmt::format("{} needs at least one value", name));
      break;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (count != 0) reader.report("values", fmt::format("{} takes no values", name));
      break;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      if (count != 1 || !whole_number(requirement.values[0])) {
        reader.report("values", fmt::format("{} needs exactly one whole number", name));
      }
      break;
  }
  if (field && requirement.key != "metadata.name") {
    reader.report("key", "matchFields knows only metadata.name");
  }
  return requirement;
}

NodeSelectorTerm read_term(const JsonReader& reader) {
  reader.allow_only({"matchExpressions", "matchFields"});
  NodeSelectorTerm term;
  const auto read_into = [&](std::string_view name, auto& list, bool field) {
    reader.each(name, [&](const json::value& value, const std::string& path) {
      list.push_back(read_requirement(JsonReader(&value, path, reader.status()), field));
    });
  };
  read_into("matchExpressions", term.expressions, false);
  read_into("matchFields", term.fields, true);
  return term;
}

}  // namespace

bool NodeSelectorRequirement::matches(std::optional<std::string_view> value) const {
  const auto listed = [&] { return std::ranges::find(values, *value) != values.end(); };
  switch (op) {
    case SelectorOperator::kIn:
      return value && listed();
    case SelectorOperator::kNotIn:
      return !value || !listed();
    case SelectorOperator::kExists:
      return value.has_value();
    case SelectorOperator::kDoesNotExist:
      return !value;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt: {
      if (!value) return false;
      const auto number = whole_number(*value);
      const auto bound = whole_number(values.at(0));
      if (!number || !bound) return false;
      return op == SelectorOperator::kGt ? *number > *bound : *number < *bound;
    }
  }
  return false;
}

NodeAffinity read_node_affinity(const JsonReader& reader) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  reader.allow_only({kRequired, kPreferred});
  NodeAffinity affinity;
  if (reader.has(kRequired)) {
    const JsonReader required = reader.object(kRequired);
    required.allow_only({"nodeSelectorTerms"});
    affinity.required.emplace();
    required.each("nodeSelectorTerms", [&](const json::value& value, const std::string& path) {
      affinity.required->push_back(read_term(JsonReader(&value, path, reader.status())));
    });
  }
  reader.each(kPreferred, [&](const json::value& value, const std::string& path) {
    const JsonReader preferred(&value, path, reader.status());
    preferred.allow_only({"weight", "preference"});
    affinity.preferred.push_back({static_cast<int32_t>(preferred.integer("weight", 1, 1, 100)),
                                  read_term(preferred.object("preference"))});
  });
  return affinity;
}

}  // namespace phalanx::api
