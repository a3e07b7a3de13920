// Base64 with the standard alphabet and padding (RFC 4648, section 4), as Kubernetes writes bytes
// into JSON. Linear.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace phalanx {

std::string to_base64(std::string_view bytes);

// Line breaks and other white space are skipped, as files of people have them.
Result<std::string> from_base64(std::string_view text);

}  // namespace phalanx
