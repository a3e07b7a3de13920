// HTTP exchanges with one API server, and timers: all that the rest of src/kube knows of the
// network and of time.
//
// Everything is called on one thread, and calls back on it, never from inside the call that asked.
// The real one is kube/curl_transport.h; tests have one whose network and time they play
// themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace phalanx::kube {

// Counts on while the machine sleeps, and nobody sets it: what leases are measured with. In
// microseconds, so that latencies can be told from it.
struct MonotonicClock {
  // NOLINTBEGIN(readability-identifier-naming): the names that every clock of the library has
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
  // NOLINTEND(readability-identifier-naming)

  static time_point now();
};
using Instant = MonotonicClock::time_point;

enum class Method : uint8_t { kGet, kPost, kPut, kPatch, kDelete };
std::string_view name_of(Method method);

struct HttpRequest {
  Method method = Method::kGet;
  std::string target = {};  // "/api/v1/nodes?limit=500"
  std::string content_type = {};
  std::string body = {};
  Duration timeout = std::chrono::seconds(30);  // for the whole exchange
};

struct HttpResponse {
  int status = 0;  // 0: there was no answer, and `error` says why
  std::string body = {};
  std::string error = {};
  std::optional<Duration> retry_after = {};  // the server asks for this much patience

  [[nodiscard]] bool answered() const { return status != 0; }
  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
};

inline HttpResponse no_answer(std::string why) {
  HttpResponse response;
  response.error = std::move(why);
  return response;
}

class Transport {
 public:
  using Id = uint64_t;  // of an exchange or a timer; never reused
  using Answered = std::function<void(HttpResponse)>;
  using Received = std::function<void(std::string_view)>;

  virtual ~Transport() = default;

  virtual Id send(HttpRequest request, Answered answered) = 0;
  // The body of a successful answer is handed over as it comes in, beginning with nothing when the
  // answer begins; `answered` has none then.
  virtual Id stream(HttpRequest request, Received received, Answered answered) = 0;
  virtual Id at(Instant when, std::function<void()> action) = 0;
  // Of any of them: nothing is called back any more. An exchange may have reached the server.
  virtual void cancel(Id id) = 0;
  // Exchanges from here on have connections that are opened from here on: those that are open may
  // be dead, which nobody is told of who has nothing to say on them.
  virtual void distrust_connections() = 0;
  [[nodiscard]] virtual Instant now() const = 0;

  Id after(Duration delay, std::function<void()> action) {
    return at(now() + delay, std::move(action));
  }
};

}  // namespace phalanx::kube
