#include "base/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace phalanx {
namespace {

TEST(Base64, ExamplesOfTheStandard) {  // RFC 4648, section 10
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(from_base64(" Zm9v\nYmE=\n").value(), "fooba");
}

TEST(Base64, WhatIsNoneIsRefused) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "Zg==Zg==", "Zm9v====", "Zm9-", "Zh==", "="}) {
    EXPECT_FALSE(from_base64(text).has_value()) << text;
  }
}

RC_GTEST_PROP(Base64Property, WhatIsWrittenReadsBackTheSame, (const std::string& bytes)) {
  const auto back = from_base64(to_base64(bytes));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == bytes);
}

}  // namespace
}  // namespace phalanx
