// The server as HTTPS, seen by clients that verify it.
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include <atomic>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/wall_clock.h"
#include "serve/server.h"
#include "serve/testing.h"

namespace phalanx::serve {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// A client's own clock says what is valid: these tests have to ask it, too.
class ServerTls : public ::testing::Test {
 protected:
  [[nodiscard]] Identity identity(const std::vector<std::string>& names = {"phalanx.svc",
                                                                           "127.0.0.1"}) const {
    return issue(authority_, names, wall_now(), hours(24)).value();
  }
  void start(ServerOptions options = {}) {
    options.address = {.host = "127.0.0.1", .port = 0};
    auto server = Server::start(std::move(options), identity_, handler_);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  [[nodiscard]] Client connect() const { return Client(server_->port()); }
  [[nodiscard]] bool trusts(const std::string& bundle, const std::string& name,
                            int version = TLS1_3_VERSION) const {
    Client client = connect();
    return client.start_tls(bundle, name, version) && client.ask(kGet).status == 200;
  }
  static std::string shown_by(const Client& client) {
    const OwnedCertificate shown(SSL_get1_peer_certificate(client.tls()));
    const OwnedBio bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(bio.get(), shown.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<size_t>(size)};
  }

  Authority authority_ = make_authority("phalanx", wall_now(), hours(48)).value();
  std::string bundle_ = authority_.certificate_pem;
  Identity identity_ = identity();
  Handler handler_ = [](const Request& request, const Reply& reply) {
    reply({.body = request.body});
  };
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTls, AClientThatVerifiesIsSatisfied) {
  start();
  EXPECT_TRUE(trusts(bundle_, "phalanx.svc"));
  EXPECT_TRUE(trusts(bundle_, "phalanx.svc", TLS1_2_VERSION));
  EXPECT_FALSE(trusts(bundle_, "other.svc"));
  EXPECT_FALSE(trusts(make_authority("phalanx", wall_now(), hours(48))->certificate_pem, ""));
  EXPECT_FALSE(trusts(bundle_, "", TLS1_1_VERSION));
  EXPECT_FALSE(trusts(bundle_, "", TLS1_VERSION));
  EXPECT_TRUE(trusts(bundle_, "phalanx.svc"));
  server_->stop();
  EXPECT_EQ(server_->counters().responses, (std::map<int, uint64_t>{{200, 3}}));
  EXPECT_GE(server_->counters().handshakes_failed, 3U);
}

TEST_F(ServerTls, Http11IsAgreedOn) {
  start();
  for (const std::string_view offered :
       {std::string_view("\x02h2\x08http/1.1"), std::string_view("\x02h2")}) {
    Client client = connect();
    ASSERT_TRUE(client.start_tls(bundle_, "", TLS1_3_VERSION, offered));
    const unsigned char* agreed = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.tls(), &agreed, &size);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(agreed), size),
              offered.contains("http/1.1") ? "http/1.1" : "");
    EXPECT_EQ(client.ask(kGet).status, 200);
  }
}

TEST_F(ServerTls, LargeBodiesAndManyRequests) {
  start();
  Client client = connect();
  ASSERT_TRUE(client.start_tls(bundle_, "phalanx.svc"));
  for (const size_t size : {0, 1, 1000, 16384, 100'000, 3'000'000}) {
    const std::string body(size, 'x');
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) +
                "\r\n\r\n");
    client.send(body);
    EXPECT_EQ(client.receive().body, body);
  }
  EXPECT_EQ(client.ask("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status, 200);
  EXPECT_TRUE(client.ended());
}

TEST_F(ServerTls, A413IsReadByWhoSendsOn) {
  ServerOptions options;
  options.max_body_bytes = size_t{1} << 20;
  start(options);
  Client client = connect();
  ASSERT_TRUE(client.start_tls(bundle_, ""));
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
  client.send(std::string(500'000, 'x'));
  EXPECT_EQ(client.receive().status, 413);
}

TEST_F(ServerTls, WhoSpeaksPlainHttpIsTold) {
  start();
  Client client = connect();
  const Answer answer = client.ask(kGet);
  EXPECT_EQ(answer.status, 400);
  EXPECT_TRUE(answer.body.contains("https://")) << answer.body;
  EXPECT_TRUE(client.ended());
  EXPECT_TRUE(trusts(bundle_, "phalanx.svc"));
}

TEST_F(ServerTls, HandshakesThatFailOrNeverEndCostNothing) {
  ServerOptions options;
  options.header_timeout = milliseconds(3000);
  options.max_connections = 20;
  start(options);
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    // Half of them begin like a handshake.
    std::string text = round % 2 == 0 ? std::string("\x16\x03\x01\x02\x00\x01\x00", 7) : "";
    for (uint64_t left = random.below(600); left > 0; --left) {
      text += static_cast<char>(random.below(256));
    }
    Client client = connect();
    client.send(text);
    if (random.below(2) == 0) continue;
    client.half_close();
    client.receive_all();
  }
  Client silent = connect();
  EXPECT_TRUE(silent.ended());
  bool served = false;
  for (int i = 0; i < 100 && !served; ++i) served = trusts(bundle_, "phalanx.svc");
  EXPECT_TRUE(served);
  EXPECT_GT(server_->counters().handshakes_failed, 100U);
}

TEST_F(ServerTls, ABadIdentityIsRefusedAndChangesNothing) {
  const Identity mixed{.certificate_pem = identity_.certificate_pem, .key_pem = identity().key_pem};
  const auto refused = Server::start({.address = {.host = "127.0.0.1"}}, mixed, handler_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "the certificate of the server: the key does not belong to the certificate");
  start();
  EXPECT_FALSE(server_->set_identity(mixed));
  EXPECT_FALSE(server_->set_identity({}));
  EXPECT_TRUE(trusts(bundle_, "phalanx.svc"));
  const auto plain = Server::start({.address = {.host = "127.0.0.1"}}, std::nullopt, handler_);
  EXPECT_FALSE((*plain)->set_identity(identity_));
}

TEST_F(ServerTls, ANewIdentityIsSeenByTheNextConnection) {
  start();
  Client old = connect();
  ASSERT_TRUE(old.start_tls(bundle_, "phalanx.svc"));
  EXPECT_EQ(old.ask(kGet).status, 200);
  for (int i = 0; i < 20; ++i) {
    const Identity next = identity();
    ASSERT_TRUE(server_->set_identity(next));
    Client client = connect();
    ASSERT_TRUE(client.start_tls(bundle_, "phalanx.svc"));
    EXPECT_EQ(shown_by(client), next.certificate_pem);
  }
  const Answer last = old.ask(kGet);
  EXPECT_EQ(last.status, 200);
  EXPECT_TRUE(last.closes());
  EXPECT_TRUE(old.ended());
}

TEST_F(ServerTls, IdentitiesAreSwappedUnderLoad) {
  start();
  std::atomic<bool> ends = false;
  std::atomic<int> answered = 0;
  std::atomic<int> failed = 0;
  const auto ask_on = [&](bool keep_alive) {
    while (!ends) {
      Client client = connect();
      if (!client.start_tls(bundle_, "phalanx.svc")) ++failed;
      for (bool goes_on = true; goes_on && !ends;) {
        const Answer answer =
            client.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok");
        ++(answer.body == "ok" ? answered : failed);
        goes_on = keep_alive && answer.status == 200 && !answer.closes();
      }
    }
  };
  std::list<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(ask_on, i % 2 == 0);
  int swaps = 0;
  while ((answered < 200 || swaps < 10) && failed == 0) {
    ASSERT_TRUE(server_->set_identity(identity()));
    ++swaps;
    std::this_thread::sleep_for(milliseconds(2));
  }
  ends = true;
  threads.clear();
  EXPECT_EQ(failed, 0);
}

TEST_F(ServerTls, StopUnderLoad) {
  for (int round = 0; round < 10; ++round) {
    start();
    std::atomic<bool> ends = false;
    std::atomic<int> answered = 0;
    std::list<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (!ends) {
          Client client = connect();
          if (!client.connected() || !client.start_tls(bundle_, "")) continue;
          if (client.ask(kGet).status == 200) ++answered;
        }
      });
    }
    while (answered < 10) std::this_thread::sleep_for(milliseconds(1));
    server_->stop();
    ends = true;
    threads.clear();
    EXPECT_EQ(server_->counters().connections_open, 0U);
  }
}

}  // namespace
}  // namespace phalanx::serve
