// What time it is by the API server.
//
// Times that replicas leave for each other (when something was admitted, until when it stays away)
// mean the same to all of them only if they are taken from one clock. That of the API server is the
// one they share, and that the times of all other objects come from. Its answers tell it, to the
// second.
//
// In between time passes by the monotonic clock. The clock of this machine is only asked what it
// says: when the process starts, and when an answer contradicts what was believed, because it is
// finer than the answers. So a clock that somebody sets, by hours, changes nothing.
//
// One thread observes, any may ask.
#pragma once

#include <atomic>

#include "base/time.h"
#include "base/wall_clock.h"
#include "kube/transport.h"

namespace phalanx::kube {

class ServerClock {
 public:
  // Until an answer says otherwise this machine is right.
  ServerClock() : ServerClock(wall_now(), MonotonicClock::now()) {}
  ServerClock(Time wall, Instant at);

  // An answer says when it was made, which was between these two. `wall` is what this machine's
  // clock says now that it is received.
  void observe(Time said, Instant sent, Instant received, Time wall);

  [[nodiscard]] Time at(Instant instant) const;
  [[nodiscard]] Time now() const { return at(MonotonicClock::now()); }

 private:
  std::atomic<Duration::rep> zero_;  // what time it was when the monotonic clock said 0
};

}  // namespace phalanx::kube
