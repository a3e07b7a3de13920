// What time it is in the embedded cluster.
#pragma once

#include "base/check.h"
#include "base/time.h"

namespace phalanx::sim {

// Moves only when it is told to: by the run loop, from timer to timer in virtual time, or following
// the wall clock in real and scaled time.
class Clock {
 public:
  explicit Clock(Time start) : now_(start) {}

  [[nodiscard]] Time now() const { return now_; }
  void advance_to(Time time) {
    CHECK(time >= now_);
    now_ = time;
  }

 private:
  Time now_;
};

}  // namespace phalanx::sim
