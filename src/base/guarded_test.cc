#include "base/guarded.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

namespace phalanx {
namespace {

TEST(Guarded, NobodyComesInBetween) {
  Guarded<std::map<int, int>> counts;
  constexpr int kThreads = 4;
  constexpr int kTimes = 10'000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < kTimes; ++j) counts.with([&](auto& all) { ++all[j % 10]; });
      });
    }
  }
  EXPECT_EQ(counts.with([](const auto& all) { return all.size(); }), 10U);
  EXPECT_EQ(counts.with([](const auto& all) { return all.at(3); }), kThreads * kTimes / 10);
}

}  // namespace
}  // namespace phalanx
