// An HTTP server for tests that does exactly what it is told, well-behaved or not.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kube/cluster_access.h"

namespace phalanx::kube {

// Every connection gets a thread that runs the script.
class RawServer {
 public:
  class Connection {
   public:
    explicit Connection(int socket) : socket_(socket) {}
    // The head of the next request; empty: the client hung up.
    std::string request() {
      std::array<char, 4096> buffer{};
      size_t end = 0;
      while ((end = rest_.find("\r\n\r\n")) == std::string::npos) {
        const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
        if (count <= 0) return "";
        rest_.append(buffer.data(), static_cast<size_t>(count));
      }
      std::string head = rest_.substr(0, end + 4);
      rest_.erase(0, end + 4);
      return head;
    }
    void send(const std::string& text) const {
      ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    }
    void chunk(const std::string& text) const {
      std::array<char, 20> size{};
      std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
      send(size.data() + text + "\r\n");
    }
    void hang_up() const { ::shutdown(socket_, SHUT_RDWR); }

   private:
    int socket_;
    std::string rest_;
  };
  using Script = std::function<void(Connection&)>;

  explicit RawServer(Script script)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), script_(std::move(script)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 100), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  ~RawServer() { stop(); }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  void stop() {
    if (!acceptor_.joinable()) return;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    threads_.clear();
    for (const int socket : sockets_) ::close(socket);
    ::close(listener_);
  }
  [[nodiscard]] ClusterAccess access() const { return {.server = url_}; }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  void accept_all() {
    while (true) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      ++connections_;
      sockets_.push_back(socket);
      threads_.emplace_back([this, socket] {
        Connection connection(socket);
        script_(connection);
        connection.hang_up();
      });
    }
  }

  int listener_;
  Script script_;
  std::string url_;
  std::atomic<int> connections_ = 0;
  std::vector<int> sockets_;
  std::list<std::jthread> threads_;
  std::jthread acceptor_;
};

}  // namespace phalanx::kube
