#include "sim/patch.h"

#include "sim/api_server_testing.h"

namespace phalanx::sim {
namespace {

// The document after a merge patch, or the failure of a JSON patch.
std::string merged(std::string_view target, std::string_view patch) {
  json::value document = *parse_json(target);
  apply_merge_patch(document, *parse_json(patch));
  return json::serialize(document);
}

std::string patched(std::string_view target, std::string_view patch) {
  json::value document = *parse_json(target);
  const auto done = apply_json_patch(document, from_yaml(patch));
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

class PatchTest : public ApiServerTest {};

TEST_F(PatchTest, AJsonPatchOfAnObject) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n, labels: {a: b}}}");
  const auto node =
      server_.patch(node_key("n"), PatchType::kJson,
                    from_yaml("[{op: test, path: /metadata/labels/a, value: b}, "
                              "{op: add, path: /metadata/labels/example.com~1c, value: d}]"));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(string_at(**node, {"metadata", "labels", "example.com/c"}), "d");
  EXPECT_TRUE(contains(refusal(server_.patch(node_key("n"), PatchType::kJson,
                                             from_yaml("[{op: test, path: /metadata/labels/a, "
                                                       "value: x}]"))),
                       "422 Invalid: Node n: the patch cannot be applied"));
}

TEST_F(PatchTest, WhatAPatchMakesMustStillBeAnObject) {
  make("{apiVersion: v1, kind: Node, metadata: {name: n}}");
  const auto patch = [&](std::string_view text) {
    return refusal(server_.patch(node_key("n"), PatchType::kJson, from_yaml(text)));
  };
  EXPECT_TRUE(contains(patch("[{op: replace, path: '', value: 5}]"), "400 BadRequest"));
  EXPECT_TRUE(contains(patch("[{op: remove, path: ''}]"), "400 BadRequest"));
  EXPECT_TRUE(contains(patch("[{op: remove, path: /metadata}]"), "400 BadRequest"));
  EXPECT_TRUE(contains(patch("[{op: replace, path: /metadata, value: []}]"), "400 BadRequest"));
  EXPECT_TRUE(contains(patch("[{op: replace, path: /metadata/name, value: {}}]"), "400"));
  EXPECT_TRUE(contains(refusal(server_.patch(node_key("n"), PatchType::kMerge, json::array())),
                       "a merge patch must be an object"));
}

}  // namespace
}  // namespace phalanx::sim
