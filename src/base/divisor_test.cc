#include "base/divisor.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace phalanx {
namespace {

TEST(Divisor, AgreesWithTheDivideInstruction) {
  std::mt19937_64 random(7);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (int round = 0; round < 200000; ++round) {
    const auto value = std::max<int64_t>(1, static_cast<int64_t>(random() >> (1 + random() % 63)));
    const auto dividend = static_cast<int64_t>(random() >> (1 + random() % 63));
    const Divisor divisor(value);
    ASSERT_EQ(divisor.divide(dividend), dividend / value) << dividend << " / " << value;
    // The hardest dividends are those just below and at a multiple, near the top of the range.
    const int64_t multiple = kMax / value * value;
    ASSERT_EQ(divisor.divide(multiple), multiple / value) << multiple << " / " << value;
    ASSERT_EQ(divisor.divide(multiple - 1), (multiple - 1) / value) << multiple << " / " << value;
    ASSERT_EQ(divisor.divide(kMax), kMax / value) << value;
  }
}

TEST(Divisor, NegativeCapacityHoldsNothing) {
  EXPECT_EQ(Divisor(3).divide(-1), 0);
  EXPECT_EQ(Divisor(1).divide(std::numeric_limits<int64_t>::min()), 0);
}

}  // namespace
}  // namespace phalanx
