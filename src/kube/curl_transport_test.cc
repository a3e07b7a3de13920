// The transport against real servers on this machine: our own with TLS, and one that does exactly
// what a test tells it, well-behaved or not.
#include "kube/curl_transport.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/wall_clock.h"
#include "kube/curl_transport_testing.h"
#include "kube/raw_server_testing.h"
#include "serve/server.h"

namespace phalanx::kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kStreamHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

class CurlTransportTls : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = serve::Server::start(
        {.address = {.host = "127.0.0.1", .port = 0}, .stop_grace = Duration(0)},
        serve::issue(authority_, {"kubernetes.default.svc"}, wall_now(), hours(24)).value(),
        [this](const serve::Request& request, const serve::Reply& reply) {
          if (request.path == "/refused") return reply({.status = 401});
          if (request.path == "/silent") return silent_.push_back(reply);
          reply({.body = request.method + " " + request.path + " " +
                         std::string(request.header("Content-Type")) + " " + request.body});
        });
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  [[nodiscard]] ClusterAccess access() const {
    const auto identity = serve::issue(authority_, {"phalanx"}, wall_now(), hours(24)).value();
    return {.server = "https://127.0.0.1:" + std::to_string(server_->port()),
            .authority = authority_.certificate_pem,
            .server_name = "kubernetes.default.svc",
            .certificate = identity.certificate_pem,
            .key = identity.key_pem};
  }

  serve::Authority authority_ = serve::make_authority("phalanx", wall_now(), hours(48)).value();
  std::vector<serve::Reply> silent_;
  std::unique_ptr<serve::Server> server_;
};

TEST_F(CurlTransportTls, ManyRequestsOnConnectionsThatAreKept) {
  constexpr int kTotal = 1000;
  constexpr int kAtATime = 32;
  constexpr int kStreams = 12;
  CurlTransport transport(access());
  for (int i = 0; i < kStreams; ++i) {
    transport.stream(
        {.target = "/silent"}, [](std::string_view) { FAIL(); },
        [](const HttpResponse&) { FAIL(); });
  }
  int sent = 0;
  int answered = 0;
  std::function<void()> send_next = [&] {
    if (sent == kTotal) return;
    const std::string number = std::to_string(sent++);
    HttpRequest request;
    request.target = "/" + number;
    std::string expected = "GET /" + number + "  ";
    if (sent % 3 != 0) {
      request.method = sent % 3 == 1 ? Method::kPatch : Method::kDelete;
      request.content_type = "application/json";
      request.body = std::string(sent % 7 == 0 ? 100'000 : sent % 10, 'x');
      expected = std::string(name_of(request.method)) + " /" + number + " application/json " +
                 request.body;
    }
    transport.send(std::move(request), [&, expected](const HttpResponse& response) {
      EXPECT_EQ(response.status, 200) << response.error;
      EXPECT_EQ(response.body, expected);
      ++answered;
      send_next();
    });
  };
  for (int i = 0; i < kAtATime; ++i) send_next();
  run_until(transport, [&] { return answered == kTotal; });
  EXPECT_LE(server_->counters().connections_accepted, uint64_t{kAtATime + kStreams});
}

TEST_F(CurlTransportTls, AServerThatIsNotWhoItShouldBe) {
  ClusterAccess unknown = access();
  unknown.authority = serve::make_authority("other", wall_now(), hours(48)).value().certificate_pem;
  const HttpResponse untrusted = CurlTransport(unknown).ask({.target = "/"});
  EXPECT_FALSE(untrusted.answered());
  EXPECT_NE(untrusted.error, "");
  ClusterAccess misnamed = access();
  misnamed.server_name = "other.svc";
  EXPECT_FALSE(CurlTransport(misnamed).ask({.target = "/"}).answered());
  misnamed.insecure = true;
  EXPECT_TRUE(CurlTransport(misnamed).ask({.target = "/"}).ok());
  EXPECT_TRUE(CurlTransport(access()).ask({.target = "/"}).ok());
}

TEST_F(CurlTransportTls, CertificatesThatAreRenewed) {
  const std::string file = ::testing::TempDir() + "phalanx-credential-" + std::to_string(getpid());
  const auto renew = [&] {
    const auto identity = serve::issue(authority_, {"phalanx"}, wall_now(), hours(24)).value();
    const json::object credential{{"apiVersion", "client.authentication.k8s.io/v1"},
                                  {"kind", "ExecCredential"},
                                  {"status",
                                   {{"clientCertificateData", identity.certificate_pem},
                                    {"clientKeyData", identity.key_pem}}}};
    std::ofstream(file) << json::serialize(credential);
  };
  ClusterAccess renewed = access();
  renewed.exec = ExecPlugin{
      .api_version = "client.authentication.k8s.io/v1", .command = "cat", .arguments = {file}};
  renew();
  CurlTransport transport(renewed);
  const Transport::Id old = transport.send({.target = "/silent"}, [](const HttpResponse&) {});
  EXPECT_TRUE(transport.ask({.target = "/"}).ok());
  const uint64_t before = server_->counters().connections_accepted;
  EXPECT_TRUE(transport.ask({.target = "/"}).ok());
  EXPECT_EQ(server_->counters().connections_accepted, before);
  renew();
  EXPECT_EQ(transport.ask({.target = "/refused"}).status, 401);
  // On a connection of its own: the others are somebody else's.
  EXPECT_TRUE(transport.ask({.target = "/"}).ok());
  EXPECT_EQ(server_->counters().connections_accepted, before + 1);
  transport.cancel(old);
  EXPECT_TRUE(transport.ask({.target = "/"}).ok());
  EXPECT_EQ(server_->counters().connections_accepted, before + 1);
  std::filesystem::remove(file);
}

TEST(CurlTransport, AStreamIsHandedOverAsItComesIn) {
  std::atomic<int> next = 0;
  RawServer server([&](RawServer::Connection& connection) {
    EXPECT_TRUE(connection.request().starts_with("GET /watch HTTP/1.1\r\n"));
    const auto await_client = [&] {
      next.wait(0);
      next = 0;
    };
    connection.send(kStreamHead);
    await_client();
    for (const std::string text : {"one", "two", "three"}) {
      connection.chunk(text);
      await_client();
    }
    connection.chunk("");
  });
  CurlTransport transport(server.access());
  std::vector<std::string> received;
  std::optional<HttpResponse> answer;
  transport.stream(
      {.target = "/watch"},
      [&](std::string_view data) {
        received.emplace_back(data);
        next = 1;
        next.notify_one();
      },
      [&](HttpResponse response) { answer = std::move(response); });
  run_until(transport, [&] { return answer.has_value(); });
  EXPECT_EQ(received, (std::vector<std::string>{"", "one", "two", "three"}));
  EXPECT_TRUE(answer->ok());
  EXPECT_EQ(answer->body, "");
}

TEST(CurlTransport, WhyAStreamWasRefusedIsInTheAnswer) {
  RawServer server([](RawServer::Connection& connection) {
    while (!connection.request().empty()) connection.send(whole("410 Gone", "too old"));
  });
  CurlTransport transport(server.access());
  std::optional<HttpResponse> answer;
  transport.stream(
      {.target = "/watch"}, [](std::string_view) { FAIL(); },
      [&](HttpResponse response) { answer = std::move(response); });
  run_until(transport, [&] { return answer.has_value(); });
  EXPECT_EQ(answer->status, 410);
  EXPECT_EQ(answer->body, "too old");
}

TEST(CurlTransport, CancelFromInsideCallbacks) {
  RawServer server([](RawServer::Connection& connection) {
    while (true) {
      const std::string head = connection.request();
      if (head.empty()) return;
      if (head.starts_with("GET /watch ")) {
        connection.send(kStreamHead);
        for (int i = 0; i < 1000; ++i) connection.chunk("some");
      } else if (!head.starts_with("GET /never ")) {
        connection.send(whole("200 OK", "done"));
      }
    }
  });
  CurlTransport transport(server.access());
  // A stream that cancels itself, and what it was given stays usable while it runs.
  Transport::Id stream = 0;
  int pieces = 0;
  const auto token = std::make_shared<int>(7);
  stream = transport.stream(
      {.target = "/watch"},
      [&, token](std::string_view) {
        transport.cancel(stream);
        pieces += *token;
      },
      [](const HttpResponse&) { FAIL(); });
  run_until(transport, [&] { return pieces > 0; });
  EXPECT_EQ(token.use_count(), 1);
  // One of two that waits for the other, which cancels it, itself, a timer and a stranger.
  const Transport::Id never =
      transport.send({.target = "/never"}, [](const HttpResponse&) { FAIL(); });
  const Transport::Id timer = transport.after(milliseconds(50), [] { FAIL(); });
  bool answered = false;
  Transport::Id self = 0;
  self = transport.send({.target = "/"}, [&](const HttpResponse& response) {
    EXPECT_EQ(response.body, "done");
    for (const Transport::Id id : {never, timer, self, self + 1000}) transport.cancel(id);
    answered = true;
  });
  run_until(transport, [&] { return answered; });
  // And before it could even start.
  transport.cancel(transport.send({.target = "/"}, [](const HttpResponse&) { FAIL(); }));
  bool over = false;
  transport.after(milliseconds(100), [&] { over = true; });
  run_until(transport, [&] { return over; });
  EXPECT_EQ(pieces, 7);
}

TEST(CurlTransport, PostsFromOtherThreadsWakeIt) {
  CurlTransport transport({.server = "http://127.0.0.1:9"});
  const Instant begin = transport.now();
  constexpr int kThreads = 3;
  constexpr int kPosts = 2000;
  std::array<std::vector<int>, kThreads> seen;
  std::list<std::jthread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kPosts; ++i) {
        transport.post([&, thread, i] { seen.at(thread).push_back(i); });
        if (i % 500 == 0) std::this_thread::sleep_for(milliseconds(5));
      }
    });
  }
  const auto all = [&] {
    return std::ranges::all_of(seen, [](const auto& each) { return each.size() == kPosts; });
  };
  while (!all() && transport.now() < begin + kPatience) transport.run_once(kPatience);
  EXPECT_TRUE(all());
  for (const auto& each : seen) EXPECT_TRUE(std::ranges::is_sorted(each));
  // One that is posted by what was posted.
  bool done = false;
  transport.post([&] { transport.post([&] { done = true; }); });
  while (!done && transport.now() < begin + kPatience) transport.run_once(kPatience);
  EXPECT_TRUE(done);
}

TEST(CurlTransport, WhoAsksIsInterruptedFromAnotherThread) {
  const RawServer server([](RawServer::Connection& connection) {
    while (!connection.request().empty()) {  // and never answers
    }
  });
  CurlTransport transport(server.access());
  const std::jthread other([&] {
    while (server.connections() == 0) std::this_thread::sleep_for(milliseconds(1));
    transport.interrupt();
  });
  EXPECT_EQ(transport.ask({.target = "/a"}).error, "interrupted");
  EXPECT_EQ(transport.ask({.target = "/b"}).error, "interrupted") << "from then on";
}

TEST(CurlTransport, TimersInOrderAndNotTooEarly) {
  CurlTransport transport({.server = "http://127.0.0.1:9"});
  const Instant begin = transport.now();
  std::vector<int> order;
  const auto note = [&](int number, milliseconds due) {
    transport.at(begin + due, [&, number, due] {
      EXPECT_GE(transport.now(), begin + due);
      order.push_back(number);
    });
  };
  note(4, milliseconds(60));
  note(2, milliseconds(20));
  note(3, milliseconds(20));  // due at once with the one before it: as they were asked for
  note(1, milliseconds(-5));
  const Transport::Id cancelled = transport.after(milliseconds(40), [] { FAIL(); });
  transport.after(milliseconds(30), [&] { transport.cancel(cancelled); });
  const int turns = run_until(transport, [&] { return order.size() == 4; });
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
  EXPECT_LE(turns, 20);
}

TEST(CurlTransport, NothingToDoTakesAsLongAsItMay) {
  RawServer server([](RawServer::Connection& connection) {
    connection.request();
    connection.send(kStreamHead);
    connection.request();
  });
  CurlTransport transport(server.access());
  transport.stream({.target = "/watch"}, [](std::string_view) {}, [](const HttpResponse&) {});
  for (int i = 0; i < 10; ++i) transport.run_once(milliseconds(20));  // until it is connected
  const Instant begin = transport.now();
  int turns = 0;
  while (transport.now() < begin + milliseconds(300)) {
    transport.run_once(milliseconds(100));
    ++turns;
  }
  EXPECT_LE(turns, 10);
}

TEST(CurlTransport, AnAnswerThatDoesNotComeInTime) {
  RawServer server([](RawServer::Connection& connection) {
    while (!connection.request().empty()) continue;
  });
  CurlTransport transport(server.access());
  const Instant begin = transport.now();
  std::vector<int> order;
  const auto ask = [&](int number, milliseconds timeout) {
    transport.send({.target = "/", .timeout = timeout}, [&, number](const HttpResponse& response) {
      EXPECT_FALSE(response.answered());
      EXPECT_TRUE(response.error.contains("timed out")) << response.error;
      order.push_back(number);
    });
  };
  ask(3, milliseconds(900));
  ask(1, milliseconds(100));
  ask(2, milliseconds(500));
  const int turns = run_until(transport, [&] { return order.size() == 3; });
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
  EXPECT_GE(transport.now(), begin + milliseconds(890));
  EXPECT_LE(turns, 100);
}

TEST(CurlTransport, AServerThatGoesAway) {
  std::atomic<bool> answers = true;
  auto server = std::make_unique<RawServer>([&](RawServer::Connection& connection) {
    // Hangs up after every answer without having said so, which the next request runs into.
    if (connection.request().empty()) return;
    connection.send(answers ? whole("200 OK", "here")
                            : "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly half");
  });
  CurlTransport transport(server->access());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(transport.ask({.target = "/"}).body, "here");
  EXPECT_EQ(server->connections(), 5);
  answers = false;
  const HttpResponse half = transport.ask({.target = "/"});
  EXPECT_FALSE(half.answered());
  EXPECT_NE(half.error, "");
  server.reset();
  const HttpResponse refused = transport.ask({.target = "/"});
  EXPECT_FALSE(refused.answered());
  EXPECT_NE(refused.error, "");
}

TEST(CurlTransport, AHandleForgetsTheRequestBefore) {
  std::vector<std::string> heads;
  RawServer server([&](RawServer::Connection& connection) {
    while (true) {
      heads.push_back(connection.request());
      if (heads.back().empty()) return;
      connection.send(heads.size() == 1
                          ? whole("429 Too Many Requests", "later", "Retry-After: 7\r\n")
                          : whole("200 OK", "now"));
    }
  });
  CurlTransport transport(server.access());
  const HttpResponse later = transport.ask({.method = Method::kPost,
                                            .target = "/writes",
                                            .content_type = "application/json",
                                            .body = ""});
  EXPECT_EQ(later.status, 429);
  EXPECT_EQ(later.retry_after, Duration(seconds(7)));
  const HttpResponse now = transport.ask({.target = "/reads"});
  EXPECT_EQ(now.body, "now");
  EXPECT_FALSE(now.retry_after.has_value());
  server.stop();  // nobody writes to it any more
  ASSERT_GE(heads.size(), 2U);
  EXPECT_TRUE(heads.at(0).starts_with("POST /writes HTTP/1.1\r\n"));
  EXPECT_TRUE(heads.at(0).contains("\r\nContent-Length: 0\r\n"));
  EXPECT_TRUE(heads.at(1).starts_with("GET /reads HTTP/1.1\r\n"));
  EXPECT_FALSE(heads.at(1).contains("Content-"));
}

TEST(CurlTransport, NobodyIsCalledBackFromInsideTheCall) {
  ClusterAccess access{.server = "http://127.0.0.1:9"};
  access.token_file = "/nonexistent/token";
  CurlTransport transport(access);
  bool returned = false;
  bool answered = false;
  transport.send({.target = "/"}, [&](const HttpResponse& response) {
    EXPECT_TRUE(returned);
    EXPECT_FALSE(response.answered());
    EXPECT_TRUE(response.error.contains("/nonexistent/token")) << response.error;
    answered = true;
  });
  returned = true;
  run_until(transport, [&] { return answered; });
}

TEST(CurlTransport, DestroyedInTheMiddleOfEverything) {
  RawServer server([](RawServer::Connection& connection) {
    connection.request();
    connection.send(kStreamHead);
    while (!connection.request().empty()) continue;
  });
  for (int turns = 0; turns < 5; ++turns) {
    CurlTransport transport(server.access());
    for (int i = 0; i < 5; ++i) {
      transport.send({.target = "/"}, [](const HttpResponse&) { FAIL(); });
      transport.stream(
          {.target = "/watch"}, [](std::string_view) {}, [](const HttpResponse&) { FAIL(); });
    }
    transport.after(hours(1), [] { FAIL(); });
    for (int i = 0; i < turns; ++i) transport.run_once(milliseconds(10));
    transport.post([] { FAIL(); });
  }
}

}  // namespace
}  // namespace phalanx::kube
