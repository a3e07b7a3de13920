// What clients do wrong, by mistake or on purpose, and what becomes of it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <future>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "serve/server.h"
#include "serve/testing.h"

namespace phalanx::serve {
namespace {

using std::chrono::milliseconds;

ServerOptions on_loopback() {
  return {.address = {.host = "127.0.0.1", .port = 0}};
}

std::unique_ptr<Server> start(Handler handler, const ServerOptions& options) {
  auto server = Server::start(options, std::nullopt, std::move(handler));
  EXPECT_TRUE(server.has_value()) << server.error().message;
  return std::move(*server);
}

void hello(const Request& /*request*/, const Reply& reply) {
  reply({.body = "hello\n"});
}

// Waits until the server's thread has seen what a client did.
template <typename Condition>
void eventually(const Condition& condition) {
  bool met = condition();
  for (int i = 0; i < 6000 && !met; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    met = condition();
  }
  EXPECT_TRUE(met);
}

TEST(ServerLimits, ABodyOverTheLimitIs413) {
  ServerOptions options = on_loopback();
  options.max_body_bytes = 1000;
  const auto server = start(hello, options);
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\n";
  {
    Client client(server->port());
    EXPECT_EQ(client.ask(head + "Content-Length: 1000\r\n\r\n" + std::string(1000, 'x')).status,
              200);
    const Answer answer = client.ask(head + "Content-Length: 1001\r\n\r\n");
    EXPECT_EQ(answer.status, 413);
    EXPECT_TRUE(answer.closes());
    EXPECT_TRUE(client.ended());
  }
  {
    // Who sends it all before it listens gets to read the answer nevertheless.
    Client client(server->port());
    client.send(head + "Content-Length: 1800\r\n\r\n" + std::string(1800, 'x'));
    EXPECT_EQ(client.receive().status, 413);
  }
  {
    Client client(server->port());
    client.send(head + "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 11; ++i) client.send("64\r\n" + std::string(100, 'x') + "\r\n");
    EXPECT_EQ(client.receive().status, 413);
  }
  {
    Client client(server->port());
    const Answer answer = client.ask(head + "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
    EXPECT_EQ(answer.status, 413);
  }
  {
    Client client(server->port());
    EXPECT_EQ(client.ask(head + "Content-Length: 99999999999999999999\r\n\r\n").status, 400);
  }
  EXPECT_EQ(server->counters().responses, (std::map<int, uint64_t>{{200, 1}, {400, 1}, {413, 4}}));
}

TEST(ServerLimits, APathMayHaveALowerLimit) {
  ServerOptions options = on_loopback();
  options.max_body_bytes = 1000;
  options.most_body_bytes = [](std::string_view path) { return path == "/small" ? 10 : 5000; };
  const auto server = start(hello, options);
  const auto status = [&](const std::string& path, int bytes) {
    Client client(server->port());
    return client
        .ask("POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(bytes) +
             "\r\n\r\n" + std::string(static_cast<size_t>(bytes), 'x'))
        .status;
  };
  EXPECT_EQ(status("/small", 10), 200);
  EXPECT_EQ(status("/small?much=1", 11), 413);
  EXPECT_EQ(status("/large", 1000), 200);
  EXPECT_EQ(status("/large", 1001), 413) << "never more than all may have";
  Client chunked(server->port());
  chunked.send("POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  chunked.send("B\r\n" + std::string(11, 'x') + "\r\n");
  EXPECT_EQ(chunked.receive().status, 413) << "without having seen its end";
}

// Bodies that never end, and are much, do not keep others from being served.
TEST(ServerLimits, TheLargestGivesWay) {
  ServerOptions options = on_loopback();
  options.max_bodies_bytes = 2500;
  const auto server = start(hello, options);
  const auto unfinished = [](int bytes) {
    return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n" +
           std::string(static_cast<size_t>(bytes), 'x');
  };
  Client larger(server->port());
  larger.send(unfinished(1300));
  Client large(server->port());
  large.send(unfinished(1100));
  for (int i = 0; i < 3; ++i) {
    Client small(server->port());
    small.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    small.send(std::string(1000, 'x'));
    EXPECT_EQ(small.receive().status, 200);
  }
  const Answer refused = larger.receive();
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.closes());
  EXPECT_NE(refused.body.find("try again"), std::string::npos) << refused.body;
  large.send(std::string(3900, 'x'));
  EXPECT_EQ(large.receive().status, 503) << "it has become the largest, and too large";
  EXPECT_EQ(server->counters().timeouts, 0);
}

TEST(ServerLimits, BodiesThatAreTooMuchTogetherAre503) {
  ServerOptions options = on_loopback();
  options.max_bodies_bytes = 2500;
  const auto server = start(hello, options);
  const std::string most =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n" + std::string(1000, 'x');
  for (int i = 0; i < 3; ++i) {
    std::list<Client> clients;
    for (int n = 0; n < 3; ++n) clients.emplace_back(server->port()).send(most);
    // Which of them came last is for the server to see.
    int served = 0;
    for (Client& each : clients) each.send("x");
    for (Client& each : clients) {
      const int status = each.receive().status;
      EXPECT_TRUE(status == 200 || status == 503) << status;
      if (status == 200) ++served;
    }
    EXPECT_GE(served, 2);
  }
  Client large(server->port());
  large.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n" + std::string(3000, 'x'));
  EXPECT_EQ(large.receive().status, 503);
  EXPECT_EQ(Client(server->port()).ask(most + "x").status, 200);
}

TEST(ServerLimits, HeadersOverTheLimitAre431) {
  ServerOptions options = on_loopback();
  options.max_header_bytes = 1000;
  const auto server = start(hello, options);
  const auto ask = [&](const std::string& text) { return Client(server->port()).ask(text).status; };
  const std::string start_line = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(ask(start_line + "X: " + std::string(900, 'x') + "\r\n\r\n"), 200);
  EXPECT_EQ(ask(start_line + "X: " + std::string(1000, 'x') + "\r\n\r\n"), 431);
  EXPECT_EQ(ask(start_line + "X: " + std::string(100000, 'x')), 431);
  EXPECT_EQ(ask("GET /" + std::string(1000, 'x')), 431);
  std::string many = start_line;
  for (int i = 0; i < 10000; ++i) many += "X: x\r\n";
  EXPECT_EQ(ask(many), 431);
  // What has no end after the headers, neither.
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(ask(chunked + "1;" + std::string(100000, 'x')), 431);
}

TEST(ServerLimits, GarbageIs400) {
  const auto server = start(hello, on_loopback());
  for (const std::string& text : std::vector<std::string>{
           "\r\n\r\n\r\n\r\n",
           "garbage\r\n\r\n",
           "GET /\r\n\r\n",
           "GET / HTTP/2.0\r\n\r\n",
           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
           "GET / HTTP/1.1\r\nno colon\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
           "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
           "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
           "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
           "CONNECT host:443 HTTP/1.1\r\nHost: host\r\n\r\n",
           "GET relative HTTP/1.1\r\nHost: a\r\n\r\n",
           std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + "\r\n\r\n",
           std::string("GET / HTTP/1.1\r\nX: \0\r\n\r\n", 24),
       }) {
    Client client(server->port());
    const Answer answer = client.ask(text);
    EXPECT_EQ(answer.status, 400) << text;
    EXPECT_TRUE(client.ended()) << text;
  }
  Client client(server->port());
  EXPECT_EQ(client.ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
  EXPECT_EQ(client.ask("GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
}

TEST(ServerLimits, HalfARequestAndGone) {
  const auto server = start(hello, on_loopback());
  const std::string whole = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  for (size_t size = 0; size <= whole.size(); ++size) {
    Client client(server->port());
    client.send(whole.substr(0, size));
    if (size % 2 == 0) client.half_close();
    if (size % 2 == 0 && size < whole.size()) EXPECT_TRUE(client.ended()) << size;
  }
  eventually([&] { return server->counters().connections_open == 0; });
  EXPECT_EQ(Client(server->port()).ask(kGet).status, 200);
}

TEST(ServerLimits, SlowHeadersAreNotWaitedFor) {
  ServerOptions options = on_loopback();
  options.header_timeout = milliseconds(100);
  const auto server = start(hello, options);
  Client silent(server->port());
  EXPECT_TRUE(silent.ended());
  Client half(server->port());
  const int status = half.ask("GET / HTTP/1.1\r\nHost: a\r\n").status;
  EXPECT_TRUE(status == 408 || status == 0) << status;  // 0 if not even the first byte was in time
  EXPECT_TRUE(half.ended());
  // A byte now and then buys no time.
  Client dripping(server->port());
  while (dripping.send("X")) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(server->counters().timeouts, 3U);
  eventually([&] { return server->counters().connections_open == 0; });
}

TEST(ServerLimits, SlowBodiesAreNotWaitedFor) {
  ServerOptions options = on_loopback();
  options.transfer_timeout = milliseconds(100);
  const auto server = start(hello, options);
  Client client(server->port());
  EXPECT_EQ(client.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc").status, 408);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(server->counters().timeouts, 1U);
}

TEST(ServerLimits, TheIdleAreSentAwayInTheEnd) {
  ServerOptions options = on_loopback();
  options.idle_timeout = milliseconds(100);
  const auto server = start(hello, options);
  Client client(server->port());
  EXPECT_EQ(client.ask(kGet).status, 200);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(server->counters().timeouts, 0U);
}

TEST(ServerLimits, WhoDoesNotReadTheAnswerIsLeft) {
  ServerOptions options = on_loopback();
  options.transfer_timeout = milliseconds(100);
  const std::string large(size_t{64} << 20, 'x');
  const auto server =
      start([&](const Request&, const Reply& reply) { reply({.body = large}); }, options);
  Client client(server->port());
  client.send(kGet);
  eventually([&] { return server->counters().timeouts == 1; });
  eventually([&] { return server->counters().connections_open == 0; });
}

// Answers that nobody takes do not fill the memory, nor keep others from theirs for long.
TEST(ServerLimits, AnswersThatAreTooMuchTogetherAre503UntilTheSlowAreLeft) {
  ServerOptions options = on_loopback();
  options.max_answers_bytes = size_t{130} << 20;
  const std::string large(size_t{64} << 20, 'x');
  const auto server = start(
      [&](const Request& request, const Reply& reply) {
        reply({.body = request.path == "/large" ? large : "hello\n"});
      },
      options);
  const std::string get_large = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
  std::list<Client> slow;
  for (int i = 0; i < 2; ++i) slow.emplace_back(server->port()).send(get_large);
  eventually([&] { return server->counters().responses[200] == 2; });
  const Answer refused = Client(server->port()).ask(get_large);
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.closes());
  EXPECT_EQ(Client(server->port()).ask(kGet).status, 200) << "small ones have room";
  EXPECT_EQ(server->counters().connections_evicted, 0U);
  Answer answer;
  eventually([&] {
    answer = Client(server->port()).ask(get_large);
    return answer.status == 200;
  });
  EXPECT_EQ(answer.body.size(), large.size());
  EXPECT_EQ(server->counters().connections_evicted, 1U) << "one was enough";
}

TEST(ServerLimits, TheOneIdleForLongestMakesRoom) {
  ServerOptions options = on_loopback();
  options.max_connections = 4;
  const auto server = start(hello, options);
  std::list<Client> clients;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(clients.emplace_back(server->port()).ask(kGet).status, 200);
  EXPECT_EQ(clients.front().ask(kGet).status, 200);  // now the second is the oldest
  Client fifth(server->port());
  EXPECT_EQ(fifth.ask(kGet).status, 200);
  EXPECT_TRUE(std::next(clients.begin())->ended());
  clients.erase(std::next(clients.begin()));
  for (Client& each : clients) EXPECT_EQ(each.ask(kGet).status, 200);
  const ServerCounters counters = server->counters();
  EXPECT_EQ(counters.connections_evicted, 1U);
  EXPECT_EQ(counters.connections_refused, 0U);
  EXPECT_EQ(counters.connections_open, 4U);
}

TEST(ServerLimits, WithoutDescriptorsTheIdleMakeRoom) {
  const auto server = start(hello, on_loopback());
  Client idle(server->port());
  EXPECT_EQ(idle.ask(kGet).status, 200);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  // Enough for the socket of the client, but not for the server's.
  const rlimit low{.rlim_cur = static_cast<rlim_t>(next) + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  Client client(server->port());
  const int status = client.ask(kGet).status;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status, 200);
  EXPECT_TRUE(idle.ended());
  EXPECT_EQ(server->counters().connections_evicted, 1U);
}

TEST(ServerLimits, WhenAllAreBusyTheNewOnesAreRefused) {
  ServerOptions options = on_loopback();
  options.max_connections = 3;
  std::vector<Reply> replies;  // on the server's thread
  std::promise<void> full;
  const auto server = start(
      [&](const Request&, Reply reply) {
        replies.push_back(std::move(reply));
        if (replies.size() == 3) full.set_value();
      },
      options);
  std::list<Client> busy;
  for (int i = 0; i < 3; ++i) busy.emplace_back(server->port()).send(kGet);
  full.get_future().wait();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(Client(server->port()).ask(kGet).status, 0);
  EXPECT_EQ(server->counters().connections_refused, 200U);
  EXPECT_EQ(server->counters().connections_open, 3U);
  for (const Reply& reply : replies) reply({.body = "at last"});
  for (Client& each : busy) EXPECT_EQ(each.receive().body, "at last");
}

// Many who say nothing do not keep out one who has a request.
TEST(ServerLimits, TheSilentMakeRoomAfterAWhile) {
  ServerOptions options = on_loopback();
  options.max_connections = 10;
  options.header_timeout = std::chrono::seconds(3600);
  const auto server = start(hello, options);
  std::list<Client> silent;
  for (int i = 0; i < 210; ++i) silent.emplace_back(server->port());
  int status = 0;
  for (int i = 0; i < 600 && status != 200; ++i) {
    status = Client(server->port()).ask(kGet).status;
    if (status != 200) std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_EQ(status, 200);
  EXPECT_GE(server->counters().connections_evicted, 1U);
  EXPECT_LE(server->counters().connections_open, 10U);
}

// Seeded: the same bytes in every run.
TEST(ServerLimits, RandomBytesDoNoHarm) {
  ServerOptions options = on_loopback();
  options.max_body_bytes = 1000;
  options.max_connections = 20;
  options.header_timeout = milliseconds(2000);
  options.transfer_timeout = milliseconds(2000);
  const auto server = start(hello, options);
  const std::string good =
      "POST /a?b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n"
      "Expect: 100-continue\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\nContent-Length: 3\r\n"
      "\r\nabc";
  Random random(7);
  for (int round = 0; round < 600; ++round) {
    std::string text = round % 2 == 0 ? good + good : std::string(random.below(3000), '\0');
    const uint64_t changes = round % 2 == 0 ? 1 + random.below(8) : text.size();
    for (uint64_t i = 0; i < changes && !text.empty(); ++i) {
      const size_t at = round % 2 == 0 ? random.below(text.size()) : i;
      text[at] = static_cast<char>(random.below(256));
    }
    Client client(server->port());
    client.send(text.substr(0, 1 + random.below(text.size() + 1)));
    if (random.below(2) == 0) continue;
    client.half_close();
    client.receive_all();
  }
  eventually([&] { return Client(server->port()).ask(kGet).status == 200; });
  eventually([&] { return server->counters().connections_open == 0; });
}

}  // namespace
}  // namespace phalanx::serve
