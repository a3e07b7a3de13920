#include "serve/load_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "serve/openssl.h"
#include "serve/wire.h"

namespace phalanx::serve {
namespace {

using Clock = std::chrono::steady_clock;
using OwnedSession = OpensslOwned<SSL, SSL_free>;

constexpr auto kDrip = std::chrono::milliseconds(500);
constexpr auto kAskEvery = std::chrono::milliseconds(50);
constexpr size_t kReadBytes = size_t{16} << 10;
constexpr int kMostEvents = 256;

struct Descriptor {
  explicit Descriptor(int file) : file(file) {}
  ~Descriptor() {
    if (file >= 0) ::close(file);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int file;
};

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Result<Address> address_of(const std::string& host, uint16_t port) {
  Address address;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.size = sizeof(sockaddr_in);
  } else if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.size = sizeof(sockaddr_in6);
  } else {
    return fail(fmt::format("\"{}\" is no address; write one such as 127.0.0.1", host));
  }
  return address;
}

}  // namespace

class LoadClient::Implementation {
 public:
  explicit Implementation(LoadOptions options) : options_(std::move(options)), ready_(-1) {}

  Result<void> prepare();
  Result<uint64_t> run(uint64_t count, double rate, const Next& next, const Answered& answered,
                       const GoOn& go_on);

 private:
  struct Job {
    uint64_t index = 0;
    LoadRequest request;
    Clock::time_point due;
  };
  struct Connection {
    explicit Connection(int file) : descriptor(file) {}
    Descriptor descriptor;
    OwnedSession session;  // empty: no TLS
    bool kept = false;
    bool connected = false;  // the handshake is over
    bool wants_write = true;
    std::optional<Job> job;
    size_t sent = 0;
    std::string received;
    Clock::time_point next_drip;
    Clock::time_point give_up;
  };
  enum class Step : uint8_t { kGoOn, kWait, kEnd };

  Connection* open(bool tls, bool kept);
  void assign(Connection& connection, Job job);
  void send_due();
  void work(Connection& connection);
  Step shake_hands(Connection& connection);
  Step write(Connection& connection);
  Step read(Connection& connection);
  Step after_tls(Connection& connection, int result);
  bool take_answer(Connection& connection);
  void finish(Connection& connection, const LoadAnswer& answer);
  void end(Connection& connection);
  void watch(Connection& connection, bool write);
  void drip(Clock::time_point now);
  void give_up(Clock::time_point now);
  uint64_t drop_unsent();
  [[nodiscard]] std::unexpected<Error> unreachable() const;
  void wait(Clock::time_point until);

  LoadOptions options_;
  Address address_;
  OwnedTlsContext tls_;
  Descriptor ready_;
  std::map<Connection*, std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> free_;
  size_t kept_ = 0;
  std::deque<Job> waiting_;  // for a connection that is kept
  uint64_t under_way_ = 0;
  uint64_t failed_in_a_row_ = 0;
  int last_error_ = 0;  // of the system, if the last one failed for that; otherwise 0
  const Answered* answered_ = nullptr;
};

Result<void> LoadClient::Implementation::prepare() {
  ASSIGN_OR_RETURN(address_, address_of(options_.host, options_.port));
  ready_.file = epoll_create1(EPOLL_CLOEXEC);
  tls_.reset(SSL_CTX_new(TLS_client_method()));
  if (!tls_) return openssl_failure("no TLS");
  ASSIGN_OR_RETURN(const auto certificates, read_certificates(options_.certificates));
  for (const OwnedCertificate& certificate : certificates) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(tls_.get()), certificate.get());
  }
  SSL_CTX_set_verify(tls_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(tls_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return {};
}

// nullptr if the system does not even begin to connect; last_error_ then says why.
LoadClient::Implementation::Connection* LoadClient::Implementation::open(bool tls, bool kept) {
  const int file =
      socket(address_.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (file < 0) {
    last_error_ = errno;
    return nullptr;
  }
  auto connection = std::make_unique<Connection>(file);
  const int on = 1;
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const int result =
      connect(file, reinterpret_cast<const sockaddr*>(&address_.storage), address_.size);
  if (result != 0 && errno != EINPROGRESS) {
    last_error_ = errno;
    return nullptr;
  }
  connection->kept = kept;
  if (tls) {
    connection->session.reset(SSL_new(tls_.get()));
    SSL* const session = connection->session.get();
    SSL_set_fd(session, file);
    SSL_set_connect_state(session);
    SSL_set_tlsext_host_name(session, options_.server_name.c_str());
    X509_VERIFY_PARAM* const parameters = SSL_get0_param(session);
    if (X509_VERIFY_PARAM_set1_ip_asc(parameters, options_.server_name.c_str()) != 1) {
      SSL_set1_host(session, options_.server_name.c_str());
    }
  } else {
    connection->connected = true;
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT;
  event.data.ptr = connection.get();
  epoll_ctl(ready_.file, EPOLL_CTL_ADD, file, &event);
  if (kept) ++kept_;
  Connection* const opened = connection.get();
  connections_.emplace(opened, std::move(connection));
  return opened;
}

void LoadClient::Implementation::watch(Connection& connection, bool write) {
  if (connection.wants_write == write) return;
  connection.wants_write = write;
  epoll_event event{};
  event.events = write ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &connection;
  epoll_ctl(ready_.file, EPOLL_CTL_MOD, connection.descriptor.file, &event);
}

void LoadClient::Implementation::assign(Connection& connection, Job job) {
  connection.give_up = Clock::now() + options_.patience;
  connection.job = job;
  connection.sent = 0;
  connection.received.clear();
}

// Hands what waits to connections that are free, or to new ones.
void LoadClient::Implementation::send_due() {
  while (!waiting_.empty()) {
    Connection* connection = nullptr;
    const bool is_new = free_.empty();
    if (!is_new) {
      connection = free_.back();
      free_.pop_back();
    } else if (kept_ < options_.connections) {
      connection = open(true, true);
      if (connection == nullptr) {
        // As long as there is another, what waits can go by that one.
        if (kept_ == 0) ++failed_in_a_row_;
        return;
      }
    } else {
      return;
    }
    assign(*connection, waiting_.front());
    waiting_.pop_front();
    if (!is_new) work(*connection);
  }
}

// Does what can be done at once. The connection may be gone afterwards.
void LoadClient::Implementation::work(Connection& connection) {
  Step step = Step::kGoOn;
  while (step == Step::kGoOn) {
    if (!connection.connected) {
      step = shake_hands(connection);
    } else if (connection.job && connection.sent < connection.job->request.text.size() &&
               connection.job->request.wire != Wire::kDripping) {
      step = write(connection);
      // Who is refused in the middle of a body is told so while he still sends.
      if (step == Step::kWait) {
        const Step reading = read(connection);
        if (reading == Step::kWait) {
          watch(connection, true);
        } else {
          step = reading;
        }
      }
    } else {
      step = read(connection);
    }
  }
  if (step == Step::kEnd) end(connection);
}

LoadClient::Implementation::Step LoadClient::Implementation::after_tls(Connection& connection,
                                                                       int result) {
  const int error = SSL_get_error(connection.session.get(), result);
  if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
    ERR_clear_error();
    return Step::kEnd;
  }
  watch(connection, error == SSL_ERROR_WANT_WRITE);
  return Step::kWait;
}

LoadClient::Implementation::Step LoadClient::Implementation::shake_hands(Connection& connection) {
  const int result = SSL_connect(connection.session.get());
  if (result != 1) return after_tls(connection, result);
  connection.connected = true;
  failed_in_a_row_ = 0;
  watch(connection, false);
  return Step::kGoOn;
}

LoadClient::Implementation::Step LoadClient::Implementation::write(Connection& connection) {
  const std::string_view rest = connection.job->request.text.substr(connection.sent);
  ssize_t written = 0;
  if (connection.session) {
    written = SSL_write(connection.session.get(), rest.data(), static_cast<int>(rest.size()));
    if (written <= 0) return after_tls(connection, static_cast<int>(written));
  } else {
    written = ::send(connection.descriptor.file, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (written < 0) {
      if (errno != EAGAIN && errno != EINPROGRESS && errno != ENOTCONN) return Step::kEnd;
      watch(connection, true);
      return Step::kWait;
    }
  }
  connection.sent += static_cast<size_t>(written);
  if (connection.sent < connection.job->request.text.size()) return Step::kGoOn;
  watch(connection, false);
  return connection.job->request.wire == Wire::kCut ? Step::kEnd : Step::kGoOn;
}

LoadClient::Implementation::Step LoadClient::Implementation::read(Connection& connection) {
  std::array<char, kReadBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  ssize_t size = 0;
  if (connection.session) {
    size = SSL_read(connection.session.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (size <= 0) return after_tls(connection, static_cast<int>(size));
  } else {
    size = ::recv(connection.descriptor.file, buffer.data(), buffer.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == ENOTCONN)) return Step::kWait;
    if (size <= 0) return Step::kEnd;
  }
  connection.received.append(buffer.data(), static_cast<size_t>(size));
  return take_answer(connection) ? Step::kEnd : Step::kGoOn;
}

// Whether the connection is of no more use.
bool LoadClient::Implementation::take_answer(Connection& connection) {
  if (!connection.job) return false;
  const std::string_view received = connection.received;
  const ResponseHead head = read_response_head(received);
  if (head.bytes == 0 || received.size() < head.bytes + head.body_bytes) return false;
  finish(connection, {head.status, received.substr(head.bytes, head.body_bytes), {}});
  if (!connection.kept || head.closes) return true;
  free_.push_back(&connection);
  return false;
}

void LoadClient::Implementation::finish(Connection& connection, const LoadAnswer& answer) {
  const Job job = *connection.job;
  connection.job.reset();
  --under_way_;
  LoadAnswer told = answer;
  told.latency = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - job.due);
  (*answered_)(job.index, told);
  connection.received.clear();
}

void LoadClient::Implementation::end(Connection& connection) {
  if (connection.kept) {
    --kept_;
    std::erase(free_, &connection);
    if (!connection.connected) {
      ++failed_in_a_row_;
      last_error_ = 0;
    }
  }
  if (connection.job) finish(connection, {});
  connections_.erase(&connection);
}

void LoadClient::Implementation::drip(Clock::time_point now) {
  std::vector<Connection*> dripping;
  for (const auto& [each, owned] : connections_) {
    const bool drips = each->job && each->job->request.wire == Wire::kDripping;
    if (drips && each->connected && now >= each->next_drip) dripping.push_back(each);
  }
  for (Connection* each : dripping) {
    each->next_drip = now + kDrip;
    if (each->sent == each->job->request.text.size()) continue;
    const int written = SSL_write(each->session.get(), &each->job->request.text[each->sent], 1);
    if (written == 1) ++each->sent;
    if (written <= 0 && after_tls(*each, written) == Step::kEnd) end(*each);
  }
}

void LoadClient::Implementation::give_up(Clock::time_point now) {
  std::vector<Connection*> late;
  for (const auto& [each, owned] : connections_) {
    if (each->job && now >= each->give_up) late.push_back(each);
  }
  for (Connection* each : late) end(*each);
}

std::unexpected<Error> LoadClient::Implementation::unreachable() const {
  const std::string reason =
      last_error_ == 0 ? "" : fmt::format(" ({})", std::generic_category().message(last_error_));
  return fail(
      fmt::format("no connection to {} port {} is made{}; is that the server, and its certificate "
                  "signed by the CA that was given?",
                  options_.host, options_.port, reason));
}

// Forgets everything of which not a byte has reached the server. Returns how much that was.
uint64_t LoadClient::Implementation::drop_unsent() {
  uint64_t dropped = waiting_.size();
  waiting_.clear();
  std::erase_if(connections_, [&](const auto& entry) {
    const Connection& each = *entry.second;
    if (each.connected) return false;
    if (each.kept) --kept_;
    if (each.job) ++dropped;
    return true;
  });
  under_way_ -= dropped;
  return dropped;
}

void LoadClient::Implementation::wait(Clock::time_point until) {
  const auto left = std::max<Clock::duration>(until - Clock::now(), {});
  const timespec at_most{std::chrono::duration_cast<std::chrono::seconds>(left).count(),
                         (left % std::chrono::seconds(1)).count()};
  std::array<epoll_event, kMostEvents> events{};
  const int count = epoll_pwait2(ready_.file, events.data(), kMostEvents, &at_most, nullptr);
  for (int i = 0; i < count; ++i) {
    auto* const connection = static_cast<Connection*>(events.at(static_cast<size_t>(i)).data.ptr);
    if (connections_.contains(connection)) work(*connection);
  }
}

Result<uint64_t> LoadClient::Implementation::run(uint64_t count, double rate, const Next& next,
                                                 const Answered& answered, const GoOn& go_on) {
  constexpr uint64_t kHopeless = 200;
  answered_ = &answered;
  const Clock::time_point start = Clock::now();
  const auto due_of = [&](uint64_t index) {
    return start + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(static_cast<double>(index) / rate));
  };
  uint64_t sent = 0;
  Clock::time_point ask_at = start;
  while (sent < count || under_way_ > 0) {
    const Clock::time_point now = Clock::now();
    if (now >= ask_at) {
      ask_at = now + kAskEvery;
      if (!go_on(sent)) {
        sent -= drop_unsent();
        count = sent;
      }
      drip(now);
      give_up(now);
      if (failed_in_a_row_ >= kHopeless) return unreachable();
    }
    for (; sent < count && due_of(sent) <= now; ++sent) {
      const Job job{sent, next(sent), due_of(sent)};
      ++under_way_;
      if (job.request.wire == Wire::kKept) {
        waiting_.push_back(job);
        continue;
      }
      Connection* const own = open(job.request.wire != Wire::kPlain, false);
      if (own != nullptr) {
        assign(*own, job);
      } else {
        --under_way_;
        answered(sent, {});
      }
    }
    send_due();
    wait(sent < count ? std::min(ask_at, due_of(sent)) : ask_at);
  }
  return sent;
}

LoadClient::LoadClient(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

LoadClient::~LoadClient() = default;

Result<std::unique_ptr<LoadClient>> LoadClient::make(const LoadOptions& options) {
  auto implementation = std::make_unique<Implementation>(options);
  RETURN_IF_ERROR(implementation->prepare());
  return std::unique_ptr<LoadClient>(new LoadClient(std::move(implementation)));
}

Result<uint64_t> LoadClient::run(uint64_t count, double rate, const Next& next,
                                 const Answered& answered, const GoOn& go_on) {
  return implementation_->run(count, rate, next, answered, go_on);
}

}  // namespace phalanx::serve
