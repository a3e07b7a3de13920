// A network and a clock that a test plays itself.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "kube/transport.h"

namespace phalanx::kube {

class FakeTransport final : public Transport {
 public:
  struct Exchange {
    Id id = 0;
    HttpRequest request;
    Received received;  // of a stream
    Answered answered;
    Instant sent{};
  };

  Id send(HttpRequest request, Answered answered) override {
    return add({next_, std::move(request), nullptr, std::move(answered), now_});
  }
  Id stream(HttpRequest request, Received received, Answered answered) override {
    return add({next_, std::move(request), std::move(received), std::move(answered), now_});
  }
  Id at(Instant when, std::function<void()> action) override {
    timers_.emplace(std::pair(when, next_), std::move(action));
    return next_++;
  }
  void cancel(Id id) override {
    std::erase_if(exchanges_, [&](const Exchange& exchange) { return exchange.id == id; });
    std::erase_if(timers_, [&](const auto& timer) { return timer.first.second == id; });
  }
  void distrust_connections() override {}
  [[nodiscard]] Instant now() const override { return now_; }

  // What was sent and not answered yet, oldest first.
  [[nodiscard]] const std::deque<Exchange>& exchanges() const { return exchanges_; }
  [[nodiscard]] size_t count(std::string_view target_part) const {
    size_t count = 0;
    for (const Exchange& exchange : exchanges_) {
      count += exchange.request.target.find(target_part) != std::string::npos ? 1 : 0;
    }
    return count;
  }
  // The oldest one whose target holds this.
  const HttpRequest& request(std::string_view target_part) const {
    return find(target_part)->request;
  }

  void answer(std::string_view target_part, HttpResponse response) {
    const auto found = find(target_part);
    const Answered answered = found->answered;
    exchanges_.erase(found);
    answered(std::move(response));
  }
  void answer(std::string_view target_part, int status, std::string body) {
    HttpResponse response;
    response.status = status;
    response.body = std::move(body);
    answer(target_part, std::move(response));
  }
  void push(std::string_view target_part, std::string_view data) {
    const auto found = find(target_part);
    const Received received = found->received;
    CHECK(received);
    received(data);
  }

  // As if the process had been stopped meanwhile.
  void sleep(Duration duration) { now_ += duration; }
  // Lets time pass, and timers go off in their order.
  void pass(Duration duration) {
    const Instant until = now_ + duration;
    while (!timers_.empty() && timers_.begin()->first.first <= until) {
      auto timer = timers_.extract(timers_.begin());
      now_ = std::max(now_, timer.key().first);
      timer.mapped()();
    }
    now_ = until;
  }

 private:
  using Exchanges = std::deque<Exchange>;

  Id add(Exchange exchange) {
    exchanges_.push_back(std::move(exchange));
    return next_++;
  }
  [[nodiscard]] Exchanges::const_iterator find(std::string_view target_part) const {
    for (auto found = exchanges_.begin(); found != exchanges_.end(); ++found) {
      if (found->request.target.find(target_part) != std::string::npos) return found;
    }
    CHECK(false && "nobody asked for that");
    return exchanges_.end();
  }

  Id next_ = 1;
  Instant now_{std::chrono::hours(1)};
  Exchanges exchanges_;
  std::map<std::pair<Instant, Id>, std::function<void()>> timers_;
};

}  // namespace phalanx::kube
