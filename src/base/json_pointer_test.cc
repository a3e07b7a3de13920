#include "base/json_pointer.h"

#include <gtest/gtest.h>

namespace phalanx {
namespace {

TEST(JsonPointerTest, ParsesWhatItWrites) {
  const JsonPointer steps{"spec", "", "a/b", "~", "~1", "0"};
  std::string text;
  for (const std::string& step : steps) append_json_pointer_step(text, step);
  EXPECT_EQ(text, "/spec//a~1b/~0/~01/0");
  EXPECT_EQ(parse_json_pointer(text).value(), steps);
  EXPECT_TRUE(parse_json_pointer("").value().empty());
}

TEST(JsonPointerTest, TextsThatAreNone) {
  EXPECT_EQ(parse_json_pointer("spec").error().message,
            "\"spec\" is no JSON pointer; begin it with \"/\"");
  for (const std::string_view text : {"/~", "/a~2", "/~~0"}) {
    EXPECT_FALSE(parse_json_pointer(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace phalanx
