#include "base/strict_json.h"

#include <gtest/gtest.h>

namespace phalanx {
namespace {

std::string read(std::string_view text) {
  const auto document = parse_strict_json(text);
  return document ? json::serialize(*document) : document.error().message;
}

TEST(StrictJson, DocumentsAreReadWhole) {
  EXPECT_EQ(read(R"( {"a":[1,-2,true,null,"x\u00e9\n"],"b":{},"c":[]} )"),
            R"({"a":[1,-2,true,null,"xé\n"],"b":{},"c":[]})");
  EXPECT_EQ(read(R"({"a\u0062":1,"ab":{"ab":2}})").substr(0, 7), "byte 26");
  EXPECT_EQ(read(R"({"ab":1,"b":{"ab":2}})"), R"({"ab":1,"b":{"ab":2}})");
  EXPECT_EQ(read("5"), "5");
}

TEST(StrictJson, NumbersOfEverySize) {
  EXPECT_EQ(read("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(read("9223372036854775808"), "9223372036854775808");
  EXPECT_EQ(read("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(read("18446744073709551616"), "1.8446744073709552E19");
}

TEST(StrictJson, AKeyMayStandOnlyOnceInAnObject) {
  EXPECT_EQ(read(R"({"a":{"uid":"x","b":1,"uid":"y"}})"),
            "byte 31: the key \"uid\" stands twice in one object");
  EXPECT_EQ(read(R"([{"a":1},{"a":2}])"), R"([{"a":1},{"a":2}])");
}

// However they are written, and whatever objects stand in between.
TEST(StrictJson, KeysAreComparedAsTheyAreMeant) {
  const auto twice = [](const std::string& key) {
    return "the key \"" + key.substr(0, 64) + "\" stands twice in one object";
  };
  const auto refused = [&](const std::string& text, const std::string& key) {
    EXPECT_NE(read(text).find(twice(key)), std::string::npos) << text.substr(0, 200);
  };
  refused(R"({"\u0061b":1,"c":{"d":1,"\u0065":{}},"ab":2})", "ab");
  refused(R"({"ab":1,"c":{"\u0064":1,"e":[{"\u0065":1}]},"\u0061b":2})", "ab");
  refused(R"({"a\u0062":1,"c":[{"d":1},{}],"\u0061b":2})", "ab");
  refused(R"({"":1,"":2})", "");
  EXPECT_EQ(read(R"({"\u0061":{"\u0061":{"a":1},"b":1},"\u0062":[{"a":1},{"\u0061":1}]})"),
            R"({"a":{"a":{"a":1},"b":1},"b":[{"a":1},{"a":1}]})");
  // Longer than the parser has room for in one piece.
  const std::string text(10'000, 'k');
  refused("{\"" + text + "\":1,\"\\u006b" + text.substr(1) + "\":2}", text);
  EXPECT_TRUE(parse_strict_json("{\"" + text + "\":1,\"\\u006b" + text + "\":2}").has_value());
  std::string many = "{";
  for (int i = 0; i < 5'000; ++i) many += "\"f" + std::to_string(i) + "\":0,";
  refused(many + "\"f1234\":1}", "f1234");
  EXPECT_TRUE(parse_strict_json(many + "\"f5000\":1}").has_value());
}

TEST(StrictJson, WhatIsNoJsonIsRefused) {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "[1,]",
                                      "{'a':1}",
                                      "nul",
                                      "tru",
                                      "{\"a\":1} x",
                                      "1 2",
                                      "{} {}",
                                      "// comment\n{}",
                                      "\"\xff\"",
                                      "\"\xc0\xaf\"",
                                      "\"\xed\xa0\x80\"",
                                      "{\"\xff\":1}",
                                      "\"\\ud800\"",
                                      "\"a\nb\"",
                                      "NaN",
                                      "01",
                                      "+1",
                                      "\x00"}) {
    EXPECT_FALSE(parse_strict_json(text).has_value()) << text;
  }
  EXPECT_EQ(read("{} {}"), "byte 3: not valid JSON: something follows the document");
}

TEST(StrictJson, TheNumberOfValuesIsBounded) {
  const auto list_of = [](size_t count) {
    std::string text = "[0";
    for (size_t i = 1; i < count; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_TRUE(parse_strict_json(list_of(3'999'999)).has_value());  // and the list itself
  const auto refused = parse_strict_json(list_of(4'000'000));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("more than 4000000 values"), std::string::npos);
}

// A hash that can be foreseen makes an object of n fields cost n * n: they may have some.
TEST(StrictJson, TheNumberOfFieldsIsBounded) {
  const auto object_of = [](size_t count) {
    std::string text = "{\"0\":0";
    for (size_t i = 1; i < count; ++i) text += ",\"" + std::to_string(i) + "\":0";
    return text + "}";
  };
  const auto list_of = [](size_t count, const std::string& element) {
    std::string text = "[" + element;
    for (size_t i = 1; i < count; ++i) text += "," + element;
    return text + "]";
  };
  EXPECT_TRUE(parse_strict_json(object_of(10'000)).has_value());
  EXPECT_NE(read(object_of(10'001)).find("objects with too many fields"), std::string::npos);
  // Together, too; but any number of those that have few.
  EXPECT_TRUE(parse_strict_json(list_of(12, object_of(2000))).has_value());
  EXPECT_FALSE(parse_strict_json(list_of(26, object_of(2000))).has_value());
  EXPECT_TRUE(parse_strict_json(list_of(200, object_of(1000))).has_value());
}

TEST(StrictJson, DepthIsBounded) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(read(nested(64)), nested(64));
  EXPECT_NE(read(nested(65)).find("nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(read(std::string(1'000'000, '[')).find("nested deeper"), std::string::npos);
}

}  // namespace
}  // namespace phalanx
