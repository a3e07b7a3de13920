#include "quota/victim_leaves.h"

#include <gtest/gtest.h>

#include "api/node.h"

namespace phalanx::quota {
namespace {

constexpr uint32_t kHosts = 8;

// Two racks of four hosts with ten CPUs each; workload i has i + 1 pods on every second host or on
// all of them.
class VictimLeavesTest : public ::testing::Test {
 protected:
  VictimLeavesTest()
      : tree_(cluster_.add_tree({"default", {"rack", std::string(api::kHostnameLabel)}, {}, {}})) {
    for (uint32_t i = 0; i < kHosts; ++i) {
      api::Node node;
      node.name = "n" + std::to_string(i);
      node.labels = {{"rack", i < 4 ? "a" : "b"}, {std::string(api::kHostnameLabel), node.name}};
      node.allocatable = {{"cpu", 10}, {"pods", 100}};
      EXPECT_TRUE(cluster_.put_node(node));
    }
    for (int workload = 0; workload < 3; ++workload) {
      std::vector<topology::DomainUsage> usage;
      // Out of order: what is looked up is in the order of the tree all the same.
      for (uint32_t i = kHosts; i-- > 0;) {
        if (i % 2 == 0 || workload == 2) usage.push_back({{"n" + std::to_string(i)}, workload + 1});
      }
      cluster_.add_usage(name(workload), tree_,
                         cluster_.make_request({{"cpu", workload == 1 ? 2 : 1}}), usage);
    }
    cluster_.tree(tree_);
  }

  static std::string name(int workload) { return "w" + std::to_string(workload); }
  std::vector<int64_t> free() {
    const auto column = cluster_.tree(tree_).free(cluster_.find_resource("cpu"));
    return {column.begin(), column.end()};
  }

  topology::Cluster cluster_;
  TreeId tree_;
};

TEST_F(VictimLeavesTest, KnowsWhatAWorkloadHasInADomain) {
  VictimLeaves leaves(cluster_);
  const auto range = leaves.look_up({&tree_, 1}, "w1");
  ASSERT_EQ(range.size(), 4);
  EXPECT_EQ(leaves.in(range).front().leaf, 0);
  const auto second = leaves.within(range, cluster_.tree(tree_).leaves(0, 1));
  ASSERT_EQ(second.size(), 2);
  EXPECT_EQ(leaves.in(second)[0].leaf, 4);
  EXPECT_EQ(leaves.in(second)[1].leaf, 6);
  EXPECT_EQ(leaves.in(second)[0].count, 2);
  EXPECT_EQ(leaves.amounts(cluster_.find_resource("cpu")), std::vector<int64_t>{2});
  EXPECT_EQ(leaves.amounts(cluster_.find_resource("memory")), std::vector<int64_t>{0});
  EXPECT_EQ(leaves.look_up({&tree_, 1}, "nobody").size(), 0);
}

// Moved together or one by one, as few or as many as they are.
TEST_F(VictimLeavesTest, ManyAtOnceAreAsOneByOne) {
  const std::vector<int64_t> before = free();
  EXPECT_EQ(before, (std::vector<int64_t>{2, 7, 2, 7, 2, 7, 2, 7}));
  for (const int first : {0, 1, 2}) {
    const topology::Attempt attempt(cluster_);
    VictimLeaves leaves(cluster_);
    std::vector<VictimLeaves::Range> ranges;
    for (int i = first; i < 3; ++i) ranges.push_back(leaves.look_up({&tree_, 1}, name(i)));
    for (const auto range : ranges) leaves.move(range, -1);
    const std::vector<int64_t> apart = free();
    for (const auto range : ranges) leaves.move(range, +1);
    EXPECT_EQ(free(), before);
    leaves.move_all(ranges, -1);
    EXPECT_EQ(free(), apart);
    leaves.move_all(ranges, +1);
    EXPECT_EQ(free(), before);
    if (first == 0) EXPECT_EQ(apart, std::vector<int64_t>(kHosts, 10));
  }
  EXPECT_EQ(free(), before);
}

}  // namespace
}  // namespace phalanx::quota
