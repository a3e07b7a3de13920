// Gangs at the edge of what is accepted, on clusters larger than the stack is deep.
#include <gtest/gtest.h>

#include "placement/gang.h"

namespace phalanx::placement {
namespace {

constexpr const char* kHost = "kubernetes.io/hostname";

class GangLimits : public testing::Test {
 protected:
  void add_nodes(int count) {
    for (int index = 0; index < count; ++index) {
      const std::string name = "n" + std::to_string(index);
      ASSERT_TRUE(cluster_.put_node({name,
                                     {{"rack", "r" + std::to_string(index / 16)}, {kHost, name}},
                                     {{"gpu", 8}, {"pods", 100}},
                                     {},
                                     false,
                                     true}));
    }
    tree_ = cluster_.add_tree({"default", {"rack", kHost}, {}, {}});
  }

  static GangGroup pods(const std::string& name, int32_t count, int64_t gpu) {
    GangGroup group;
    group.name = name;
    group.pods.emplace();
    group.pods->count = count;
    group.pods->requests["gpu"] = gpu;
    return group;
  }

  Result<GangResult> place(int64_t step_budget) {
    return place_gang(cluster_, {{"default", tree_}}, gang_, {step_budget});
  }

  topology::Cluster cluster_;
  TreeId tree_;
  Gang gang_;
};

// As many groups as are accepted, and no room for the last: the search is as deep as it can be, and
// tries every group's other distributions on its way back.
TEST_F(GangLimits, TheLargestGangFailsInGoodOrder) {
  add_nodes(2100);
  for (int index = 0; index < 2999; ++index) {
    gang_.root.children.push_back(pods("g" + std::to_string(index), 1, index < 1400 ? 5 : 4));
  }
  const auto result = place(50'000);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->placed);
  EXPECT_FALSE(result->proven);
  EXPECT_NE(result->explanation, nullptr);

  gang_.root.children.push_back(pods("more", 1, 1));
  const auto refused = place(50'000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "group more: is one of more than 3000 groups; make several gangs of them");
}

// A pod set spread over more nodes than the stack has room for.
TEST_F(GangLimits, WidePodSetsAreSearchedWithoutTheStack) {
  add_nodes(30'000);
  gang_.root.children = {pods("a", 24'000, 5), pods("b", 18'000, 4)};
  const auto result = place(200'000);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->placed);
  EXPECT_FALSE(result->proven);
  EXPECT_NE(result->explanation, nullptr);
}

}  // namespace
}  // namespace phalanx::placement
