// Random trees and random usage: QuotaTree says what the slow tree says.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "quota/testing.h"

namespace phalanx::quota::testing {
namespace {

const FlavorResource kCpu{"a", "cpu"};
const FlavorResource kGpu{"a", "gpu"};

struct RandomTree {
  Queues queues;
  Cohorts cohorts;
};

std::vector<Quota> random_quotas() {
  std::vector<Quota> quotas;
  for (const FlavorResource& what : {kCpu, kGpu}) {
    if (*rc::gen::inRange(0, 4) == 0) continue;
    Quota quota{what, *rc::gen::inRange<int64_t>(0, 12)};
    if (*rc::gen::inRange(0, 3) == 0) quota.borrowing_limit = *rc::gen::inRange<int64_t>(0, 8);
    if (*rc::gen::inRange(0, 3) == 0) quota.lending_limit = *rc::gen::inRange<int64_t>(0, 8);
    quotas.push_back(quota);
  }
  return quotas;
}

// A cohort before this one, one that has no object, or none.
std::string random_parent(int before) {
  const int choice = *rc::gen::inRange(-1, before + 1);
  if (choice < 0) return "";
  return choice == before ? "named-only" : "cohort-" + std::to_string(choice);
}

RandomTree random_tree() {
  RandomTree tree;
  const int cohorts = *rc::gen::inRange(0, 5);
  for (int i = 0; i < cohorts; ++i) {
    add_cohort(tree.cohorts, "cohort-" + std::to_string(i), random_parent(i), random_quotas());
  }
  const int queues = *rc::gen::inRange(1, 6);
  for (int i = 0; i < queues; ++i) {
    add_queue(tree.queues, "queue-" + std::to_string(i), random_parent(cohorts), random_quotas());
  }
  return tree;
}

MemberId member(const QuotaTree& tree, const std::string& name) {
  const MemberId queue = tree.queue(name);
  return queue.valid() ? queue : tree.cohort(name);
}

void expect_same(QuotaTree& tree, const SlowTree& slow, Book book) {
  for (const std::string& name : slow.members()) {
    const MemberId id = member(tree, name);
    RC_ASSERT(id.valid());
    for (const FlavorResource& what : {kCpu, kGpu}) {
      const FlavorResourceId what_id = tree.id(what);
      RC_ASSERT(tree.subtree_quota(id, what_id) == slow.subtree_quota(name, what));
      RC_ASSERT(tree.usage(id, what_id, book) == slow.usage(name, what));
      RC_ASSERT(tree.available(id, what_id, book) == slow.available(name, what));
      RC_ASSERT(tree.maximum(id, what_id) == slow.maximum(name, what));
      if (book == Book::kPromised) {
        RC_ASSERT(tree.borrows(id, what_id) == slow.borrows(name, what));
      }
    }
  }
}

struct Step {
  std::string queue;
  Usage usage;
};

Step random_step(const RandomTree& tree) {
  Step step;
  step.queue = "queue-" + std::to_string(*rc::gen::inRange<size_t>(0, tree.queues.size()));
  if (*rc::gen::inRange(0, 3) > 0) step.usage[kCpu] = *rc::gen::inRange<int64_t>(0, 15);
  if (*rc::gen::inRange(0, 3) > 0) step.usage[kGpu] = *rc::gen::inRange<int64_t>(0, 15);
  return step;
}

RC_GTEST_PROP(QuotaTreeProperty, SaysWhatTheDefinitionsSayAndReturnsToZero, ()) {
  const RandomTree random = random_tree();
  QuotaTree tree;
  tree.set_members(random.queues, random.cohorts);
  std::array slow{SlowTree(random.queues, random.cohorts), SlowTree(random.queues, random.cohorts)};
  std::array<std::vector<Step>, kBooks.size()> taken;
  const int steps = *rc::gen::inRange(0, 12);
  for (int i = 0; i < steps; ++i) {
    const auto book = *rc::gen::elementOf(kBooks);
    const auto index = static_cast<size_t>(book);
    if (!taken[index].empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto place = *rc::gen::inRange<size_t>(0, taken[index].size());
      const Step step = taken[index][place];
      taken[index].erase(taken[index].begin() + static_cast<ptrdiff_t>(place));
      tree.add(tree.queue(step.queue), tree.amounts(step.usage), -1, book);
      slow[index].add(step.queue, step.usage, -1);
    } else {
      const Step& step = taken[index].emplace_back(random_step(random));
      tree.add(tree.queue(step.queue), tree.amounts(step.usage), +1, book);
      slow[index].add(step.queue, step.usage, +1);
    }
    for (const Book each : kBooks) expect_same(tree, slow[static_cast<size_t>(each)], each);
  }
  for (const Book book : kBooks) {
    for (const Step& step : taken[static_cast<size_t>(book)]) {
      tree.add(tree.queue(step.queue), tree.amounts(step.usage), -1, book);
    }
    expect_same(tree, SlowTree(random.queues, random.cohorts), book);
  }
}

RC_GTEST_PROP(QuotaTreeProperty, WhoTakesWhatIsAvailableKeepsEveryLimitAndNoMoreWould, ()) {
  const RandomTree random = random_tree();
  QuotaTree tree;
  tree.set_members(random.queues, random.cohorts);
  SlowTree slow(random.queues, random.cohorts);
  const auto anybody_exceeds = [&](const FlavorResource& what) {
    return std::ranges::any_of(slow.members(),
                               [&](const std::string& name) { return slow.exceeds(name, what); });
  };
  std::vector<Step> taken;
  const int steps = *rc::gen::inRange(0, 12);
  for (int i = 0; i < steps; ++i) {
    if (!taken.empty() && *rc::gen::inRange(0, 4) == 0) {
      tree.add(tree.queue(taken.back().queue), tree.amounts(taken.back().usage), -1, Book::kHeld);
      slow.add(taken.back().queue, taken.back().usage, -1);
      taken.pop_back();
      continue;
    }
    const std::string queue = random_step(random).queue;
    const FlavorResource what = *rc::gen::element(kCpu, kGpu);
    const int64_t available = tree.available(tree.queue(queue), tree.id(what), Book::kHeld);
    RC_ASSERT(available >= 0);
    slow.add(queue, {{what, available + 1}}, +1);
    RC_ASSERT(anybody_exceeds(what));
    slow.add(queue, {{what, available + 1}}, -1);
    const Step& step =
        taken.emplace_back(queue, Usage{{what, *rc::gen::inRange<int64_t>(0, available + 1)}});
    tree.add(tree.queue(queue), tree.amounts(step.usage), +1, Book::kHeld);
    slow.add(queue, step.usage, +1);
    RC_ASSERT(!anybody_exceeds(what));
  }
}

}  // namespace
}  // namespace phalanx::quota::testing
