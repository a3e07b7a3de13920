// Kubernetes quantities ("500m", "64Gi", "1e3") as the integers that placement counts with:
// CPU in millicores, every other resource in whole units, rounded up, saturating at 64 bits
// (reference semantics: reference/placement.md 1.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace phalanx {

// The integer for `text` as an amount of the named resource. Negative amounts are refused.
Result<int64_t> parse_amount(std::string_view resource, std::string_view text);

// The shortest usual way to write an amount: "500m" and "4" for cpu, "64Gi" for memory, "8".
std::string format_amount(std::string_view resource, int64_t amount);

}  // namespace phalanx
