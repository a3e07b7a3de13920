#include "admission/schema.h"

#include "admission/document.h"
#include "admission/testing.h"

namespace phalanx::admission {
namespace {

using testing::yaml;

// A schema whose document is {v: <property>}.
Schema schema_of(std::string_view property) {
  const json::value open_api =
      json::object{{"type", "object"}, {"properties", json::object{{"v", yaml(property)}}}};
  auto schema = Schema::load(open_api);
  EXPECT_TRUE(schema.has_value()) << (schema ? "" : schema.error().message);
  return std::move(*schema);
}

std::string text_of(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) text += (text.empty() ? "" : "\n") + problem.text();
  return text;
}

// The problems of {v: <value>}.
std::string problems(std::string_view property, std::string_view value) {
  const json::value document = yaml("v: " + std::string(value));
  return text_of(schema_of(property).validate(document));
}

std::string load_error(std::string_view open_api) {
  const auto schema = Schema::load(yaml(open_api));
  return schema ? "" : schema.error().message;
}

TEST(SchemaValidate, Types) {
  struct Case {
    std::string_view type;
    std::string_view good;
    std::string_view bad;
    std::string_view problem;
  };
  constexpr std::string_view kAny = "{type: object, x-kubernetes-preserve-unknown-fields: true}";
  for (const auto& [type, right, wrong, problem] : {
           Case{kAny, "{a: 1}", "[1]", "v: must be an object, but is a list"},
           Case{"{type: array, items: {type: string}}", "[a]", "{a: b}",
                "v: must be a list, but is an object"},
           Case{"{type: string}", "a", "1", "v: must be a string, but is 1; put it in quotes"},
           Case{"{type: string}", "'1'", "true",
                "v: must be a string, but is true; put it in quotes"},
           Case{"{type: integer}", "-3", "1.5", "v: must be a whole number, but is 1.5"},
           Case{"{type: integer}", "2.0", "'1'",
                "v: must be a whole number, but is the text \"1\"; remove the quotes"},
           Case{"{type: number}", "1.5", "a", "v: must be a number, but is the text \"a\""},
           Case{"{type: boolean}", "true", "'true'",
                "v: must be true or false, but is the text \"true\"; remove the quotes"},
           Case{"{x-kubernetes-int-or-string: true}", "1", "1.5",
                "v: must be a whole number or a string, but is 1.5"},
           Case{"{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}", "a",
                "[a]", "v: must be a whole number or a string, but is a list"},
       }) {
    EXPECT_EQ(problems(type, right), "") << type;
    EXPECT_EQ(problems(type, wrong), problem) << type;
  }
}

TEST(SchemaValidate, NullOnlyWhereItIsAllowed) {
  const json::value document = json::object{{"v", nullptr}};
  EXPECT_EQ(text_of(schema_of("{type: string}").validate(document)),
            "v: must be a string, but is null");
  EXPECT_EQ(text_of(schema_of("{type: string, nullable: true}").validate(document)), "");
}

TEST(SchemaValidate, RequiredFieldsSayWhatTheyAreFor) {
  constexpr std::string_view kSchema =
      "{type: object, required: [a, b, c], properties: {a: {type: string, description: Name of the "
      "thing. And more.}, b: {type: string, description: PodSpec of it.}, c: {type: string}}}";
  EXPECT_EQ(problems(kSchema, "{a: x, b: y, c: z}"), "");
  EXPECT_EQ(problems(kSchema, "{}"),
            "v.a: is required: name of the thing\nv.b: is required: PodSpec of it\n"
            "v.c: is required");
}

TEST(SchemaValidate, Enum) {
  constexpr std::string_view kSchema = "{type: string, enum: [A, B, '']}";
  EXPECT_EQ(problems(kSchema, "B"), "");
  EXPECT_EQ(problems(kSchema, "C"), "v: \"C\" is not supported; use A, B or \"\"");
}

TEST(SchemaValidate, Numbers) {
  constexpr std::string_view kSchema = "{type: integer, minimum: 1, maximum: 5}";
  EXPECT_EQ(problems(kSchema, "1"), "");
  EXPECT_EQ(problems(kSchema, "5"), "");
  EXPECT_EQ(problems(kSchema, "0"), "v: is 0, but must be at least 1");
  EXPECT_EQ(problems(kSchema, "6"), "v: is 6, but must be at most 5");
  EXPECT_EQ(problems("{type: integer, format: int32}", "2147483647"), "");
  EXPECT_EQ(problems("{type: integer, format: int32}", "2147483648"),
            "v: is 2147483648, but must be between -2147483648 and 2147483647");
  EXPECT_EQ(problems("{type: integer, format: int64}", "9223372036854775807"), "");
  EXPECT_EQ(problems("{type: integer, format: int64}", "1e300"),
            "v: is 1e+300, but must be between -9223372036854775808 and 9223372036854775807");
  EXPECT_EQ(problems("{type: number}", "1e300"), "");
}

TEST(SchemaValidate, LengthsInCharacters) {
  constexpr std::string_view kSchema = "{type: string, minLength: 2, maxLength: 3}";
  EXPECT_EQ(problems(kSchema, "\xc3\xa4\xc3\xa4\xc3\xa4"), "");
  EXPECT_EQ(problems(kSchema, "a"), "v: must have at least 2 characters");
  EXPECT_EQ(problems(kSchema, "abcd"), "v: has 4 characters, but at most 3 are allowed");
  EXPECT_EQ(problems("{type: string, minLength: 1}", "''"), "v: must not be empty");
}

TEST(SchemaValidate, PatternsAndTimes) {
  constexpr std::string_view kName = "{type: string, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'}";
  EXPECT_EQ(problems(kName, "a-b"), "");
  EXPECT_EQ(problems(kName, "A"),
            "v: \"A\" is not a DNS label; use lower case letters, digits and '-', with a letter or "
            "digit at both ends");
  EXPECT_EQ(problems("{type: string, format: date-time}", "'2026-01-31T08:00:00Z'"), "");
  for (const std::string text : {"tomorrow", "2026-12-31T23:59:60Z", "2026-01-31 08:00:00Z"}) {
    EXPECT_EQ(problems("{type: string, format: date-time}", "'" + text + "'"),
              "v: \"" + text + "\" is not a time; write it as 2026-01-31T08:00:00Z");
  }
}

TEST(SchemaValidate, ListsAndMaps) {
  constexpr std::string_view kList =
      "{type: array, minItems: 1, maxItems: 2, items: {type: string}}";
  EXPECT_EQ(problems(kList, "[a, b]"), "");
  EXPECT_EQ(problems(kList, "[]"), "v: must have at least 1 item");
  EXPECT_EQ(problems(kList, "[a, b, c]"), "v: has 3 items, but at most 2 are allowed");
  EXPECT_EQ(problems(kList, "[a, 1]"), "v[1]: must be a string, but is 1; put it in quotes");
  constexpr std::string_view kMap =
      "{type: object, maxProperties: 1, additionalProperties: {type: string}}";
  EXPECT_EQ(problems(kMap, "{a.b/c: x}"), "");
  EXPECT_EQ(problems(kMap, "{a.b/c: {}}"), "v[a.b/c]: must be a string, but is an object");
  EXPECT_EQ(problems(kMap, "{a: x, b: y}"), "v: has 2 entries, but at most 1 are allowed");
}

TEST(SchemaValidate, ListsWithoutDuplicates) {
  constexpr std::string_view kSet =
      "{type: array, x-kubernetes-list-type: set, items: {type: string}}";
  EXPECT_EQ(problems(kSet, "[a, b]"), "");
  EXPECT_EQ(problems(kSet, "[a, b, a]"), "v[2]: a stands twice in the list; remove one of them");
  constexpr std::string_view kMap =
      "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, n], items: "
      "{type: "
      "object, properties: {k: {type: string}, n: {type: integer}, x: {type: string}}}}";
  EXPECT_EQ(problems(kMap, "[{k: a, n: 1}, {k: a, n: 2}, {k: b, n: 1}, {k: a}]"), "");
  EXPECT_EQ(problems(kMap, "[{k: a, n: 1}, {k: a, n: 1, x: y}]"),
            "v[1]: k a, n 1 stands twice in the list; remove one of them");
  constexpr std::string_view kAtomic = "{type: array, items: {type: string}}";
  EXPECT_EQ(problems(kAtomic, "[a, a]"), "");
}

TEST(SchemaValidate, ProblemsAreBounded) {
  json::array list;
  for (int i = 0; i < 1000; ++i) list.push_back(i);
  const json::value document = json::object{{"v", list}};
  EXPECT_EQ(schema_of("{type: array, items: {type: string}}").validate(document).size(),
            ProblemList::kMost);
}

TEST(SchemaDefaults, FillWhatIsLeftOut) {
  const Schema schema = schema_of(
      "{type: object, default: {}, properties: {mode: {type: string, default: A}, "
      "inner: {type: object, properties: {n: {type: integer, default: 3}}}, "
      "list: {type: array, items: {type: object, properties: {name: {type: string, default: "
      "main}}}}, map: {type: object, additionalProperties: {type: object, properties: {m: {type: "
      "boolean, default: true}}}}}}");
  const auto defaulted = [&](std::string_view text) {
    json::value document = yaml(text);
    schema.default_fields(document);
    return document;
  };
  EXPECT_EQ(defaulted("{}"), yaml("{v: {mode: A}}"));
  EXPECT_EQ(defaulted("{v: {mode: B, inner: {}}}"), yaml("{v: {mode: B, inner: {n: 3}}}"));
  EXPECT_EQ(defaulted("{v: {list: [{}, {name: x}], map: {k: {}}}}"),
            yaml("{v: {mode: A, list: [{name: main}, {name: x}], map: {k: {m: true}}}}"));
  // Null counts as left out.
  EXPECT_EQ(defaulted("{v: null}"), yaml("{v: {mode: A}}"));
  EXPECT_EQ(defaulted("{v: {mode: null, inner: null, map: {k: null}}}"),
            yaml("{v: {mode: A, map: {}}}"));
}

TEST(SchemaDefaults, NullStaysWhereItIsAllowed) {
  const Schema schema = schema_of("{type: string, nullable: true, default: A}");
  json::value document = json::object{{"v", nullptr}};
  schema.default_fields(document);
  EXPECT_EQ(document, (json::value{{"v", nullptr}}));
}

constexpr std::string_view kNested =
    "{type: object, properties: {cohortName: {type: string}, whenCanBorrow: {type: string}, free: "
    "{type: object, x-kubernetes-preserve-unknown-fields: true}, labels: {type: object, "
    "additionalProperties: {type: string}}, list: {type: array, items: {type: object, properties: "
    "{name: {type: string}}}}}}";

TEST(SchemaFields, PruneKeepsTheOrderOfTheRest) {
  const Schema schema = schema_of(kNested);
  json::value document = yaml(
      "{x: 1, v: {a: 1, whenCanBorrow: y, b: 2, cohortName: z, free: {any: [1]}, labels: {l: m}, "
      "list: [{name: n, no: 1}]}}");
  schema.prune(document);
  EXPECT_EQ(json::serialize(document),
            R"({"v":{"whenCanBorrow":"y","cohortName":"z","free":{"any":[1]},"labels":{"l":"m"},)"
            R"("list":[{"name":"n"}]}})");
}

TEST(SchemaFields, UnknownFieldsWithWhatWasMeant) {
  const Schema schema = schema_of(kNested);
  const auto unknown = [&](std::string_view text) {
    return text_of(schema.unknown_fields(yaml(text)));
  };
  EXPECT_EQ(unknown("{v: {cohortName: z, free: {any: 1}, labels: {l: m}}}"), "");
  EXPECT_EQ(unknown("{v: {cohort: z}}"), "v.cohort: unknown field; did you mean `cohortName`?");
  EXPECT_EQ(unknown("{v: {cohortname: z}}"),
            "v.cohortname: unknown field; did you mean `cohortName`?");
  EXPECT_EQ(unknown("{v: {whenCanBorow: z}}"),
            "v.whenCanBorow: unknown field; did you mean `whenCanBorrow`?");
  EXPECT_EQ(unknown("{v: {list: [{}, {nam: 1}]}, replicas: 2}"),
            "replicas: unknown field; remove it\n"
            "v.list[1].nam: unknown field; did you mean `name`?");
}

TEST(SchemaLoad, RootMetadataIsLeftAlone) {
  auto schema = Schema::load(yaml(
      "{type: object, properties: {metadata: {type: object}, inner: {type: object, properties: "
      "{metadata: {type: object}}}}}"));
  ASSERT_TRUE(schema.has_value());
  json::value document = yaml("{metadata: {labels: {a: b}}, inner: {metadata: {labels: {a: b}}}}");
  schema->prune(document);
  EXPECT_EQ(document, yaml("{metadata: {labels: {a: b}}, inner: {metadata: {}}}"));
}

TEST(SchemaLoad, WhatIsNotUnderstoodIsRefused) {
  EXPECT_EQ(load_error("{type: string, pattern: '^x+$'}"),
            "the schema of the document does not understand pattern: \"^x+$\"");
  EXPECT_EQ(load_error("{type: object, properties: {a: {type: strin}}}"),
            "the schema of a does not understand type: \"strin\"");
  EXPECT_EQ(load_error("{type: array, items: {type: string, format: email}}"),
            "the schema of [] does not understand format: \"email\"");
  EXPECT_EQ(load_error("{type: string, minLenght: 1}"),
            "the schema of the document does not understand minLenght: 1");
  EXPECT_EQ(load_error("{type: string, maxLength: -1}"),
            "the schema of the document does not understand maxLength: -1");
  EXPECT_EQ(load_error("{type: string, anyOf: [{type: string}]}"),
            "the schema of the document does not understand anyOf: [{\"type\":\"string\"}]");
  EXPECT_EQ(load_error("{description: x}"), "the schema of the document has no type; name one");
  EXPECT_EQ(load_error("{type: array}"),
            "the schema of the document is of a list without items; describe them");
  EXPECT_EQ(load_error("{type: object, required: [a], properties: {}}"),
            "the schema of the document requires a, which is none of its properties");
  EXPECT_EQ(load_error("{type: array, items: {type: object}, x-kubernetes-list-type: map, "
                       "x-kubernetes-list-map-keys: [a]}"),
            "the schema of the document has the list key a, which is no property of its items");
  EXPECT_EQ(load_error("{type: object, properties: {a: {type: string, enum: [x], default: y}}}"),
            "the schema of a refuses its own default: \"y\" is not supported; use x");
  EXPECT_EQ(load_error("[]"), "the schema of the document must be an object");
}

// Problems are about values, and these are found again where they stand.
TEST(Document, ValuesStandAtThePathsOfProblems) {
  const json::value document =
      testing::yaml("spec: {levels: [{a: 1}, {a: 2}], labels: {example.com/pool: gpu}, text: x}");
  const auto shown = [&](std::string_view path) {
    const json::value* value = value_at(document, path);
    return value == nullptr ? "none" : json::serialize(*value);
  };
  EXPECT_EQ(shown("spec.levels[1].a"), "2");
  EXPECT_EQ(shown("spec.levels[1]"), R"({"a":2})");
  EXPECT_EQ(shown("spec.labels[example.com/pool]"), R"("gpu")");
  EXPECT_EQ(shown(""), json::serialize(document));
  for (const std::string_view path : {"spec.levels[2].a", "spec.levels[x]", "spec.levels[", "other",
                                      "spec.text.a", "spec.text[0]", "spec..", "spec.levels.a"}) {
    EXPECT_EQ(shown(path), "none") << path;
  }
}

}  // namespace
}  // namespace phalanx::admission
