// Finds objects with many fields: a map of thousands of entries costs more than its size says
// wherever fields are looked up, and strangers choose how many there are (base/strict_json.h).
#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace phalanx {

// Where the first object with more fields than that stands, "spec.nodeSelector"; nullopt if there
// is none. One pass.
std::optional<std::string> find_crowded_object(const json::value& document, size_t most_fields);

}  // namespace phalanx
