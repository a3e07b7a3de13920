// An HTTP or HTTPS server for webhooks, metrics and the dashboard: HTTP/1.1 with keep-alive, TLS
// 1.2 and later.
//
// One thread of its own does everything: it accepts, decrypts, parses, calls the handler and
// writes. A handler must not block it; it answers at once, or keeps its Reply and answers later
// from wherever it likes. The requests of one connection are answered one after the other, in
// their order.
//
// Nothing that a client does can bring it down or fill it up: headers, bodies, connections and
// every wait have a limit. If there are too many connections, the one that has been idle longest
// makes room; then one whose client has been silent or slow for some seconds; only if there is
// none the new one is refused. If the bodies that come in are too much together, the largest of
// them is refused, so that whoever sends little is served whatever others do. If the answers that
// nobody takes are, those who have not for some seconds are left. Memory is at most
// max_bodies_bytes, max_answers_bytes, some 100 KiB for each connection, and what the handler
// needs.
//
// A request on a connection that is kept costs some 20 us, with TLS 35 us; a TLS handshake 1 ms.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "serve/certificates.h"
#include "serve/listen_address.h"
#include "serve/message.h"

namespace phalanx::serve {

// Called on the server's thread, for every complete request. If it throws, the answer is 500.
using Handler = std::function<void(Request, Reply)>;

struct ServerOptions {
  ListenAddress address = {};
  size_t max_connections = 1024;
  size_t max_header_bytes = size_t{32} << 10;  // beyond: 431
  size_t max_body_bytes = size_t{32} << 20;    // beyond: 413
  // The same for the requests of one path, where it is less.
  std::function<size_t(std::string_view path)> most_body_bytes = nullptr;
  // Of all requests together, until they are answered; beyond: 503 for the largest.
  size_t max_bodies_bytes = size_t{256} << 20;
  // Of all answers together, until they are taken; beyond: who is slow is left, or else 503.
  size_t max_answers_bytes = size_t{512} << 20;
  // For a TLS handshake, for the first byte of a new connection, and from a request's first byte
  // to the end of its headers.
  Duration header_timeout = std::chrono::seconds(10);
  // For a body to come in whole, and for an answer to be taken whole.
  Duration transfer_timeout = std::chrono::seconds(30);
  // For the handler; beyond: 503.
  Duration answer_timeout = std::chrono::seconds(30);
  // Between two requests. Longer than the 90 s after which clients written in Go hang up: what
  // hangs up first must not be the server, or it would now and then cross a request.
  Duration idle_timeout = std::chrono::seconds(120);
  // How long stop() waits for requests that are under way.
  Duration stop_grace = std::chrono::seconds(5);
};

// Since the start, for metrics.
struct ServerCounters {
  uint64_t connections_open = 0;
  uint64_t connections_accepted = 0;  // all but the refused
  uint64_t connections_refused = 0;   // there were too many, and none could make room
  uint64_t connections_evicted = 0;   // closed to make room for another
  uint64_t handshakes_failed = 0;
  uint64_t timeouts = 0;              // of clients and handlers, but not of idle connections
  std::map<int, uint64_t> responses;  // by status
};

class Server {
 public:
  // Listens when it returns. With an identity it speaks HTTPS, without one HTTP.
  static Result<std::unique_ptr<Server>> start(ServerOptions options,
                                               const std::optional<Identity>& identity,
                                               Handler handler);
  // As stop().
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where it listens; the real port, if any was asked for.
  [[nodiscard]] const ListenAddress& address() const;
  [[nodiscard]] uint16_t port() const { return address().port; }

  // Every connection that is made after this returned sees the new identity. Those that are open
  // stay what they are and answer one more request, with which they end. A bad identity is
  // refused and changes nothing, and so is one for a server that speaks HTTP. From any thread.
  Result<void> set_identity(const Identity& identity);

  // Before stop(), for whoever is told of the end while others still look for it here: goes on
  // accepting and answering, but every answer is the last of its connection, so that clients come
  // back elsewhere, and none of them finds its connection closed under a request. From any thread.
  void drain();

  // Accepts no more, closes what is idle, lets requests end that are under way, for at most the
  // grace time, and then closes what is left. Returns when all of it is over: the handler is not
  // called again. Not for the handler itself to call, and not from two threads at once; a second
  // time it does nothing.
  void stop();

  // From any thread.
  [[nodiscard]] ServerCounters counters() const;

 private:
  class Implementation;
  explicit Server(std::unique_ptr<Implementation> implementation);

  std::unique_ptr<Implementation> implementation_;
};

}  // namespace phalanx::serve
