#include "api/resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"
#include "base/saturating.h"

namespace phalanx::api {

ResourceAmounts read_resources(const JsonReader& reader, std::string_view field) {
  ResourceAmounts amounts;
  const json::value* value = reader.find(field);
  if (value == nullptr) return amounts;
  if (!value->is_object()) {
    reader.report(field, "must be an object");
    return amounts;
  }
  for (const auto& [name, quantity] : value->get_object()) {
    const std::string resource(name);
    auto amount = parse_amount(resource, quantity_text(quantity));
    if (!amount) {
      reader.report(fmt::format("{}[{}]", field, resource), amount.error().message);
      continue;
    }
    amounts[resource] = *amount;
  }
  return amounts;
}

std::optional<int64_t> read_amount(const JsonReader& reader, std::string_view field,
                                   std::string_view resource) {
  const json::value* value = reader.find(field);
  if (value == nullptr) return std::nullopt;
  const auto amount = parse_amount(resource, quantity_text(*value));
  if (amount) return *amount;
  reader.report(field, amount.error().message);
  return 0;
}

void add_to(ResourceAmounts& total, const ResourceAmounts& amounts, int64_t times) {
  for (const auto& [name, amount] : amounts) {
    int64_t& sum = total[name];
    sum = saturating_add(sum, saturating_multiply(amount, times));
  }
}

void raise_to(ResourceAmounts& total, const ResourceAmounts& amounts) {
  for (const auto& [name, amount] : amounts) {
    int64_t& most = total[name];
    most = std::max(most, amount);
  }
}

}  // namespace phalanx::api
