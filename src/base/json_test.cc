#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace phalanx {
namespace {

json::value parsed(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << (value ? "" : value.error().message);
  return value.value_or(nullptr);
}

// Reads from a document and gives the first problem, or "".
template <typename Read>
std::string problem_of(std::string_view text, Read read) {
  const json::value document = parsed(text);
  DecodeStatus status;
  read(JsonReader(&document, "pod", status));
  EXPECT_EQ(status.ok(), !status.error());
  return status.error() ? status.error()->message : "";
}

TEST(ParseJson, ErrorsNameLineAndColumn) {
  const auto cut = parse_json("{\"a\": 1,\n \"b\": ]");
  ASSERT_FALSE(cut.has_value());
  EXPECT_TRUE(cut.error().message.starts_with("line 2, column ")) << cut.error().message;
  for (std::string_view text : {"", " ", "{", "{} x", "{}{}", "nul", "\"\\x\"", "[1,]"}) {
    EXPECT_FALSE(parse_json(text).has_value()) << text;
  }
  EXPECT_EQ(parsed(" [1] \n"), (json::array{1}));
}

TEST(ParseJson, DeepNestingIsRefused) {
  EXPECT_TRUE(parse_json(std::string(60, '[') + std::string(60, ']')).has_value());
  EXPECT_FALSE(parse_json(std::string(70, '[') + std::string(70, ']')).has_value());
  EXPECT_FALSE(parse_json(std::string(1000000, '[')).has_value());
}

TEST(PrettyJson, ReadsBackTheSame) {
  const std::string text = R"({"a":[],"b":{},"c":[1,"x",null],"d":{"e":true,"\"":1.5}})";
  EXPECT_EQ(pretty_json(parsed(R"({"a":[1],"b":{}})")),
            "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
  EXPECT_EQ(parsed(pretty_json(parsed(text))), parsed(text));
}

TEST(JsonReader, ReadsEveryKindOfField) {
  const json::value document = parsed(
      R"({"text":"x","yes":true,"number":7,"exact":2.0,"list":["a","b"],"map":{"k":"v"},
          "inner":{"deep":"y"},"null":null})");
  DecodeStatus status;
  const JsonReader reader(&document, "", status);
  EXPECT_EQ(reader.string("text"), "x");
  EXPECT_EQ(reader.string("absent", "z"), "z");
  EXPECT_EQ(reader.optional_string("null"), std::nullopt);
  EXPECT_TRUE(reader.boolean("yes", false));
  EXPECT_TRUE(reader.boolean("absent", true));
  EXPECT_EQ(reader.integer("number", 0, 0, 10), 7);
  EXPECT_EQ(reader.integer("exact", 0, 0, 10), 2);
  EXPECT_EQ(reader.integer("absent", 3, 0, 10), 3);
  EXPECT_EQ(reader.strings("list"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(reader.string_map("map"), (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(reader.object("inner").string("deep"), "y");
  EXPECT_FALSE(reader.has("null"));
  EXPECT_FALSE(reader.object("absent").present());
  EXPECT_FALSE(reader.object("absent").object("deeper").present());
  EXPECT_TRUE(status.ok());
}

TEST(JsonReader, ProblemsNameTheFieldByItsPath) {
  const auto text = R"({"spec":{"name":1,"list":["a",2],"flag":"yes","size":12,"part":1.5}})";
  const auto in_spec = [&](auto read) {
    return problem_of(text, [&](const JsonReader& reader) { read(reader.object("spec")); });
  };
  EXPECT_EQ(in_spec([](const JsonReader& r) { (void)r.string("name"); }),
            "pod.spec.name: must be a string");
  EXPECT_EQ(in_spec([](const JsonReader& r) { (void)r.required_string("title"); }),
            "pod.spec.title: is required");
  EXPECT_EQ(in_spec([](const JsonReader& r) { (void)r.strings("list"); }),
            "pod.spec.list[1]: must be a string");
  EXPECT_EQ(in_spec([](const JsonReader& r) { (void)r.strings("name"); }),
            "pod.spec.name: must be a list");
  EXPECT_EQ(in_spec([](const JsonReader& r) { (void)r.boolean("flag", true); }),
            "pod.spec.flag: must be true or false");
  EXPECT_EQ(in_spec([](const JsonReader& r) { (void)r.integer("size", 0, 1, 10); }),
            "pod.spec.size: is 12, but must be between 1 and 10");
  EXPECT_EQ(in_spec([](const JsonReader& r) { (void)r.integer("part", 0, 1, 10); }),
            "pod.spec.part: must be a whole number");
  EXPECT_EQ(in_spec([](const JsonReader& r) { (void)r.object("name"); }),
            "pod.spec.name: must be an object");
  EXPECT_EQ(in_spec([](const JsonReader& r) { (void)r.string_map("name"); }),
            "pod.spec.name: must be an object");
  EXPECT_EQ(in_spec([](const JsonReader& r) { r.allow_only({"name", "list", "flag", "part"}); }),
            "pod.spec.size: unknown field");
}

TEST(JsonReader, AProblemOfTheWholeObjectHasItsPath) {
  EXPECT_EQ(
      problem_of(R"({"spec":{}})",
                 [](const JsonReader& reader) { reader.object("spec").report("", "is required"); }),
      "pod.spec: is required");
}

TEST(JsonReader, TheFirstProblemStays) {
  EXPECT_EQ(problem_of(R"({"a":1,"b":2})",
                       [](const JsonReader& reader) {
                         (void)reader.string("b");
                         (void)reader.string("a");
                       }),
            "pod.b: must be a string");
}

TEST(JsonReader, NumbersBeyond64BitsAreRefused) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const char* number : {"18446744073709551615", "1e30", "-1e30"}) {
    const std::string text = std::string(R"({"n":)") + number + "}";
    EXPECT_EQ(
        problem_of(text, [](const JsonReader& reader) { (void)reader.integer("n", 0, 0, kMax); }),
        "pod.n: must be a whole number")
        << number;
  }
}

}  // namespace
}  // namespace phalanx
