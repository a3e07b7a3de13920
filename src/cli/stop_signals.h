// SIGINT, SIGTERM and SIGHUP as a wish: the first is heard and the program ends in good order, the
// second ends it at once.
//
// Only one object at a time; signals have what they had before when it goes.
#pragma once

#include <signal.h>

#include <array>
#include <chrono>

namespace phalanx::cli {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that came first; 0: none.
  [[nodiscard]] int received() const;
  // A file descriptor that is readable as soon as one came.
  [[nodiscard]] int file() const { return pipe_[0]; }
  // Waits until then, or until a signal comes; whether one did.
  bool wait_until(std::chrono::steady_clock::time_point time) const;

  // What the second signal does before it ends the program. Must be safe in a signal handler.
  static void before_sudden_end(void (*restore)());

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

  std::array<int, 2> pipe_{-1, -1};
  std::array<struct sigaction, kSignals.size()> old_{};
  sigset_t old_mask_{};
};

}  // namespace phalanx::cli
