// Random numbers that a seed decides, the same on every machine and in every build.
#pragma once

#include <cstdint>

namespace phalanx {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // splitmix64.
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  // Below `bound`, which is not 0. The bias is below 2^-32 for every bound that is used here.
  uint64_t below(uint64_t bound) { return next() % bound; }
  // Within [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }

  // A generator made from this goes on where this one is.
  [[nodiscard]] uint64_t state() const { return state_; }

 private:
  uint64_t state_;
};

}  // namespace phalanx
