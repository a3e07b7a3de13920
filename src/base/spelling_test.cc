#include "base/spelling.h"

#include <gtest/gtest.h>

#include <array>

namespace phalanx {
namespace {

constexpr std::array<std::string_view, 4> kNames{"apply", "patch", "delete", "becomes"};

TEST(SpellingTest, FindsTheNearestName) {
  EXPECT_EQ(closest("aply", kNames), "apply");
  EXPECT_EQ(closest("Patch", kNames), "patch");
  EXPECT_EQ(closest("deleted", kNames), "delete");
}

TEST(SpellingTest, OfNamesThatBeginAlikeTheNearerOne) {
  constexpr std::array<std::string_view, 2> kAlike{"default", "defaultRequest"};
  EXPECT_EQ(closest("defaultRequests", kAlike), "defaultRequest");
  EXPECT_EQ(closest("defaults", kAlike), "default");
}

TEST(SpellingTest, SaysNothingIfNothingIsNear) {
  EXPECT_EQ(closest("zebra", kNames), "");
  EXPECT_EQ(closest(std::string(1000, 'a'), kNames), "");
}

TEST(SpellingTest, SuggestsOrLists) {
  EXPECT_EQ(suggestion("becoms", kNames), "; did you mean `becomes`?");
  EXPECT_EQ(suggestion("zebra", kNames), "; there are apply, patch, delete, becomes");
}

}  // namespace
}  // namespace phalanx
