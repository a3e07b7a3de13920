// A client for tests that does exactly what it is told, well-behaved or not: bytes out, bytes in.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

#include "serve/openssl.h"
#include "serve/wire.h"

namespace phalanx::serve {

struct Answer {
  int status = 0;  // 0: the connection ended before a whole answer came
  std::string head;
  std::string body;

  [[nodiscard]] bool closes() const { return head.contains("Connection: close\r\n"); }
};

class Client {
 public:
  explicit Client(uint16_t port, bool ipv6 = false) {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets without MSG_NOSIGNAL
    socket_ = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // Long enough for the slowest machine; without it a failing test would never end.
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    const int at_once = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr = in6addr_loopback;
    const auto* address =
        ipv6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
    connected_ = ::connect(socket_, address, ipv6 ? sizeof(v6) : sizeof(v4)) == 0;
  }
  ~Client() { close(); }
  Client(Client&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        connected_(other.connected_),
        context_(std::move(other.context_)),
        tls_(std::move(other.tls_)),
        rest_(std::move(other.rest_)) {}
  Client& operator=(Client&&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }

  // False if the server is not who it should be; an empty name is not looked at.
  bool start_tls(const std::string& bundle_pem, const std::string& name,
                 int version = TLS1_3_VERSION, std::string_view protocols = "\x02h2\x08http/1.1") {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_min_proto_version(context_.get(), version);
    SSL_CTX_set_max_proto_version(context_.get(), version);
    const auto trusted = read_certificates(bundle_pem);
    for (const auto& each : *trusted) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), each.get());
    }
    tls_.reset(SSL_new(context_.get()));
    SSL_set_alpn_protos(tls_.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
    if (!name.empty()) SSL_set1_host(tls_.get(), name.c_str());
    SSL_set_fd(tls_.get(), socket_);
    return SSL_connect(tls_.get()) == 1;
  }
  [[nodiscard]] SSL* tls() const { return tls_.get(); }

  // False if the server has hung up.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = tls_ ? SSL_write(tls_.get(), text.data(), static_cast<int>(text.size()))
                                 : ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  // Nothing more will come from here.
  void half_close() { ::shutdown(socket_, SHUT_WR); }
  void close() {
    tls_.reset();
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  // The next answer; `head_only` if it is one to HEAD.
  Answer receive(bool head_only = false) {
    Answer answer;
    ResponseHead head;
    while ((head = read_response_head(rest_)).bytes == 0) {
      if (!read_more()) return answer;
    }
    answer.head = rest_.substr(0, head.bytes - 2);
    rest_.erase(0, head.bytes);
    const size_t size = head_only ? 0 : head.body_bytes;
    while (rest_.size() < size) {
      if (!read_more()) return answer;
    }
    answer.body = rest_.substr(0, size);
    rest_.erase(0, size);
    answer.status = head.status;
    return answer;
  }
  Answer ask(std::string_view text) {
    send(text);
    return receive();
  }
  // Everything until the server hangs up.
  std::string receive_all() {
    while (read_more()) continue;
    return std::exchange(rest_, "");
  }
  // True when the server has hung up, one way or the other; waits for it.
  bool ended() { return receive_all().empty(); }

 private:
  bool read_more() {
    std::array<char, 16384> buffer{};
    const ssize_t count = tls_ ? SSL_read(tls_.get(), buffer.data(), buffer.size())
                               : ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (count <= 0) return false;
    rest_.append(buffer.data(), static_cast<size_t>(count));
    return true;
  }

  int socket_ = -1;
  bool connected_ = false;
  OwnedTlsContext context_;
  OpensslOwned<SSL, SSL_free> tls_;
  std::string rest_;  // received, but not yet asked for
};

inline constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

}  // namespace phalanx::serve
