#include "api/topology.h"

#include <gtest/gtest.h>

namespace phalanx::api {
namespace {

std::string error_of(std::string_view levels) {
  const json::value document =
      parse_json(R"({"metadata":{"name":"t"},"spec":{"levels":)" + std::string(levels) + "}}")
          .value();
  DecodeStatus status;
  read_topology(JsonReader(&document, "", status));
  return status.error() ? status.error()->message : "";
}

TEST(TopologyTest, ReadsLevelsCoarsestFirst) {
  const json::value document = parse_json(R"({"metadata":{"name":"t"},"spec":{"levels":[
    {"nodeLabel":"block","alias":"a"},{"nodeLabel":"kubernetes.io/hostname"}]}})")
                                   .value();
  DecodeStatus status;
  const Topology topology = read_topology(JsonReader(&document, "", status));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(topology.name, "t");
  EXPECT_EQ(topology.levels, (std::vector<std::string>{"block", "kubernetes.io/hostname"}));
}

TEST(TopologyTest, RefusesWhatTheApiServerRefuses) {
  EXPECT_EQ(error_of(R"([{"nodeLabel":"a"},{"nodeLabel":"b"}])"), "");
  EXPECT_TRUE(error_of("[]").starts_with("spec.levels: holds 0 levels"));
  EXPECT_TRUE(error_of("null").starts_with("spec.levels: holds 0 levels"));
  EXPECT_TRUE(error_of("7").starts_with("spec.levels: must be a list"));
  EXPECT_TRUE(error_of(R"([{}])").starts_with("spec.levels[0].nodeLabel: is required"));
  EXPECT_TRUE(error_of(R"([{"nodeLabel":""}])").starts_with("spec.levels: holds an empty level"));
  EXPECT_TRUE(error_of(R"([{"nodeLabel":"a"},{"nodeLabel":"a"}])")
                  .starts_with("spec.levels: names the level a twice"));
  EXPECT_TRUE(error_of(R"([{"nodeLabel":"kubernetes.io/hostname"},{"nodeLabel":"a"}])")
                  .starts_with("spec.levels: names kubernetes.io/hostname before other levels"));
}

TEST(TopologyTest, HoldsSixteenLevelsAndNoMore) {
  std::vector<std::string> levels;
  for (int index = 0; index < 16; ++index) levels.push_back("l" + std::to_string(index));
  EXPECT_FALSE(problem_of_levels(levels));
  levels.emplace_back("one-more");
  EXPECT_TRUE(problem_of_levels(levels));
  EXPECT_TRUE(problem_of_levels({std::string(317, 'x')}));
}

}  // namespace
}  // namespace phalanx::api
