#include "placement/choose.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "placement/take.h"

namespace phalanx::placement {
namespace {

using LevelChoice = std::expected<Choice, Shortfall>;

// ---- Without leader and scores: selection instead of sorting.
//
// Both orders then rank domains by (slices, pods, path), so "the tightest that holds it all" is a
// minimum, and filling several domains visits them in runs of equal slices. A level of 100 000
// leaves is scanned a few times instead of sorted.

class LevelScan {
 public:
  LevelScan(const DomainCounts& counts, int level)
      : slices_(counts.slice_column(level)), pods_(counts.pod_column(level)) {}

  [[nodiscard]] int32_t most_slices() const {
    int32_t most = 0;
    for (const int32_t slices : slices_) most = std::max(most, slices);
    return most;
  }

  // The domain with the fewest slices in [least, below): fewest pods, then first path.
  [[nodiscard]] std::optional<uint32_t> tightest(int32_t least, int32_t below) const {
    int32_t fewest = below;
    for (const int32_t slices : slices_) {
      if (slices >= least && slices < fewest) fewest = slices;
    }
    if (fewest == below) return std::nullopt;
    std::optional<uint32_t> best;
    for (uint32_t domain = 0; domain < slices_.size(); ++domain) {
      if (slices_[domain] == fewest && (!best || pods_[domain] < pods_[*best])) best = domain;
    }
    return best;
  }

  // All domains with exactly this many slices: fewest pods first, then by path.
  [[nodiscard]] std::vector<uint32_t> run(int32_t slices) const {
    std::vector<uint32_t> domains;
    for (uint32_t domain = 0; domain < slices_.size(); ++domain) {
      if (slices_[domain] == slices) domains.push_back(domain);
    }
    if (&slices_ != &pods_) {
      std::ranges::sort(domains, {},
                        [&](uint32_t domain) { return std::pair(pods_[domain], domain); });
    }
    return domains;
  }

  // The number of slices of the run after `current`, upwards or downwards; 0 at the end.
  [[nodiscard]] int32_t next_run(int32_t current, bool upwards) const {
    int32_t next = upwards ? std::numeric_limits<int32_t>::max() : 0;
    bool found = false;
    for (const int32_t slices : slices_) {
      if (upwards ? (slices > current && slices <= next) : (slices < current && slices > next)) {
        next = slices;
        found = true;
      }
    }
    return found ? next : 0;
  }

 private:
  const std::vector<int32_t>& slices_;
  const std::vector<int32_t>& pods_;
};

LevelChoice fill_several(const LevelScan& scan, const LevelPlan& plan, int level) {
  Choice choice{level, {}};
  int32_t remaining = plan.slices;
  int32_t run = plan.least_free ? scan.next_run(0, true)
                                : scan.next_run(std::numeric_limits<int32_t>::max(), false);
  for (; run > 0 && remaining > 0; run = scan.next_run(run, plan.least_free)) {
    for (const uint32_t domain : scan.run(run)) {
      if (remaining <= 0) break;
      uint32_t taken = domain;
      if (!plan.least_free && run >= remaining) {
        taken = scan.tightest(remaining, run).value_or(domain);
      }
      choice.domains.push_back(taken);
      remaining -= run;  // only the last may hold fewer, and it ends the loop
    }
  }
  if (remaining > 0) return std::unexpected(Shortfall{level, plan.slices - remaining});
  return choice;
}

LevelChoice choose_by_scanning(const DomainCounts& counts, const LevelPlan& plan, int level,
                               bool may_spread) {
  const LevelScan scan(counts, level);
  if (auto single = scan.tightest(plan.slices, std::numeric_limits<int32_t>::max())) {
    return Choice{level, {*single}};
  }
  if (!may_spread) return std::unexpected(Shortfall{level, scan.most_slices()});
  return fill_several(scan, plan, level);
}

// ---- With a leader or scores: explicit lists in leader order and plain order.

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
  sort_by_leader(list, scored, plan.least_free);
  const auto holds_all = [&](const Candidate& candidate) {
    return candidate.numbers.leaders >= leaders &&
           candidate.numbers.slices_beside_leader >= plan.slices;
  };
  const auto single = [&](size_t index) { return Choice{level, {list[index].domain}}; };

  if (plan.least_free) {
    const auto found = std::ranges::find_if(list, holds_all);
    if (found != list.end()) return single(found - list.begin());
  } else if (holds_all(list.front())) {
    return single(tightest(list, 0, plan.slices, leaders, Mode::kSlices, scored));
  }
  if (plan.required && scored) {
    const auto found = std::ranges::find_if(list, holds_all);
    if (found != list.end()) {
      return single(
          tightest(list, found - list.begin(), plan.slices, leaders, Mode::kSlices, scored));
    }
  }
  if (!may_spread) {
    return std::unexpected(Shortfall{level, list.front().numbers.slices});
  }
  return fill_several_by_sorting(std::move(list), plan, level, leaders, scored);
}

// Climbs from the requested level: a preferred request that fits in no single domain tries the
// next level up, and only at the highest takes several.
template <typename ChooseLevel>
std::expected<Choice, Shortfall> climb(const DomainCounts& counts, const LevelPlan& plan,
                                       ChooseLevel choose_level) {
  if (counts.tree().active_leaf_count() == 0) {
    return std::unexpected(Shortfall{plan.level, 0, true});
  }
  for (int level = plan.level;; --level) {
    const bool may_spread = plan.anywhere || (!plan.required && level == 0);
    LevelChoice choice = choose_level(counts, plan, level, may_spread);
    if (choice || plan.required || may_spread) return choice;
  }
}

}  // namespace

std::expected<Choice, Shortfall> choose(const DomainCounts& counts, const LevelPlan& plan) {
  if (counts.has_leader() || counts.has_scores()) return choose_by_sorting(counts, plan);
  return climb(counts, plan, choose_by_scanning);
}

std::expected<Choice, Shortfall> choose_by_sorting(const DomainCounts& counts,
                                                   const LevelPlan& plan) {
  return climb(counts, plan, choose_level_by_sorting);
}

}  // namespace phalanx::placement
