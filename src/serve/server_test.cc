#include "serve/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "serve/testing.h"

namespace phalanx::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ServerOptions on_loopback() {
  return {.address = {.host = "127.0.0.1", .port = 0}};
}

std::unique_ptr<Server> start(Handler handler, ServerOptions options = on_loopback()) {
  auto server = Server::start(std::move(options), std::nullopt, std::move(handler));
  EXPECT_TRUE(server.has_value()) << server.error().message;
  return std::move(*server);
}

void hello(const Request& /*request*/, const Reply& reply) {
  reply({.body = "hello\n"});
}

TEST(Server, ARequestReachesTheHandlerWhole) {
  Request seen;
  const auto server = start([&](Request request, const Reply& reply) {
    seen = std::move(request);
    reply({.status = 201,
           .content_type = "application/json",
           .body = "{}",
           .headers = {{"Cache-Control", "no-store"}}});
  });
  Client client(server->port());
  const Answer answer = client.ask(
      "POST /mutate/jobs?timeout=10s&x=%20 HTTP/1.1\r\nHost: a\r\nContent-Type: text/x\r\n"
      "authorization:   Bearer t  \r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.head,
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
            "Cache-Control: no-store\r\nConnection: keep-alive\r\n");
  EXPECT_EQ(answer.body, "{}");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/mutate/jobs");
  EXPECT_EQ(seen.query, "timeout=10s&x=%20");
  EXPECT_EQ(seen.header("content-type"), "text/x");
  EXPECT_EQ(seen.header("Authorization"), "Bearer t");
  EXPECT_EQ(seen.body, "body");
  EXPECT_TRUE(seen.peer.starts_with("127.0.0.1:")) << seen.peer;
  EXPECT_EQ(server->counters().responses, (std::map<int, uint64_t>{{201, 1}}));
}

void echo(const Request& request, const Reply& reply) {
  reply({.body = request.body});
}

TEST(Server, BodiesInPieces) {
  const auto server = start(echo);
  Client client(server->port());
  EXPECT_EQ(client
                .ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "5\r\nhello\r\n1;extension=1\r\n \r\n5\r\nworld\r\n0\r\nTrailer: x\r\n\r\n")
                .body,
            "hello world");
  const std::string text =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 26\r\n\r\nabcdefghijklmnopqrstuvwxyz";
  for (const char c : text) ASSERT_TRUE(client.send(std::string_view(&c, 1)));
  EXPECT_EQ(client.receive().body, "abcdefghijklmnopqrstuvwxyz");
  const std::string large(5'000'000, 'x');
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n");
  client.send(large);
  EXPECT_EQ(client.receive().body, large);
}

TEST(Server, WhoAsksWhetherToSendABodyIsTold) {
  const auto server = start(echo);
  Client client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  EXPECT_EQ(client.ask("ok").body, "ok");
}

TEST(Server, PipelinedRequestsAreAnsweredInTheirOrder) {
  std::atomic<int> at_once = 0;
  std::vector<std::jthread> threads;
  const auto server = start([&](const Request& request, Reply reply) {
    EXPECT_EQ(++at_once, 1);
    threads.emplace_back([&, path = request.path, reply = std::move(reply)] {
      --at_once;
      reply({.body = path});
    });
  });
  Client client(server->port());
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  client.send(requests);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client.receive().body, "/" + std::to_string(i));
  EXPECT_EQ(server->counters().connections_accepted, 1U);
}

TEST(Server, TheClientDecidesWhenItEnds) {
  const auto server = start(hello);
  struct Case {
    std::string head;
    bool closes;
  };
  for (const Case& each :
       std::vector<Case>{{"GET / HTTP/1.1\r\nHost: a\r\n", false},
                         {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", true},
                         {"GET / HTTP/1.0\r\n", true},
                         {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n", false}}) {
    Client client(server->port());
    const Answer answer = client.ask(each.head + "\r\n");
    EXPECT_EQ(answer.body, "hello\n");
    EXPECT_EQ(answer.closes(), each.closes);
    if (each.closes) EXPECT_TRUE(client.ended());
    if (!each.closes) EXPECT_EQ(client.ask(kGet).status, 200);
  }
  Client client(server->port());
  client.send(kGet);
  client.half_close();
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(client.ended());
}

TEST(Server, HeadHasNoBody) {
  const auto server = start(hello);
  Client client(server->port());
  client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  const Answer answer = client.receive(true);
  EXPECT_TRUE(answer.head.contains("Content-Length: 6\r\n")) << answer.head;
  EXPECT_EQ(client.ask(kGet).body, "hello\n");
}

TEST(Server, TheFirstReplyCounts) {
  const auto server = start([](const Request&, const Reply& reply) {
    reply({.body = "first"});
    reply({.body = "second"});
  });
  Client client(server->port());
  EXPECT_EQ(client.ask(kGet).body, "first");
  EXPECT_EQ(client.ask(kGet).body, "first");
}

TEST(Server, WhatTheHandlerDoesWrongIsAnswered) {
  ServerOptions options = on_loopback();
  options.answer_timeout = milliseconds(50);
  std::vector<Reply> kept;
  const auto server = start(
      [&](const Request& request, Reply reply) {
        if (request.path == "/throw") throw std::runtime_error("oh");
        if (request.path == "/status") reply({.status = 12345});
        if (request.path == "/reply-and-throw") {
          reply({.body = "done"});
          throw std::runtime_error("oh");
        }
        if (request.path == "/keep") kept.push_back(std::move(reply));
      },
      options);
  Client client(server->port());
  const auto get = [&](const std::string& path) {
    return client.ask("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n").status;
  };
  EXPECT_EQ(get("/drop"), 500);
  EXPECT_EQ(get("/throw"), 500);
  EXPECT_EQ(get("/status"), 500);
  EXPECT_EQ(get("/reply-and-throw"), 200);
  EXPECT_EQ(get("/keep"), 503);
  EXPECT_EQ(get("/keep"), 503);
  for (const Reply& reply : kept) reply({.body = "too late"});
  EXPECT_EQ(get("/drop"), 500);
  EXPECT_EQ(server->counters().responses, (std::map<int, uint64_t>{{200, 1}, {500, 4}, {503, 2}}));
  EXPECT_EQ(server->counters().timeouts, 2U);
}

TEST(Server, WhatIsLeftToMakeIsMadeOnItsThread) {
  std::thread::id handled;
  std::thread::id completed;
  std::jthread other;
  const auto server = start([&](const Request& request, const Reply& reply) {
    handled = std::this_thread::get_id();
    other = std::jthread([&completed, reply, fails = request.path == "/fails"] {
      reply({.status = 201, .complete = [&completed, fails](Response& response) {
               completed = std::this_thread::get_id();
               if (fails) throw std::runtime_error("no");
               response.body = "made";
             }});
    });
  });
  Client client(server->port());
  Answer answer = client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "made");
  EXPECT_EQ(completed, handled);
  other.join();
  answer = client.ask("GET /fails HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(answer.status, 500);
}

TEST(Server, NothingIsMadeForWhoIsGone) {
  ServerOptions options = on_loopback();
  options.answer_timeout = milliseconds(50);
  std::promise<Reply> kept;
  const auto server = start(
      [&](const Request& request, const Reply& reply) {
        if (request.path == "/") return kept.set_value(reply);
        reply({.body = "other"});
      },
      options);
  Client client(server->port());
  EXPECT_EQ(client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status, 503);
  std::atomic<bool> made = false;
  kept.get_future().get()({.complete = [&](Response& /*response*/) { made = true; }});
  // What is asked now comes after it.
  EXPECT_EQ(client.ask("GET /other HTTP/1.1\r\nHost: a\r\n\r\n").body, "other");
  EXPECT_FALSE(made);
}

TEST(Server, AReplyMayComeWhenEverybodyIsGone) {
  std::promise<Reply> handed_over;
  auto server =
      start([&](const Request&, Reply reply) { handed_over.set_value(std::move(reply)); });
  Reply reply;
  {
    Client client(server->port());
    client.send(kGet);
    reply = handed_over.get_future().get();
  }
  std::thread([&] { reply({.body = "nobody hears this"}); }).join();

  handed_over = {};
  Client client(server->port());
  client.send(kGet);
  Reply later = handed_over.get_future().get();
  std::thread stopping([&] { server.reset(); });
  std::thread([&] { later({.body = "in time"}); }).join();
  stopping.join();
  EXPECT_EQ(client.receive().body, "in time");
  later({.body = "again"});
  reply({.body = "again"});
}

TEST(Server, ADroppedReplyMayOutliveTheServer) {
  ServerOptions options = on_loopback();
  options.stop_grace = milliseconds(1);
  std::promise<Reply> handed_over;
  auto server =
      start([&](const Request&, Reply reply) { handed_over.set_value(std::move(reply)); }, options);
  Client client(server->port());
  client.send(kGet);
  std::optional<Reply> reply = handed_over.get_future().get();
  server.reset();
  EXPECT_TRUE(client.ended());
  reply.reset();
}

TEST(Server, ADrainedServerAnswersEverybodyOnceMore) {
  const auto server = start(hello);
  Client kept(server->port());
  EXPECT_FALSE(kept.ask(kGet).closes());
  server->drain();
  Client late(server->port());
  for (Client* client : {&kept, &late}) {
    const Answer answer = client->ask(kGet);
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.closes());
  }
  server->stop();
}

TEST(Server, StopLetsRequestsEndAndClosesWhatIsIdle) {
  std::promise<Reply> handed_over;
  const auto server = start([&](const Request& request, Reply reply) {
    if (request.path == "/") return reply({.body = "hello\n"});
    handed_over.set_value(std::move(reply));
  });
  Client idle(server->port());
  EXPECT_EQ(idle.ask(kGet).status, 200);
  Client silent(server->port());
  Client busy(server->port());
  busy.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  const Reply reply = handed_over.get_future().get();
  std::thread stopping([&] { server->stop(); });
  EXPECT_TRUE(idle.ended());
  EXPECT_TRUE(silent.ended());
  EXPECT_EQ(Client(server->port()).receive_all(), "");  // refused
  reply({.body = "done"});
  const Answer answer = busy.receive();
  EXPECT_EQ(answer.body, "done");
  EXPECT_TRUE(answer.closes());
  EXPECT_TRUE(busy.ended());
  busy.close();
  stopping.join();
  server->stop();
  EXPECT_EQ(server->counters().connections_open, 0U);
}

TEST(Server, StopWaitsNoLongerThanItsGrace) {
  ServerOptions options = on_loopback();
  options.stop_grace = milliseconds(50);
  options.answer_timeout = seconds(3600);
  std::promise<Reply> handed_over;
  const auto server =
      start([&](const Request&, Reply reply) { handed_over.set_value(std::move(reply)); }, options);
  Client client(server->port());
  client.send(kGet);
  const Reply reply = handed_over.get_future().get();
  Client half(server->port());
  half.send("GET / HTTP/1.1\r\n");
  server->stop();
  EXPECT_TRUE(client.ended());
  EXPECT_TRUE(half.ended());
}

TEST(Server, ThePortIsFreeAgainAtOnce) {
  ServerOptions options = on_loopback();
  for (int i = 0; i < 5; ++i) {
    const auto server = start(hello, options);
    options.address.port = server->port();
    Client client(server->port());
    EXPECT_EQ(client.ask(kGet).status, 200);
  }
}

TEST(Server, AnAddressThatIsTakenIsNamed) {
  const auto server = start(hello);
  ServerOptions options = on_loopback();
  options.address.port = server->port();
  const auto second = Server::start(options, std::nullopt, hello);
  ASSERT_FALSE(second.has_value());
  const std::string port = std::to_string(server->port());
  EXPECT_EQ(second.error().message,
            "cannot listen on 127.0.0.1:" + port +
                ": Address already in use; end the program that listens there (\"ss -ltnp sport "
                "= :" +
                port + "\" names it), or choose another port");
  options.address.host = "192.0.2.1";  // for documentation; nobody has it
  EXPECT_TRUE(Server::start(options, std::nullopt, hello)
                  .error()
                  .message.contains("no interface of this machine has that address"));
  options.address.host = "nonsense";
  EXPECT_FALSE(Server::start(options, std::nullopt, hello));
}

TEST(Server, EveryAddressOfTheMachine) {
  std::string peer;
  const auto server = start(
      [&](const Request& request, const Reply& reply) {
        peer = request.peer;
        reply({});
      },
      {.address = {.host = "", .port = 0}});
  EXPECT_EQ(Client(server->port()).ask(kGet).status, 200);
  EXPECT_TRUE(peer.starts_with("127.0.0.1:")) << peer;
  Client over_ipv6(server->port(), true);
  if (!over_ipv6.connected()) GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_EQ(over_ipv6.ask(kGet).status, 200);
  EXPECT_TRUE(peer.starts_with("[::1]:")) << peer;
  const auto only_ipv6 = start(hello, {.address = {.host = "::1", .port = 0}});
  EXPECT_EQ(Client(only_ipv6->port(), true).ask(kGet).status, 200);
}

}  // namespace
}  // namespace phalanx::serve
