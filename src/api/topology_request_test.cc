#include "api/topology_request.h"

#include <gtest/gtest.h>

namespace phalanx::api {
namespace {

class TopologyRequestTest : public ::testing::Test {
 protected:
  TopologyRequest read(const std::string& text) {
    status_ = DecodeStatus();
    auto document = parse_json(text);
    EXPECT_TRUE(document.has_value()) << text;
    document_ = *std::move(document);
    return read_topology_request(JsonReader(&document_, "topologyRequest", status_));
  }
  // Annotations by their names without "kueue.x-k8s.io/".
  std::optional<TopologyRequest> from(const std::map<std::string, std::string>& annotations) {
    status_ = DecodeStatus();
    std::map<std::string, std::string> full;
    for (const auto& [key, value] : annotations) {
      full[key.contains('/') ? key : "kueue.x-k8s.io/" + key] = value;
    }
    return topology_request_from_annotations(full, "annotations", status_);
  }
  std::string problem() { return status_.error() ? status_.error()->message : ""; }
  std::string problem_from(const std::map<std::string, std::string>& annotations) {
    (void)from(annotations);
    return problem();
  }

  json::value document_;
  DecodeStatus status_;
};

using Constraints = std::vector<SliceConstraint>;

TEST_F(TopologyRequestTest, ReadsTheObject) {
  const TopologyRequest request = read(
      R"({"required":"rack","podSetSliceRequiredTopology":"host","podSetSliceSize":2,
          "podSetGroupName":"g","podIndexLabel":"x"})");
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(request.required, "rack");
  EXPECT_EQ(request.constraints(), (Constraints{{"host", 2}}));
  EXPECT_EQ(request.group_name, "g");
  EXPECT_FALSE(request.preferred || request.unconstrained || request.balanced);
}

TEST_F(TopologyRequestTest, TheTwoFormsOfSlicesMeanTheSame) {
  EXPECT_EQ(read(R"({"podsetSliceRequiredTopologyConstraints":[{"topology":"rack","size":4},
                                                              {"topology":"host","size":2}]})")
                .constraints(),
            (Constraints{{"rack", 4}, {"host", 2}}));
  EXPECT_EQ(read(R"({"podSetSliceRequiredTopology":"rack"})").constraints(),
            (Constraints{{"rack", 0}}));
  EXPECT_TRUE(read(R"({"podSetSliceSize":4})").constraints().empty());
  EXPECT_TRUE(read("{}").constraints().empty());
}

TEST_F(TopologyRequestTest, ContradictionsAreRefused) {
  const std::string exclusive =
      "topologyRequest: required, preferred and unconstrained exclude one another; keep one";
  (void)read(R"({"required":"a","preferred":"b"})");
  EXPECT_EQ(problem(), exclusive);
  (void)read(R"({"preferred":"b","unconstrained":true})");
  EXPECT_EQ(problem(), exclusive);
  (void)read(R"({"preferred":"b","unconstrained":false})");
  EXPECT_EQ(problem(), "");
  (void)read(R"({"podSetSliceSize":4,
                 "podsetSliceRequiredTopologyConstraints":[{"topology":"a","size":1}]})");
  EXPECT_TRUE(problem().ends_with("exclude one another; keep one form")) << problem();
}

TEST_F(TopologyRequestTest, MalformedFieldsAreNamed) {
  (void)read(R"({"require":"a"})");
  EXPECT_EQ(problem(), "topologyRequest.require: unknown field");
  (void)read(R"({"podsetSliceRequiredTopologyConstraints":[{"topology":"a"}]})");
  EXPECT_EQ(problem(),
            "topologyRequest.podsetSliceRequiredTopologyConstraints[0].size: is required");
  (void)read(R"({"podSetSliceSize":-1})");
  EXPECT_TRUE(problem().starts_with("topologyRequest.podSetSliceSize: is -1")) << problem();
}

TEST_F(TopologyRequestTest, NoAnnotationIsNoRequest) {
  EXPECT_EQ(from({}), std::nullopt);
  EXPECT_EQ(from({{"example.com/other", "x"}}), std::nullopt);
}

TEST_F(TopologyRequestTest, ReadsAnnotations) {
  EXPECT_EQ(from({{"podset-required-topology", "rack"}})->required, "rack");
  EXPECT_EQ(from({{"podset-preferred-topology", "auto"}})->preferred, kAutoLevel);
  EXPECT_TRUE(from({{"podset-unconstrained-topology", "true"}})->unconstrained);
  EXPECT_FALSE(from({{"podset-unconstrained-topology", "false"}})->unconstrained);
  EXPECT_EQ(from({{"podset-group-name", "g"}})->group_name, "g");
  EXPECT_EQ(from({{"podset-slice-required-topology", "rack"}, {"podset-slice-size", "16"}})
                ->constraints(),
            (Constraints{{"rack", 16}}));
  EXPECT_TRUE(from({{"phalanx.dev/placement", "balanced"}})->balanced);
  EXPECT_EQ(from({{"podset-slice-required-topology-constraints",
                   R"([{"topology":"a","size":4},{"topology":"b","size":2}])"}})
                ->constraints(),
            (Constraints{{"a", 4}, {"b", 2}}));
  EXPECT_EQ(problem(), "");
}

TEST_F(TopologyRequestTest, MalformedAnnotationsAreNamedByTheirKey) {
  const auto at = [](const char* key) {
    return std::string("annotations[kueue.x-k8s.io/") + key + "]: ";
  };
  EXPECT_EQ(problem_from({{"podset-unconstrained-topology", "yes"}}),
            at("podset-unconstrained-topology") + "\"yes\" is not true or false");
  for (const char* size : {"0", "-1", "two", "2x", "", "99999999999"}) {
    EXPECT_EQ(problem_from({{"podset-slice-required-topology", "a"}, {"podset-slice-size", size}}),
              at("podset-slice-size") + "\"" + size + "\" is not a whole number of at least 1");
  }
  EXPECT_EQ(
      problem_from({{"podset-slice-size", "2"}}),
      at("podset-slice-size") + "needs kueue.x-k8s.io/podset-slice-required-topology beside it");
  EXPECT_EQ(
      problem_from({{"podset-slice-required-topology", "a"}}),
      at("podset-slice-required-topology") + "needs kueue.x-k8s.io/podset-slice-size beside it");
  EXPECT_EQ(problem_from({{"phalanx.dev/placement", "even"}}),
            "annotations[phalanx.dev/placement]: \"even\" is not balanced");
  EXPECT_EQ(problem_from({{"podset-required-topology", "a"}, {"podset-preferred-topology", "b"}}),
            "annotations: required, preferred and unconstrained exclude one another; keep one");
}

TEST_F(TopologyRequestTest, MultiLayerAnnotationsHoldOneToThreeDifferentLayers) {
  const std::string key = "podset-slice-required-topology-constraints";
  const auto with = [&](const std::string& value) { return problem_from({{key, value}}); };
  EXPECT_TRUE(with("[]").ends_with("holds 0 layers, but must hold 1 to 3")) << problem();
  const std::string layer = R"({"topology":"a","size":1})";
  EXPECT_TRUE(with("[" + layer + "," + layer + "]").ends_with("names the level a twice"))
      << problem();
  EXPECT_TRUE(with(R"([{"topology":"a","size":8},{"topology":"b","size":4},
                       {"topology":"c","size":2},{"topology":"d","size":1}])")
                  .ends_with("holds 4 layers, but must hold 1 to 3"))
      << problem();
  EXPECT_NE(with(R"([{"topology":"a","size":"64"}])").find("size: must be a whole number"),
            std::string::npos)
      << problem();
  EXPECT_NE(with(R"([{"topology":"a","size":64},])").find("not valid JSON"), std::string::npos);
  EXPECT_NE(with(R"({"topology":"a"})").find("must be a list"), std::string::npos) << problem();
}

// An annotation may have 256 KB. What is read of it is kept, and quoted in what people are told.
TEST_F(TopologyRequestTest, WhatIsTooLongToBeMeantIsNeitherKeptNorQuotedWhole) {
  const std::string endless(200'000, 'x');
  constexpr size_t kMost = 1000;
  for (const char* key :
       {"podset-required-topology", "podset-preferred-topology", "podset-group-name",
        "podset-unconstrained-topology", "podset-slice-size", "podset-slice-required-topology",
        "podset-slice-required-topology-constraints", "phalanx.dev/placement"}) {
    const std::string problem = problem_from({{key, endless}});
    EXPECT_FALSE(problem.empty()) << key;
    EXPECT_LT(problem.size(), kMost) << key;
  }
  const std::string key = "podset-slice-required-topology-constraints";
  for (const std::string& value :
       {R"([{"topology":")" + endless + R"(","size":1}])", R"([{")" + endless + R"(":1}])",
        R"([{"topology":"a","size":")" + endless + R"("}])"}) {
    const std::string problem = problem_from({{key, value}});
    EXPECT_FALSE(problem.empty());
    EXPECT_LT(problem.size(), 3 * kMost);
  }
  EXPECT_EQ(problem_from({{"podset-required-topology", std::string(317, 'x')}}), "");
}

}  // namespace
}  // namespace phalanx::api
