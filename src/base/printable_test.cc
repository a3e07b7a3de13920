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

TEST(PrintableTest, WhatHidesOtherTextIsEscaped) {
  EXPECT_EQ(printable("job-\u202Eniart"), "job-\\u202eniart");
  EXPECT_EQ(printable("a\u2028b\u200B\u2066c\uFEFF\u061C"),
            "a\\u2028b\\u200b\\u2066c\\ufeff\\u061c");
  EXPECT_EQ(printable("\u2027\u2030\u0627\uFF01\xE2\x80"), "\u2027\u2030\u0627\uFF01\xE2\x80");
}

TEST(PrintableTest, OrdinaryTextStays) {
  EXPECT_EQ(printable("größe ≥ 3, 100 %"), "größe ≥ 3, 100 %");
  EXPECT_EQ(printable("\xC2\xA7 1"), "\xC2\xA7 1");
  EXPECT_EQ(printable(""), "");
}

TEST(PrintableTest, WhatIsNoUtf8IsReplaced) {
  const std::string good = "a\n\u00e9\u20ac\U0001F600";
  EXPECT_EQ(valid_utf8(good), good);
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("a\xFFz"), "a" + bad + "z");
  EXPECT_EQ(valid_utf8("\xC3"), bad) << "cut off";
  EXPECT_EQ(valid_utf8("\xC0\x80"), bad + bad) << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), bad + bad + bad) << "a surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), bad + bad + bad + bad) << "beyond U+10FFFF";
}

TEST(PrintableTest, ACutLeavesWholeCharacters) {
  EXPECT_EQ(cut_to("abc", 3), "abc");
  EXPECT_EQ(cut_to("abc", 2), "ab");
  EXPECT_EQ(cut_to("aö", 2), "a");
  EXPECT_EQ(cut_to("aö≥", 5), "aö");
  EXPECT_EQ(cut_to("≥", 2), "");
}

TEST(PrintableTest, WhatWasShortenedSaysSo) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abc...");
  EXPECT_EQ(shortened("äbcdefg", 4), "...");
  EXPECT_EQ(excerpt("short"), "short");
  EXPECT_EQ(excerpt(std::string(1 << 20, 'x')), std::string(197, 'x') + "...");
}

}  // namespace
}  // namespace phalanx
