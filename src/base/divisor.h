// Division by a number that stays the same over a whole column, without the divide instruction.
//
// Counting how often a request fits into 100 000 nodes is one division per node and resource; a
// hardware divide takes 10 to 40 cycles, a multiplication 3. For a divisor d and dividends
// 0 <= n < 2^63 the quotient is the high half of n × ceil(2^(63 + bits) / d), shifted: with
// bits = ceil(log2 d) the rounding error stays below one unit for every such n.
#pragma once

#include <bit>
#include <cstdint>

#include "base/check.h"

namespace phalanx {

class Divisor {
 public:
  explicit Divisor(int64_t value) {
    CHECK(value >= 1);
    const auto divisor = static_cast<uint64_t>(value);
    const auto bits = static_cast<int>(std::bit_width(divisor - 1));  // 0 for 1
    // 2^(63 + bits) / divisor lies in [2^63, 2^64), except that it is 2^63 exactly for powers of 2.
    const unsigned __int128 numerator = static_cast<unsigned __int128>(1) << (63 + bits);
    multiplier_ = static_cast<uint64_t>((numerator + divisor - 1) / divisor);
    shift_ = bits == 0 ? 0 : bits - 1;
    is_one_ = bits == 0;
  }

  // The quotient, rounded down; 0 for negative dividends.
  [[nodiscard]] int64_t divide(int64_t dividend) const {
    // Not a branch on the dividend: whether a node is full is nothing a processor could guess.
    const int64_t positive = dividend < 0 ? 0 : dividend;
    if (is_one_) return positive;
    const auto product =
        static_cast<unsigned __int128>(static_cast<uint64_t>(positive)) * multiplier_;
    return static_cast<int64_t>(static_cast<uint64_t>(product >> 64) >> shift_);
  }

 private:
  uint64_t multiplier_ = 0;
  int shift_ = 0;
  bool is_one_ = false;
};

}  // namespace phalanx
