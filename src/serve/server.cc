#include "serve/server.h"

#include <fmt/format.h>
#include <pthread.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "serve/connection.h"
#include "serve/tls_context.h"

namespace phalanx::serve {
namespace {

namespace asio = boost::asio;
using boost::asio::ip::tcp;
using boost::system::error_code;

// Between two tries to accept when the system has no descriptors left.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

std::string remedy(const error_code& error, uint16_t port) {
  if (error == asio::error::address_in_use) {
    return fmt::format(
        "; end the program that listens there (\"ss -ltnp sport = :{}\" names it), or choose "
        "another port",
        port);
  }
  if (error == asio::error::access_denied) return "; choose a port of 1024 or above";
  if (error == boost::system::errc::address_not_available) {
    return "; no interface of this machine has that address";
  }
  return "";
}

error_code listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  error_code error;
  error = acceptor.open(endpoint.protocol(), error);
  // The port of a server that has just ended is not free otherwise, for minutes.
  if (!error) error = acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address() == asio::ip::address_v6::any()) {
    error = acceptor.set_option(asio::ip::v6_only(false), error);
  }
  if (!error) error = acceptor.bind(endpoint, error);
  if (!error) error = acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    error_code ignored;
    ignored = acceptor.close(ignored);
  }
  return error;
}

Result<void> listen(tcp::acceptor& acceptor, const ListenAddress& address) {
  error_code error;
  if (address.host.empty()) {
    error = listen(acceptor, tcp::endpoint(asio::ip::address_v6::any(), address.port));
    const bool no_ipv6 = error == boost::system::errc::address_family_not_supported ||
                         error == boost::system::errc::address_not_available;
    if (no_ipv6) {
      error = listen(acceptor, tcp::endpoint(asio::ip::address_v4::any(), address.port));
    }
  } else {
    const auto host = asio::ip::make_address(address.host, error);
    if (!error) error = listen(acceptor, tcp::endpoint(host, address.port));
  }
  if (!error) return {};
  return fail(fmt::format("cannot listen on {}: {}{}", to_string(address), error.message(),
                          remedy(error, address.port)));
}

}  // namespace

class Server::Implementation {
 public:
  Implementation(ServerOptions options, Handler handler)
      : acceptor_(*state_.io), pause_(*state_.io), grace_(*state_.io) {
    state_.options = std::move(options);
    state_.handler = std::move(handler);
  }

  Result<void> start(const std::optional<Identity>& identity);
  [[nodiscard]] const ListenAddress& address() const { return state_.options.address; }
  Result<void> set_identity(const Identity& identity);
  void drain();
  void stop();
  [[nodiscard]] ServerCounters counters() const;

 private:
  asio::awaitable<void> accept_clients();
  void welcome(tcp::socket socket);
  bool make_room();
  void begin_to_stop();
  void close_all();
  void run();

  ServerState state_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  asio::steady_timer grace_;
  bool tls_ = false;
  std::thread thread_;
};

Result<void> Server::Implementation::start(const std::optional<Identity>& identity) {
  tls_ = identity.has_value();
  if (identity) {
    auto context = make_tls_context(*identity);
    if (!context) return within("the certificate of the server", context.error());
    state_.tls = std::move(*context);
  }
  RETURN_IF_ERROR(listen(acceptor_, state_.options.address));
  error_code error;
  state_.options.address.port = acceptor_.local_endpoint(error).port();
  asio::co_spawn(*state_.io, accept_clients(), [](const std::exception_ptr&) {});
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& failure) {
    return fail(fmt::format("cannot start the thread of the server: {}", failure.what()));
  }
  return {};
}

void Server::Implementation::run() {
  // Signals are for the threads of the program that wait for them.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (bool ended = false; !ended;) {
    try {
      state_.io->run();
      ended = true;
    } catch (const std::exception&) {
      continue;  // no memory for one step of one connection, whose time-outs end it
    }
  }
}

asio::awaitable<void> Server::Implementation::accept_clients() {
  while (!state_.stopping) {
    tcp::socket socket(*state_.io);
    error_code error;
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (state_.stopping) break;
    if (!error) {
      welcome(std::move(socket));
      continue;
    }
    // A client that is gone again costs nothing; without descriptors, trying at once would only
    // burn the processor.
    if (error == asio::error::connection_aborted) continue;
    make_room();
    pause_.expires_after(kAcceptPause);
    co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
  }
}

void Server::Implementation::welcome(tcp::socket socket) {
  const bool full = state_.connections.size() >= state_.options.max_connections;
  if (full && !make_room()) {
    ++state_.counters.connections_refused;
    error_code ignored;
    ignored =
        socket.set_option(asio::socket_base::linger(true, 0), ignored);  // leaves nothing behind
    return;
  }
  ++state_.counters.connections_accepted;
  try {
    start_connection(state_, std::move(socket));
  } catch (const std::exception&) {
    return;  // no memory for this client
  }
}

// Closes the connection that can be missed most; false if every one is busy.
bool Server::Implementation::make_room() {
  const auto impatient = std::chrono::steady_clock::now() - kPatience;
  Connection* victim = nullptr;
  for (const auto& [id, each] : state_.connections) {
    const bool idle = each->phase() == Connection::Phase::kIdle;
    const bool slow = each->phase() != Connection::Phase::kAnswering && each->since() < impatient;
    if (!idle && !slow) continue;
    const bool victim_idle = victim != nullptr && victim->phase() == Connection::Phase::kIdle;
    const bool better = victim == nullptr || (idle && !victim_idle) ||
                        (idle == victim_idle && each->since() < victim->since());
    if (better) victim = each;
  }
  if (victim == nullptr) return false;
  ++state_.counters.connections_evicted;
  victim->close();
  return true;
}

Result<void> Server::Implementation::set_identity(const Identity& identity) {
  if (!tls_) return fail("a server that speaks HTTP has no certificate");
  auto context = make_tls_context(identity);
  if (!context) return within("the certificate of the server", context.error());
  asio::post(*state_.io, [this, context = std::move(*context)]() mutable {
    state_.tls = std::move(context);
    ++state_.identity;
  });
  return {};
}

void Server::Implementation::drain() {
  asio::post(*state_.io, [this] { state_.draining = true; });
}

void Server::Implementation::stop() {
  if (!thread_.joinable()) return;
  CHECK(thread_.get_id() != std::this_thread::get_id());
  asio::post(*state_.io, [this] { begin_to_stop(); });
  thread_.join();
}

void Server::Implementation::begin_to_stop() {
  state_.stopping = true;
  error_code ignored;
  ignored = acceptor_.close(ignored);
  pause_.cancel();
  std::vector<Connection*> waiting;
  for (const auto& [id, each] : state_.connections) {
    const bool busy =
        each->phase() != Connection::Phase::kArriving && each->phase() != Connection::Phase::kIdle;
    if (!busy) waiting.push_back(each);
  }
  for (Connection* each : waiting) each->close();
  if (state_.connections.empty()) return;
  state_.idle = [this] { grace_.cancel(); };
  grace_.expires_after(state_.options.stop_grace);
  grace_.async_wait([this](const error_code& error) {
    if (!error) close_all();
  });
}

void Server::Implementation::close_all() {
  while (!state_.connections.empty()) state_.connections.begin()->second->close();
}

ServerCounters Server::Implementation::counters() const {
  const AtomicCounters& now = state_.counters;
  ServerCounters counters{.connections_open = now.connections_open,
                          .connections_accepted = now.connections_accepted,
                          .connections_refused = now.connections_refused,
                          .connections_evicted = now.connections_evicted,
                          .handshakes_failed = now.handshakes_failed,
                          .timeouts = now.timeouts,
                          .responses = {}};
  for (size_t i = 0; i < now.responses.size(); ++i) {
    const uint64_t count = now.responses[i];
    if (count > 0) counters.responses[static_cast<int>(i) + AtomicCounters::kFirstStatus] = count;
  }
  return counters;
}

Server::Server(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options,
                                              const std::optional<Identity>& identity,
                                              Handler handler) {
  auto implementation = std::make_unique<Implementation>(std::move(options), std::move(handler));
  RETURN_IF_ERROR(implementation->start(identity));
  return std::unique_ptr<Server>(new Server(std::move(implementation)));
}

Server::~Server() {
  stop();
}

const ListenAddress& Server::address() const {
  return implementation_->address();
}

Result<void> Server::set_identity(const Identity& identity) {
  return implementation_->set_identity(identity);
}

void Server::drain() {
  implementation_->drain();
}

void Server::stop() {
  implementation_->stop();
}

ServerCounters Server::counters() const {
  return implementation_->counters();
}

}  // namespace phalanx::serve
