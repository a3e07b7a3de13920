#include "quota/quota_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "quota/testing.h"

namespace phalanx::quota {
namespace {

using testing::add_cohort;
using testing::add_queue;
using testing::Cohorts;
using testing::Queues;

const FlavorResource kGpu{"h100", "gpu"};

struct Limits {
  int64_t nominal = 0;
  std::optional<int64_t> borrowing = {};
  std::optional<int64_t> lending = {};
};

// What a member of the tree is to say.
struct Expected {
  std::string member;
  int64_t subtree_quota = 0;
  int64_t usage = 0;
  int64_t available = 0;
  int64_t maximum = 0;
  bool borrows = false;
};

struct TreeCase {
  std::string text;
  // By name: what it is in, its limits. Names of cohorts begin with a capital letter.
  std::map<std::string, std::pair<std::string, Limits>> members;
  std::map<std::string, int64_t> used;  // by queue
  std::vector<Expected> expected;
};

bool is_cohort(const std::string& name) {
  return name[0] >= 'A' && name[0] <= 'Z';
}

QuotaTree tree_of(const TreeCase& row) {
  Queues queues;
  Cohorts cohorts;
  for (const auto& [name, member] : row.members) {
    const auto& [parent, limits] = member;
    const std::vector<testing::Quota> quotas{
        {kGpu, limits.nominal, limits.borrowing, limits.lending}};
    if (is_cohort(name)) {
      add_cohort(cohorts, name, parent, quotas);
    } else {
      add_queue(queues, name, parent, quotas);
    }
  }
  QuotaTree tree;
  tree.set_members(queues, cohorts);
  return tree;
}

constexpr std::nullopt_t kNone = std::nullopt;

std::vector<TreeCase> tree_cases() {
  return {
      {"a queue alone", {{"a", {"", {10}}}}, {{"a", 4}}, {{"a", 10, 4, 6, 10}}},
      {"alone, limits mean nothing", {{"a", {"", {10, 5, 5}}}}, {{"a", 4}}, {{"a", 10, 4, 6, 10}}},
      {"alone, more used than there is", {{"a", {"", {10}}}}, {{"a", 13}}, {{"a", 10, 13, -3, 10}}},
      {"a flat cohort shares everything",
       {{"a", {"All", {10}}}, {"b", {"All", {5}}}},
       {{"a", 12}},
       {{"a", 10, 12, 3, 15, true}, {"b", 5, 0, 3, 15}, {"All", 15, 12, 3, 15}}},
      {"borrowingLimit",
       {{"a", {"All", {10, 2}}}, {"b", {"All", {5, 0}}}},
       {{"a", 7}},
       {{"a", 10, 7, 5, 12}, {"b", 5, 0, 5, 5}}},
      {"borrowingLimit, reached",
       {{"a", {"All", {10, 2}}}, {"b", {"All", {5}}}},
       {{"a", 12}},
       {{"a", 10, 12, 0, 12, true}, {"b", 5, 0, 3, 15}}},
      {"lendingLimit: the rest is kept",
       {{"a", {"All", {10, kNone, 4}}}, {"b", {"All", {5}}}},
       {},
       {{"a", 10, 0, 15, 15}, {"b", 5, 0, 9, 9}, {"All", 9, 0, 9, 9}}},
      {"what is kept is used first",
       {{"a", {"All", {10, kNone, 4}}}, {"b", {"All", {5}}}},
       {{"a", 6}, {"b", 2}},
       {{"a", 10, 6, 7, 15}, {"b", 5, 2, 7, 9}, {"All", 9, 2, 7, 9}}},
      {"then what is lent",
       {{"a", {"All", {10, kNone, 4}}}, {"b", {"All", {5}}}},
       {{"a", 8}, {"b", 2}},
       {{"a", 10, 8, 5, 15}, {"b", 5, 2, 5, 9}, {"All", 9, 4, 5, 9}}},
      {"a lendingLimit above the quota is none",
       {{"a", {"All", {10, kNone, 40}}}, {"b", {"All", {5}}}},
       {},
       {{"a", 10, 0, 15, 15}, {"b", 5, 0, 15, 15}}},
      {"both limits",
       {{"a", {"All", {10, 1, 4}}}, {"b", {"All", {5}}}},
       {{"a", 3}},
       {{"a", 10, 3, 8, 11}, {"b", 5, 0, 9, 9}}},
      {"both limits, beyond what is kept",
       {{"a", {"All", {10, 1, 4}}}, {"b", {"All", {5}}}},
       {{"a", 9}, {"b", 5}},
       {{"a", 10, 9, 1, 11}, {"b", 5, 5, 1, 9}}},
      {"a cohort with quota of its own",
       {{"All", {"", {20}}}, {"a", {"All", {10}}}, {"b", {"All", {0}}}},
       {{"b", 15}},
       {{"a", 10, 0, 15, 30}, {"b", 0, 15, 15, 30, true}, {"All", 30, 15, 15, 30}}},
  };
}

std::vector<TreeCase> deep_cases() {
  return {
      {"three levels, usage goes up",
       {{"Root", {"", {4}}}, {"Left", {"Root", {2}}}, {"a", {"Left", {3}}}, {"b", {"Root", {1}}}},
       {{"a", 6}},
       {{"a", 3, 6, 4, 10, true},
        {"Left", 5, 6, 4, 10, true},
        {"b", 1, 0, 4, 10},
        {"Root", 10, 6, 4, 10}}},
      // Left has 2 + 3 + 3 = 8, lends 2 and keeps 6; Root has 4 + 1 + 2.
      {"three levels, a lending limit in the middle",
       {{"Root", {"", {4}}},
        {"Left", {"Root", {2, kNone, 2}}},
        {"a", {"Left", {3}}},
        {"c", {"Left", {3}}},
        {"b", {"Root", {1}}}},
       {{"a", 7}},
       {{"a", 3, 7, 6, 13, true},
        {"c", 3, 0, 6, 13},
        {"Left", 8, 7, 6, 13},
        {"b", 1, 0, 6, 7},
        {"Root", 7, 1, 6, 7}}},
      {"three levels, a borrowing limit in the middle",
       {{"Root", {"", {40}}}, {"Left", {"Root", {2, 3}}}, {"a", {"Left", {3}}}},
       {{"a", 6}},
       {{"a", 3, 6, 2, 8, true}, {"Left", 5, 6, 2, 8, true}, {"Root", 45, 6, 39, 45}}},
      {"kept at two levels",
       {{"Root", {"", {0}}},
        {"Left", {"Root", {0, kNone, 1}}},
        {"a", {"Left", {6, kNone, 2}}},
        {"b", {"Root", {0}}}},
       {{"a", 5}},
       // a keeps 4, Left has 2 and keeps 1, Root has 1; of a's 5 one is Left's, and kept there.
       {{"a", 6, 5, 1, 6}, {"Left", 2, 1, 1, 2}, {"b", 0, 0, 1, 1}, {"Root", 1, 0, 1, 1}}},
      {"over-admitted: less than nothing is there, but what is kept",
       {{"a", {"All", {10, kNone, 4}}}, {"b", {"All", {5}}}},
       {{"a", 3}, {"b", 12}},
       {{"a", 10, 3, 3, 15}, {"b", 5, 12, -3, 9, true}, {"All", 9, 12, -3, 9}}},
      {"over-admitted, what is kept is used up",
       {{"a", {"All", {10, kNone, 4}}}, {"b", {"All", {5}}}},
       {{"a", 6}, {"b", 12}},
       {{"a", 10, 6, -3, 15}, {"b", 5, 12, -3, 9, true}}},
      {"above a limit that was lowered",
       {{"a", {"All", {4, 1}}}, {"b", {"All", {20}}}},
       {{"a", 8}},
       {{"a", 4, 8, -3, 5, true}, {"b", 20, 0, 16, 24}}},
  };
}

void check(const TreeCase& row, Book book) {
  SCOPED_TRACE(row.text);
  QuotaTree tree = tree_of(row);
  const FlavorResourceId gpu = tree.id(kGpu);
  for (const auto& [queue, amount] : row.used) {
    tree.add(tree.queue(queue), {{gpu, amount}}, +1, book);
  }
  for (const Expected& expected : row.expected) {
    SCOPED_TRACE(expected.member);
    const MemberId member =
        is_cohort(expected.member) ? tree.cohort(expected.member) : tree.queue(expected.member);
    ASSERT_TRUE(member.valid());
    EXPECT_EQ(tree.subtree_quota(member, gpu), expected.subtree_quota);
    EXPECT_EQ(tree.usage(member, gpu, book), expected.usage);
    EXPECT_EQ(tree.available(member, gpu, book), expected.available);
    EXPECT_EQ(tree.maximum(member, gpu), expected.maximum);
    if (book == Book::kPromised) EXPECT_EQ(tree.borrows(member, gpu), expected.borrows);
    // By both books it is what the fuller one has left.
    EXPECT_EQ(tree.available(member, gpu), std::min(expected.available, expected.maximum));
  }
}

TEST(QuotaTreeTest, WhoMayUseHowMuch) {
  for (const Book book : kBooks) {
    for (const TreeCase& row : tree_cases()) check(row, book);
  }
}

TEST(QuotaTreeTest, WhoMayUseHowMuchInTreesAndWhereTooMuchIsUsed) {
  for (const Book book : kBooks) {
    for (const TreeCase& row : deep_cases()) check(row, book);
  }
}

TEST(QuotaTreeTest, BorrowingIsAskedWithMoreOnTop) {
  QuotaTree tree = tree_of({"", {{"a", {"All", {10}}}, {"b", {"", {10}}}}, {}, {}});
  const FlavorResourceId gpu = tree.id(kGpu);
  tree.add(tree.queue("a"), {{gpu, 7}}, +1, Book::kPromised);
  EXPECT_FALSE(tree.borrows(tree.queue("a"), gpu, 3));
  EXPECT_TRUE(tree.borrows(tree.queue("a"), gpu, 4));
  EXPECT_FALSE(tree.borrows(tree.queue("b"), gpu, 40));  // from whom?
}

TEST(QuotaTreeTest, TheBooksAreApart) {
  QuotaTree tree = tree_of({"", {{"a", {"All", {10}}}, {"b", {"All", {5}}}}, {}, {}});
  const FlavorResourceId gpu = tree.id(kGpu);
  tree.add(tree.queue("a"), {{gpu, 12}}, +1, Book::kHeld);
  tree.add(tree.queue("b"), {{gpu, 14}}, +1, Book::kPromised);
  EXPECT_EQ(tree.available(tree.queue("a"), gpu, Book::kHeld), 3);
  EXPECT_EQ(tree.available(tree.queue("a"), gpu, Book::kPromised), 1);
  EXPECT_EQ(tree.available(tree.queue("a"), gpu), 1);
  tree.add(tree.queue("b"), {{gpu, 14}}, -1, Book::kPromised);
  EXPECT_EQ(tree.available(tree.queue("a"), gpu), 3);
}

TEST(QuotaTreeTest, WhatNobodyHasQuotaOfIsNotThere) {
  QuotaTree tree = tree_of({"", {{"a", {"All", {10}}}}, {}, {}});
  const FlavorResourceId unknown = tree.id({"h100", "licenses"});
  EXPECT_EQ(tree.available(tree.queue("a"), unknown), 0);
  EXPECT_EQ(tree.maximum(tree.queue("a"), unknown), 0);
  tree.add(tree.queue("a"), {{unknown, 2}}, +1, Book::kPromised);
  EXPECT_EQ(tree.available(tree.queue("a"), unknown), -2);
  EXPECT_TRUE(tree.borrows(tree.queue("a"), unknown));
  EXPECT_FALSE(tree.queue("All").valid());
  EXPECT_FALSE(tree.cohort("a").valid());
}

TEST(QuotaTreeTest, IdsOutliveTheMembers) {
  QuotaTree tree = tree_of({"", {{"a", {"All", {10}}}}, {}, {}});
  const FlavorResourceId gpu = tree.id(kGpu);
  Queues queues;
  add_queue(queues, "b", "", {{{"other", "cpu"}, 1}, {kGpu, 3}});
  tree.set_members(queues, {});
  EXPECT_EQ(tree.id(kGpu), gpu);
  EXPECT_EQ(tree.what(gpu), kGpu);
  EXPECT_EQ(tree.available(tree.queue("b"), gpu), 3);
  EXPECT_FALSE(tree.queue("a").valid());
}

TEST(QuotaTreeTest, AmountsAreInTheOrderOfIds) {
  QuotaTree tree;
  const FlavorResourceId late = tree.id({"z", "gpu"});
  const Amounts amounts = tree.amounts({{{"a", "gpu"}, 2}, {{"z", "gpu"}, 1}});
  EXPECT_EQ(amounts, (Amounts{{late, 1}, {tree.id({"a", "gpu"}), 2}}));
}

TEST(QuotaTreeTest, TheWayUpEndsBelowTheSharedCohort) {
  const QuotaTree tree = tree_of({"",
                                  {{"Root", {"", {}}},
                                   {"Left", {"Root", {}}},
                                   {"a", {"Left", {}}},
                                   {"b", {"Left", {}}},
                                   {"c", {"Root", {}}},
                                   {"d", {"", {}}}},
                                  {},
                                  {}});
  const auto names = [&](const char* queue, const char* other) {
    std::vector<std::string> way;
    for (const MemberId member : tree.below_shared(tree.queue(queue), tree.queue(other))) {
      way.push_back(tree.name(member));
    }
    return way;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("a", "b"), Names{"a"});
  EXPECT_EQ(names("a", "c"), (Names{"a", "Left"}));
  EXPECT_EQ(names("c", "a"), Names{"c"});
  EXPECT_EQ(names("a", "a"), Names{});
  EXPECT_EQ(names("a", "d"), (Names{"a", "Left", "Root"}));
  EXPECT_EQ(tree.root(tree.queue("a")), tree.cohort("Root"));
  EXPECT_EQ(tree.root(tree.queue("d")), tree.queue("d"));
}

// Parents by cohort.
Cohorts cohorts_of(const std::map<std::string, std::string>& parents) {
  Cohorts cohorts;
  for (const auto& [name, parent] : parents) add_cohort(cohorts, name, parent, {{kGpu, 1}});
  return cohorts;
}

TEST(CircleTest, IsFoundFromBelowAndSpeltOutFromTheSmallestName) {
  using Names = std::vector<std::string>;
  struct Row {
    std::map<std::string, std::string> parents;
    std::string from;
    Names circle;
  };
  const std::vector<Row> rows{
      {{}, "A", {}},
      {{}, "", {}},
      {{{"A", ""}}, "A", {}},
      {{{"A", "B"}}, "A", {}},  // B has no object
      {{{"A", "A"}}, "A", {"A"}},
      {{{"A", "B"}, {"B", "A"}}, "A", {"A", "B"}},
      {{{"A", "B"}, {"B", "A"}}, "B", {"A", "B"}},
      {{{"T", "U"}, {"U", "C"}, {"C", "B"}, {"B", "A"}, {"A", "C"}}, "T", {"A", "C", "B"}},
      {{{"A", "B"}, {"B", "B"}}, "A", {"B"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(circle_above(row.from, cohorts_of(row.parents)), row.circle) << row.from;
  }
}

TEST(CircleTest, ParentsInACircleAreTakenForNone) {
  for (const auto& parents : std::vector<std::map<std::string, std::string>>{
           {{"A", "A"}, {"T", "A"}},
           {{"A", "B"}, {"B", "A"}, {"T", "A"}},
           {{"A", "B"}, {"B", "C"}, {"C", "A"}, {"T", "A"}},
       }) {
    Queues queues;
    add_queue(queues, "a", "A", {{kGpu, 5}});
    add_queue(queues, "t", "T", {{kGpu, 7}});
    QuotaTree tree;
    tree.set_members(queues, cohorts_of(parents));
    for (const auto& [name, parent] : parents) {
      if (name != "T") EXPECT_FALSE(tree.parent(tree.cohort(name)).valid()) << name;
    }
    EXPECT_EQ(tree.parent(tree.cohort("T")), tree.cohort("A"));
    // The tail still is below its first cohort of the circle: 5 + 7 + 1 + 1.
    EXPECT_EQ(tree.maximum(tree.queue("t"), tree.id(kGpu)), 14);
  }
}

}  // namespace
}  // namespace phalanx::quota
