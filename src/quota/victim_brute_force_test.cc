// The sentences of the document about victims, and the search that tries everything.
#include <algorithm>
#include <bit>
#include <tuple>

#include "quota/victim_testing.h"

namespace phalanx::quota::testing {
namespace {

bool uses(const Usage& usage, const FlavorResource& what) {
  const auto found = usage.find(what);
  return found != usage.end() && found->second > 0;
}

}  // namespace

VictimBruteForce::VictimBruteForce(const VictimCase& tiny, const Court& court)
    : tiny_(tiny),
      court_(court),
      obstacles_(obstacles_of(tiny)),
      wanted_(wanted_by(tiny)),
      initial_(tiny.queues, tiny.cohorts),
      slow_(initial_),
      known_(size_t{1} << tiny.holders.size(), -1),
      fitting_(known_) {
  topology_ = load_nodes(tiny_, cluster_);
  for (const TinyHolder& holder : tiny_.holders) {
    load_usage(holder, topology_, cluster_);
    initial_.add(holder.queue, usage_of(holder), +1);
  }
  for (const auto& [queue, usage] : tiny_.promised) initial_.add(queue, usage, +1);
  slow_ = initial_;
  room_.emplace(cluster_, topology_, tiny_.pod_sets);
  for (size_t i = 0; i < tiny_.holders.size(); ++i) {
    const auto youth = [&](const TinyHolder& holder) {
      return std::tuple(-holder.reserved, holder.name);
    };
    rank_.push_back(
        static_cast<size_t>(std::ranges::count_if(tiny_.holders, [&](const TinyHolder& other) {
          return youth(other) < youth(tiny_.holders[i]);
        })));
    if (may_be_asked(tiny_.holders[i])) candidates_ |= uint32_t{1} << i;
  }
}

std::vector<size_t> VictimBruteForce::members(uint32_t set) const {
  std::vector<size_t> result;
  for (size_t i = 0; i < tiny_.holders.size(); ++i) {
    if ((set >> i & 1U) != 0) result.push_back(i);
  }
  return result;
}

// "borrows" is said of what W lacks and the victim has.
bool VictimBruteForce::borrows(const std::string& member, const TinyHolder& holder) const {
  const Usage usage = usage_of(holder);
  return std::ranges::any_of(obstacles_.contested, [&](const FlavorResource& what) {
    return uses(usage, what) && slow_.borrows(member, what);
  });
}

// The table "Who may be asked to go".
bool VictimBruteForce::may_be_asked(const TinyHolder& holder) const {
  using api::PreemptionPolicy;
  const Usage usage = usage_of(holder);
  const bool uses_what_lacks = std::ranges::any_of(
      obstacles_.contested, [&](const FlavorResource& what) { return uses(usage, what); });
  const bool lower = holder.priority < tiny_.priority;
  if (!other(holder)) {
    if (!uses_what_lacks && !(obstacles_.room && !holder.pods.empty())) return false;
    const bool newer_equal = holder.priority == tiny_.priority && holder.created > tiny_.created;
    const PreemptionPolicy policy = tiny_.policy.within_cluster_queue;
    if (policy == PreemptionPolicy::kLowerPriority) return lower;
    return policy == PreemptionPolicy::kLowerOrNewerEqualPriority && (lower || newer_equal);
  }
  if (!uses_what_lacks || slow_.root(holder.queue) != slow_.root(tiny_.queue)) return false;
  const PreemptionPolicy policy = tiny_.policy.reclaim_within_cohort;
  if (policy == PreemptionPolicy::kNever) return false;
  if (policy == PreemptionPolicy::kLowerPriority && !lower) return false;
  // "those of lower priority than W, and at most maxPriorityThreshold if that is set"
  if (court_.judgement == Judgement::kBorrow) {
    if (!tiny_.policy.borrow_within_cohort || !lower) return false;
    const auto threshold = tiny_.policy.max_priority_threshold;
    if (threshold && holder.priority > *threshold) return false;
  }
  return std::ranges::all_of(slow_.below_shared(holder.queue, tiny_.queue),
                             [&](const std::string& member) { return borrows(member, holder); });
}

// "Of one queue no more is taken once it no longer borrows": there is one that can have been the
// last. So for the cohorts up to the shared one. The set's usage is gone.
bool VictimBruteForce::found_borrowing(uint32_t set) {
  std::map<std::string, bool> found;
  for (const size_t index : members(set)) {
    const TinyHolder& victim = tiny_.holders[index];
    if (!other(victim)) continue;
    slow_.add(victim.queue, usage_of(victim), +1);
    for (const std::string& member : slow_.below_shared(victim.queue, tiny_.queue)) {
      found[member] |= borrows(member, victim);
    }
    slow_.add(victim.queue, usage_of(victim), -1);
  }
  return std::ranges::all_of(found, [](const auto& entry) { return entry.second; });
}

// The set's usage is gone, the preemptor's is there.
bool VictimBruteForce::side_of_preemptor_allows(const TinyHolder& victim) {
  const auto own = slow_.below_shared(tiny_.queue, victim.queue);
  const auto others = slow_.below_shared(victim.queue, tiny_.queue);
  SlowTree with_victim = slow_;
  with_victim.add(victim.queue, usage_of(victim), +1);
  if (court_.judgement == Judgement::kFairSharing) {
    // "Compared are the shares of the two subtrees below the shared cohort."
    const double share = slow_.share(own.back());
    const double with = with_victim.share(others.back());
    if (share == 0) return true;
    return std::ranges::any_of(court_.strategies, [&](FairStrategy strategy) {
      return share < with &&
             (strategy == FairStrategy::kInitialShare || share <= slow_.share(others.back()));
    });
  }
  // "Q, and every cohort up to the shared one, stays within its subtree quota"
  const bool within = std::ranges::none_of(own, [&](const std::string& member) {
    return std::ranges::any_of(wanted_, [&](const auto& entry) {
      return entry.second > 0 && slow_.borrows(member, entry.first);
    });
  });
  if (within || court_.judgement == Judgement::kReclaim) return within;
  // "each of them, with all the others gone, must have found them borrowing"
  std::swap(slow_, with_victim);
  const bool found = std::ranges::all_of(
      others, [&](const std::string& member) { return borrows(member, victim); });
  std::swap(slow_, with_victim);
  return found;
}

bool VictimBruteForce::rules_hold(uint32_t set) {
  if ((set & ~candidates_) != 0) return false;
  for (const size_t index : members(set)) {
    slow_.add(tiny_.holders[index].queue, usage_of(tiny_.holders[index]), -1);
  }
  bool hold = found_borrowing(set) && quota_suffices();
  slow_.add(tiny_.queue, wanted_, +1);
  for (const size_t index : members(set)) {
    const TinyHolder& victim = tiny_.holders[index];
    if (hold && other(victim)) hold = side_of_preemptor_allows(victim);
  }
  slow_ = initial_;
  return hold;
}

bool VictimBruteForce::quota_suffices() {
  return std::ranges::all_of(wanted_, [&](const auto& entry) {
    return entry.second == 0 || slow_.available(tiny_.queue, entry.first) >= entry.second;
  });
}

bool VictimBruteForce::has_room(uint32_t set) {
  int8_t& known = fitting_[set];
  if (known >= 0) return known > 0;
  for (const size_t index : members(set ^ taken_out_)) {
    if ((set >> index & 1U) != 0) {
      cluster_.remove_usage(tiny_.holders[index].name);
    } else {
      load_usage(tiny_.holders[index], topology_, cluster_);
    }
  }
  taken_out_ = set;
  known = room_->fits() ? 1 : 0;
  return known > 0;
}

bool VictimBruteForce::will_do(uint32_t set) {
  int8_t& known = known_[set];
  if (known < 0) known = rules_hold(set) && has_room(set) ? 1 : 0;
  return known > 0;
}

bool VictimBruteForce::room_is_monotone() {
  for (uint32_t set = 0; set < known_.size(); ++set) {
    if ((set & ~candidates_) != 0 || !has_room(set)) continue;
    for (const size_t index : members(candidates_ & ~set)) {
      if (!has_room(set | uint32_t{1} << index)) return false;
    }
  }
  return true;
}

bool VictimBruteForce::all_may_go(int32_t priority) {
  uint32_t set = candidates_;
  for (const size_t index : members(candidates_)) {
    if (tiny_.holders[index].priority > priority) set &= ~(uint32_t{1} << index);
  }
  return rules_hold(set);
}

int32_t VictimBruteForce::highest_priority(uint32_t set) const {
  int32_t highest = std::numeric_limits<int32_t>::min();
  for (const size_t index : members(set)) {
    highest = std::max(highest, tiny_.holders[index].priority);
  }
  return highest;
}

std::vector<size_t> VictimBruteForce::ranks(uint32_t set) const {
  std::vector<size_t> result;
  for (const size_t index : members(set)) result.push_back(rank_[index]);
  std::ranges::sort(result, std::greater());
  return result;
}

std::optional<uint32_t> VictimBruteForce::best() {
  const auto key = [&](uint32_t set) {
    return std::tuple(highest_priority(set), std::popcount(set), ranks(set));
  };
  if (will_do(0)) return 0;
  std::optional<uint32_t> best;
  for (uint32_t set = 1; set < known_.size(); ++set) {
    if ((set & ~candidates_) != 0 || (best && key(set) >= key(*best))) continue;
    if (will_do(set)) best = set;
  }
  return best;
}

}  // namespace phalanx::quota::testing
