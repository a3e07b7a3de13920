// How long things took, in little room: counts by size, from which quantiles can be told to within
// three percent. Adding costs some nanoseconds.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>

namespace phalanx::manager {

class Latency {
 public:
  void add(std::chrono::microseconds took) {
    const auto value = static_cast<uint64_t>(took.count() < 0 ? 0 : took.count());
    ++counts_[slot_of(value)];
    ++count_;
    sum_ += value;
  }

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] double sum_seconds() const { return static_cast<double>(sum_) * 1e-6; }
  // The value that this share of all is not above, in milliseconds; 0 if there is none.
  [[nodiscard]] double quantile_ms(double share) const {
    if (count_ == 0) return 0;
    const auto wanted = static_cast<uint64_t>(share * static_cast<double>(count_ - 1)) + 1;
    uint64_t seen = 0;
    for (size_t slot = 0; slot < counts_.size(); ++slot) {
      seen += counts_[slot];
      if (seen >= wanted) return static_cast<double>(upper_bound(slot)) * 1e-3;
    }
    return 0;
  }

 private:
  // Each power of two is divided into this many slots.
  static constexpr uint64_t kParts = 32;

  static size_t slot_of(uint64_t value) {
    if (value < kParts) return value;
    const auto power = static_cast<size_t>(std::bit_width(value) - std::bit_width(kParts));
    return power * kParts + (value >> power);
  }
  static uint64_t upper_bound(size_t slot) {
    if (slot < kParts) return slot;
    const size_t power = slot / kParts - 1;
    return (((slot % kParts) + kParts + 1) << power) - 1;
  }

  std::array<uint64_t, 64 * kParts> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace phalanx::manager
