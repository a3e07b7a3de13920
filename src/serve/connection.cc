#include "serve/connection.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "serve/pending_answer.h"
#include "serve/wire.h"

namespace phalanx::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;
using Parser = http::request_parser<http::string_body>;

constexpr size_t kReadBytes = size_t{16} << 10;  // the largest TLS record
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
// How long a client may take to read a last answer and hang up.
constexpr Duration kFarewell = std::chrono::seconds(2);
constexpr Duration kCancelAgain = std::chrono::milliseconds(20);

// What a client is told about a request that could not be read; 0 if nobody is listening.
int status_of(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  if (error == asio::error::timed_out) return 408;
  if (error == asio::error::no_memory) return 503;
  return error.category() == http::make_error_code(http::error::bad_method).category() ? 400 : 0;
}

std::string words_for(const error_code& error) {
  if (error == asio::error::no_memory) {
    return "there is too much to read at the moment, and this request is the largest; try again "
           "in some seconds\n";
  }
  return error.message() + "\n";
}

Request take_request(http::request<http::string_body>&& message, std::string peer) {
  Request request;
  request.method = message.method_string();
  Target target = split_target(message.target());
  request.path = std::move(target.path);
  request.query = std::move(target.query);
  for (const auto& field : message) {
    request.headers.push_back({.name = field.name_string(), .value = field.value()});
  }
  request.body = std::move(message.body());
  request.peer = std::move(peer);
  return request;
}

// The response with what was left to be made here.
Response completed(Response response) {
  if (const auto complete = std::exchange(response.complete, nullptr)) {
    try {
      complete(response);
    } catch (...) {
      return {.status = 500, .body = "failed\n"};
    }
  }
  return response;
}

class HttpConnection final : public Connection,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(ServerState& state, tcp::socket socket);
  ~HttpConnection() override { close(); }

  static asio::awaitable<void> run(std::shared_ptr<HttpConnection> self);
  void close() override;
  void give_way() override;

 private:
  asio::awaitable<bool> shake_hands();
  asio::awaitable<bool> await_request();
  asio::awaitable<bool> serve_request();
  asio::awaitable<error_code> read_request(Parser& parser);
  error_code limit_body(Parser& parser) const;
  asio::awaitable<Response> answer(Request request);
  asio::awaitable<bool> respond(Response response, bool last, bool head_only);
  asio::awaitable<void> leave();

  asio::awaitable<error_code> parse(Parser& parser, bool whole);
  asio::awaitable<error_code> fill();
  asio::awaitable<error_code> write(std::string_view text);

  // Says how many bytes of a body there are. If all requests together have too many, the largest of
  // those that are coming in gives way, be it this one.
  void hold(size_t bytes);
  // The same of an answer. If all of them together have too many, those are left that have not
  // taken theirs for a while; false if that is not enough.
  bool hold_answer(size_t bytes);
  // Starts a new time limit for whatever is read and written from now on.
  void allow(Duration duration);
  void expire_at_deadline();
  // Why nothing can be read or written any more.
  [[nodiscard]] error_code obstacle() const;

  ServerState& state_;
  const uint64_t id_;
  const uint64_t identity_;  // under which it was made
  tcp::socket socket_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
  asio::steady_timer deadline_;
  std::string peer_;
  boost::beast::flat_buffer buffer_;        // read, but not yet parsed
  std::shared_ptr<PendingAnswer> pending_;  // while the handler has a request
  bool expired_ = false;
  bool gave_way_ = false;
  bool closed_ = false;
};

HttpConnection::HttpConnection(ServerState& state, tcp::socket socket)
    : state_(state),
      id_(state.next_connection++),
      identity_(state.identity),
      socket_(std::move(socket)),
      deadline_(*state.io) {
  error_code ignored;
  ignored = socket_.set_option(tcp::no_delay(true), ignored);
  peer_ = endpoint_text(socket_.remote_endpoint(ignored));
  if (state.tls) {
    SSL* const session = SSL_new(state.tls.get());
    if (session == nullptr) throw std::bad_alloc();
    tls_.emplace(socket_, session);
  }
  state.connections.emplace(id_, this);
  state.counters.connections_open = state.connections.size();
}

void HttpConnection::close() {
  if (std::exchange(closed_, true)) return;
  error_code ignored;
  ignored = socket_.close(ignored);
  deadline_.cancel();
  if (pending_) pending_->wake_up.cancel();
  hold(0);
  hold_answer(0);
  state_.connections.erase(id_);
  state_.counters.connections_open = state_.connections.size();
  if (state_.connections.empty() && state_.idle) state_.idle();
}

asio::awaitable<void> HttpConnection::run(std::shared_ptr<HttpConnection> self) {
  try {
    bool goes_on = co_await self->shake_hands();
    // The server may have begun to stop while an answer that promised to go on went out.
    while (goes_on && !self->state_.stopping) {
      goes_on = co_await self->await_request() && co_await self->serve_request();
    }
  } catch (const std::exception&) {
    self->close();  // no memory for this client; the others shall not suffer
  }
  self->close();
}

asio::awaitable<bool> HttpConnection::shake_hands() {
  if (!tls_) co_return true;
  allow(state_.options.header_timeout);
  error_code error;
  co_await tls_->async_handshake(asio::ssl::stream_base::server,
                                 asio::redirect_error(asio::use_awaitable, error));
  if (!error && !closed_) co_return true;
  ++state_.counters.handshakes_failed;
  if (expired_) ++state_.counters.timeouts;
  const bool plain_http =
      error.category() == asio::error::get_ssl_category() &&
      ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
  if (plain_http && !closed_) {
    tls_.reset();
    Response hint{.status = 400, .body = "this is HTTPS; write https:// in the address\n"};
    co_await respond(std::move(hint), true, false);
  }
  co_return false;
}

// Waits for the first byte.
asio::awaitable<bool> HttpConnection::await_request() {
  const bool first = phase() == Phase::kArriving;
  if (!first) enter(Phase::kIdle);
  allow(first ? state_.options.header_timeout : state_.options.idle_timeout);
  const error_code error = buffer_.size() > 0 ? error_code() : co_await fill();
  if (first && error == asio::error::timed_out) ++state_.counters.timeouts;
  co_return !error;
}

asio::awaitable<bool> HttpConnection::serve_request() {
  Parser parser;
  const error_code error = co_await read_request(parser);
  if (error) {
    if (error == asio::error::timed_out) ++state_.counters.timeouts;
    const int status = status_of(error);
    if (status == 0 || closed_) co_return false;
    parser.get().body() = std::string();
    co_return co_await respond({.status = status, .body = words_for(error)}, true, false);
  }
  const bool keep_alive = parser.keep_alive();
  Request request = take_request(parser.release(), peer_);
  if (request.path.empty()) {
    co_return co_await respond({.status = 400, .body = "bad target\n"}, true, false);
  }
  const bool head_only = request.method == "HEAD";
  Response response = co_await answer(std::move(request));
  if (closed_) co_return false;
  const bool last =
      !keep_alive || state_.draining || state_.stopping || identity_ != state_.identity;
  co_return co_await respond(std::move(response), last, head_only);
}

asio::awaitable<error_code> HttpConnection::read_request(Parser& parser) {
  enter(Phase::kReading);
  parser.header_limit(static_cast<uint32_t>(state_.options.max_header_bytes));
  parser.body_limit(state_.options.max_body_bytes);
  allow(state_.options.header_timeout);
  error_code error = co_await parse(parser, false);
  if (!error) error = limit_body(parser);
  if (error) co_return error;
  allow(state_.options.transfer_timeout);
  if (boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    error = co_await write(kContinue);
    if (error) co_return error;
  }
  co_return co_await parse(parser, true);
}

error_code HttpConnection::limit_body(Parser& parser) const {
  if (!state_.options.most_body_bytes) return {};
  const size_t most =
      std::min(state_.options.max_body_bytes,
               state_.options.most_body_bytes(split_target(parser.get().target()).path));
  parser.body_limit(most);
  const bool more = parser.content_length().value_or(0) > most;
  return more ? http::make_error_code(http::error::body_limit) : error_code();
}

asio::awaitable<Response> HttpConnection::answer(Request request) {
  enter(Phase::kAnswering);
  deadline_.cancel();
  pending_ = std::make_shared<PendingAnswer>(*state_.io);
  pending_->wake_up.expires_after(state_.options.answer_timeout);
  try {
    auto once = std::make_shared<ReplyOnce>(state_.io, pending_);
    state_.handler(std::move(request), [once = std::move(once)](Response response) {
      once->send(std::move(response));
    });
  } catch (...) {
    if (!pending_->response) pending_->response = Response{.status = 500, .body = "failed\n"};
  }
  if (!pending_->response) {
    error_code ignored;
    co_await pending_->wake_up.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  const auto pending = std::exchange(pending_, nullptr);
  if (closed_) co_return Response{};  // that nobody gets
  if (pending->response) co_return completed(std::move(*pending->response));
  ++state_.counters.timeouts;
  co_return Response{.status = 503, .body = "there was no answer in time\n"};
}

// Whether another request can follow.
asio::awaitable<bool> HttpConnection::respond(Response response, bool last, bool head_only) {
  enter(Phase::kAnswering);
  hold(0);
  gave_way_ = false;  // it has: what is left is to say so
  const bool possible = response.status >= 200 && response.status <= AtomicCounters::kLastStatus;
  if (!possible) response = {.status = 500, .body = "there is no such status\n"};
  if (!hold_answer(response.body.size())) {
    response = {.status = 503, .body = "too many answers wait to be read; try again later\n"};
    last = true;
  }
  allow(state_.options.transfer_timeout);
  ++state_.counters.responses[static_cast<size_t>(response.status - AtomicCounters::kFirstStatus)];
  const bool with_body = !head_only && has_body(response.status);
  const bool at_once = response.body.size() < kReadBytes;  // what is large is not copied
  std::string text = format_head(response, !last);
  if (with_body && at_once) text += response.body;
  error_code error = co_await write(text);
  if (!error && with_body && !at_once) error = co_await write(response.body);
  hold_answer(0);
  if (error == asio::error::timed_out) ++state_.counters.timeouts;
  if (!error && last) co_await leave();
  co_return !error && !last;
}

// Hanging up while the client still sends would make its system throw away the answer unread: what
// comes is read and forgotten, within limits.
asio::awaitable<void> HttpConnection::leave() {
  enter(Phase::kLeaving);
  allow(kFarewell);
  error_code error;
  if (tls_) {
    co_await tls_->async_shutdown(asio::redirect_error(asio::use_awaitable, error));
  }
  error = obstacle();
  if (!error) error = socket_.shutdown(tcp::socket::shutdown_send, error);
  size_t rest = state_.options.max_body_bytes;
  while (!error && !obstacle()) {
    buffer_.clear();
    const size_t size = co_await socket_.async_read_some(
        buffer_.prepare(kReadBytes), asio::redirect_error(asio::use_awaitable, error));
    if (size > rest) break;
    rest -= size;
  }
}

// Reads on until the headers are there, or the whole request.
asio::awaitable<error_code> HttpConnection::parse(Parser& parser, bool whole) {
  parser.eager(whole);
  while (!(whole ? parser.is_done() : parser.is_header_done())) {
    error_code error;
    size_t used = 0;
    if (buffer_.size() > 0) {
      used = parser.put(buffer_.data(), error);
      buffer_.consume(used);
    }
    if (error && error != http::error::need_more) co_return error;
    hold(parser.get().body().size());
    if (gave_way_) co_return obstacle();
    if (!error && used > 0) continue;
    // Nothing that has to be seen in one piece is longer than the headers may be.
    if (buffer_.size() > state_.options.max_header_bytes + kReadBytes) {
      co_return http::make_error_code(http::error::header_limit);
    }
    error = co_await fill();
    if (error) co_return error;
  }
  co_return error_code();
}

asio::awaitable<error_code> HttpConnection::fill() {
  error_code error = obstacle();
  if (error) co_return error;
  const auto space = buffer_.prepare(kReadBytes);
  size_t size = 0;
  if (tls_) {
    size = co_await tls_->async_read_some(space, asio::redirect_error(asio::use_awaitable, error));
  } else {
    size =
        co_await socket_.async_read_some(space, asio::redirect_error(asio::use_awaitable, error));
  }
  buffer_.commit(size);
  co_return error&& obstacle() ? obstacle() : error;
}

asio::awaitable<error_code> HttpConnection::write(std::string_view text) {
  error_code error = obstacle();
  if (error) co_return error;
  const auto buffer = asio::buffer(text);
  if (tls_) {
    co_await asio::async_write(*tls_, buffer, asio::redirect_error(asio::use_awaitable, error));
  } else {
    co_await asio::async_write(socket_, buffer, asio::redirect_error(asio::use_awaitable, error));
  }
  co_return error&& obstacle() ? obstacle() : error;
}

void HttpConnection::hold(size_t bytes) {
  state_.bodies_bytes = state_.bodies_bytes - held_bytes() + bytes;
  set_held_bytes(bytes);
  while (state_.bodies_bytes > state_.options.max_bodies_bytes) {
    Connection* largest = nullptr;
    for (const auto& [id, each] : state_.connections) {
      if (each->phase() != Phase::kReading || each->held_bytes() == 0) continue;
      if (largest == nullptr || each->held_bytes() > largest->held_bytes()) largest = each;
    }
    if (largest == nullptr) return;  // all of them are with the handler
    largest->give_way();
  }
}

bool HttpConnection::hold_answer(size_t bytes) {
  state_.answers_bytes -= answer_bytes();
  set_answer_bytes(0);
  const auto impatient = std::chrono::steady_clock::now() - kPatience;
  while (bytes > 0 && state_.answers_bytes + bytes > state_.options.max_answers_bytes) {
    const auto slow = std::ranges::find_if(state_.connections, [&](const auto& each) {
      return each.second->answer_bytes() > 0 && each.second->since() < impatient;
    });
    if (slow == state_.connections.end()) return false;
    ++state_.counters.connections_evicted;
    slow->second->close();
  }
  state_.answers_bytes += bytes;
  set_answer_bytes(bytes);
  return true;
}

void HttpConnection::give_way() {
  gave_way_ = true;
  hold(0);
  allow(Duration(0));
}

void HttpConnection::allow(Duration duration) {
  expired_ = false;
  if (closed_) return;
  deadline_.expires_after(duration);
  expire_at_deadline();
}

void HttpConnection::expire_at_deadline() {
  deadline_.async_wait([self = shared_from_this()](const error_code& error) {
    // One that was on its way when the limit was moved does not count.
    if (error || self->closed_) return;
    if (self->deadline_.expiry() > std::chrono::steady_clock::now()) return;
    self->expired_ = true;
    error_code ignored;
    ignored = self->socket_.cancel(ignored);
    // A long write is many short ones: if this fell between two of them, the next one is waiting
    // by then.
    self->deadline_.expires_after(kCancelAgain);
    self->expire_at_deadline();
  });
}

error_code HttpConnection::obstacle() const {
  if (closed_) return asio::error::make_error_code(asio::error::operation_aborted);
  if (gave_way_) return asio::error::make_error_code(asio::error::no_memory);
  if (expired_) return asio::error::make_error_code(asio::error::timed_out);
  return {};
}

}  // namespace

void start_connection(ServerState& state, tcp::socket socket) {
  auto connection = std::make_shared<HttpConnection>(state, std::move(socket));
  asio::co_spawn(*state.io, HttpConnection::run(std::move(connection)),
                 [](const std::exception_ptr&) {});
}

std::string endpoint_text(const tcp::endpoint& endpoint) {
  asio::ip::address address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return to_string(ListenAddress{.host = address.to_string(), .port = endpoint.port()});
}

}  // namespace phalanx::serve
