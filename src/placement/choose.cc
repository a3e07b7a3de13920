#include "placement/choose.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <tuple>

#include "placement/take.h"

namespace phalanx::placement {
namespace {

using LevelChoice = std::expected<Choice, Shortfall>;

// ---- Without scores: selection instead of sorting.
//
// The orders then rank domains by (slices, pods, path), so "the tightest that holds it all" is a
// minimum, and filling several domains visits them in runs of equal slices. A level of 100 000
// leaves is scanned a few times, in loops without branches, instead of sorted.

constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kAboveAll = int64_t{kMost} + 1;

class LevelScan {
 public:
  LevelScan(const DomainCounts& counts, int level)
      : tree_(counts.tree()),
        level_(level),
        leaders_(counts.leader_column(level)),
        slices_(counts.has_leader() ? counts.slice_beside_leader_column(level)
                                    : counts.slice_column(level)),
        pods_(counts.has_leader() ? counts.pod_beside_leader_column(level)
                                  : counts.pod_column(level)) {}

  // The domain with the fewest slices in [least, below): fewest pods, then first path. Only
  // domains that take the leader count, if there is one.
  [[nodiscard]] std::optional<uint32_t> tightest(int32_t least, int64_t below) const {
    int32_t fewest = kMost;
    for (size_t domain = 0; domain < slices_.size(); ++domain) {
      const int32_t slices = slices_[domain] >= least ? slices_[domain] : kMost;
      if (leaders_.empty() || leaders_[domain] > 0) fewest = std::min(fewest, slices);
    }
    if (fewest >= below) return std::nullopt;
    // If none was found `fewest` is still kMost, and only domains that hold that much match it.
    std::optional<uint32_t> best;
    for (uint32_t domain = 0; domain < slices_.size(); ++domain) {
      if (slices_[domain] != fewest || (!leaders_.empty() && leaders_[domain] == 0)) continue;
      if (!best || pods_[domain] < pods_[*best]) best = domain;
      if (slices_.data() == pods_.data()) break;  // all of them have as many pods
    }
    return best;
  }

  // The first domain in the order: what a failed request is measured by.
  [[nodiscard]] uint32_t first() const {
    const auto key = [&](uint32_t domain) {
      return std::tuple(leaders_.empty() ? 0 : -leaders_[domain], -slices_[domain], pods_[domain]);
    };
    std::optional<uint32_t> best;
    for (uint32_t domain = 0; domain < slices_.size(); ++domain) {
      if (best && key(domain) >= key(*best)) continue;
      if (tree_.domain_active(level_, domain)) best = domain;
    }
    return best.value_or(0);
  }

  // Domains with exactly this many slices, fewest pods first, then by path; at least `enough` of
  // them if there are.
  [[nodiscard]] std::vector<uint32_t> run(int32_t slices, int32_t enough) const {
    const bool by_path = slices_.data() == pods_.data();
    std::vector<uint32_t> domains;
    const size_t most = std::min<size_t>(enough, slices_.size());
    domains.reserve(most);
    for (uint32_t domain = 0; domain < slices_.size(); ++domain) {
      if (slices_[domain] != slices) continue;
      domains.push_back(domain);
      if (by_path && domains.size() >= most) return domains;
    }
    if (!by_path) {
      std::ranges::sort(domains, {},
                        [&](uint32_t domain) { return std::pair(pods_[domain], domain); });
    }
    return domains;
  }

  // The number of slices of the run after `current`, upwards or downwards; 0 at the end.
  [[nodiscard]] int32_t next_run(int64_t current, bool upwards) const {
    constexpr size_t kBlock = 1024;  // between looks at whether the best is found already
    if (upwards && current == kMost) return 0;
    const auto bound = static_cast<int32_t>(upwards ? current + 1 : current - 1);
    int32_t next = upwards ? kMost : 0;
    for (size_t begin = 0; begin < slices_.size(); begin += kBlock) {
      const size_t end = std::min(begin + kBlock, slices_.size());
      for (size_t domain = begin; domain < end; ++domain) {
        const int32_t slices = slices_[domain];
        next = upwards ? std::min(next, slices >= bound ? slices : kMost)
                       : std::max(next, slices <= bound ? slices : 0);
      }
      if (next == bound) break;
    }
    const bool none =
        upwards && next == kMost && std::ranges::find(slices_, kMost) == slices_.end();
    return none ? 0 : next;
  }

 private:
  const topology::DomainTree& tree_;
  int level_;
  std::span<const uint8_t> leaders_;  // empty: no leader is asked for
  std::span<const int32_t> slices_;
  std::span<const int32_t> pods_;
};

// No domain can hold more than the largest one above it, and there are fewer of those.
bool level_above_rules_out(const DomainCounts& counts, const LevelPlan& plan, int level) {
  if (level == 0) return false;
  return std::ranges::all_of(counts.slice_column(level - 1),
                             [&](int32_t slices) { return slices < plan.slices; });
}

LevelChoice fill_several(const LevelScan& scan, const LevelPlan& plan, int level) {
  Choice choice{level, {}};
  int32_t remaining = plan.slices;
  int32_t run = plan.least_free ? scan.next_run(0, true) : scan.next_run(kAboveAll, false);
  while (run > 0 && remaining > 0) {
    const int32_t enough = (remaining - 1) / run + 1;
    for (const uint32_t domain : scan.run(run, enough)) {
      if (remaining <= 0) break;
      uint32_t taken = domain;
      if (!plan.least_free && run >= remaining) {
        taken = scan.tightest(remaining, run).value_or(domain);
      }
      choice.domains.push_back(taken);
      remaining -= run;  // only the last may hold fewer, and it ends the loop
    }
    if (remaining > 0) run = scan.next_run(run, plan.least_free);
  }
  if (remaining > 0) return std::unexpected(Shortfall{level, plan.slices - remaining});
  return choice;
}

// ---- With scores, or a leader and several domains: explicit lists in leader order and plain
// order.

LevelChoice fill_several_by_sorting(CandidateList list, const LevelPlan& plan, int level,
                                    int32_t leaders, bool scored) {
  move_leader_first(list, plan.slices, leaders, Mode::kSlices);
  Choice choice{level, {}};
  int32_t remaining = plan.slices;
  size_t next = 0;
  for (; leaders > 0 && next < list.size() && list[next].numbers.leaders > 0; ++next) {
    if (!plan.least_free && list[next].numbers.slices_beside_leader >= remaining) {
      // The others keep their order: the one taken leaves, none is skipped.
      const size_t best = tightest(list, next, remaining, leaders, Mode::kSlices, scored);
      std::rotate(list.begin() + next, list.begin() + best, list.begin() + best + 1);
    }
    choice.domains.push_back(list[next].domain);
    leaders -= list[next].numbers.leaders;
    remaining -= list[next].numbers.slices_beside_leader;
  }
  if (leaders > 0) return std::unexpected(Shortfall{level, 0});
  CandidateList rest(list.begin() + next, list.end());
  sort_plain(rest, scored, plan.least_free);
  for (size_t index = 0; remaining > 0 && index < rest.size(); ++index) {
    size_t taken = index;
    if (!plan.least_free && rest[index].numbers.slices >= remaining) {
      taken = tightest(rest, index, remaining, 0, Mode::kSlices, scored);
    }
    choice.domains.push_back(rest[taken].domain);
    remaining -= rest[taken].numbers.slices;
  }
  if (remaining > 0) return std::unexpected(Shortfall{level, plan.slices - remaining});
  return choice;
}

LevelChoice choose_level_by_sorting(const DomainCounts& counts, const LevelPlan& plan, int level,
                                    bool may_spread) {
  const bool scored = counts.has_scores();
  const int32_t leaders = counts.has_leader() ? 1 : 0;
  CandidateList list = candidates(counts, level, {0, counts.tree().size(level)});
  std::erase_if(list, [&](const Candidate& candidate) {
    return !counts.tree().domain_active(level, candidate.domain);
  });
  sort_by_leader(list, scored, plan.least_free);
  const auto holds_all = [&](const Candidate& candidate) {
    return candidate.numbers.leaders >= leaders &&
           candidate.numbers.slices_beside_leader >= plan.slices;
  };
  const auto single = [&](size_t index) { return Choice{level, {list[index].domain}}; };

  const auto first_fit = std::ranges::find_if(list, holds_all);
  if (first_fit != list.end()) {
    const size_t index = first_fit - list.begin();
    if (plan.least_free) return single(index);
    // With scores the best-scored domain may be too small while a later one is not: only a
    // required request looks for it.
    if (index == 0 || plan.required) {
      return single(tightest(list, index, plan.slices, leaders, Mode::kSlices, scored));
    }
  }
  if (!may_spread) return std::unexpected(Shortfall{level, list.front().numbers.slices});
  return fill_several_by_sorting(std::move(list), plan, level, leaders, scored);
}

LevelChoice choose_level(const DomainCounts& counts, const LevelPlan& plan, int level,
                         bool may_spread) {
  if (counts.has_scores()) return choose_level_by_sorting(counts, plan, level, may_spread);
  const LevelScan scan(counts, level);
  if (!level_above_rules_out(counts, plan, level)) {
    if (auto single = scan.tightest(plan.slices, kAboveAll)) return Choice{level, {*single}};
  }
  if (!may_spread) {
    return std::unexpected(Shortfall{level, counts.slices(level, scan.first())});
  }
  if (counts.has_leader()) return choose_level_by_sorting(counts, plan, level, may_spread);
  return fill_several(scan, plan, level);
}

// Climbs from the requested level: a preferred request that fits in no single domain tries the
// next level up, and only at the highest takes several.
template <typename ChooseLevel>
std::expected<Choice, Shortfall> climb(const DomainCounts& counts, const LevelPlan& plan,
                                       ChooseLevel choose_at) {
  if (counts.tree().active_leaf_count() == 0) {
    return std::unexpected(Shortfall{plan.level, 0, true});
  }
  for (int level = plan.level;; --level) {
    const bool may_spread = plan.anywhere || (!plan.required && level == 0);
    LevelChoice choice = choose_at(counts, plan, level, may_spread);
    if (choice || plan.required || may_spread) return choice;
  }
}

}  // namespace

std::expected<Choice, Shortfall> choose(const DomainCounts& counts, const LevelPlan& plan) {
  return climb(counts, plan, choose_level);
}

std::expected<Choice, Shortfall> choose_by_sorting(const DomainCounts& counts,
                                                   const LevelPlan& plan) {
  return climb(counts, plan, choose_level_by_sorting);
}

}  // namespace phalanx::placement
