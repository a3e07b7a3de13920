#include "placement/pod_distributions.h"

#include <gtest/gtest.h>

#include <set>

namespace phalanx::placement {
namespace {

using Pods = std::vector<int32_t>;  // by cell

std::vector<PodDistributions::Cell> cells(const Pods& room, const std::vector<uint64_t>& kinds) {
  std::vector<PodDistributions::Cell> result;
  for (size_t cell = 0; cell < room.size(); ++cell) {
    result.push_back({static_cast<uint32_t>(cell), room[cell], kinds[cell]});
  }
  return result;
}

std::vector<Pods> all(PodDistributions walk, size_t cell_count) {
  std::vector<Pods> found;
  while (walk.next([] { return true; })) {
    Pods pods(cell_count, 0);
    for (const auto& part : walk.parts()) pods[part.cell] += part.pods;
    found.push_back(pods);
  }
  return found;
}

TEST(PodDistributions, FindsEachOnceFullestFirst) {
  const auto found = all({cells({2, 1, 2}, {0, 1, 2}), {}, 3}, 3);
  EXPECT_EQ(found, (std::vector<Pods>{{2, 1, 0}, {2, 0, 1}, {1, 1, 1}, {1, 0, 2}, {0, 1, 2}}));
}

TEST(PodDistributions, CellsOfOneKindStandForOneAnother) {
  // Up to the order of the first three there are just these.
  const auto found = all({cells({2, 2, 2, 1}, {7, 7, 7, 8}), {}, 3}, 4);
  EXPECT_EQ(found, (std::vector<Pods>{{2, 1, 0, 0}, {2, 0, 0, 1}, {1, 1, 1, 0}, {1, 1, 0, 1}}));
}

TEST(PodDistributions, SlicesEndUpWholeWithThoseThatRun) {
  // Cells 0 and 1 are in one domain of the slices, where a pod runs; 2 and 3 in another.
  const PodDistributions::Layer layer{2, {0, 0, 1, 1}, {{0, 1}}};
  const auto found = all({cells({2, 2, 2, 2}, {0, 1, 2, 3}), {layer}, 3}, 4);
  const std::set<Pods> distinct(found.begin(), found.end());
  EXPECT_EQ(distinct.size(), found.size());
  std::set<Pods> wanted;
  for (int a = 0; a <= 2; ++a) {
    for (int b = 0; b <= 2; ++b) {
      for (int c = 0; c <= 2; ++c) {
        const int d = 3 - a - b - c;
        if (d >= 0 && d <= 2 && (a + b + 1) % 2 == 0) wanted.insert({a, b, c, d});
      }
    }
  }
  EXPECT_EQ(distinct, wanted);
}

TEST(PodDistributions, NothingToFind) {
  EXPECT_TRUE(all({cells({1, 1}, {0, 1}), {}, 3}, 2).empty());
  // A running pod in a domain that has no cell can never become a slice.
  EXPECT_TRUE(all({cells({2}, {0}), {{2, {0}, {{5, 1}}}}, 2}, 1).empty());
}

TEST(PodDistributions, EndsWhenNoMoreMayBeSpent) {
  PodDistributions walk(cells({2, 2}, {0, 1}), {}, 3);
  int steps = 1;  // it takes two
  EXPECT_FALSE(walk.next([&] { return --steps >= 0; }));
}

// As many cells as a large cluster has nodes: no matter for the stack.
TEST(PodDistributions, AsDeepAsThereAreNodes) {
  constexpr size_t kCells = 200'000;
  std::vector<PodDistributions::Cell> many(kCells);
  for (size_t cell = 0; cell < kCells; ++cell) many[cell] = {static_cast<uint32_t>(cell), 1, cell};
  PodDistributions walk(std::move(many), {}, kCells - 1);
  ASSERT_TRUE(walk.next([] { return true; }));
  EXPECT_EQ(walk.parts().size(), kCells - 1);
  ASSERT_TRUE(walk.next([] { return true; }));
  EXPECT_EQ(walk.parts().back().cell, kCells - 1);
}

}  // namespace
}  // namespace phalanx::placement
