#include "api/label_selector.h"

#include <fmt/format.h>

#include <algorithm>

namespace phalanx::api {
namespace {

std::optional<SelectorOperator> operator_of(std::string_view text) {
  if (text == "In") return SelectorOperator::kIn;
  if (text == "NotIn") return SelectorOperator::kNotIn;
  if (text == "Exists") return SelectorOperator::kExists;
  if (text == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  return std::nullopt;
}

}  // namespace

bool LabelSelector::matches(const std::map<std::string, std::string>& labels) const {
  const auto value_of = [&](const std::string& key) -> std::optional<std::string_view> {
    const auto found = labels.find(key);
    if (found == labels.end()) return std::nullopt;
    return found->second;
  };
  return std::ranges::all_of(match_labels,
                             [&](const auto& wanted) {
                               return value_of(wanted.first) == std::string_view(wanted.second);
                             }) &&
         std::ranges::all_of(expressions, [&](const NodeSelectorRequirement& requirement) {
           return requirement.matches(value_of(requirement.key));
         });
}

std::optional<LabelSelector> read_label_selector(const JsonReader& parent, std::string_view field) {
  if (!parent.has(field)) return std::nullopt;
  const JsonReader reader = parent.object(field);
  LabelSelector selector;
  selector.match_labels = reader.string_map("matchLabels");
  reader.each("matchExpressions", [&](const json::value& value, const std::string& path) {
    const JsonReader expression(&value, path, reader.status());
    const std::string text = expression.required_string("operator");
    const auto op = operator_of(text);
    if (!op) {
      expression.report("operator",
                        fmt::format("\"{}\" is not In, NotIn, Exists or DoesNotExist", text));
    }
    selector.expressions.push_back({expression.required_string("key"),
                                    op.value_or(SelectorOperator::kIn),
                                    expression.strings("values")});
  });
  return selector;
}

}  // namespace phalanx::api
