#include "serve/load_client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <map>

#include "base/wall_clock.h"
#include "serve/server.h"

namespace phalanx::serve {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

std::string post(std::string_view body, std::string_view path = "/path") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", path,
                     body.size(), body);
}

class LoadClientTest : public ::testing::Test {
 protected:
  LoadClientTest() {
    std::signal(SIGPIPE, SIG_IGN);
    const Authority authority = make_authority("phalanx", wall_now(), hours(48)).value();
    ServerOptions options;
    options.address = {.host = "127.0.0.1", .port = 0};
    options.most_body_bytes = [](std::string_view path) {
      return path == "/large" ? size_t{32} << 20 : size_t{1000};
    };
    options.header_timeout = milliseconds(1500);
    server_ = Server::start(options, issue(authority, {"127.0.0.1"}, wall_now(), hours(24)).value(),
                            [this](const Request& request, const Reply& reply) {
                              if (request.body == "later" && held_ < kMostHeld) {
                                replies_.push_back(reply);
                                ++held_;
                                return;
                              }
                              reply({.status = request.body == "no" ? 400 : 200});
                            })
                  .value();
    options_.host = "127.0.0.1";
    options_.port = server_->port();
    options_.server_name = "127.0.0.1";
    options_.certificates = authority.certificate_pem;
    options_.connections = kMostHeld;
  }

  // How often there was which status, for so many of each.
  std::map<int, int> statuses(const std::vector<LoadRequest>& requests, uint64_t times = 1) {
    auto client = LoadClient::make(options_);
    EXPECT_TRUE(client.has_value()) << (client ? "" : client.error().message);
    std::map<int, int> found;
    const auto sent = (*client)->run(
        requests.size() * times, 2000,
        [&](uint64_t index) { return requests[index % requests.size()]; },
        [&](uint64_t, const LoadAnswer& answer) {
          ++found[answer.status];
          EXPECT_GE(answer.latency.count(), 0);
        },
        [](uint64_t) { return true; });
    EXPECT_EQ(sent.value_or(0), requests.size() * times);
    return found;
  }

  static constexpr size_t kMostHeld = 3;
  // Requests that are answered later: the first of those that ask for it. Whoever sees that all are
  // there may answer them.
  std::vector<Reply> replies_;
  std::atomic<size_t> held_ = 0;
  std::unique_ptr<Server> server_;
  LoadOptions options_;
};

TEST_F(LoadClientTest, EveryRequestIsAnsweredOnFewConnections) {
  const std::string yes = post("yes");
  const std::string no = post("no");
  EXPECT_EQ(statuses({{yes}, {no}}, 200), (std::map<int, int>{{200, 200}, {400, 200}}));
  EXPECT_LE(server_->counters().connections_accepted, 3);
}

TEST_F(LoadClientTest, ClientsDoWhatTheyShouldNot) {
  const std::string yes = post("yes");
  const std::string half = yes.substr(0, yes.size() - 2);
  const std::string large = post(std::string(100'000, 'x'));
  EXPECT_EQ(statuses({{yes, Wire::kOwn}}), (std::map<int, int>{{200, 1}}));
  EXPECT_EQ(statuses({{half, Wire::kCut}}), (std::map<int, int>{{0, 1}}));
  EXPECT_EQ(statuses({{yes, Wire::kPlain}}), (std::map<int, int>{{400, 1}}));
  EXPECT_EQ(statuses({{large, Wire::kOwn}}), (std::map<int, int>{{413, 1}}));
  EXPECT_EQ(statuses({{yes, Wire::kDripping}}), (std::map<int, int>{{408, 1}}));
}

// More than fits between client and server at a time.
TEST_F(LoadClientTest, LargeRequestsAreSentToTheirEnd) {
  const std::string large = post(std::string(size_t{24} << 20, 'x'), "/large");
  EXPECT_EQ(statuses({{large, Wire::kOwn}}, 3), (std::map<int, int>{{200, 3}}));
}

TEST_F(LoadClientTest, AServerThatIsNotTrustedIsToldOf) {
  options_.certificates = make_authority("other", wall_now(), hours(48))->certificate_pem;
  auto client = LoadClient::make(options_);
  ASSERT_TRUE(client.has_value());
  const std::string yes = post("yes");
  const auto sent = (*client)->run(
      1'000'000, 10'000, [&](uint64_t) { return LoadRequest{yes}; },
      [](uint64_t, const LoadAnswer& answer) { EXPECT_EQ(answer.status, 0); },
      [](uint64_t) { return true; });
  ASSERT_FALSE(sent.has_value());
  EXPECT_NE(sent.error().message.find("signed by the CA"), std::string::npos);
}

TEST_F(LoadClientTest, WhoeverHasEnoughEndsIt) {
  auto client = LoadClient::make(options_);
  const std::string yes = post("yes");
  uint64_t answered = 0;
  const auto sent = (*client)->run(
      1'000'000, 1000, [&](uint64_t) { return LoadRequest{yes}; },
      [&](uint64_t, const LoadAnswer&) { ++answered; },
      [](uint64_t so_far) { return so_far < 10; });
  EXPECT_LT(sent.value_or(1'000'000), 1000U);
  EXPECT_EQ(answered, sent.value_or(0)) << "what was sent is waited for";
}

TEST_F(LoadClientTest, WhatWaitsIsNotSentAfterTheEnd) {
  auto client = LoadClient::make(options_);
  const std::string later = post("later");
  uint64_t answered = 0;
  bool ended = false;
  const auto sent = (*client)->run(
      1'000'000, 1000, [&](uint64_t) { return LoadRequest{later}; },
      [&](uint64_t, const LoadAnswer&) { ++answered; },
      [&](uint64_t so_far) {
        if (held_ < kMostHeld || so_far < 10 * kMostHeld) return true;
        if (!ended) {
          for (const Reply& reply : replies_) reply({});
        }
        ended = true;
        return false;
      });
  EXPECT_EQ(sent.value_or(0), kMostHeld) << "the others had no connection yet";
  EXPECT_EQ(answered, kMostHeld);
  EXPECT_EQ(server_->counters().responses[200], kMostHeld);
}

// Addresses to which a system does not even try to connect.
TEST_F(LoadClientTest, AnAddressThatCannotBeReachedIsToldOf) {
  options_.host = "255.255.255.255";
  auto client = LoadClient::make(options_);
  ASSERT_TRUE(client.has_value());
  const std::string yes = post("yes");
  const auto sent = (*client)->run(
      1'000'000, 10'000, [&](uint64_t) { return LoadRequest{yes}; },
      [](uint64_t, const LoadAnswer&) {}, [](uint64_t so_far) { return so_far < 100'000; });
  ASSERT_FALSE(sent.has_value());
  EXPECT_NE(sent.error().message.find("(Network is unreachable)"), std::string::npos)
      << sent.error().message;
}

// The system takes the connections, but nobody ever speaks.
TEST_F(LoadClientTest, AServerThatSaysNothingDoesNotHoldUpTheEnd) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener, generic, size), 0);
  ASSERT_EQ(::listen(listener, 64), 0);
  ASSERT_EQ(::getsockname(listener, generic, &size), 0);
  options_.port = ntohs(address.sin_port);
  options_.patience = std::chrono::seconds(10);
  auto client = LoadClient::make(options_);
  const std::string yes = post("yes");
  uint64_t answered = 0;
  const auto sent = (*client)->run(
      1'000'000, 1000,
      [&](uint64_t index) { return LoadRequest{yes, index % 2 == 0 ? Wire::kKept : Wire::kOwn}; },
      [&](uint64_t, const LoadAnswer&) { ++answered; },
      [](uint64_t so_far) { return so_far < 10; });
  EXPECT_EQ(sent.value_or(1), 0U);
  EXPECT_EQ(answered, 0U);
  ::close(listener);
}

}  // namespace
}  // namespace phalanx::serve
