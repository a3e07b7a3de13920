// Amounts of resources by name: cpu in millicores, everything else in whole units.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace phalanx::api {

using ResourceAmounts = std::map<std::string, int64_t>;

// Reads {resource: quantity}; a quantity is a string or a number.
ResourceAmounts read_resources(const JsonReader& reader, std::string_view field);

// One quantity, of the named resource, in a field; nullopt if it is absent.
std::optional<int64_t> read_amount(const JsonReader& reader, std::string_view field,
                                   std::string_view resource);

// Adds `amounts`, `times` over, saturating.
void add_to(ResourceAmounts& total, const ResourceAmounts& amounts, int64_t times = 1);
// The larger of both, resource by resource.
void raise_to(ResourceAmounts& total, const ResourceAmounts& amounts);

}  // namespace phalanx::api
