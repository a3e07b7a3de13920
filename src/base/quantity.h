// Kubernetes quantities ("500m", "64Gi", "1e3") as the integers that placement counts with:
// CPU in millicores, every other resource in whole units, rounded up, saturating at 64 bits
// (reference semantics: reference/placement.md 1.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace phalanx {

// The integer for `text` as an amount of the named resource. Negative amounts are refused.
Result<int64_t> parse_amount(std::string_view resource, std::string_view text);

// The same for what somebody wrote and can still repair: an amount beyond 64 bits is refused
// instead of cut, and so is a part of something that is counted whole.
Result<int64_t> parse_exact_amount(std::string_view resource, std::string_view text);
// The same, but parts are rounded up as Kueue does with quotas.
Result<int64_t> parse_bounded_amount(std::string_view resource, std::string_view text);

// A quantity of a document, which is a string or a number, as people write it.
std::string quantity_text(const json::value& quantity);

// GPUs and pods cannot be had in part, unlike cpu, memory and storage.
bool is_counted_whole(std::string_view resource);

// The shortest usual way to write an amount: "500m" and "4" for cpu, "64Gi" for memory, "8".
std::string format_amount(std::string_view resource, int64_t amount);

}  // namespace phalanx
