#include "quota/victim_search.h"

#include <gtest/gtest.h>

#include "quota/victim_testing.h"

namespace phalanx::quota::testing {
namespace {

const FlavorResource kGpu{kFlavor, "gpu"};
const Court kReclaim{Judgement::kReclaim, {}};
using Names = std::vector<std::string>;

// Two racks r0 and r1 of two hosts with 4 gpus each; the queue "own" has enough of everything and
// takes from those of lower priority.
class VictimSearchTest : public ::testing::Test {
 protected:
  VictimSearchTest() {
    for (const char* rack : {"r0", "r1"}) {
      for (const int host : {0, 1}) {
        tiny_.nodes.push_back(tiny_node("b0", rack, host, {{"gpu", 4}}));
      }
    }
    add_queue(tiny_.queues, "own", "all", {{kGpu, 100}});
    tiny_.queue = "own";
    tiny_.priority = 10;
    tiny_.policy.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    tiny_.policy.reclaim_within_cohort = api::PreemptionPolicy::kAny;
  }

  TinyHolder& holder(const std::string& name, const std::map<std::string, int64_t>& gpus,
                     int reserved = 100, int32_t priority = 0) {
    TinyHolder& added = tiny_.holders.emplace_back();
    added.name = name;
    added.queue = "own";
    added.priority = priority;
    added.reserved = reserved;
    added.per_pod["gpu"] = 1;
    added.pods = gpus;
    return added;
  }

  void want(int32_t count, int64_t gpus, const std::optional<std::string>& required) {
    placement::PodSet& pods = tiny_.pod_sets.emplace_back();
    pods.name = "main" + std::to_string(tiny_.pod_sets.size());
    pods.count = count;
    pods.requests["gpu"] = gpus;
    if (required) pods.topology.emplace().required = required;
  }

  // nullopt: there is no such set.
  std::optional<Names> victims(const Court& court = kReclaim, size_t steps = SearchLimits().steps) {
    VictimBed bed(tiny_);
    const std::string before = bed.state();
    const auto found = bed.find(court, steps);
    EXPECT_EQ(bed.state(), before);
    steps_ = bed.steps();
    if (!found) return std::nullopt;
    exact_ = found->exact;
    highest_priority_ = found->highest_priority;
    reasons_ = found->reasons;
    return bed.names(*found);
  }

  VictimCase tiny_;
  size_t steps_ = 0;
  bool exact_ = false;
  int32_t highest_priority_ = 0;
  std::vector<VictimReason> reasons_;
};

TEST_F(VictimSearchTest, NobodyGoesForWhoFits) {
  holder("a", {{"r0-0", 4}});
  want(1, 4, "rack");
  EXPECT_EQ(victims(), Names{});
}

TEST_F(VictimSearchTest, WhereNobodyMayGoThereIsNoSet) {
  for (const char* host : {"r0-0", "r0-1", "r1-0", "r1-1"}) holder(host, {{host, 4}}, 100, 10);
  want(1, 4, "rack");
  EXPECT_EQ(victims(), std::nullopt);
  tiny_.holders[2].priority = 9;
  EXPECT_EQ(victims(), Names{"r1-0"});
  EXPECT_EQ(highest_priority_, 9);
}

TEST_F(VictimSearchTest, WhatIsAskedForMayBeMoreThanThereIs) {
  holder("a", {{"r0-0", 4}});
  want(3, 4, "rack");
  EXPECT_EQ(victims(), std::nullopt);
}

TEST_F(VictimSearchTest, FirstTheLowestPriorityThenTheFewest) {
  holder("one", {{"r0-0", 4}}, 100, 1);
  holder("left-half", {{"r0-1", 2}});
  holder("right-half", {{"r0-1", 2}});
  holder("also-one", {{"r1-0", 4}}, 101, 1);
  holder("high", {{"r1-1", 4}}, 100, 5);
  want(1, 4, "kubernetes.io/hostname");
  // Two of priority 0 rather than one of priority 1.
  EXPECT_EQ(victims(), (Names{"left-half", "right-half"}));
  EXPECT_EQ(highest_priority_, 0);
  tiny_.holders[1].priority = 1;
  // Now one; of two the younger.
  EXPECT_EQ(victims(), Names{"also-one"});
  EXPECT_TRUE(exact_);
}

TEST_F(VictimSearchTest, OfAsManyThoseWhoseOldestIsYoungest) {
  holder("r0-oldest", {{"r0-0", 4}}, 100);
  holder("r0-youngest", {{"r0-1", 4}}, 400);
  holder("r1-older", {{"r1-0", 4}}, 200);
  holder("r1-younger", {{"r1-1", 4}}, 300);
  want(2, 4, "rack");
  EXPECT_EQ(victims(), (Names{"r1-younger", "r1-older"}));
  // Anywhere it is the two youngest, wherever they are.
  tiny_.pod_sets.clear();
  want(2, 4, std::nullopt);
  EXPECT_EQ(victims(), (Names{"r0-youngest", "r1-younger"}));
  // By name, if they came together.
  for (TinyHolder& each : tiny_.holders) each.reserved = 100;
  EXPECT_EQ(victims(), (Names{"r0-oldest", "r0-youngest"}));
}

TEST_F(VictimSearchTest, WhoReachesIntoTwoDomainsIsTakenOnce) {
  holder("wide", {{"r0-0", 4}, {"r1-0", 4}}, 100);
  holder("narrow", {{"r0-1", 4}}, 200);
  holder("other", {{"r1-1", 4}}, 150);
  want(2, 4, "rack");
  EXPECT_EQ(victims(), (Names{"narrow", "wide"}));
}

TEST_F(VictimSearchTest, QuotaMayComeFromElsewhere) {
  tiny_.queues.at("own").groups[0].flavors[0].resources[0].nominal = 12;
  holder("in-rack", {{"r0-0", 4}}, 100);
  holder("young", {{"r1-0", 4}}, 300);
  holder("old", {{"r1-1", 4}}, 50);
  want(2, 4, "rack");
  // r0 needs one of its own to go; quota needs two of any.
  EXPECT_EQ(victims(), (Names{"young", "in-rack"}));
}

TEST_F(VictimSearchTest, WhoTakesNoNodesMayStillHoldQuota) {
  tiny_.queues.at("own").groups[0].flavors[0].resources[0].nominal = 6;
  TinyHolder& unplaced = holder("unplaced", {}, 100);
  unplaced.pods_elsewhere = 4;
  holder("placed", {{"r0-0", 2}}, 50);
  want(1, 4, "rack");
  EXPECT_EQ(victims(), Names{"unplaced"});
}

TEST_F(VictimSearchTest, PodSetsArePlacedOneAfterAnother) {
  holder("a", {{"r0-0", 4}}, 100);
  holder("b", {{"r0-1", 4}}, 200);
  holder("c", {{"r1-0", 3}}, 300);
  want(2, 4, "rack");
  want(1, 2, "rack");
  // The first set needs a rack: r1 without c; then the second one needs a host of r0.
  EXPECT_EQ(victims(), (Names{"c", "b"}));
}

TEST_F(VictimSearchTest, AnotherQueueIsReclaimedFromUntilItNoLongerBorrows) {
  add_queue(tiny_.queues, "own", "all", {{kGpu, 8}});
  add_queue(tiny_.queues, "other", "all", {{kGpu, 8}});
  for (const char* host : {"r0-0", "r0-1", "r1-0"}) holder(host, {{host, 4}}).queue = "other";
  want(2, 4, "rack");
  EXPECT_EQ(victims(), Names{"r1-0"});
  EXPECT_EQ(reasons_, std::vector{VictimReason::kReclamation});
  // Two would have to go, and after one it does not borrow.
  holder("own", {{"r1-1", 4}}, 100, 10);
  EXPECT_EQ(victims(), std::nullopt);
}

TEST_F(VictimSearchTest, ABorrowerTakesOnlyAsABorrower) {
  add_queue(tiny_.queues, "own", "all", {{kGpu, 2}});
  add_queue(tiny_.queues, "other", "all", {{kGpu, 2}});
  add_queue(tiny_.queues, "idle", "all", {{kGpu, 12}});
  for (const char* host : {"r0-0", "r0-1", "r1-0", "r1-1"}) {
    holder(host, {{host, 4}}).queue = "other";
  }
  want(1, 4, "rack");
  EXPECT_EQ(victims(), std::nullopt);
  EXPECT_EQ(victims({Judgement::kBorrow, {}}), std::nullopt);
  tiny_.policy.borrow_within_cohort = true;
  EXPECT_EQ(victims({Judgement::kBorrow, {}}), Names{"r0-0"});
  EXPECT_EQ(reasons_, std::vector{VictimReason::kReclaimWhileBorrowing});
  EXPECT_EQ(victims({Judgement::kFairSharing, {FairStrategy::kFinalShare}}), Names{"r0-0"});
  EXPECT_EQ(reasons_, std::vector{VictimReason::kFairSharing});
}

// Found by the property test: with another share, wherever the own one sits.
TEST_F(VictimSearchTest, AnOwnOneElsewhereMayMakeItPossibleToReclaim) {
  add_queue(tiny_.queues, "own", "all", {{kGpu, 4}});
  add_queue(tiny_.queues, "other", "all", {{kGpu, 2}});
  add_queue(tiny_.queues, "idle", "all", {{kGpu, 10}});
  holder("own", {{"r1-0", 1}});
  holder("other", {{"r0-0", 4}}).queue = "other";
  holder("guest", {{"r0-1", 1}}, 100, 10);
  holder("second-guest", {{"r1-0", 1}, {"r1-1", 1}}, 100, 10);
  tiny_.holders[2].queue = tiny_.holders[3].queue = "idle";
  want(1, 4, "rack");
  EXPECT_EQ(victims(), (Names{"other", "own"}));
  EXPECT_EQ(reasons_, (std::vector{VictimReason::kReclamation, VictimReason::kInClusterQueue}));
}

// Found by reading: with less than nothing available, kept quota comes back at once.
TEST_F(VictimSearchTest, KeptQuotaIsThereAtOnceWhereOthersTookTooMuch) {
  add_queue(tiny_.queues, "own", "all", {{kGpu, 2, std::nullopt, 0}});
  add_queue(tiny_.queues, "other", "all", {{kGpu, 1}});
  holder("own", {{"r0-0", 2}});
  TinyHolder& other = holder("other", {}, 100, 10);
  other.queue = "other";
  other.pods_elsewhere = 9;
  tiny_.policy.reclaim_within_cohort = api::PreemptionPolicy::kNever;
  want(1, 2, "rack");
  EXPECT_EQ(victims(), Names{"own"});
}

TEST_F(VictimSearchTest, NegativePrioritiesAreSaidAsTheyAre) {
  for (const char* host : {"r0-0", "r0-1", "r1-0", "r1-1"}) holder(host, {{host, 4}}, 100, -7);
  want(1, 1, std::nullopt);
  ASSERT_TRUE(victims());
  EXPECT_EQ(highest_priority_, -7);
}

TEST_F(VictimSearchTest, ManyHoldersAndFewSteps) {
  tiny_.nodes.clear();
  for (int rack = 0; rack < 8; ++rack) {
    for (int host = 0; host < 8; ++host) {
      const api::Node& node =
          tiny_.nodes.emplace_back(tiny_node("b0", "r" + std::to_string(rack), host, {{"gpu", 8}}));
      for (int i = 0; i < 8; ++i) {
        holder(node.name + "-" + std::to_string(i), {{node.name, 1}}, 1000 * rack + 10 * host + i);
      }
    }
  }
  add_queue(tiny_.queues, "own", "all", {{kGpu, 1000}});
  want(8, 8, "rack");
  const auto found = victims();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 64U);
  EXPECT_EQ(found->front(), "r7-7-7");  // the youngest rack
  EXPECT_EQ(found->back(), "r7-0-0");
  EXPECT_LT(steps_, 1000U);
}

}  // namespace
}  // namespace phalanx::quota::testing
