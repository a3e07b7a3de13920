// The transport over libcurl: TLS with the server verified, connections that are kept, proxies, any
// number of exchanges at a time on one thread.
//
// Whoever owns it runs it: run_once() waits until there is something to do, and does it. Only
// post() may be called from other threads.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mailbox.h"
#include "kube/authenticator.h"
#include "kube/cluster_access.h"
#include "kube/server_clock.h"
#include "kube/transport.h"

namespace phalanx::kube {

class CurlLoop;

class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(ClusterAccess access);
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  Id send(HttpRequest request, Answered answered) override;
  Id stream(HttpRequest request, Received received, Answered answered) override;
  Id at(Instant when, std::function<void()> action) override;
  void cancel(Id id) override;
  // Does so by itself when an exchange on a connection that had been kept is not answered in time.
  void distrust_connections() override;
  [[nodiscard]] Instant now() const override { return MonotonicClock::now(); }

  // Waits at most this long if there is nothing to do; returns when something was done.
  void run_once(Duration at_most);
  // For programs that do one thing after another: sends, and runs until the answer is there.
  HttpResponse ask(HttpRequest request);
  // From any thread: whoever asks, now or later, has no answer, at once.
  void interrupt();

  // From any thread: runs the action on the thread of run_once().
  void post(std::function<void()> action);

  [[nodiscard]] const ClusterAccess& access() const { return access_; }
  // By what the answers say; may be asked from any thread.
  [[nodiscard]] const ServerClock& clock() const { return clock_; }

 private:
  struct Exchange;
  class Handles;

  Id start(HttpRequest request, Received received, Answered answered);
  void begin(Id id, const Result<Credentials>& credentials);
  void run_posted();
  void run_timers();
  void hand_over_data();
  void finish_exchanges();

  const ClusterAccess access_;
  std::unique_ptr<CurlLoop> loop_;
  std::unique_ptr<Handles> handles_;
  Mailbox<std::function<void()>> posted_;
  std::map<Id, std::unique_ptr<Exchange>> exchanges_;
  std::map<std::pair<Instant, Id>, std::function<void()>> timers_;
  std::map<Id, Instant> timer_times_;
  std::vector<Id> with_data_;
  Id next_ = 1;
  ServerClock clock_;
  std::atomic<bool> interrupted_ = false;
  // Last: a plugin that still runs posts to the members above.
  std::unique_ptr<Authenticator> authenticator_;
};

}  // namespace phalanx::kube
