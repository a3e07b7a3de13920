#include "quota/fair_share.h"

#include <gtest/gtest.h>

#include <limits>

#include "quota/testing.h"

namespace phalanx::quota {
namespace {

using testing::add_cohort;
using testing::add_queue;

const FlavorResource kGpu{"h100", "gpu"};
const FlavorResource kOtherGpu{"a100", "gpu"};
const FlavorResource kCpu{"h100", "cpu"};
constexpr double kInfinite = std::numeric_limits<double>::infinity();

class FairShareTest : public ::testing::Test {
 protected:
  void build() { tree_.set_members(queues_, cohorts_); }
  void use(const std::string& queue, const Usage& usage) {
    tree_.add(tree_.queue(queue), tree_.amounts(usage), +1, Book::kPromised);
  }
  double queue_share(const std::string& name) { return fair_share(tree_, tree_.queue(name)); }
  double cohort_share(const std::string& name) { return fair_share(tree_, tree_.cohort(name)); }

  testing::Queues queues_;
  testing::Cohorts cohorts_;
  QuotaTree tree_;
};

struct ShareCase {
  const char* text;
  int64_t weight_milli;
  Usage usage;
  double share;
};

// "a" has 4 gpus of each flavor and 10 cpus, "b" 6, 2 and 30: their cohort has 16 gpus, 40 cpus.
TEST_F(FairShareTest, IsTheLargestPartThatIsBorrowed) {
  const std::vector<ShareCase> cases{
      {"nothing", 1000, {}, 0},
      {"all of its own", 1000, {{kGpu, 4}, {kOtherGpu, 4}, {kCpu, 10}}, 0},
      {"one more", 1000, {{kGpu, 5}}, 62.5},
      {"with twice the weight it is half", 2000, {{kGpu, 5}}, 31.25},
      {"with half the weight it is twice that", 500, {{kGpu, 5}}, 125},
      {"without weight there is no end", 0, {{kGpu, 5}}, kInfinite},
      {"without weight and without borrowing", 0, {{kGpu, 4}}, 0},
      {"both flavors add up", 1000, {{kGpu, 6}, {kOtherGpu, 6}}, 250},
      {"unused quota of one makes up for nothing", 1000, {{kGpu, 6}, {kOtherGpu, 0}}, 125},
      {"of two resources the larger part", 1000, {{kGpu, 6}, {kCpu, 20}}, 250},
      {"whichever it is", 1000, {{kGpu, 8}, {kCpu, 11}}, 250},
      {"more than there is", 1000, {{kGpu, 24}}, 1250},
  };
  for (const ShareCase& row : cases) {
    SCOPED_TRACE(row.text);
    queues_.clear();
    add_queue(queues_, "a", "all", {{kGpu, 4}, {kOtherGpu, 4}, {kCpu, 10}}, row.weight_milli);
    add_queue(queues_, "b", "all", {{kGpu, 6}, {kOtherGpu, 2}, {kCpu, 30}});
    build();
    use("a", row.usage);
    EXPECT_DOUBLE_EQ(queue_share("a"), row.share);
    EXPECT_EQ(queue_share("b"), 0);
    EXPECT_EQ(cohort_share("all"), 0);
  }
}

TEST_F(FairShareTest, AQueueAloneBorrowsFromNobody) {
  add_queue(queues_, "a", "", {{kGpu, 4}});
  build();
  use("a", {{kGpu, 9}});
  EXPECT_EQ(queue_share("a"), 0);
}

TEST_F(FairShareTest, WhoUsesWhatNobodyLendsHasTheLargest) {
  add_queue(queues_, "a", "all", {{kGpu, 0}});
  build();
  use("a", {{kGpu, 1}});
  EXPECT_EQ(queue_share("a"), kInfinite);
}

// What a parent could lend is what it and those above it have, as far as limits let it through.
TEST_F(FairShareTest, InATreeEveryLevelHasItsOwn) {
  add_cohort(cohorts_, "root", "", {{kGpu, 6}});
  add_cohort(cohorts_, "left", "root", {{kGpu, 0, std::nullopt, 1}});
  add_queue(queues_, "a", "left", {{kGpu, 2}});
  add_queue(queues_, "b", "left", {{kGpu, 2}});
  add_queue(queues_, "c", "root", {{kGpu, 0}});
  build();
  use("a", {{kGpu, 5}});
  // left keeps 3 of its 4; root has 6 + 1 = 7; left could get 3 + 7 = 10.
  EXPECT_DOUBLE_EQ(queue_share("a"), 300);
  EXPECT_DOUBLE_EQ(cohort_share("left"), 1000.0 / 7);
  EXPECT_EQ(share_status(cohort_share("left")), 143);
  use("c", {{kGpu, 2}});
  EXPECT_DOUBLE_EQ(queue_share("c"), 2000.0 / 7);
  // With a limit of 2 left could get no more than 4 + 2.
  cohorts_.at("left").groups[0].flavors[0].resources[0].borrowing_limit = 2;
  build();
  use("a", {{kGpu, 5}});
  EXPECT_DOUBLE_EQ(queue_share("a"), 500);
}

TEST_F(FairShareTest, IsOfWhatIsPromised) {
  add_queue(queues_, "a", "all", {{kGpu, 4}});
  add_queue(queues_, "b", "all", {{kGpu, 6}});
  build();
  tree_.add(tree_.queue("a"), tree_.amounts({{kGpu, 7}}), +1, Book::kHeld);
  EXPECT_EQ(queue_share("a"), 0);
}

TEST(ShareStatus, IsRoundedUpAndEnds) {
  EXPECT_EQ(share_status(0), 0);
  EXPECT_EQ(share_status(0.001), 1);
  EXPECT_EQ(share_status(300), 300);
  EXPECT_EQ(share_status(300.5), 301);
  EXPECT_EQ(share_status(1e300), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(share_status(kInfinite), std::numeric_limits<int64_t>::max());
}

class NextByShareTest : public FairShareTest {
 protected:
  // The queue whose contender is next.
  std::string next(const std::vector<std::pair<std::string, int64_t>>& wanted) {
    std::vector<Contender> contenders;
    for (const auto& [queue, gpus] : wanted) {
      contenders.push_back({tree_.queue(queue), tree_.amounts({{kGpu, gpus}})});
    }
    const std::string winner = wanted[next_by_share(tree_, contenders)].first;
    for (size_t i = 0; i < tree_.size(); ++i) {
      const MemberId member(i);
      EXPECT_GE(tree_.usage(member, tree_.id(kGpu), Book::kPromised), 0);
    }
    return winner;
  }
};

TEST_F(NextByShareTest, TheSmallestShareAfterwardsGoesFirst) {
  add_queue(queues_, "a", "all", {{kGpu, 4}});
  add_queue(queues_, "b", "all", {{kGpu, 4}});
  add_queue(queues_, "c", "all", {{kGpu, 2}}, 4000);
  build();
  use("a", {{kGpu, 4}});
  use("b", {{kGpu, 3}});
  EXPECT_EQ(next({{"a", 1}, {"b", 2}}), "a");  // 100 each: the one that comes first
  EXPECT_EQ(next({{"b", 2}, {"a", 1}}), "b");
  EXPECT_EQ(next({{"a", 1}, {"b", 1}}), "b");            // 100, 0
  EXPECT_EQ(next({{"a", 1}, {"b", 3}}), "a");            // 100, 200
  EXPECT_EQ(next({{"a", 1}, {"b", 3}, {"c", 5}}), "c");  // 100, 200, 300 / 4
  EXPECT_EQ(next({{"a", 9}}), "a");
  EXPECT_EQ(tree_.usage(tree_.cohort("all"), tree_.id(kGpu), Book::kPromised), 7);
}

TEST_F(NextByShareTest, OfOneQueueTheFirstStands) {
  add_queue(queues_, "a", "all", {{kGpu, 4}});
  build();
  const Amounts one = tree_.amounts({{kGpu, 1}});
  const Amounts nine = tree_.amounts({{kGpu, 9}});
  EXPECT_EQ(next_by_share(tree_, {{tree_.queue("a"), nine}, {tree_.queue("a"), one}}), 0U);
}

// root 6 ── left 0 ── a 2, b 2
//        └─ right 0 ── deep 0 ── c 2
//        └─ d 0                               12 in all
TEST_F(NextByShareTest, IsDecidedLevelByLevel) {
  add_cohort(cohorts_, "root", "", {{kGpu, 6}});
  add_cohort(cohorts_, "left", "root", {});
  add_cohort(cohorts_, "right", "root", {});
  add_cohort(cohorts_, "deep", "right", {});
  add_queue(queues_, "a", "left", {{kGpu, 2}});
  add_queue(queues_, "b", "left", {{kGpu, 2}});
  add_queue(queues_, "c", "deep", {{kGpu, 2}});
  add_queue(queues_, "d", "root", {{kGpu, 0}});
  build();
  use("a", {{kGpu, 4}});
  use("c", {{kGpu, 3}});
  // left uses 4 of 4, deep and right 3 of 2. With one more each: a has 3 / 12, b 0 (it has 1 of 2),
  // so b is left's, and left has 1 / 12; c and with it right 2 / 12; d 1 / 12.
  EXPECT_EQ(next({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}), "b");
  EXPECT_EQ(next({{"d", 1}, {"a", 1}, {"b", 1}, {"c", 1}}), "d");  // equals: who comes first
  // Without b it is a: though 3 / 12 is most of all queues, left's 1 / 12 is what counts.
  EXPECT_EQ(next({{"c", 1}, {"a", 1}}), "a");
  EXPECT_EQ(next({{"d", 2}, {"c", 1}}), "d");  // 2 / 12 both
  EXPECT_EQ(next({{"c", 1}, {"d", 2}}), "c");
  // A heavy cohort: right has 2 / 12 / 4.
  cohorts_.at("right").weight_milli = 4000;
  build();
  use("a", {{kGpu, 4}});
  use("c", {{kGpu, 3}});
  EXPECT_EQ(next({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}), "c");
}

}  // namespace
}  // namespace phalanx::quota
