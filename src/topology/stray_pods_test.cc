#include "topology/stray_pods.h"

#include <gtest/gtest.h>

namespace phalanx::topology {
namespace {

TEST(StrayPodsTest, AreHandedOverToTheirNode) {
  StrayPods strays;
  strays.put("a", "n1", {{"cpu", 1}});
  strays.put("b", "n1", {{"cpu", 2}});
  strays.put("c", "n2", {{"cpu", 3}});
  EXPECT_EQ(strays.take("n1"), (StrayPods::Pods{{"a", {{"cpu", 1}}}, {"b", {{"cpu", 2}}}}));
  EXPECT_TRUE(strays.take("n1").empty());
  EXPECT_FALSE(strays.remove("a"));
  EXPECT_EQ(strays.size(), 1);
}

TEST(StrayPodsTest, OnlyWhatWasPutLastCounts) {
  StrayPods strays;
  strays.put("a", "n1", {{"cpu", 1}});
  strays.put("a", "n2", {{"cpu", 2}});
  EXPECT_TRUE(strays.take("n1").empty());
  EXPECT_EQ(strays.take("n2"), (StrayPods::Pods{{"a", {{"cpu", 2}}}}));
}

TEST(StrayPodsTest, NothingIsLeftOfThoseThatAreGone) {
  StrayPods strays;
  for (int i = 0; i < 1000; ++i) {
    strays.put(std::to_string(i), "nowhere-" + std::to_string(i), {{"cpu", 1}});
  }
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(strays.remove(std::to_string(i)));
  EXPECT_EQ(strays.size(), 0);
  EXPECT_EQ(strays.nodes(), 0);
}

}  // namespace
}  // namespace phalanx::topology
