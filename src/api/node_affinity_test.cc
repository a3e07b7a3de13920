#include "api/node_affinity.h"

#include <gtest/gtest.h>

namespace phalanx::api {
namespace {

using enum SelectorOperator;

TEST(NodeAffinity, OperatorsOnPresentAndMissingLabels) {
  const auto matches = [](SelectorOperator op, std::vector<std::string> values,
                          std::optional<std::string_view> label) {
    return NodeSelectorRequirement{"k", op, std::move(values)}.matches(label);
  };
  EXPECT_TRUE(matches(kIn, {"a", "b"}, "b"));
  EXPECT_FALSE(matches(kIn, {"a", "b"}, "c"));
  EXPECT_FALSE(matches(kIn, {"a"}, std::nullopt));
  EXPECT_FALSE(matches(kNotIn, {"a"}, "a"));
  EXPECT_TRUE(matches(kNotIn, {"a"}, "b"));
  EXPECT_TRUE(matches(kNotIn, {"a"}, std::nullopt));
  EXPECT_TRUE(matches(kExists, {}, ""));
  EXPECT_FALSE(matches(kExists, {}, std::nullopt));
  EXPECT_FALSE(matches(kDoesNotExist, {}, ""));
  EXPECT_TRUE(matches(kDoesNotExist, {}, std::nullopt));
  EXPECT_TRUE(matches(kGt, {"5"}, "6"));
  EXPECT_FALSE(matches(kGt, {"5"}, "5"));
  EXPECT_FALSE(matches(kGt, {"5"}, "many"));
  EXPECT_FALSE(matches(kGt, {"5"}, std::nullopt));
  EXPECT_TRUE(matches(kLt, {"-5"}, "-6"));
  EXPECT_FALSE(matches(kLt, {"5"}, "99999999999999999999"));
}

class NodeAffinityReading : public ::testing::Test {
 protected:
  NodeAffinity read(const std::string& text) {
    auto document = parse_json(text);
    EXPECT_TRUE(document.has_value());
    document_ = *std::move(document);
    return read_node_affinity(JsonReader(&document_, "affinity", status_));
  }
  std::string problem() { return status_.error() ? status_.error()->message : ""; }
  // The problem with one required term.
  std::string problem_with(const std::string& expression) {
    status_ = DecodeStatus();
    (void)read(R"({"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" +
               expression + "]}}");
    return problem();
  }

  json::value document_;
  DecodeStatus status_;
};

TEST_F(NodeAffinityReading, ReadsTermsAndWishes) {
  const NodeAffinity affinity = read(
      R"({"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
            {"matchExpressions":[{"key":"disk","operator":"In","values":["ssd"]}],
             "matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n1"]}]}, {}]},
          "preferredDuringSchedulingIgnoredDuringExecution":[
            {"weight":7,"preference":{"matchExpressions":[{"key":"k","operator":"Exists"}]}}]})");
  EXPECT_EQ(problem(), "");
  ASSERT_TRUE(affinity.required);
  EXPECT_EQ(*affinity.required,
            (std::vector<NodeSelectorTerm>{
                {{{"disk", kIn, {"ssd"}}}, {{"metadata.name", kNotIn, {"n1"}}}}, {}}));
  EXPECT_EQ(affinity.preferred, (std::vector<PreferredTerm>{{7, {{{"k", kExists, {}}}, {}}}}));
  EXPECT_FALSE(affinity.empty());
}

TEST_F(NodeAffinityReading, NoTermsIsNotTheSameAsNoRequirement) {
  EXPECT_TRUE(read("{}").empty());
  EXPECT_TRUE(read("null").empty());
  const NodeAffinity nothing =
      read(R"({"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}})");
  ASSERT_TRUE(nothing.required);
  EXPECT_TRUE(nothing.required->empty());
  EXPECT_FALSE(nothing.empty());
}

TEST_F(NodeAffinityReading, MalformedRequirementsAreNamed) {
  const std::string term =
      "affinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].";
  const std::string first = term + "matchExpressions[0].";
  EXPECT_EQ(problem_with(R"({"matchExpressions":[{"key":"k","operator":"Near"}]})"),
            first + "operator: \"Near\" is not In, NotIn, Exists, DoesNotExist, Gt or Lt");
  EXPECT_EQ(problem_with(R"({"matchExpressions":[{"key":"k","operator":"In"}]})"),
            first + "values: In needs at least one value");
  EXPECT_EQ(
      problem_with(R"({"matchExpressions":[{"key":"k","operator":"Exists","values":["x"]}]})"),
      first + "values: Exists takes no values");
  EXPECT_EQ(problem_with(R"({"matchExpressions":[{"key":"k","operator":"Gt","values":["x"]}]})"),
            first + "values: Gt needs exactly one whole number");
  EXPECT_EQ(problem_with(R"({"matchExpressions":[{"key":"k","operator":"Lt"}]})"),
            first + "values: Lt needs exactly one whole number");
  EXPECT_EQ(problem_with(R"({"matchExpressions":[{"operator":"Exists"}]})"),
            first + "key: is required");
  EXPECT_EQ(problem_with(R"({"matchFields":[{"key":"metadata.uid","operator":"Exists"}]})"),
            term + "matchFields[0].key: matchFields knows only metadata.name");
  EXPECT_EQ(problem_with(R"({"matchLabels":{}})"), term + "matchLabels: unknown field");
}

TEST_F(NodeAffinityReading, WeightsAreOneToAHundred) {
  (void)read(
      R"({"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":101,"preference":{}}]})");
  EXPECT_NE(problem().find("[0].weight: is 101, but must be between 1 and 100"), std::string::npos);
}

}  // namespace
}  // namespace phalanx::api
