// The time of day, for those who talk to the world: everything that decides is told the time
// instead (base/time.h).
#pragma once

#include "base/time.h"

namespace phalanx {

inline Time wall_now() {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

}  // namespace phalanx
