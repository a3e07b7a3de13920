// The SHA-256 of a text, in hexadecimal: a short name for a long answer.
#pragma once

#include <string>
#include <string_view>

namespace phalanx {
std::string sha256_hex(std::string_view text);
}  // namespace phalanx
