#include "core/quota_resources.h"

#include <algorithm>

#include "base/saturating.h"

namespace phalanx::core {
namespace {

bool excluded(const QuotaResources& resources, std::string_view resource) {
  return std::ranges::any_of(resources.excluded_prefixes, [&](const std::string& prefix) {
    return resource.starts_with(prefix);
  });
}

// Whole units, rounded up: of all resources only cpu is counted in parts.
int64_t whole_units(std::string_view resource, int64_t amount) {
  constexpr int64_t kParts = 1000;
  if (resource != "cpu") return amount;
  return amount / kParts + (amount % kParts > 0 ? 1 : 0);
}

// How often the outputs count. As in Kueue, what the pod does not ask for multiplies nothing.
int64_t times_of(const ResourceTransformation& transformation, const api::ResourceAmounts& requests,
                 int64_t amount) {
  const auto factor = requests.find(transformation.multiply_by);
  if (factor != requests.end()) {
    amount = saturating_multiply(amount, whole_units(factor->first, factor->second));
  }
  return whole_units(transformation.input, amount);
}

}  // namespace

api::ResourceAmounts counted(const QuotaResources& resources,
                             const api::ResourceAmounts& requests) {
  api::ResourceAmounts kept = requests;
  std::erase_if(kept, [&](const auto& entry) { return excluded(resources, entry.first); });
  api::ResourceAmounts result;
  for (const auto& [resource, amount] : kept) {
    const auto transformation =
        std::ranges::find(resources.transformations, resource, &ResourceTransformation::input);
    const bool transformed = transformation != resources.transformations.end();
    if (!transformed || transformation->retain) api::add_to(result, {{resource, amount}});
    if (transformed) {
      api::add_to(result, transformation->outputs, times_of(*transformation, kept, amount));
    }
  }
  return result;
}

bool counts_differently(const QuotaResources& resources, std::string_view resource) {
  if (excluded(resources, resource)) return true;
  const std::string name(resource);
  return std::ranges::any_of(resources.transformations, [&](const ResourceTransformation& each) {
    return each.input == name || each.outputs.contains(name);
  });
}

}  // namespace phalanx::core
