#include "quota/victim_rules.h"

#include <algorithm>
#include <set>

#include "quota/fair_share.h"

namespace phalanx::quota {
namespace {

// Usage that is promised for the moment.
class Assumed {
 public:
  Assumed(QuotaTree& tree, MemberId queue, const Amounts& amounts)
      : tree_(tree), queue_(queue), amounts_(amounts) {
    tree_.add(queue_, amounts_, +1, Book::kPromised);
  }
  ~Assumed() { tree_.add(queue_, amounts_, -1, Book::kPromised); }
  Assumed(const Assumed&) = delete;
  Assumed& operator=(const Assumed&) = delete;

 private:
  QuotaTree& tree_;
  MemberId queue_;
  const Amounts& amounts_;
};

bool uses(const Amounts& usage, FlavorResourceId what) {
  return std::ranges::any_of(
      usage, [&](const auto& entry) { return entry.first == what && entry.second > 0; });
}

}  // namespace

VictimRules::VictimRules(QuotaTree& tree, const Preemptor& preemptor, Judgement judgement,
                         std::vector<FairStrategy> strategies)
    : tree_(tree),
      preemptor_(preemptor),
      judgement_(judgement),
      strategies_(std::move(strategies)) {}

bool VictimRules::borrows(MemberId member, const Holder& holder) const {
  return std::ranges::any_of(preemptor_.contested, [&](FlavorResourceId what) {
    return uses(holder.usage, what) && tree_.borrows(member, what);
  });
}

bool VictimRules::eligible(const Holder& holder) const {
  using api::PreemptionPolicy;
  if (preemptor_.spares_since && holder.reserved >= *preemptor_.spares_since) return false;
  const bool lower = holder.priority < preemptor_.priority;
  const bool contested = std::ranges::any_of(
      preemptor_.contested, [&](FlavorResourceId what) { return uses(holder.usage, what); });
  if (own(holder)) {
    if (!contested && !holder.in_the_way) return false;
    switch (preemptor_.policy.within_cluster_queue) {
      case PreemptionPolicy::kLowerPriority:
        return lower;
      case PreemptionPolicy::kLowerOrNewerEqualPriority:
        return lower ||
               (holder.priority == preemptor_.priority && holder.created > preemptor_.created);
      default:
        return false;
    }
  }
  if (!contested || tree_.root(holder.queue) != tree_.root(preemptor_.queue)) return false;
  switch (preemptor_.policy.reclaim_within_cohort) {
    case PreemptionPolicy::kAny:
      break;
    case PreemptionPolicy::kLowerPriority:
      if (!lower) return false;
      break;
    default:
      return false;
  }
  if (judgement_ == Judgement::kBorrow) {
    const auto& threshold = preemptor_.policy.max_priority_threshold;
    if (!preemptor_.policy.borrow_within_cohort || !lower) return false;
    if (threshold && holder.priority > *threshold) return false;
  }
  // Shares are not compared yet: that of the preemptor's side falls with others that go.
  return side_borrows(holder);
}

bool VictimRules::side_borrows(const Holder& holder) const {
  return std::ranges::all_of(tree_.below_shared(holder.queue, preemptor_.queue),
                             [&](MemberId member) { return borrows(member, holder); });
}

bool VictimRules::may_go_next(const Holder& holder) const {
  if (own(holder)) return true;
  if (!side_borrows(holder)) return false;
  if (judgement_ != Judgement::kFairSharing) return true;
  tree_.add(holder.queue, holder.usage, -1, Book::kPromised);
  const bool allowed = shares_allow(holder);
  tree_.add(holder.queue, holder.usage, +1, Book::kPromised);
  return allowed;
}

bool VictimRules::allowed(std::span<const Holder* const> gone) const {
  // From nobody is taken who does not borrow: the last one that went found its queue, and every
  // cohort up to the shared one, borrowing. Which one was the last is left open.
  std::map<MemberId, bool> found_borrowing;
  for (const Holder* holder : gone) {
    if (own(*holder)) continue;
    const Assumed back(tree_, holder->queue, holder->usage);
    for (const MemberId member : tree_.below_shared(holder->queue, preemptor_.queue)) {
      found_borrowing[member] |= borrows(member, *holder);
    }
  }
  if (std::ranges::any_of(found_borrowing, [](const auto& entry) { return !entry.second; })) {
    return false;
  }
  // The answer is the same for all of one queue that use the same.
  std::set<std::pair<MemberId, Amounts>> asked;
  return std::ranges::all_of(gone, [&](const Holder* holder) {
    return own(*holder) || !asked.emplace(holder->queue, holder->usage).second ||
           preemptor_may_take(*holder);
  });
}

bool VictimRules::preemptor_may_take(const Holder& holder) const {
  if (own(holder)) return true;
  switch (judgement_) {
    case Judgement::kReclaim:
      return stays_within_quota(holder);
    case Judgement::kBorrow:
      return stays_within_quota(holder) || found_borrowing(holder);
    case Judgement::kFairSharing:
      return shares_allow(holder);
  }
  return false;
}

bool VictimRules::stays_within_quota(const Holder& holder) const {
  const Assumed assumed(tree_, preemptor_.queue, preemptor_.wanted);
  for (const MemberId member : tree_.below_shared(preemptor_.queue, holder.queue)) {
    for (const auto& [what, amount] : preemptor_.wanted) {
      if (amount > 0 && tree_.borrows(member, what)) return false;
    }
  }
  return true;
}

bool VictimRules::found_borrowing(const Holder& holder) const {
  const Assumed back(tree_, holder.queue, holder.usage);
  return side_borrows(holder);
}

bool VictimRules::shares_allow(const Holder& holder) const {
  const auto own_side = tree_.below_shared(preemptor_.queue, holder.queue);
  const auto other_side = tree_.below_shared(holder.queue, preemptor_.queue);
  if (own_side.empty() || other_side.empty()) return true;
  const Assumed assumed(tree_, preemptor_.queue, preemptor_.wanted);
  const double own_share = fair_share(tree_, own_side.back());
  if (own_share == 0) return true;
  const double final_share = fair_share(tree_, other_side.back());
  const Assumed back(tree_, holder.queue, holder.usage);
  // By either strategy: with a share that is no larger the victim could take its place back.
  if (own_share >= fair_share(tree_, other_side.back())) return false;
  return std::ranges::any_of(strategies_, [&](FairStrategy strategy) {
    return strategy == FairStrategy::kInitialShare || own_share <= final_share;
  });
}

bool VictimRules::eases_judgement(const Holder& holder) const {
  if (judgement_ == Judgement::kBorrow) return false;
  // The members that hold both, without the root: it is on no side.
  MemberId both = preemptor_.queue;
  if (!own(holder)) both = tree_.parent(tree_.below_shared(both, holder.queue).back());
  if (!both.valid() || !tree_.parent(both).valid()) return false;
  const Assumed assumed(tree_, preemptor_.queue, preemptor_.wanted);
  for (; both.valid() && tree_.parent(both).valid(); both = tree_.parent(both)) {
    const bool judged =
        judgement_ == Judgement::kFairSharing
            ? fair_share(tree_, both) > 0
            : std::ranges::any_of(preemptor_.wanted, [&](const auto& entry) {
                return uses(holder.usage, entry.first) && tree_.borrows(both, entry.first);
              });
    if (judged) return true;
  }
  return false;
}

VictimReason VictimRules::reason(const Holder& holder) const {
  if (own(holder)) return VictimReason::kInClusterQueue;
  if (stays_within_quota(holder)) return VictimReason::kReclamation;
  return judgement_ == Judgement::kFairSharing ? VictimReason::kFairSharing
                                               : VictimReason::kReclaimWhileBorrowing;
}

}  // namespace phalanx::quota
