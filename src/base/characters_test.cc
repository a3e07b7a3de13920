#include "base/characters.h"

#include <gtest/gtest.h>

namespace phalanx {
namespace {

TEST(CharactersTest, ACharacterMayHaveSeveralBytes) {
  EXPECT_EQ(length_in_characters(""), 0U);
  EXPECT_EQ(length_in_characters("abc"), 3U);
  EXPECT_EQ(length_in_characters("Z\xC3\xBCrich"), 6U);
  EXPECT_EQ(length_in_characters("\xF0\x9F\x98\x80\xE2\x82\xAC"), 2U);
}

}  // namespace
}  // namespace phalanx
