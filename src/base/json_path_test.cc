#include "base/json_path.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace phalanx {
namespace {

std::string without_nulls(std::string_view text) {
  json::value document = *parse_json(text);
  drop_nulls(document);
  return json::serialize(document);
}

TEST(JsonPath, NullsAreDroppedFromObjectsOnly) {
  EXPECT_EQ(without_nulls(R"({"a":null,"b":{"c":null,"d":1},"e":[null,{"f":null}]})"),
            R"({"b":{"d":1},"e":[null,{}]})");
  EXPECT_EQ(without_nulls("null"), "null");
}

TEST(JsonPath, FieldsThatAreKeptStayInTheirOrder) {
  json::value document = *parse_json(R"({"d":1,"a":2,"c":3,"b":4})");
  keep_fields(document.get_object(), [](const auto& field) { return field.key() != "a"; });
  EXPECT_EQ(json::serialize(document), R"({"d":1,"c":3,"b":4})");
  keep_fields(document.get_object(), [](const auto&) { return true; });
  EXPECT_EQ(json::serialize(document), R"({"d":1,"c":3,"b":4})");
  keep_fields(document.get_object(), [](const auto&) { return false; });
  EXPECT_EQ(json::serialize(document), "{}");
}

// One by one this would take minutes.
TEST(JsonPath, ManyFieldsAreRemovedAtOnce) {
  constexpr int kFields = 300'000;
  json::value document = json::object();
  for (int i = 0; i < kFields; ++i) document.get_object()[std::to_string(i)] = nullptr;
  document.get_object()["last"] = 1;
  drop_nulls(document);
  EXPECT_EQ(json::serialize(document), R"({"last":1})");
}

TEST(JsonPath, ValuesAreCountedAtAnyDepth) {
  EXPECT_EQ(count_values(*parse_json("1")), 1U);
  EXPECT_EQ(count_values(*parse_json(R"({"a":[1,2,{}],"b":null})")), 6U);
}

TEST(JsonPath, DepthIsThatOfTheDeepestValue) {
  EXPECT_EQ(depth_of(*parse_json("1")), 0U);
  EXPECT_EQ(depth_of(*parse_json("[]")), 1U);
  EXPECT_EQ(depth_of(*parse_json(R"({"a":[1,2,{}],"b":[null]})")), 3U);
}

TEST(JsonPath, ValuesAreTheSameWhereBoostSaysSo) {
  std::vector<json::value> values;
  for (const std::string_view text :
       {"null", "1", "1.0", "18446744073709551615", "-1", "true", R"("a")", "[]", "[1,2]", "[2,1]",
        "[1]", "{}", R"({"a":1,"b":[{}]})", R"({"b":[{}],"a":1})", R"({"a":1,"b":[{"c":null}]})",
        R"({"a":1,"b":null})", R"({"a":1,"c":[{}]})", R"({"a":1})"}) {
    values.push_back(*parse_json(text));
  }
  values.emplace_back(uint64_t{1});
  for (const json::value& a : values) {
    for (const json::value& b : values) EXPECT_EQ(same_value(&a, &b), a == b) << a << " " << b;
    EXPECT_EQ(same_value(&a, nullptr), a.is_null()) << a;
    EXPECT_EQ(same_value(nullptr, &a), a.is_null()) << a;
  }
}

}  // namespace
}  // namespace phalanx
