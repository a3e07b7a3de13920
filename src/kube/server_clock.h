// What time it is by the API server.
//
// Times that replicas leave for each other (when something was admitted, until when it stays away)
// mean the same to all of them only if they are taken from one clock. That of the API server is the
// one they share, and that the times of all other objects come from. Its answers tell it, to the
// second; the clock of this machine is corrected if it is off by more than that and the answer's
// way can explain.
//
// One thread observes, any may ask.
#pragma once

#include <atomic>

#include "base/time.h"
#include "base/wall_clock.h"

namespace phalanx::kube {

class ServerClock {
 public:
  // An answer says when it was made; by this machine's clock that was between these two.
  void observe(Time said, Time sent, Time received);

  // What has to be added to this machine's clock.
  [[nodiscard]] Duration offset() const { return Duration(offset_.load()); }
  [[nodiscard]] Time now() const { return wall_now() + offset(); }

 private:
  std::atomic<Duration::rep> offset_ = 0;
};

}  // namespace phalanx::kube
