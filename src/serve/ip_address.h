// IP addresses as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace phalanx::serve {

// "FD00:0::1" is "fd00::1"; nothing if it is no IPv4 or IPv6 address.
std::optional<std::string> canonical_ip(std::string_view text);

}  // namespace phalanx::serve
