// Names of places in JSON documents (RFC 6901): "/spec/containers/0/image", with ~1 for "/" and ~0
// for "~" inside a step. "" is the whole document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace phalanx {

using JsonPointer = std::vector<std::string>;  // its steps, as they are called

Result<JsonPointer> parse_json_pointer(std::string_view text);

// Adds a step to the text of a pointer.
void append_json_pointer_step(std::string& text, std::string_view step);

}  // namespace phalanx
