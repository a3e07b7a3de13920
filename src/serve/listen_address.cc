#include "serve/listen_address.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>

#include "serve/ip_address.h"

namespace phalanx::serve {
namespace {

struct Parts {
  std::string_view host;
  std::optional<std::string_view> port;
};

std::optional<Parts> split(std::string_view text) {
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    // Brackets are for IPv6; without this "[1.2.3.4]" would be taken.
    if (end == std::string_view::npos || text.find(':') > end) return std::nullopt;
    const std::string_view host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (rest.empty()) return Parts{.host = host, .port = std::nullopt};
    if (!rest.starts_with(':')) return std::nullopt;
    return Parts{.host = host, .port = rest.substr(1)};
  }
  if (text.find_first_not_of("0123456789") == std::string_view::npos) {
    return Parts{.host = "", .port = text};
  }
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
    return Parts{.host = text, .port = std::nullopt};  // two colons: IPv6 without brackets
  }
  return Parts{.host = text.substr(0, colon), .port = text.substr(colon + 1)};
}

// The usual form of an address; nothing if it is none.
std::optional<std::string> canonical_host(std::string_view host) {
  if (host.empty()) return "";
  if (host == "localhost") return "127.0.0.1";
  return canonical_ip(host);
}

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const char* end = std::to_address(text.end());
  const auto [stop, code] = std::from_chars(std::to_address(text.begin()), end, port);
  if (code != std::errc() || stop != end) return std::nullopt;
  return port;
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text, uint16_t default_port) {
  const auto parts = text.empty() ? std::nullopt : split(text);
  if (!parts) {
    return fail(fmt::format(
        "\"{}\" is no address to listen on; write it like :8443, 127.0.0.1:8443 or [::1]:8443",
        text));
  }
  const auto port = parts->port ? parse_port(*parts->port) : default_port;
  if (!port) {
    return fail(
        fmt::format("\"{}\": \"{}\" is no port; it is a number from 0 to 65535, and 0 is "
                    "any that is free",
                    text, *parts->port));
  }
  const auto host = canonical_host(parts->host);
  if (!host) {
    return fail(
        fmt::format("\"{}\": \"{}\" is no IP address; write it like 127.0.0.1 or [::1], or leave "
                    "it out to listen on every address",
                    text, parts->host));
  }
  return ListenAddress{.host = *host, .port = *port};
}

std::string to_string(const ListenAddress& address) {
  const bool brackets = address.host.contains(':');
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", address.host, brackets ? "]" : "",
                     address.port);
}

}  // namespace phalanx::serve
