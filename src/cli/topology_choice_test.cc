#include "cli/topology_choice.h"

#include <gtest/gtest.h>

namespace phalanx::cli {
namespace {

using Levels = std::vector<std::string>;

constexpr const char* kHost = "kubernetes.io/hostname";
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kBlock = "cloud.provider.com/topology-block";
constexpr const char* kRack = "cloud.provider.com/topology-rack";
constexpr const char* kGoogleBlock = "cloud.google.com/gce-topology-block";

api::Node node(const std::string& name, const Levels& keys) {
  api::Node result;
  result.name = name;
  for (const std::string& key : keys) result.labels[key] = "x";
  result.labels[kHost] = name;
  return result;
}

ClusterInput with_nodes(std::vector<api::Node> nodes) {
  ClusterInput input;
  input.nodes = std::move(nodes);
  return input;
}

Levels levels(const ClusterInput& input, const TopologyWish& wish = {}) {
  const auto choice = choose_topology(input, wish);
  EXPECT_TRUE(choice) << choice.error().message;
  return choice ? choice->spec.levels : Levels();
}

std::string error(const ClusterInput& input, const TopologyWish& wish = {}) {
  const auto choice = choose_topology(input, wish);
  return choice ? "" : choice.error().message;
}

TEST(TopologyChoiceTest, UsesTheOnlyTopology) {
  ClusterInput input = with_nodes({node("a", {kBlock, kRack})});
  input.topologies = {{"t", {kBlock, kHost}}};
  EXPECT_EQ(levels(input), (Levels{kBlock, kHost}));
  EXPECT_EQ(choose_topology(input, {})->spec.name, "t");
  EXPECT_TRUE(choose_topology(input, {})->remarks.empty());
}

TEST(TopologyChoiceTest, AsksWhichOfSeveral) {
  ClusterInput input = with_nodes({node("a", {kBlock, kRack})});
  input.topologies = {{"t", {kBlock, kHost}}, {"u", {kRack, kHost}}};
  EXPECT_NE(error(input).find("--topology: t, u"), std::string::npos);
  EXPECT_EQ(levels(input, {"u", {}}), (Levels{kRack, kHost}));
  EXPECT_NE(error(input, {"v", {}}).find("there are: t, u"), std::string::npos);
}

TEST(TopologyChoiceTest, LevelsOverrideTopologies) {
  ClusterInput input = with_nodes({node("a", {kBlock, kRack})});
  input.topologies = {{"t", {kBlock, kHost}}};
  EXPECT_EQ(levels(input, {"", {kRack, kHost}}), (Levels{kRack, kHost}));
  EXPECT_NE(error(input, {"", {"rack"}}).find("no node carries the label rack"), std::string::npos);
  EXPECT_NE(error(input, {"", {kRack, kRack}}).find("twice"), std::string::npos);
}

TEST(TopologyChoiceTest, GuessesFromLabelsAndSaysSo) {
  EXPECT_EQ(levels(with_nodes({node("a", {})})), (Levels{kHost}));
  EXPECT_EQ(levels(with_nodes({node("a", {kZone, kRack, kBlock})})),
            (Levels{kZone, kBlock, kRack, kHost}));
  const auto choice = choose_topology(with_nodes({node("a", {kRack})}), {});
  ASSERT_TRUE(choice);
  ASSERT_EQ(choice->remarks.size(), 1U);
  EXPECT_NE(choice->remarks[0].find(kRack), std::string::npos);
}

TEST(TopologyChoiceTest, UsesOneFamilyOfKeysOnly) {
  const ClusterInput input = with_nodes({node("a", {kGoogleBlock, kBlock, kRack})});
  EXPECT_EQ(levels(input), (Levels{kBlock, kRack, kHost}));
  const auto choice = choose_topology(input, {});
  ASSERT_EQ(choice->remarks.size(), 2U);
  EXPECT_NE(choice->remarks[1].find(kGoogleBlock), std::string::npos);
}

TEST(TopologyChoiceTest, AKeyOfFewNodesCountsIfAJobAsksForIt) {
  ClusterInput input = with_nodes({node("a", {kRack}), node("b", {}), node("c", {})});
  EXPECT_EQ(levels(input), (Levels{kHost}));
  api::Job job;
  job.topology.emplace();
  job.topology->preferred = kRack;
  input.jobs.push_back(job);
  EXPECT_EQ(levels(input), (Levels{kRack, kHost}));
}

TEST(TopologyChoiceTest, HostnamesMustDiffer) {
  ClusterInput input = with_nodes({node("a", {kRack}), node("b", {kRack})});
  input.nodes[1].labels[kHost] = "a";
  EXPECT_NE(error(input).find("also the hostname of node a"), std::string::npos);
  input.nodes[1].labels.erase(kHost);
  EXPECT_EQ(levels(input), (Levels{kRack, kHost}));  // b is left out
}

}  // namespace
}  // namespace phalanx::cli
