#include "serve/ip_address.h"

#include <arpa/inet.h>

#include <array>

namespace phalanx::serve {

std::optional<std::string> canonical_ip(std::string_view text) {
  if (text.contains('\0')) return std::nullopt;  // the calls below would not see what follows
  const std::string terminated(text);
  for (const int family : {AF_INET, AF_INET6}) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    std::array<char, INET6_ADDRSTRLEN> canonical{};
    if (::inet_pton(family, terminated.c_str(), bytes.data()) != 1) continue;
    return ::inet_ntop(family, bytes.data(), canonical.data(), canonical.size());
  }
  return std::nullopt;
}

}  // namespace phalanx::serve
