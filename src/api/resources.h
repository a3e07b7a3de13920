// Amounts of resources by name: cpu in millicores, everything else in whole units.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"

namespace phalanx::api {

using ResourceAmounts = std::map<std::string, int64_t>;

// Reads {resource: quantity}; a quantity is a string or a number.
ResourceAmounts read_resources(const JsonReader& reader, std::string_view field);

// Adds `amounts`, `times` over, saturating.
void add_to(ResourceAmounts& total, const ResourceAmounts& amounts, int64_t times = 1);
// The larger of both, resource by resource.
void raise_to(ResourceAmounts& total, const ResourceAmounts& amounts);

}  // namespace phalanx::api
