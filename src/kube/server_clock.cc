#include "kube/server_clock.h"

namespace phalanx::kube {
namespace {

// Answers name the second that had begun.
constexpr Duration kResolution = std::chrono::seconds(1);
// Clocks that are kept by the network differ by less, and so do those of several API servers.
constexpr Duration kTolerance = std::chrono::seconds(1);

}  // namespace

void ServerClock::observe(Time said, Time sent, Time received) {
  const Duration least = said - received;
  const Duration most = said + kResolution - sent;
  const auto explains = [&](Duration offset) {
    return offset >= least - kTolerance && offset <= most + kTolerance;
  };
  if (explains(offset())) return;
  const Duration middle = least + (most - least) / 2;
  offset_ = explains(Duration(0)) ? 0 : middle.count();
}

}  // namespace phalanx::kube
