#include "kube/server_clock.h"

namespace phalanx::kube {
namespace {

// Answers name the second that had begun.
constexpr Duration kResolution = std::chrono::seconds(1);
// Clocks that are kept by the network differ by less, and so do those of several API servers.
constexpr Duration kTolerance = std::chrono::seconds(1);

Duration elapsed(Instant instant) {
  return std::chrono::floor<Duration>(instant.time_since_epoch());
}

}  // namespace

ServerClock::ServerClock(Time wall, Instant at)
    : zero_((wall.time_since_epoch() - elapsed(at)).count()) {}

Time ServerClock::at(Instant instant) const {
  return Time(Duration(zero_.load()) + elapsed(instant));
}

void ServerClock::observe(Time said, Instant sent, Instant received, Time wall) {
  const Duration least = said.time_since_epoch() - elapsed(received);
  const Duration most = said.time_since_epoch() + kResolution - elapsed(sent);
  const auto explains = [&](Duration zero) {
    return zero >= least - kTolerance && zero <= most + kTolerance;
  };
  if (explains(Duration(zero_.load()))) return;
  const Duration own = wall.time_since_epoch() - elapsed(received);
  const Duration middle = least + (most - least) / 2;
  zero_ = (explains(own) ? own : middle).count();
}

}  // namespace phalanx::kube
