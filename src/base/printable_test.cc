#include "base/printable.h"

#include <gtest/gtest.h>

namespace phalanx {
namespace {

TEST(PrintableTest, WhatATerminalWouldObeyIsEscaped) {
  EXPECT_EQ(printable("a\x1b[31mb\x07\x7f"), "a\\x1b[31mb\\x07\\x7f");
  EXPECT_EQ(printable("one\ntwo\r\tthree"), "one\\ntwo\\r\\tthree");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(PrintableTest, OrdinaryTextStays) {
  EXPECT_EQ(printable("größe ≥ 3, 100 %"), "größe ≥ 3, 100 %");
  EXPECT_EQ(printable("\xC2\xA7 1"), "\xC2\xA7 1");
  EXPECT_EQ(printable(""), "");
}

TEST(PrintableTest, ACutLeavesWholeCharacters) {
  EXPECT_EQ(cut_to("abc", 3), "abc");
  EXPECT_EQ(cut_to("abc", 2), "ab");
  EXPECT_EQ(cut_to("aö", 2), "a");
  EXPECT_EQ(cut_to("aö≥", 5), "aö");
  EXPECT_EQ(cut_to("≥", 2), "");
}

}  // namespace
}  // namespace phalanx
