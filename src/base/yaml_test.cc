#include "base/yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

// YAML 1.1, which kubectl reads, has more words and numbers than YAML 1.2.
TEST(Yaml, WhatOthersWouldTakeForSomethingElseIsQuoted) {
  EXPECT_EQ(to_yaml(json::value{"yes", "Off", "y", "0x1F", "0o17", "1_000", "12:30", "2026-01-01",
                                "1e3", ".5", "-.inf"}),
            "- \"yes\"\n- \"Off\"\n- \"y\"\n- \"0x1F\"\n- \"0o17\"\n- \"1_000\"\n- \"12:30\"\n"
            "- \"2026-01-01\"\n- \"1e3\"\n- \".5\"\n- \"-.inf\"\n");
  EXPECT_EQ(to_yaml(json::value{"500m", "64Gi", "rack-1", "a/b", "node", "71bb54d8-d101-45b9"}),
            "- 500m\n- 64Gi\n- rack-1\n- a/b\n- node\n- 71bb54d8-d101-45b9\n");
  EXPECT_EQ(to_yaml(json::object{{"on", 1}, {"5", 2}, {"<<", 3}, {"a", 4}}),
            "\"on\": 1\n\"5\": 2\n\"<<\": 3\na: 4\n");
}

TEST(Yaml, LinesAreWrittenAsABlock) {
  EXPECT_EQ(to_yaml(json::object{{"file", "a: 1\n  b: \"x\"\n"}, {"next", 1}}),
            "file: |\n  a: 1\n    b: \"x\"\nnext: 1\n");
}

TEST(Yaml, AStreamKeepsItsOrder) {
  const json::value documents[] = {json::object{{"b", 1}}, json::object{{"a", 2}}};
  EXPECT_EQ(to_yaml_stream(documents), "b: 1\n---\na: 2\n");
  EXPECT_EQ(to_yaml_stream({}), "");
}

std::string any_text() {
  const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "a", "B", "0", "1", " ", "\n", ":", "-", "#", "'", "\"", "\\", "{", "[", "|", ">", "?", "!",
      "&", "*", "%", "@", ",", ".", "e", "~", "\t", "\r", "é", "日", "\xc2\x85", "\xe2\x80\xa8",
      "\xef\xbb\xbf", "\x01", "\x7f", "---", "...", "<<", "true", "null", "yes", "x", "_"));
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

json::value any_value(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 10 : 7);
  if (kind < 4) return json::value(any_text());
  if (kind == 4) return *rc::gen::arbitrary<int64_t>();
  if (kind == 5) return *rc::gen::arbitrary<bool>();
  if (kind == 6) return nullptr;
  const int size = *rc::gen::inRange(0, 4);
  if (kind == 7) {
    json::array list;
    for (int i = 0; i < size; ++i) list.push_back(any_value(depth - 1));
    return list;
  }
  json::object object;
  for (int i = 0; i < size; ++i) object[any_text()] = any_value(depth - 1);
  return object;
}

RC_GTEST_PROP(YamlProperty, WhatIsWrittenReadsBackTheSame, ()) {
  const json::value value = json::object{{"value", any_value(3)}};
  const std::string text = to_yaml(value);
  const auto documents = parse_documents(text);
  if (!documents || documents->size() != 1 || documents->front().value != value) {
    RC_FAIL(json::serialize(value) + "\n" + text + "\n" +
            (documents ? "reads back otherwise" : documents.error().message));
  }
}

}  // namespace
}  // namespace phalanx
