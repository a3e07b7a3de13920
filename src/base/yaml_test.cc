#include "base/yaml.h"

#include <gtest/gtest.h>

namespace phalanx {
namespace {

std::string as_json(std::string_view text) {
  const auto documents = parse_documents(text);
  if (!documents) return documents.error().message;
  std::string all;
  for (const Document& document : *documents) all += json::serialize(document.value) + "\n";
  return all;
}

TEST(Yaml, PlainScalarsAreTypedQuotedOnesAreStrings) {
  EXPECT_EQ(as_json("a: true\nb: 12\nc: 1.5\nd: null\ne: ~\nf: hello world\n"),
            "{\"a\":true,\"b\":12,\"c\":1.5E0,\"d\":null,\"e\":null,\"f\":\"hello world\"}\n");
  EXPECT_EQ(as_json("a: \"true\"\nb: '12'\nc: !!str 5\n"),
            "{\"a\":\"true\",\"b\":\"12\",\"c\":\"5\"}\n");
  // YAML 1.2: these are words; quantities are too.
  EXPECT_EQ(as_json("a: yes\nb: on\nc: 500m\nd: 64Gi\ne: 1e3x\n"),
            "{\"a\":\"yes\",\"b\":\"on\",\"c\":\"500m\",\"d\":\"64Gi\",\"e\":\"1e3x\"}\n");
}

TEST(Yaml, SeveralDocumentsKeepTheirLines) {
  const auto documents = parse_documents("# head\na: 1\n---\n---\nb: 2\n...\n");
  ASSERT_TRUE(documents.has_value()) << documents.error().message;
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ((*documents)[0].line, 2);
  EXPECT_EQ((*documents)[1].line, 5);
  EXPECT_EQ(as_json(""), "");
  EXPECT_EQ(as_json(" \n# nothing\n"), "");
}

TEST(Yaml, JsonIsReadAsJson) {
  EXPECT_EQ(as_json(" {\"a\": [1, 2]}\n"), "{\"a\":[1,2]}\n");
  EXPECT_EQ(as_json("[1, \"x\"]"), "[1,\"x\"]\n");
  const std::string broken = as_json("{\"a\": }");
  EXPECT_NE(broken.find("not valid JSON"), std::string::npos) << broken;
}

TEST(Yaml, ListsAndNestingAndBlocks) {
  EXPECT_EQ(as_json("items:\n- name: a\n  args: [x, 1]\n- |\n  two\n  lines\n"),
            "{\"items\":[{\"name\":\"a\",\"args\":[\"x\",1]},\"two\\nlines\\n\"]}\n");
}

TEST(Yaml, AnchorsAreFollowed) {
  EXPECT_EQ(as_json("a: &x {k: 1}\nb: *x\n"), "{\"a\":{\"k\":1},\"b\":{\"k\":1}}\n");
}

TEST(Yaml, MergeKeysAddWhatIsNotThere) {
  EXPECT_EQ(as_json("- &a {x: 1, y: 2}\n- {<<: *a, y: 3}\n"),
            "[{\"x\":1,\"y\":2},{\"y\":3,\"x\":1}]\n");
  EXPECT_EQ(as_json("- &a {x: 1}\n- &b {x: 2, y: 2}\n- {<<: [*a, *b]}\n"),
            "[{\"x\":1},{\"x\":2,\"y\":2},{\"x\":1,\"y\":2}]\n");
  EXPECT_EQ(as_json("\"<<\": 1\n"), "{\"<<\":1}\n");
  EXPECT_NE(as_json("a: 1\n<<: 5\n").find("line 2: << must be a map"), std::string::npos);
}

TEST(Yaml, ErrorsNameTheLine) {
  EXPECT_TRUE(as_json("a: 1\nb: [\n").starts_with("line ")) << as_json("a: 1\nb: [\n");
  EXPECT_EQ(as_json("a: 1\nb: 2\na: 3\n"), "line 3: the key \"a\" stands twice; remove one");
  EXPECT_NE(as_json("? [x]\n: 1\n").find("a key must be a plain word"), std::string::npos);
  EXPECT_TRUE(as_json("a: *missing\n").starts_with("line 1")) << as_json("a: *missing\n");
}

TEST(Yaml, DeepNestingIsRefused) {
  const std::string deep = "a: " + std::string(100, '[') + std::string(100, ']');
  EXPECT_NE(as_json(deep).find("nested deeper than 64"), std::string::npos);
}

// 700 bytes that would be ten to the twelfth values.
TEST(Yaml, AliasesOfAliasesAreRefused) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int level = 1; level < 12; ++level) {
    const std::string before = "*a" + std::to_string(level - 1);
    bomb += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + before;
    for (int copy = 1; copy < 10; ++copy) bomb += "," + before;
    bomb += "]\n";
  }
  EXPECT_NE(as_json(bomb).find("aliases make too many values"), std::string::npos);
}

TEST(Yaml, WhatIsWrittenReadsBackTheSame) {
  const json::value value = {{"name", "a"},
                             {"count", 3},
                             {"quoted", "12"},
                             {"flag", "true"},
                             {"empty", ""},
                             {"null", "~"},
                             {"float", "1.5"},
                             {"list", {1, "x"}},
                             {"none", nullptr},
                             {"colon", "a: b"},
                             {"dash", "- a"},
                             {"hash", "a #b"},
                             {"lines", "a\nb"},
                             {"map", json::object()},
                             {"array", json::array()},
                             {"one", 1.0},
                             {"tenth", 0.1},
                             {"huge", 1e300},
                             {"large", UINT64_MAX}};
  const auto documents = parse_documents(to_yaml(value));
  ASSERT_TRUE(documents.has_value()) << documents.error().message;
  ASSERT_EQ(documents->size(), 1U);
  EXPECT_EQ((*documents)[0].value, value) << to_yaml(value);
}

}  // namespace
}  // namespace phalanx
