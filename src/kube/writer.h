// Carries out the core's writes: many at a time, but not too many, each with its preconditions.
//
// - A successful write is answered with the object as the server returned it, unless the watch of
//   its kind has already told that version or a later one: then it would be old news, and of an
//   object that is gone meanwhile a ghost.
// - Nothing is sent unless `may_write` says so at that moment.
// - A write that fails for a reason that passes waits, longer each time, whatever becomes of the
//   others: a server that is back has all of them soon, and one that cannot do this one is not
//   asked all the time.
// - Events (kube/event_recorder.h) go last, and the oldest are dropped if there are too many: they
//   are for people, and nothing depends on them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/event.h"
#include "kube/backoff.h"
#include "kube/event_recorder.h"
#include "kube/object_decoder.h"
#include "kube/requests.h"
#include "kube/transport.h"

namespace phalanx::kube {

struct WriterOptions {
  size_t most_at_a_time = 32;
  double per_second = 0;  // 0: no limit of ours; the server's fairness decides
  int burst = 1;
};

// For metrics; durations in microseconds.
struct WriterObserver {
  std::function<void(std::chrono::microseconds waited)> sent;
  // `what` is "patch pods", "create events"; `code` is 0 if there was no answer.
  std::function<void(const std::string& what, int code, std::chrono::microseconds took)> answered;
};

class Writer {
 public:
  struct Surroundings {
    std::function<bool()> may_write;
    std::function<uint64_t(api::Kind)> seen;  // by the watch of the kind
    std::function<void(std::vector<core::Event>)> finished;
    // An object has this version now, which the watch has not told yet.
    std::function<void(api::Kind, uint64_t)> ahead_of_watch = {};
    WriterObserver observer = {};
  };

  Writer(Transport& transport, ObjectDecoder& decoder, const WriterOptions& options,
         Surroundings surroundings, uint64_t seed);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void submit(core::Write write);
  void submit(EventWrite write);
  // Something may have changed that may_write looks at.
  void wake() { pump(); }
  // Under way or waiting; Events do not count.
  [[nodiscard]] size_t unfinished() const { return queue_.size() + writes_under_way_; }
  // Sent and not answered; Events do not count.
  [[nodiscard]] size_t under_way() const { return writes_under_way_; }

 private:
  struct Waiting {
    core::Write write;
    Instant since;
  };

  void pump();
  // Whether the rate allows one more now; otherwise it comes back when it does.
  bool take_token();
  void send(Waiting waiting);
  void send(EventWrite write);
  void finish(const core::Write& write, const HttpResponse& response);
  void ended(Transport::Id id, const std::string& what, Instant begun,
             const HttpResponse& response);

  Transport& transport_;
  ObjectDecoder& decoder_;
  const WriterOptions options_;
  const Surroundings surroundings_;
  const uint64_t seed_;
  std::map<core::WriteId, Backoff> failing_;
  std::deque<Waiting> queue_;
  std::deque<EventWrite> events_;
  std::set<Transport::Id> under_way_;
  size_t writes_under_way_ = 0;
  double tokens_;
  Instant refilled_{};
  Transport::Id refill_timer_ = 0;
};

// The request of a write, with its preconditions in it.
HttpRequest request_of(const core::Write& write);

}  // namespace phalanx::kube
