// One client of the server, from its handshake to its end, and what all of them share. Only for the
// .cc files of serve.
//
// Everything here happens on the server's thread, except counting and calling a Reply.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "serve/openssl.h"
#include "serve/server.h"

namespace phalanx::serve {

// A client that has been silent or slow for less than this is not made to go for another: of a
// sudden crowd, each would throw out the one before.
constexpr auto kPatience = std::chrono::seconds(2);

class Connection {
 public:
  enum class Phase {
    kArriving,   // handshake, or not a byte of a first request
    kIdle,       // between two requests
    kReading,    // a request is coming in
    kAnswering,  // it is with the handler, or the answer goes out
    kLeaving,    // the last answer is out; waiting for the client to hang up
  };

  virtual ~Connection() = default;
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // At once, whatever is under way. The connection is no longer among those of the server.
  virtual void close() = 0;
  // Of a request that is coming in: it is not read on, and the client is told so.
  virtual void give_way() = 0;

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] std::chrono::steady_clock::time_point since() const { return since_; }
  // Of the body that came in, until it is answered.
  [[nodiscard]] size_t held_bytes() const { return held_bytes_; }
  // Of the answer, until the client has taken it.
  [[nodiscard]] size_t answer_bytes() const { return answer_bytes_; }

 protected:
  void enter(Phase phase) {
    phase_ = phase;
    since_ = std::chrono::steady_clock::now();
  }
  void set_held_bytes(size_t bytes) { held_bytes_ = bytes; }
  void set_answer_bytes(size_t bytes) { answer_bytes_ = bytes; }

 private:
  Phase phase_ = Phase::kArriving;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  size_t held_bytes_ = 0;
  size_t answer_bytes_ = 0;
};

struct AtomicCounters {
  static constexpr int kFirstStatus = 100;
  static constexpr int kLastStatus = 599;

  std::atomic<uint64_t> connections_open = 0;
  std::atomic<uint64_t> connections_accepted = 0;
  std::atomic<uint64_t> connections_refused = 0;
  std::atomic<uint64_t> connections_evicted = 0;
  std::atomic<uint64_t> handshakes_failed = 0;
  std::atomic<uint64_t> timeouts = 0;
  std::array<std::atomic<uint64_t>, kLastStatus - kFirstStatus + 1> responses{};
};

struct ServerState {
  ServerOptions options;
  Handler handler;
  // Shared with every Reply, which may come when the server is gone.
  std::shared_ptr<boost::asio::io_context> io = std::make_shared<boost::asio::io_context>(1);
  OwnedTlsContext tls;                          // empty: HTTP
  uint64_t identity = 0;                        // counts up with every new one
  bool draining = false;                        // every answer is the last of its connection
  bool stopping = false;                        // likewise, and nobody is accepted any more
  std::function<void()> idle;                   // called when the last connection was closed
  std::map<uint64_t, Connection*> connections;  // in the order in which they came
  uint64_t next_connection = 0;
  size_t bodies_bytes = 0;   // of all requests that are not answered
  size_t answers_bytes = 0;  // of all answers that are not taken
  AtomicCounters counters;
};

// Serves the client until one of both hangs up. The state has to outlive it.
void start_connection(ServerState& state, boost::asio::ip::tcp::socket socket);

// "10.0.0.7:51234", "[fd00::7]:51234"; an IPv4 client of an IPv6 socket is shown as IPv4.
std::string endpoint_text(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace phalanx::serve
