// Connections that are kept and have died without a word.
#include <gtest/gtest.h>

#include <atomic>

#include "kube/curl_transport_testing.h"
#include "kube/raw_server_testing.h"

namespace phalanx::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A server whose connections can all be made to say nothing any more.
class FreezingServer {
 public:
  FreezingServer()
      : server_([this](RawServer::Connection& connection) {
          const int born = age_;
          while (!connection.request().empty()) {
            if (born == age_) connection.send(whole("200 OK", "here"));
          }
        }) {}
  void freeze() { ++age_; }
  [[nodiscard]] RawServer& server() { return server_; }

 private:
  std::atomic<int> age_ = 0;
  RawServer server_;
};

// So many connections that are kept.
void open_connections(CurlTransport& transport, int count) {
  int answered = 0;
  for (int i = 0; i < count; ++i) {
    transport.send({.target = "/"}, [&](const HttpResponse& response) {
      EXPECT_EQ(response.body, "here") << response.error;
      ++answered;
    });
  }
  run_until(transport, [&] { return answered == count; });
}

TEST(CurlTransport, ADeadConnectionIsPaidForOnce) {
  FreezingServer freezing;
  CurlTransport transport(freezing.server().access());
  open_connections(transport, 5);
  EXPECT_EQ(freezing.server().connections(), 5);
  freezing.freeze();
  EXPECT_FALSE(transport.ask({.target = "/", .timeout = milliseconds(100)}).answered());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(transport.ask({.target = "/", .timeout = seconds(30)}).body, "here");
  }
}

TEST(CurlTransport, ConnectionsThatAreDistrustedAreNotUsedLaterEither) {
  FreezingServer freezing;
  CurlTransport transport(freezing.server().access());
  open_connections(transport, 5);
  freezing.freeze();
  transport.distrust_connections();
  const Instant later = transport.now() + milliseconds(2'500);  // than the library counts finely
  run_until(transport, [&] { return transport.now() >= later; });
  EXPECT_EQ(transport.ask({.target = "/", .timeout = seconds(30)}).body, "here");
  EXPECT_EQ(freezing.server().connections(), 6);
  EXPECT_EQ(transport.ask({.target = "/"}).body, "here");
  EXPECT_LE(freezing.server().connections(), 7);
}

TEST(CurlTransport, ASlowAnswerOnANewConnectionIsNoReasonToDistrustOthers) {
  std::atomic<bool> answers = true;
  RawServer server([&](RawServer::Connection& connection) {
    while (!connection.request().empty()) {
      if (answers) connection.send(whole("200 OK", "here"));
    }
  });
  CurlTransport transport(server.access());
  answers = false;
  EXPECT_FALSE(transport.ask({.target = "/", .timeout = milliseconds(100)}).answered());
  answers = true;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(transport.ask({.target = "/"}).body, "here");
  EXPECT_EQ(server.connections(), 2);
}

}  // namespace
}  // namespace phalanx::kube
