#include "base/shared_values.h"

#include <gtest/gtest.h>

#include <string>

namespace phalanx {
namespace {

TEST(SharedValuesTest, EqualOnesAreOne) {
  SharedValues<std::string> values;
  const auto a = values.take("cpu");
  const auto b = values.take("gpu");
  const auto c = values.take("cpu");
  EXPECT_EQ(values.size(), 2);
  EXPECT_TRUE(a == c);
  EXPECT_FALSE(a == b);
  EXPECT_EQ(*b, "gpu");
  EXPECT_EQ(a->size(), 3);
}

TEST(SharedValuesTest, OneGoesWithItsLastUser) {
  SharedValues<std::string> values;
  const auto a = values.take("cpu");
  const auto b = values.take("cpu");
  values.give_back(a);
  EXPECT_EQ(values.size(), 1);
  EXPECT_EQ(*b, "cpu");
  values.give_back(b);
  EXPECT_EQ(values.size(), 0);
}

}  // namespace
}  // namespace phalanx
