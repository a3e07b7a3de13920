// JSON from somebody who must not be trusted, such as the body of a web request.
//
// As strict as the standard (RFC 8259) and in two things stricter: a key that stands twice in one
// object is refused, because two readers may each take another one of them for the value; and so is
// text that is no UTF-8. Numbers beyond 64 bits become floating point, as in other readers.
//
// Cost: one pass; how deep a document may be nested, how many values it may have and how many of
// them in one object (10 000) is bounded, its size is the caller's to bound.
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace phalanx {

// One document and nothing else. The error names the byte at which it was understood no more.
Result<json::value> parse_strict_json(std::string_view text);

}  // namespace phalanx
