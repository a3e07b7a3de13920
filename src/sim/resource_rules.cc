#include "sim/resource_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quantity.h"
#include "base/spelling.h"
#include "sim/names.h"

namespace phalanx::sim {
namespace {

constexpr std::array<std::string_view, 4> kStandard{"cpu", "memory", "ephemeral-storage", "pods"};

}  // namespace

std::string problem_of_resource_name(std::string_view name) {
  if (const std::string problem = problem_of_qualified_name(name); !problem.empty()) return problem;
  if (name.find('/') != std::string_view::npos || name.starts_with("hugepages-") ||
      std::ranges::find(kStandard, name) != kStandard.end()) {
    return "";
  }
  return fmt::format(
      "\"{}\" is no resource of Kubernetes, and others have a domain, as in nvidia.com/gpu{}", name,
      suggestion(name, kStandard));
}

void check_amounts(const JsonReader& reader, std::string_view field, Problems& problems) {
  const json::value* value = reader.find(field);
  const json::object* amounts = value == nullptr ? nullptr : value->if_object();
  if (amounts == nullptr) return;
  for (const auto& [name, quantity] : *amounts) {
    const std::string text = quantity_text(quantity);
    if (!parse_amount(name, text)) continue;
    const auto amount = parse_exact_amount(name, text);
    if (amount) continue;
    problems.add(fmt::format("{}[{}]", reader.path_of(field), std::string_view(name)),
                 amount.error().message);
  }
}

}  // namespace phalanx::sim
