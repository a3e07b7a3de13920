#include "base/json_patch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/yaml.h"

namespace phalanx {
namespace {

json::value yaml(std::string_view text) {
  // The marker keeps a text in flow style from being taken for JSON.
  return parse_documents("---\n" + std::string(text)).value().front().value;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The document after a merge patch, or the failure of a JSON patch.
std::string merged(std::string_view target, std::string_view patch) {
  json::value document = *parse_json(target);
  apply_merge_patch(document, *parse_json(patch));
  return json::serialize(document);
}

std::string patched(std::string_view target, std::string_view patch) {
  json::value document = *parse_json(target);
  const auto done = apply_json_patch(document, yaml(patch));
  return done ? json::serialize(document) : done.error().message;
}

TEST(MergePatchTest, ExamplesOfTheStandard) {  // RFC 7386, appendix A
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"b":"c"})"), R"({"a":"b","b":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":null})"), "{}");
  EXPECT_EQ(merged(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(merged(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"c"})", R"({"a":["b"]})"), R"({"a":["b"]})");
  EXPECT_EQ(merged(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(merged(R"({"a":[{"b":"c"}]})", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(merged(R"(["a","b"])", R"(["c","d"])"), R"(["c","d"])");
  EXPECT_EQ(merged(R"({"a":"b"})", R"(["c"])"), R"(["c"])");
  EXPECT_EQ(merged(R"({"a":"foo"})", "null"), "null");
  EXPECT_EQ(merged(R"({"a":"foo"})", R"("bar")"), R"("bar")");
  EXPECT_EQ(merged(R"({"e":null})", R"({"a":1})"), R"({"e":null,"a":1})");
  EXPECT_EQ(merged("[1,2]", R"({"a":"b","c":null})"), R"({"a":"b"})");
  EXPECT_EQ(merged("{}", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
}

TEST(JsonPatchTest, Add) {
  EXPECT_EQ(patched(R"({"a":1})", "[{op: add, path: /b, value: 2}]"), R"({"a":1,"b":2})");
  EXPECT_EQ(patched(R"({"a":1})", "[{op: add, path: /a, value: null}]"), R"({"a":null})");
  EXPECT_EQ(patched("[1,3]", "[{op: add, path: /1, value: 2}]"), "[1,2,3]");
  EXPECT_EQ(patched("[1]", "[{op: add, path: /-, value: 2}]"), "[1,2]");
  EXPECT_EQ(patched("[1]", "[{op: add, path: /1, value: 2}]"), "[1,2]");
  EXPECT_EQ(patched("[1]", "[{op: add, path: '', value: {}}]"), "{}");
  EXPECT_TRUE(contains(patched("[1]", "[{op: add, path: /2, value: 2}]"), "is no place in a list"));
  EXPECT_TRUE(contains(patched("[1]", "[{op: add, path: /01, value: 2}]"), "is no place"));
  EXPECT_TRUE(contains(patched("{}", "[{op: add, path: /a/b, value: 2}]"),
                       "operation 0: /a/b: what should hold it does not exist"));
  EXPECT_TRUE(contains(patched("{}", "[{op: add, path: /a}]"), "value: is required"));
}

TEST(JsonPatchTest, RemoveAndReplace) {
  EXPECT_EQ(patched(R"({"a":1,"b":2})", "[{op: remove, path: /a}]"), R"({"b":2})");
  EXPECT_EQ(patched("[1,2,3]", "[{op: remove, path: /1}]"), "[1,3]");
  EXPECT_TRUE(contains(patched("{}", "[{op: remove, path: /a}]"), "there is nothing to remove"));
  EXPECT_EQ(patched(R"({"a":{"b":1}})", "[{op: replace, path: /a/b, value: [2]}]"),
            R"({"a":{"b":[2]}})");
  EXPECT_TRUE(contains(patched("{}", "[{op: replace, path: /a, value: 1}]"), "does not exist"));
}

TEST(JsonPatchTest, MoveAndCopy) {
  EXPECT_EQ(patched(R"({"a":{"b":1}})", "[{op: move, from: /a/b, path: /c}]"), R"({"a":{},"c":1})");
  EXPECT_EQ(patched("[1,2,3]", "[{op: move, from: /0, path: /2}]"), "[2,3,1]");
  EXPECT_EQ(patched(R"({"a":[1]})", "[{op: copy, from: /a, path: /b}]"), R"({"a":[1],"b":[1]})");
  EXPECT_TRUE(contains(patched(R"({"a":{}})", "[{op: move, from: /a, path: /a/b}]"),
                       "nothing can be moved into itself"));
  EXPECT_TRUE(contains(patched("{}", "[{op: copy, path: /b}]"), "from: is required"));
  EXPECT_TRUE(contains(patched("{}", "[{op: copy, from: /a, path: /b}]"), "/a: does not exist"));
}

TEST(JsonPatchTest, Test) {
  EXPECT_EQ(patched(R"({"a":{"x":1,"y":2}})", "[{op: test, path: /a, value: {y: 2, x: 1}}]"),
            R"({"a":{"x":1,"y":2}})");
  EXPECT_TRUE(contains(patched(R"({"a":1})", "[{op: test, path: /a, value: 2}]"),
                       "operation 0: /a: test failed: it is 1, not 2"));
}

TEST(JsonPatchTest, PointersHaveEscapes) {
  EXPECT_EQ(patched(R"({"a/b":1,"m~n":2})",
                    "[{op: remove, path: /a~1b}, {op: replace, path: /m~0n, value: 3}]"),
            R"({"m~n":3})");
  EXPECT_TRUE(contains(patched("{}", "[{op: remove, path: /a~2}]"), "is no JSON pointer"));
  EXPECT_TRUE(contains(patched("{}", "[{op: remove, path: a}]"), "begin it with \"/\""));
}

TEST(JsonPatchTest, OperationsMustBeKnown) {
  EXPECT_TRUE(contains(patched("{}", "[{op: merge, path: /a}]"), "op: \"merge\" is no operation"));
  EXPECT_TRUE(contains(patched("{}", "[{op: add, value: 1}]"), "path: is required"));
  EXPECT_TRUE(contains(patched("{}", "[5]"), "operation 0: must be an object"));
  EXPECT_TRUE(contains(patched("{}", "{op: add}"), "must be a list"));
}

TEST(JsonPatchTest, CopiesCannotGrowWithoutBound) {
  std::string patch;
  for (int i = 0; i < 60; ++i) patch += "- {op: copy, from: /a, path: /a/-}\n";
  EXPECT_TRUE(contains(patched(R"({"a":["0123456789"]})", patch), "all copies of a patch"));
}

// The difference as text; what it makes of `before` must be `after`.
std::string difference(std::string_view before, std::string_view after) {
  json::value document = *parse_json(before);
  const json::array patch = json_difference(document, *parse_json(after));
  const auto done = apply_json_patch(document, json::value(patch));
  EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  EXPECT_EQ(document, *parse_json(after));
  return json::serialize(patch);
}

TEST(JsonDifferenceTest, OnlyWhatChangedIsSaid) {
  EXPECT_EQ(difference(R"({"a":1,"b":[1,{"c":2}]})", R"({"b":[1,{"c":2}],"a":1})"), "[]");
  EXPECT_EQ(difference(R"({"a":1,"b":2})", R"({"a":1,"b":3})"),
            R"([{"op":"replace","path":"/b","value":3}])");
  EXPECT_EQ(difference(R"({"a":{"b":1,"c":2}})", R"({"a":{"c":2,"d":null}})"),
            R"([{"op":"remove","path":"/a/b"},{"op":"add","path":"/a/d","value":null}])");
  EXPECT_EQ(difference("1", "2"), R"([{"op":"replace","path":"","value":2}])");
  EXPECT_EQ(difference(R"({"a":1})", R"({"a":1.0})"),
            R"([{"op":"replace","path":"/a","value":1E0}])");
  EXPECT_EQ(difference(R"({"a":{}})", R"({"a":[]})"),
            R"([{"op":"replace","path":"/a","value":[]}])");
}

TEST(JsonDifferenceTest, KeysAreEscaped) {
  EXPECT_EQ(difference("{}", R"({"kueue.x-k8s.io/queue-name":"a","m~n":1,"~1":2,"":3})"),
            R"([{"op":"add","path":"/kueue.x-k8s.io~1queue-name","value":"a"},)"
            R"({"op":"add","path":"/m~0n","value":1},{"op":"add","path":"/~01","value":2},)"
            R"({"op":"add","path":"/","value":3}])");
}

TEST(JsonDifferenceTest, ListsKeepTheEndsThatAreTheSame) {
  EXPECT_EQ(difference("[1,2,3]", "[1,2,3,4]"), R"([{"op":"add","path":"/3","value":4}])");
  EXPECT_EQ(difference("[1,2,3]", "[0,1,2,3]"), R"([{"op":"add","path":"/0","value":0}])");
  EXPECT_EQ(difference("[1,2,3]", "[1,3]"), R"([{"op":"remove","path":"/1"}])");
  EXPECT_EQ(difference("[1,1,1]", "[1]"),
            R"([{"op":"remove","path":"/2"},{"op":"remove","path":"/1"}])");
  EXPECT_EQ(difference(R"([{"a":1,"b":2},5])", R"([{"a":1,"b":3},5])"),
            R"([{"op":"replace","path":"/0/b","value":3}])");
}

// A small document: few keys and values, so that two of them have much in common.
json::value any_document(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 8 : 6);
  if (kind >= 6) {
    const int size = *rc::gen::inRange(0, 5);
    if (kind == 6) {
      json::array list;
      for (int i = 0; i < size; ++i) list.push_back(any_document(depth - 1));
      return list;
    }
    json::object object;
    for (int i = 0; i < size; ++i) {
      const auto key = *rc::gen::element<std::string>("a", "b", "c/d", "~", "~1", "", "0", "-");
      object[key] = any_document(depth - 1);
    }
    return object;
  }
  const json::value scalars[] = {nullptr, true, 1, 1.0, "x", ""};
  return scalars[kind];
}

RC_GTEST_PROP(JsonDifferenceProperty, ApplyingItMakesTheOtherDocument, ()) {
  const json::value before = any_document(3);
  const json::value after = any_document(3);
  const json::array patch = json_difference(before, after);
  json::value document = before;
  const auto done = apply_json_patch(document, json::value(patch));
  RC_ASSERT(done.has_value());
  RC_ASSERT(document == after);
  RC_ASSERT(patch.empty() == (before == after));
}

}  // namespace
}  // namespace phalanx
