// The way of an answer from whoever has it, on any thread, to the connection that waits for it.
// Only for the .cc files of serve.
#pragma once

#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "serve/message.h"

namespace phalanx::serve {

// Where the answer to one request is waited for.
struct PendingAnswer {
  explicit PendingAnswer(boost::asio::io_context& io) : wake_up(io) {}

  boost::asio::steady_timer wake_up;  // runs out when nobody answers; cancelled when somebody did
  std::optional<Response> response;
};

// The one thing that all copies of a Reply share. It keeps the io_context alive, but nothing that
// waits inside it may hold one of these, or neither would ever be freed.
class ReplyOnce {
 public:
  ReplyOnce(std::shared_ptr<boost::asio::io_context> io, std::weak_ptr<PendingAnswer> pending)
      : io_(std::move(io)), pending_(std::move(pending)) {}
  ReplyOnce(const ReplyOnce&) = delete;
  ReplyOnce& operator=(const ReplyOnce&) = delete;
  ~ReplyOnce() {
    try {
      send({.status = 500, .body = "the request was not answered\n"});
    } catch (...) {  // no memory: the request runs into its time-out instead
      return;
    }
  }

  void send(Response response) {
    if (sent_.exchange(true)) return;
    boost::asio::dispatch(*io_, [pending = pending_, response = std::move(response)]() mutable {
      const auto waiting = pending.lock();
      if (!waiting) return;  // the client is gone, or had to be told something else
      waiting->response = std::move(response);
      waiting->wake_up.cancel();
    });
  }

 private:
  std::shared_ptr<boost::asio::io_context> io_;
  std::weak_ptr<PendingAnswer> pending_;
  std::atomic<bool> sent_ = false;
};

}  // namespace phalanx::serve
