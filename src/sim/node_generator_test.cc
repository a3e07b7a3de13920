#include "sim/node_generator.h"

#include <gtest/gtest.h>

#include "sim/document.h"

namespace phalanx::sim {
namespace {

NodePlan plan_of(std::string_view description) {
  auto plan = parse_node_plan(description);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *plan : NodePlan{};
}

std::string error_of(std::string_view description) {
  const auto plan = parse_node_plan(description);
  return plan ? "" : plan.error().message;
}

std::string name_of(const NodePlan& plan, size_t index) {
  return std::string(string_at(plan.node(index), {"metadata", "name"}));
}

TEST(NodeGeneratorTest, BlocksOfRacksOfHosts) {
  const NodePlan plan = plan_of("4 blocks x 8 racks x 16 hosts, 8 nvidia.com/gpu");
  EXPECT_EQ(plan.count(), 512U);
  EXPECT_EQ(name_of(plan, 0), "b1-r1-h01");
  EXPECT_EQ(name_of(plan, 511), "b4-r8-h16");
  const json::value node = plan.node(16 + 2);
  EXPECT_EQ(string_at(node, {"metadata", "name"}), "b1-r2-h03");
  EXPECT_EQ(string_at(node, {"metadata", "labels", kBlockLabel}), "b1");
  EXPECT_EQ(string_at(node, {"metadata", "labels", kRackLabel}), "b1-r2");
  EXPECT_EQ(string_at(node, {"metadata", "labels", "kubernetes.io/hostname"}), "b1-r2-h03");
  EXPECT_EQ(string_at(node, {"metadata", "labels", kNodeGroupLabel}), "tas");
  EXPECT_EQ(string_at(node, {"status", "allocatable", "nvidia.com/gpu"}), "8");
}

TEST(NodeGeneratorTest, FewerLevels) {
  EXPECT_EQ(name_of(plan_of("2 racks x 10 hosts"), 10), "r2-h01");
  EXPECT_EQ(plan_of("2 racks x 10 hosts").level_keys(),
            (std::vector<std::string>{std::string(kRackLabel), "kubernetes.io/hostname"}));
  EXPECT_EQ(name_of(plan_of("1 host"), 0), "h1");
  EXPECT_EQ(plan_of("1 host").level_keys(), std::vector<std::string>{"kubernetes.io/hostname"});
}

TEST(NodeGeneratorTest, NamesSortAsTheyAreNumbered) {
  const NodePlan plan = plan_of("11 blocks x 2 racks x 10 hosts");
  for (size_t index = 1; index < plan.count(); ++index) {
    EXPECT_LT(name_of(plan, index - 1), name_of(plan, index));
  }
}

TEST(NodeGeneratorTest, AmountsHaveDefaultsThatCanBeReplaced) {
  const json::value node = plan_of("1 host, 500m cpu, 1Ti memory, 4 example.com/nic").node(0);
  EXPECT_EQ(string_at(node, {"status", "allocatable", "cpu"}), "500m");
  EXPECT_EQ(string_at(node, {"status", "allocatable", "memory"}), "1Ti");
  EXPECT_EQ(string_at(node, {"status", "allocatable", "pods"}), "110");
  EXPECT_EQ(string_at(node, {"status", "capacity", "example.com/nic"}), "4");
  EXPECT_EQ(string_at(plan_of("1 host").node(0), {"status", "allocatable", "cpu"}), "96");
  EXPECT_EQ(string_at(plan_of("1 host").node(0), {"status", "allocatable", "memory"}), "1024Gi");
}

TEST(NodeGeneratorTest, ErrorsNameThePartAndShowTheGrammar) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {"", "has no hosts"},
      {"4 blocks", "not in this order"},
      {"4 blocks x 16 hosts", "not in this order"},
      {"4 hosts x 2 racks", "not in this order"},
      {"1 host x 1 host", "not in this order"},
      {"1 block x 1 block x 1 rack x 1 host", "not in this order"},
      {"4 rows x 2 hosts", "\"rows\" is no level"},
      {"four hosts", "\"four\" is no whole number"},
      {"0 hosts", "\"0\" is no whole number above 0"},
      {"-3 hosts", "\"-3\" is no whole number"},
      {"3.5 hosts", "\"3.5\" is no whole number"},
      {"3 hosts x", "\"\" is no number and level"},
      {"3 big hosts", "\"3 big hosts\" is no number and level"},
      {"3 hosts,", "\"\" is no amount and resource"},
      {"3 hosts, 8 CPU", "as in nvidia.com/gpu; did you mean `cpu`?"},
      {"3 hosts, 1.5 nvidia.com/gpu", "nvidia.com/gpu: \"1.5\" is not a whole number"},
      {"3 hosts, 1e30 memory", "memory: \"1e30\" is too large"},
      {"3 hosts, 8", "\"8\" is no amount and resource"},
      {"3 hosts, many cpu", "cpu: "},
      {"3 hosts, 1 -gpu", "\"-gpu\" is no key"},
      {"3 hosts, 1 cpu, 2 cpu", "cpu stands twice"},
  };
  for (const auto& [description, part] : cases) {
    const std::string error = error_of(description);
    EXPECT_NE(error.find(part), std::string::npos) << description << ": " << error;
    EXPECT_NE(error.find("4 blocks x 8 racks x 16 hosts"), std::string::npos) << error;
  }
}

TEST(NodeGeneratorTest, ThereIsALargestCluster) {
  EXPECT_EQ(plan_of("20 blocks x 100 racks x 100 hosts").count(), kMostNodes);
  EXPECT_NE(error_of("20 blocks x 100 racks x 101 hosts").find("more than 200000"),
            std::string::npos);
  EXPECT_NE(error_of("99999999999999999999999 hosts").find("more than 200000"), std::string::npos);
  EXPECT_NE(error_of("200000 blocks x 200000 racks x 200000 hosts").find("more than 200000"),
            std::string::npos);
}

}  // namespace
}  // namespace phalanx::sim
