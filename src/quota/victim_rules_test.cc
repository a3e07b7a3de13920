#include "quota/victim_rules.h"

#include <gtest/gtest.h>

#include "quota/testing.h"

namespace phalanx::quota {
namespace {

using api::PreemptionPolicy;
using testing::add_cohort;
using testing::add_queue;

const FlavorResource kGpu{"h100", "gpu"};
const FlavorResource kCpu{"h100", "cpu"};

Time at(int seconds) {
  return Time(std::chrono::seconds(seconds));
}

// A tree with holders in it, and W of the queue "own", which has priority 5, was created at 10 and
// lacks gpus.
class VictimRulesTest : public ::testing::Test {
 protected:
  VictimRulesTest() {
    preemptor_.priority = 5;
    preemptor_.created = at(10);
    preemptor_.policy.within_cluster_queue = PreemptionPolicy::kLowerPriority;
    preemptor_.policy.reclaim_within_cohort = PreemptionPolicy::kAny;
  }

  void build(int64_t gpus_wanted) {
    tree_.set_members(queues_, cohorts_);
    preemptor_.queue = tree_.queue("own");
    preemptor_.wanted = tree_.amounts({{kGpu, gpus_wanted}});
    preemptor_.contested = {tree_.id(kGpu)};
  }

  // "own" and "other" with so much each in a cohort.
  void build_flat(int64_t own, int64_t other, int64_t gpus_wanted) {
    add_queue(queues_, "own", "all", {{kGpu, own}, {kCpu, 10}});
    add_queue(queues_, "other", "all", {{kGpu, other}, {kCpu, 10}});
    build(gpus_wanted);
  }

  Holder holder(const std::string& queue, const Usage& usage, int32_t priority = 0,
                int created = 0) {
    Holder holder{queue + "-workload", tree_.queue(queue), priority, at(created), {},
                  tree_.amounts(usage)};
    tree_.add(holder.queue, holder.usage, +1, Book::kPromised);
    return holder;
  }

  VictimRules rules(Judgement judgement = Judgement::kReclaim,
                    const std::vector<FairStrategy>& strategies = {}) {
    return {tree_, preemptor_, judgement, strategies};
  }

  // With these gone.
  template <typename Question>
  auto without(const std::vector<const Holder*>& gone, Question question) {
    for (const Holder* each : gone) tree_.add(each->queue, each->usage, -1, Book::kPromised);
    const auto answer = question();
    for (const Holder* each : gone) tree_.add(each->queue, each->usage, +1, Book::kPromised);
    return answer;
  }
  bool allowed(const VictimRules& rules, const std::vector<const Holder*>& gone) {
    return without(gone, [&] { return rules.allowed(gone); });
  }

  testing::Queues queues_;
  testing::Cohorts cohorts_;
  QuotaTree tree_;
  Preemptor preemptor_;
};

TEST_F(VictimRulesTest, WithinTheQueuePrioritiesAndAgesDecide) {
  using enum PreemptionPolicy;
  struct Row {
    PreemptionPolicy policy;
    int32_t priority;
    int created;
    bool eligible;
  };
  const std::vector<Row> rows{
      {kNever, 0, 0, false},
      {kNever, 5, 20, false},
      {kLowerPriority, 4, 0, true},
      {kLowerPriority, -9, 20, true},
      {kLowerPriority, 5, 20, false},
      {kLowerPriority, 6, 20, false},
      {kLowerOrNewerEqualPriority, 4, 0, true},
      {kLowerOrNewerEqualPriority, 5, 11, true},
      {kLowerOrNewerEqualPriority, 5, 10, false},  // as old
      {kLowerOrNewerEqualPriority, 5, 9, false},
      {kLowerOrNewerEqualPriority, 6, 20, false},
  };
  for (const Row& row : rows) {
    build_flat(4, 4, 2);
    preemptor_.policy.within_cluster_queue = row.policy;
    // Whether the own queue borrows is of no interest.
    for (const int64_t gpus : {1, 7}) {
      const Holder own = holder("own", {{kGpu, gpus}}, row.priority, row.created);
      for (const Judgement judgement :
           {Judgement::kReclaim, Judgement::kBorrow, Judgement::kFairSharing}) {
        EXPECT_EQ(rules(judgement).eligible(own), row.eligible)
            << static_cast<int>(row.policy) << " " << row.priority << " " << row.created;
      }
    }
  }
}

TEST_F(VictimRulesTest, OfOtherQueuesThoseThatBorrowMayBeAsked) {
  using enum PreemptionPolicy;
  struct Row {
    PreemptionPolicy policy;
    int64_t used;  // of 4
    int32_t priority;
    int created;
    bool eligible;
  };
  const std::vector<Row> rows{
      {kNever, 5, 0, 0, false},
      {kAny, 4, 0, 0, false},
      {kAny, 5, 0, 0, true},
      {kAny, 5, 9, 0, true},
      {kLowerPriority, 4, 0, 0, false},
      {kLowerPriority, 5, 4, 0, true},
      {kLowerPriority, 5, 5, 20, false},  // newer counts for nothing here
      {kLowerPriority, 5, 6, 0, false},
  };
  for (const Row& row : rows) {
    build_flat(4, 4, 2);
    preemptor_.policy.reclaim_within_cohort = row.policy;
    const Holder other = holder("other", {{kGpu, row.used}}, row.priority, row.created);
    for (const Judgement judgement : {Judgement::kReclaim, Judgement::kFairSharing}) {
      EXPECT_EQ(rules(judgement).eligible(other), row.eligible)
          << static_cast<int>(row.policy) << " " << row.used << " " << row.priority;
    }
  }
}

TEST_F(VictimRulesTest, ABorrowerMayTakeOnlyThoseBelowTheThreshold) {
  struct Row {
    bool borrow_within_cohort;
    std::optional<int32_t> threshold;
    int32_t priority;
    bool eligible;
  };
  const std::vector<Row> rows{
      {false, std::nullopt, 0, false},
      {true, std::nullopt, 4, true},
      {true, std::nullopt, 5, false},
      {true, 2, 2, true},
      {true, 2, 3, false},
      {true, 9, 4, true},
      {true, 9, 5, false},
      {false, 9, 0, false},
  };
  for (const Row& row : rows) {
    build_flat(4, 4, 2);
    preemptor_.policy.borrow_within_cohort = row.borrow_within_cohort;
    preemptor_.policy.max_priority_threshold = row.threshold;
    const Holder other = holder("other", {{kGpu, 7}}, row.priority);
    EXPECT_EQ(rules(Judgement::kBorrow).eligible(other), row.eligible) << row.priority;
    // For who does not borrow the threshold means nothing.
    EXPECT_TRUE(rules(Judgement::kReclaim).eligible(other));
    preemptor_.policy.reclaim_within_cohort = PreemptionPolicy::kNever;
    EXPECT_FALSE(rules(Judgement::kBorrow).eligible(other));
    preemptor_.policy.reclaim_within_cohort = PreemptionPolicy::kAny;
  }
}

TEST_F(VictimRulesTest, WhoUsesNothingThatIsLackingStays) {
  build_flat(4, 4, 2);
  Holder own = holder("own", {{kCpu, 2}});
  Holder other = holder("other", {{kCpu, 20}});
  const Holder more = holder("other", {{kGpu, 6}});
  EXPECT_FALSE(rules().eligible(own));
  EXPECT_FALSE(rules().eligible(other));
  EXPECT_TRUE(rules().eligible(more));
  // Where room is lacking, those of the own queue that are in the way may be asked.
  own.in_the_way = other.in_the_way = true;
  EXPECT_TRUE(rules().eligible(own));
  EXPECT_FALSE(rules().eligible(other));
  // It borrows cpus, and uses gpus that it does not borrow.
  const Holder both = holder("other", {{kCpu, 1}, {kGpu, 0}});
  EXPECT_FALSE(rules().eligible(both));
}

TEST_F(VictimRulesTest, OtherTreesAreNotAsked) {
  add_queue(queues_, "stranger", "elsewhere", {{kGpu, 1}});
  build_flat(4, 4, 2);
  EXPECT_FALSE(rules().eligible(holder("stranger", {{kGpu, 5}})));
}

// root ── left ── own 0, sibling 2
//      └─ right 1 ── far 2, beside 2
TEST_F(VictimRulesTest, ACohortWithinItsQuotaIsLeftAlone) {
  add_cohort(cohorts_, "root", "", {{kGpu, 4}});
  add_cohort(cohorts_, "left", "root", {});
  add_cohort(cohorts_, "right", "root", {{kGpu, 1}});
  add_queue(queues_, "own", "left", {{kGpu, 0}});
  add_queue(queues_, "sibling", "left", {{kGpu, 2}});
  add_queue(queues_, "far", "right", {{kGpu, 2}});
  add_queue(queues_, "beside", "right", {{kGpu, 2}});
  build(1);
  const Holder far = holder("far", {{kGpu, 4}});
  EXPECT_FALSE(rules().eligible(far));  // right uses 4 of 5
  const Holder beside = holder("beside", {{kGpu, 2}});
  EXPECT_TRUE(rules().eligible(far));      // 6 of 5
  EXPECT_FALSE(rules().eligible(beside));  // it uses what is its own
  const Holder sibling = holder("sibling", {{kGpu, 3}});
  EXPECT_TRUE(rules().eligible(sibling));
  // Once right no longer borrows nobody there may go, though far still borrows.
  const Holder small = holder("far", {{kGpu, 1}});
  holder("far", {{kGpu, 1}});
  EXPECT_TRUE(rules().may_go_next(small));                                    // right uses 8
  EXPECT_FALSE(without({&far}, [&] { return rules().may_go_next(small); }));  // 4
}

// other has 4 and uses 4 + 3 + 3 + 5: it borrows 11.
TEST_F(VictimRulesTest, NoMoreIsTakenOfAQueueOnceItNoLongerBorrows) {
  build_flat(20, 4, 2);
  const Holder four = holder("other", {{kGpu, 4}});
  const Holder three = holder("other", {{kGpu, 3}});
  const Holder more = holder("other", {{kGpu, 3}});
  const Holder five = holder("other", {{kGpu, 5}});
  const VictimRules rules = this->rules();
  EXPECT_TRUE(allowed(rules, {}));
  EXPECT_TRUE(allowed(rules, {&four}));
  EXPECT_TRUE(allowed(rules, {&four, &three, &more}));  // 11: the last found it borrowing 4
  EXPECT_TRUE(allowed(rules, {&five, &three, &more}));  // 11
  EXPECT_TRUE(allowed(rules, {&five, &four, &three}));  // 12: before any of them 3 or more
  // 15: the largest can have been the last; it found 1 borrowed.
  EXPECT_TRUE(allowed(rules, {&five, &four, &three, &more}));
  const Holder one = holder("other", {{kGpu, 1}});                    // now it borrows 12, by 16
  EXPECT_TRUE(allowed(this->rules(), {&one, &four, &three, &more}));  // 11
  EXPECT_TRUE(allowed(this->rules(), {&one, &five, &four, &three}));  // 13
  EXPECT_TRUE(allowed(this->rules(), {&one, &five, &four, &three, &more}));  // 16 - 5 < 12
  const Holder own = holder("own", {{kGpu, 1}});
  EXPECT_TRUE(allowed(this->rules(), {&own}));
}

TEST_F(VictimRulesTest, WhoeverIsTakenLastMustHaveFoundItBorrowing) {
  build_flat(20, 4, 2);
  const Holder first = holder("other", {{kGpu, 3}});
  const Holder second = holder("other", {{kGpu, 3}});
  const Holder third = holder("other", {{kGpu, 3}});  // it borrows 5
  EXPECT_TRUE(allowed(rules(), {&first}));
  EXPECT_TRUE(allowed(rules(), {&first, &second}));
  EXPECT_FALSE(allowed(rules(), {&first, &second, &third}));  // after two it uses 3 of 4
  EXPECT_TRUE(without({&first}, [&] { return rules().may_go_next(second); }));
  EXPECT_FALSE(without({&first, &second}, [&] { return rules().may_go_next(third); }));
}

TEST_F(VictimRulesTest, WhoReclaimsMustNotBorrow) {
  for (const bool borrow_within_cohort : {false, true}) {
    build_flat(4, 4, 2);
    preemptor_.policy.borrow_within_cohort = borrow_within_cohort;
    const Holder own = holder("own", {{kGpu, 3}});
    const Holder other = holder("other", {{kGpu, 6}});
    EXPECT_FALSE(allowed(rules(), {&other}));  // own would use 5 of 4
    EXPECT_TRUE(allowed(rules(), {&own}));
    EXPECT_TRUE(allowed(rules(), {&own, &other}));
    EXPECT_TRUE(allowed(rules(Judgement::kBorrow), {&other}));
    EXPECT_TRUE(rules().eases_judgement(own));
    EXPECT_FALSE(rules().eases_judgement(other));
    EXPECT_FALSE(rules(Judgement::kBorrow).eases_judgement(own));
  }
}

TEST_F(VictimRulesTest, WhoReclaimsMustNotBorrowWhatIsNotLackingEither) {
  build_flat(4, 4, 2);
  preemptor_.wanted = tree_.amounts({{kGpu, 2}, {kCpu, 11}});
  const Holder other = holder("other", {{kGpu, 6}});
  EXPECT_FALSE(allowed(rules(), {&other}));
  preemptor_.wanted = tree_.amounts({{kGpu, 2}, {kCpu, 10}});
  EXPECT_TRUE(allowed(rules(), {&other}));
}

// root 2 ── left 1 ── own 2, sibling 0
//        └─ far 0
TEST_F(VictimRulesTest, NeitherMustTheCohortsUpToTheSharedOne) {
  add_cohort(cohorts_, "root", "", {{kGpu, 2}});
  add_cohort(cohorts_, "left", "root", {{kGpu, 1}});
  add_queue(queues_, "own", "left", {{kGpu, 2}});
  add_queue(queues_, "sibling", "left", {{kGpu, 0}});
  add_queue(queues_, "far", "root", {{kGpu, 0}});
  build(2);
  const Holder sibling = holder("sibling", {{kGpu, 2}});
  const Holder far = holder("far", {{kGpu, 2}});
  EXPECT_TRUE(allowed(rules(), {&sibling}));
  EXPECT_FALSE(allowed(rules(), {&far}));  // left would use 4 of 3
  EXPECT_TRUE(allowed(rules(), {&sibling, &far}));
  EXPECT_TRUE(rules().eases_judgement(sibling));
  EXPECT_FALSE(rules().eases_judgement(far));
}

// 20 in all: own 4, other 4, third 12. other uses 10: its share is 300.
TEST_F(VictimRulesTest, SharesAreComparedByEachStrategy) {
  using Strategies = std::vector<FairStrategy>;
  const Strategies final_share{FairStrategy::kFinalShare};
  const Strategies initial_share{FairStrategy::kInitialShare};
  const Strategies both{FairStrategy::kFinalShare, FairStrategy::kInitialShare};
  struct Row {
    int64_t wanted;
    int64_t taken;  // of the 10
    bool by_final;
    bool by_initial;
  };
  const std::vector<Row> rows{
      {4, 9, true, true},     // it borrows nothing
      {7, 3, true, true},     // 150 against 150, and below 300
      {7, 4, false, true},    // 150 against 100
      {9, 1, true, true},     // 250 against 250
      {9, 2, false, true},    // 250 against 200
      {10, 1, false, false},  // 300 against 250, and not below 300
      {12, 1, false, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.wanted * 100 + row.taken);
    add_queue(queues_, "third", "all", {{kGpu, 12}});
    build_flat(4, 4, row.wanted);
    const Holder victim = holder("other", {{kGpu, row.taken}});
    holder("other", {{kGpu, 10 - row.taken}});
    const auto verdict = [&](const Strategies& strategies) {
      const VictimRules rules = this->rules(Judgement::kFairSharing, strategies);
      EXPECT_TRUE(rules.eligible(victim));
      EXPECT_EQ(allowed(rules, {&victim}), rules.may_go_next(victim));
      return allowed(rules, {&victim});
    };
    EXPECT_EQ(verdict(final_share), row.by_final);
    EXPECT_EQ(verdict(initial_share), row.by_initial);
    EXPECT_EQ(verdict(both), row.by_final || row.by_initial);
  }
}

// 8 in all. other uses both of its quota of 4: without the small one it could not come back by
// right.
TEST_F(VictimRulesTest, ABorrowerTakesNobodyWhoCouldComeBackAtOnce) {
  build_flat(4, 4, 7);
  preemptor_.policy.borrow_within_cohort = true;
  const Holder three = holder("other", {{kGpu, 3}});
  const Holder five = holder("other", {{kGpu, 5}});
  const VictimRules rules = this->rules(Judgement::kBorrow);
  EXPECT_TRUE(allowed(rules, {&three}));
  EXPECT_TRUE(allowed(rules, {&five}));
  EXPECT_FALSE(allowed(rules, {&three, &five}));  // alone three is within 4
  preemptor_.wanted = tree_.amounts({{kGpu, 4}});
  EXPECT_TRUE(allowed(rules, {&three, &five}));  // nor does the preemptor borrow: it cannot
}

// 20 in all. other borrows 9: its share is 450. own would borrow 3, and have 150.
TEST_F(VictimRulesTest, ByShareNobodyIsTakenWhoCouldComeBackAtOnce) {
  add_queue(queues_, "third", "all", {{kGpu, 12}});
  build_flat(4, 4, 7);
  const Holder five = holder("other", {{kGpu, 5}});
  const Holder eight = holder("other", {{kGpu, 8}});
  const VictimRules rules = this->rules(Judgement::kFairSharing, {FairStrategy::kInitialShare});
  EXPECT_TRUE(allowed(rules, {&five}));
  EXPECT_TRUE(allowed(rules, {&eight}));
  EXPECT_FALSE(allowed(rules, {&five, &eight}));  // alone five has a share of 50
}

// Both sides have a share of 250, because of cpus; W and the victim are about gpus.
TEST_F(VictimRulesTest, WithEqualSharesThatDoNotChangeNobodyIsTaken) {
  build_flat(4, 4, 5);
  const Holder victim = holder("other", {{kGpu, 5}});
  holder("other", {{kCpu, 15}});
  const Holder cpus = holder("own", {{kCpu, 15}});
  const auto verdict = [&] {
    return allowed(rules(Judgement::kFairSharing, {FairStrategy::kFinalShare}), {&victim});
  };
  EXPECT_FALSE(verdict());
  // With fewer cpus its own share is that of the gpus: 125.
  EXPECT_TRUE(without({&cpus}, verdict));
}

TEST_F(VictimRulesTest, WhoHadToGoSparesThoseThatHaveStartedSince) {
  build_flat(4, 4, 2);
  std::vector<Holder> holders{holder("own", {{kGpu, 3}}), holder("other", {{kGpu, 6}})};
  for (Holder& each : holders) {
    SCOPED_TRACE(each.workload);
    each.reserved = at(20);
    preemptor_.spares_since.reset();
    EXPECT_TRUE(rules().eligible(each));
    preemptor_.spares_since = at(20);
    EXPECT_FALSE(rules().eligible(each));
    preemptor_.spares_since = at(21);
    EXPECT_TRUE(rules().eligible(each));
  }
}

TEST_F(VictimRulesTest, SharesAreOfTheSubtreesBelowTheSharedCohort) {
  add_cohort(cohorts_, "root", "", {{kGpu, 10}});
  add_cohort(cohorts_, "left", "root", {});
  add_queue(queues_, "own", "left", {{kGpu, 0}});
  add_queue(queues_, "sibling", "left", {{kGpu, 2}});
  add_queue(queues_, "far", "root", {{kGpu, 0}});
  build(3);
  const Holder far = holder("far", {{kGpu, 2}});
  holder("far", {{kGpu, 2}});
  const VictimRules rules = this->rules(Judgement::kFairSharing, {FairStrategy::kFinalShare});
  // own would borrow 3 of 12, but left 1, and far still 2.
  EXPECT_TRUE(allowed(rules, {&far}));
  const Holder sibling = holder("sibling", {{kGpu, 4}});
  EXPECT_FALSE(allowed(this->rules(Judgement::kFairSharing, {FairStrategy::kFinalShare}), {&far}));
  // With the sibling gone, too, it is as before. Between own and sibling their own shares count:
  // own's 3 of 12 against nothing, once it is gone.
  EXPECT_FALSE(
      allowed(this->rules(Judgement::kFairSharing, {FairStrategy::kFinalShare}), {&sibling, &far}));
  EXPECT_TRUE(this->rules(Judgement::kFairSharing, {}).eases_judgement(sibling));
  EXPECT_FALSE(this->rules(Judgement::kFairSharing, {}).eases_judgement(far));
}

TEST_F(VictimRulesTest, EveryVictimHasItsReason) {
  build_flat(4, 4, 4);
  const Holder own = holder("own", {{kGpu, 2}});
  const Holder other = holder("other", {{kGpu, 6}});
  const auto reason = [&](Judgement judgement, const std::vector<const Holder*>& gone,
                          const Holder& victim) {
    const VictimRules rules = this->rules(judgement);
    return without(gone, [&] { return rules.reason(victim); });
  };
  using enum VictimReason;
  for (const Judgement judgement :
       {Judgement::kReclaim, Judgement::kBorrow, Judgement::kFairSharing}) {
    EXPECT_EQ(reason(judgement, {&own}, own), kInClusterQueue);
    EXPECT_EQ(reason(judgement, {&own, &other}, other), kReclamation);
  }
  EXPECT_EQ(reason(Judgement::kBorrow, {&other}, other), kReclaimWhileBorrowing);
  EXPECT_EQ(reason(Judgement::kFairSharing, {&other}, other), kFairSharing);
}

TEST_F(VictimRulesTest, NothingIsChangedByAsking) {
  build_flat(4, 4, 3);
  const Holder own = holder("own", {{kGpu, 2}});
  const Holder other = holder("other", {{kGpu, 7}});
  const VictimRules rules = this->rules(Judgement::kFairSharing,
                                        {FairStrategy::kFinalShare, FairStrategy::kInitialShare});
  EXPECT_TRUE(rules.eligible(other));
  (void)allowed(rules, {&own, &other});
  (void)rules.may_go_next(other);
  (void)rules.eases_judgement(own);
  EXPECT_EQ(tree_.usage(tree_.queue("own"), tree_.id(kGpu), Book::kPromised), 2);
  EXPECT_EQ(tree_.usage(tree_.queue("other"), tree_.id(kGpu), Book::kPromised), 7);
  EXPECT_EQ(tree_.usage(tree_.cohort("all"), tree_.id(kGpu), Book::kPromised), 9);
  EXPECT_EQ(tree_.usage(tree_.cohort("all"), tree_.id(kGpu), Book::kHeld), 0);
}

}  // namespace
}  // namespace phalanx::quota
