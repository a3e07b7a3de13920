#include "manager/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace phalanx::manager {
namespace {

using std::chrono::microseconds;

TEST(Latency, OfNothingIsNothing) {
  EXPECT_EQ(Latency().quantile_ms(0.99), 0);
}

TEST(Latency, QuantilesAreRightToWithinThreePercent) {
  Random random(1);
  Latency latency;
  std::vector<int64_t> values;
  for (int i = 0; i < 10'000; ++i) {
    // From microseconds to minutes.
    const int64_t value = random.between(0, int64_t{1} << random.between(1, 26));
    values.push_back(value);
    latency.add(microseconds(value));
  }
  std::ranges::sort(values);
  for (const double share : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    const auto index = static_cast<size_t>(share * 9999);
    const double exact = static_cast<double>(values[index]) / 1000;
    EXPECT_GE(latency.quantile_ms(share) * 1.001, exact) << share;
    EXPECT_LE(latency.quantile_ms(share), exact * 1.032 + 0.001) << share;
  }
  EXPECT_EQ(latency.count(), 10'000U);
}

TEST(Latency, ExtremesHaveAPlace) {
  Latency latency;
  latency.add(microseconds(-5));
  latency.add(microseconds::max());
  EXPECT_EQ(latency.quantile_ms(0), 0);
  EXPECT_GT(latency.quantile_ms(1), 9e15);
}

}  // namespace
}  // namespace phalanx::manager
