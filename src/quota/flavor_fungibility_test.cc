// Which of several flavors is taken, by how each answers and what the queue prefers.
#include <fmt/format.h>

#include <algorithm>

#include "quota/flavor_testing.h"

namespace phalanx::quota::testing {
namespace {

// How a flavor answers. `B`: and the queue borrows.
enum class Say : uint8_t { kNo, kPreempts, kReclaims, kPreemptsB, kReclaimsB, kFitsB, kFits };
constexpr std::array kAll{Say::kNo,        Say::kPreempts, Say::kReclaims, Say::kPreemptsB,
                          Say::kReclaimsB, Say::kFitsB,    Say::kFits};

class FungibilityTest : public FlavorTest {
 protected:
  // Flavors "0", "1", ... that answer a workload of 2 cpus so.
  void answers(const std::vector<Say>& says) {
    queue_.groups.assign(1, {{"cpu"}, {}});
    lender_.groups.assign(1, {{"cpu"}, {}});
    reserved_.clear();
    lent_.clear();
    market_.others.clear();
    market_.borrowed.clear();
    for (size_t i = 0; i < says.size(); ++i) {
      const std::string name = std::to_string(i);
      flavor(name);
      const Say say = says[i];
      const bool borrows = say == Say::kPreemptsB || say == Say::kReclaimsB || say == Say::kFitsB;
      if (borrows) market_.borrowed.insert(name);
      queue_.groups[0].flavors.push_back({name, {{"cpu", borrows ? 0 : 2}}});
      lender_.groups[0].flavors.push_back({name, {{"cpu", borrows ? 2 : 0}}});
      if (say != Say::kFits && say != Say::kFitsB) lent_[{name, "cpu"}] = 2;
      if (say == Say::kPreempts || say == Say::kPreemptsB) market_.others[name] = Fit::kPreempts;
      if (say == Say::kReclaims || say == Say::kReclaimsB) market_.others[name] = Fit::kReclaims;
    }
  }

  void policy(bool next_when_can_borrow, bool next_when_can_preempt,
              bool preemption_over_borrowing) {
    queue_.fungibility = {next_when_can_borrow, next_when_can_preempt, preemption_over_borrowing};
  }

  // The flavor that is taken; nullopt if none.
  std::optional<size_t> taken() {
    const auto assigned = assign({pods(1, 2)});
    if (!assigned) return std::nullopt;
    return std::stoul(assigned->choices.front().flavors.at("cpu"));
  }
};

TEST_F(FungibilityTest, ByHand) {
  using enum Say;
  struct Row {
    std::vector<Say> says;
    bool next_when_can_borrow;
    bool next_when_can_preempt;
    bool preemption_over_borrowing;
    std::optional<size_t> taken;
  };
  const std::vector<Row> rows{
      {{kNo, kNo}, false, true, false, std::nullopt},
      {{kNo, kPreempts}, false, true, false, 1},
      {{kFits, kFits}, true, true, false, 0},
      // The default: borrow at once, go on before anybody is preempted.
      {{kFitsB, kFits}, false, true, false, 0},
      {{kPreempts, kFits}, false, true, false, 1},
      {{kReclaims, kFitsB}, false, true, false, 1},
      {{kPreempts, kReclaims}, false, true, false, 1},
      {{kPreempts, kReclaims, kFitsB}, false, true, false, 2},
      {{kReclaims, kReclaims}, false, true, false, 0},
      // whenCanBorrow: TryNextFlavor
      {{kFitsB, kFits}, true, true, false, 1},
      {{kFitsB, kReclaims}, true, true, false, 0},
      {{kFitsB, kNo, kFitsB}, true, true, false, 0},
      {{kReclaimsB, kReclaims}, true, true, false, 1},
      // whenCanPreempt: MayStopSearch
      {{kPreempts, kFits}, false, false, false, 0},
      {{kNo, kReclaims, kFits}, false, false, false, 1},
      {{kReclaimsB, kFits}, false, false, false, 0},
      {{kReclaimsB, kFits}, true, false, false, 1},
      {{kFitsB, kPreempts, kFits}, true, false, false, 1},
      // PreemptionOverBorrowing
      {{kFitsB, kPreempts}, true, true, true, 1},
      {{kFitsB, kPreempts, kReclaims}, true, true, true, 2},
      {{kPreempts, kFitsB}, true, true, true, 0},
      {{kPreemptsB, kFitsB}, true, true, true, 1},
      {{kFitsB, kFits}, true, true, true, 1},
      {{kFitsB, kPreempts}, false, true, true, 0},  // the search ends at the first
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    answers(row.says);
    policy(row.next_when_can_borrow, row.next_when_can_preempt, row.preemption_over_borrowing);
    EXPECT_EQ(taken(), row.taken) << "row " << i;
  }
}

bool borrows(Say say) {
  return say == Say::kPreemptsB || say == Say::kReclaimsB || say == Say::kFitsB;
}

// The document: where the search ends, else the best of all, the first of equals.
std::optional<size_t> by_the_document(const std::vector<Say>& says,
                                      const api::FlavorFungibility& policy) {
  using enum Say;
  const std::vector<Say> plain{kFits, kFitsB, kReclaims, kReclaimsB, kPreempts, kPreemptsB};
  const std::vector<Say> borrowing_last{kFits,  kReclaims,  kPreempts,
                                        kFitsB, kReclaimsB, kPreemptsB};
  for (size_t i = 0; i < says.size(); ++i) {
    const bool fits = says[i] == kFits || says[i] == kFitsB;
    if (says[i] == kNo) continue;
    if (borrows(says[i]) && policy.next_when_can_borrow) continue;
    if (!fits && policy.next_when_can_preempt) continue;
    return i;
  }
  for (const Say wanted : policy.preemption_over_borrowing ? borrowing_last : plain) {
    const auto found = std::ranges::find(says, wanted);
    if (found != says.end()) return static_cast<size_t>(found - says.begin());
  }
  return std::nullopt;
}

TEST_F(FungibilityTest, OfThreeFlavorsWhateverTheySay) {
  for (const Say first : kAll) {
    for (const Say second : kAll) {
      for (const Say third : kAll) {
        const std::vector<Say> says{first, second, third};
        answers(says);
        for (unsigned bits = 0; bits < 8; ++bits) {
          policy((bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0);
          ASSERT_EQ(taken(), by_the_document(says, queue_.fungibility))
              << static_cast<int>(first) << static_cast<int>(second) << static_cast<int>(third)
              << " policy " << bits;
        }
      }
    }
  }
}

TEST_F(FungibilityTest, TheAnswerIsToldWithTheChoice) {
  answers({Say::kReclaimsB});
  const auto assigned = assign({pods(1, 2)});
  ASSERT_TRUE(assigned);
  EXPECT_EQ(assigned->fit, Fit::kReclaims);
  EXPECT_TRUE(assigned->borrows);
  EXPECT_EQ(assigned->why.obstacle(), Obstacle::kWaitingForQuota);
}

// Flavors with a topology: quota is there, room is not.
TEST_F(FungibilityTest, RoomCountsAsQuotaDoes) {
  flavor("full", "default");
  flavor("free", "default");
  queue({{"full", 9}, {"free", 9}});
  market_.full.insert("full");
  market_.others["full"] = Fit::kReclaims;
  EXPECT_EQ(flavor_of({pods(1, 2)}), "free");
  queue_.fungibility.next_when_can_preempt = false;
  EXPECT_EQ(flavor_of({pods(1, 2)}), "full");
  EXPECT_EQ(market_.charged, 0);
}

// Once a unit needs others to go, the next ones are asked together with it.
TEST_F(FungibilityTest, LaterPodSetsAreAskedTogetherWithThoseThatWait) {
  flavor("full", "default");
  flavor("free", "default");
  queue({{"full", 9}, {"free", 9}});
  market_.full = {"full", "free"};
  market_.others = {{"full", Fit::kPreempts}, {"free", Fit::kNo}};
  const auto assigned = assign({pods(1, 2), pods(1, 2, "second")});
  ASSERT_TRUE(assigned);
  EXPECT_EQ(assigned->fit, Fit::kPreempts);
  EXPECT_EQ(assigned->choices[1].flavors.at("cpu"), "full");
  EXPECT_EQ(assigned->why.pod_set, 0U);
  EXPECT_EQ(market_.charged, 0);
}

}  // namespace
}  // namespace phalanx::quota::testing
