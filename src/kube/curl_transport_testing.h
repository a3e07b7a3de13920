// How tests run a transport until something has happened. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kube/curl_transport.h"

namespace phalanx::kube {

// Long enough for the slowest machine; without it a failing test would never end.
inline constexpr auto kPatience = std::chrono::seconds(60);

// Runs until it holds; the number of turns that this took.
template <typename Condition>
int run_until(CurlTransport& transport, Condition condition) {
  const Instant end = transport.now() + kPatience;
  int turns = 0;
  while (!condition() && transport.now() < end) {
    transport.run_once(std::chrono::seconds(1));
    ++turns;
  }
  EXPECT_TRUE(condition());
  return turns;
}

inline std::string whole(const std::string& status, const std::string& body,
                         const std::string& headers = "") {
  return "HTTP/1.1 " + status + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace phalanx::kube
