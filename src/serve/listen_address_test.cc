#include "serve/listen_address.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace phalanx::serve {
namespace {

TEST(ListenAddress, EveryFormIsRead) {
  struct Case {
    std::string text;
    std::string host;
    uint16_t port;
    std::string canonical;
  };
  const std::vector<Case> cases{
      {"127.0.0.1", "127.0.0.1", 9443, "127.0.0.1:9443"},
      {"127.0.0.1:0", "127.0.0.1", 0, "127.0.0.1:0"},
      {"0.0.0.0:8443", "0.0.0.0", 8443, "0.0.0.0:8443"},
      {":8443", "", 8443, ":8443"},
      {"8443", "", 8443, ":8443"},
      {"[::1]", "::1", 9443, "[::1]:9443"},
      {"[::1]:8443", "::1", 8443, "[::1]:8443"},
      {"[FD00:0:0::1]:8443", "fd00::1", 8443, "[fd00::1]:8443"},
      {"::1", "::1", 9443, "[::1]:9443"},
      {"::", "::", 9443, "[::]:9443"},
      {"localhost", "127.0.0.1", 9443, "127.0.0.1:9443"},
      {"localhost:65535", "127.0.0.1", 65535, "127.0.0.1:65535"},
  };
  for (const Case& each : cases) {
    const auto address = parse_listen_address(each.text, 9443);
    ASSERT_TRUE(address.has_value()) << each.text << ": " << address.error().message;
    EXPECT_EQ(address->host, each.host) << each.text;
    EXPECT_EQ(address->port, each.port) << each.text;
    EXPECT_EQ(to_string(*address), each.canonical);
    EXPECT_EQ(parse_listen_address(to_string(*address), 1), *address);
  }
}

TEST(ListenAddress, WhatIsNoneIsExplained) {
  struct Case {
    std::string text;
    std::string reason;
  };
  const std::vector<Case> cases{
      {"", "\"\" is no address"},
      {":", "\"\" is no port"},
      {":65536", "\"65536\" is no port"},
      {":-1", "\"-1\" is no port"},
      {":84x", "\"84x\" is no port"},
      {"99999", "\"99999\" is no port"},
      {"[::1", "is no address"},
      {"[::1]8443", "is no address"},
      {"[127.0.0.1]:1", "is no address"},
      {"[]:1", "is no address"},
      {"example.com:80", "\"example.com\" is no IP address"},
      {"1.2.3:80", "\"1.2.3\" is no IP address"},
      {"a:b:c", "\"a:b:c\" is no IP address"},
      {"https://127.0.0.1", "is no port"},
      {std::string("127.0.0.1\0x:1", 13), "is no IP address"},
  };
  for (const Case& each : cases) {
    const auto address = parse_listen_address(each.text, 9443);
    ASSERT_FALSE(address.has_value()) << each.text;
    EXPECT_TRUE(address.error().message.contains(each.reason)) << address.error().message;
  }
}

}  // namespace
}  // namespace phalanx::serve
