// Where to listen, as a person writes it on a command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace phalanx::serve {

struct ListenAddress {
  std::string host = "";  // "127.0.0.1", "::1"; "" is every address of the machine, IPv4 and IPv6
  uint16_t port = 0;      // 0 is any that is free

  bool operator==(const ListenAddress&) const = default;
};

// "127.0.0.1:8443", "[::1]:8443", ":8443", "8443", "localhost:8443"; without a port "127.0.0.1",
// "[::1]", "::1". Other names than localhost are refused: what they mean can change, and with it
// who can reach the server.
Result<ListenAddress> parse_listen_address(std::string_view text, uint16_t default_port);

// "127.0.0.1:8443", "[::1]:8443", ":8443": what parse_listen_address reads back.
std::string to_string(const ListenAddress& address);

}  // namespace phalanx::serve
