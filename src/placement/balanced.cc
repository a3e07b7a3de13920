#include "placement/balanced.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "placement/descend.h"
#include "placement/optimal_subset.h"

namespace phalanx::placement {
namespace {

using topology::DomainRange;

// How evenly the pods are spread over the children; summed in ascending order, so that equal
// multisets give equal results.
double entropy(const DomainCounts& counts, int level, uint32_t domain) {
  const auto [begin, end] = counts.tree().children(level, domain);
  std::vector<int32_t> pods;
  double total = 0;
  for (uint32_t child = begin; child < end; ++child) {
    if (counts.pods(level + 1, child) > 0) pods.push_back(counts.pods(level + 1, child));
  }
  std::ranges::sort(pods);
  for (const int32_t count : pods) total += count;
  double sum = 0;
  for (const int32_t count : pods) sum -= count / total * std::log2(count / total);
  return sum;
}

class Balancer {
 public:
  Balancer(const DomainCounts& counts, const LevelPlan& plan)
      : original_(counts),
        work_(counts),
        plan_(plan),
        tree_(counts.tree()),
        leader_(counts.has_leader()),
        two_levels_(plan.level < plan.slice_level) {}

  std::optional<std::vector<Share>> place() {
    std::optional<Found> best;
    const uint32_t parents = plan_.level == 0 ? 1 : tree_.size(plan_.level - 1);
    for (uint32_t parent = 0; parent < parents; ++parent) {
      const DomainRange domains = tree_.children(plan_.level - 1, parent);
      if (auto found = evaluate(domains, best ? best->threshold : 0)) {
        if (!best || found->threshold > best->threshold || found->used < best->used) best = found;
      }
      restore(domains);
    }
    if (!best || best->threshold <= 0) return std::nullopt;
    return place_in(*best);
  }

 private:
  struct Found {
    DomainRange domains;
    int32_t threshold = 0;  // T: every domain used gets at least as many slices
    int32_t used = 0;       // domains at the requested level
  };

  [[nodiscard]] DomainRange children_of(DomainRange domains) const {
    return {tree_.children(plan_.level, domains.begin).begin,
            tree_.children(plan_.level, domains.end - 1).end};
  }

  // The best threshold of one candidate place, unless it is below `least`.
  std::optional<Found> evaluate(DomainRange domains, int32_t least) {
    if (domains.size() == 0) return std::nullopt;
    const CandidateList list = two_levels_
                                   ? candidates(work_, plan_.level + 1, children_of(domains))
                                   : candidates(work_, plan_.level, domains);
    const auto fit = greedy_fit(list, plan_.slices, leader_, original_.has_scores());
    if (!fit || fit->domains == 0) return std::nullopt;
    int32_t threshold = plan_.slices / fit->domains;
    if (fit->last_leader) {
      threshold = std::min(threshold, fit->last_leader->slices_beside_leader);
    }
    int32_t lower = threshold;
    if (fit->last_other) {
      threshold = std::min(threshold, fit->last_other->slices);
      lower = threshold;
      if (leader_) lower = std::min(threshold, fit->last_other->slices_beside_leader);
    }
    if (threshold < least) return std::nullopt;
    auto used = prune_and_fit(domains, threshold);
    if (!used && lower < threshold) {
      if (lower <= 0 || lower < least) return std::nullopt;
      threshold = lower;
      restore(domains);
      used = prune_and_fit(domains, threshold);
    }
    if (!used) return std::nullopt;
    return Found{domains, threshold, *used};
  }

  std::optional<int32_t> prune_and_fit(DomainRange domains, int32_t threshold) {
    prune(domains, threshold);
    const auto fit = greedy_fit(candidates(work_, plan_.level, domains), plan_.slices, leader_,
                                original_.has_scores());
    if (!fit) return std::nullopt;
    return fit->domains;
  }

  // Cuts what cannot hold `threshold` slices, children first, then the domains with what is left.
  void prune(DomainRange domains, int32_t threshold) {
    for (uint32_t domain = domains.begin; domain < domains.end; ++domain) {
      if (plan_.level < tree_.lowest()) {
        const auto [begin, end] = tree_.children(plan_.level, domain);
        for (uint32_t child = begin; child < end; ++child) cut(plan_.level + 1, child, threshold);
        work_.set_numbers(plan_.level, domain,
                          work_.roll_up(plan_.level, domain, /*round_inner=*/false));
      }
      cut(plan_.level, domain, threshold);
    }
  }

  void cut(int level, uint32_t domain, int32_t threshold) {
    const DomainNumbers numbers = work_.numbers(level, domain);
    if (numbers.slices < threshold) {
      clear(level, {domain, domain + 1}, /*leader_only=*/false);
    } else if (leader_ && numbers.leaders > 0 && numbers.slices_beside_leader < threshold) {
      clear(level, {domain, domain + 1}, /*leader_only=*/true);
    }
  }

  // Clears the domains and, once the place is decided, everything below them.
  void clear(int level, DomainRange range, bool leader_only) {
    for (uint32_t domain = range.begin; domain < range.end; ++domain) {
      DomainNumbers numbers = work_.numbers(level, domain);
      if (!leader_only) numbers.pods = numbers.slices = 0;
      numbers.pods_beside_leader = numbers.slices_beside_leader = numbers.leaders = 0;
      work_.set_numbers(level, domain, numbers);
    }
    const bool shallow = !decided_ && level > plan_.level;
    if (level == tree_.lowest() || shallow) return;
    clear(level + 1,
          {tree_.children(level, range.begin).begin, tree_.children(level, range.end - 1).end},
          leader_only);
  }

  // Takes back what evaluating a candidate changed: its domains and their children.
  void restore(DomainRange domains) {
    if (domains.size() == 0) return;
    for (uint32_t domain = domains.begin; domain < domains.end; ++domain) {
      work_.set_numbers(plan_.level, domain, original_.numbers(plan_.level, domain));
    }
    if (plan_.level == tree_.lowest()) return;
    const auto [begin, end] = children_of(domains);
    for (uint32_t child = begin; child < end; ++child) {
      work_.set_numbers(plan_.level + 1, child, original_.numbers(plan_.level + 1, child));
    }
  }

  std::optional<std::vector<Share>> place_in(const Found& found) {
    decided_ = true;
    prune(found.domains, found.threshold);
    CandidateList list = candidates(work_, plan_.level, found.domains);
    int level = plan_.level;
    if (two_levels_) {
      sort_by_capacity(list);
      const auto chosen =
          optimal_subset(list, plan_.slices, plan_.slice_size, leader_, original_.has_scores());
      if (!chosen) return std::nullopt;
      list.clear();
      for (const Candidate& parent : *chosen) {
        const auto children = candidates(work_, level + 1, tree_.children(level, parent.domain));
        list.insert(list.end(), children.begin(), children.end());
      }
      ++level;
    }
    std::ranges::sort(list, {}, &Candidate::domain);
    auto set =
        optimal_subset(list, plan_.slices, plan_.slice_size, leader_, original_.has_scores());
    if (!set || !give_evenly(*set, found.threshold)) return std::nullopt;
    return descend(work_, plan_, level, *set, /*keep_shares=*/true);
  }

  void sort_by_capacity(CandidateList& list) const {
    std::vector<std::pair<std::tuple<int32_t, int32_t, double, uint32_t>, Candidate>> keyed;
    for (const Candidate& candidate : list) {
      const DomainNumbers& numbers = candidate.numbers;
      keyed.push_back({{-numbers.leaders, -numbers.slices_beside_leader,
                        -entropy(work_, plan_.level, candidate.domain), candidate.domain},
                       candidate});
    }
    std::ranges::sort(keyed, {}, [](const auto& entry) { return entry.first; });
    std::ranges::transform(keyed, list.begin(), [](const auto& entry) { return entry.second; });
  }

  // Every domain gets the threshold, the first ones as much of the rest as they hold.
  bool give_evenly(CandidateList& set, int32_t threshold) const {
    int64_t extra = plan_.slices - static_cast<int64_t>(set.size()) * threshold;
    if (extra < 0) return false;
    sort_by_leader(set, original_.has_scores(), /*least_free=*/false);
    bool leader_missing = leader_;
    for (Candidate& candidate : set) {
      DomainNumbers& numbers = candidate.numbers;
      const bool takes_leader = leader_missing && numbers.leaders > 0;
      const int32_t holds = takes_leader ? numbers.slices_beside_leader : numbers.slices;
      const auto more = static_cast<int32_t>(std::clamp<int64_t>(holds - threshold, 0, extra));
      if (takes_leader) leader_missing = false;
      extra -= more;
      numbers.slices = numbers.slices_beside_leader = threshold + more;
      numbers.pods = numbers.slices * plan_.slice_size;
      numbers.pods_beside_leader = numbers.pods - numbers.leaders;
    }
    return extra == 0 && !leader_missing;
  }

  const DomainCounts& original_;
  DomainCounts work_;  // what pruning left
  const LevelPlan& plan_;
  const topology::DomainTree& tree_;
  const bool leader_;
  const bool two_levels_;  // also balance over the children of the requested level's domains
  bool decided_ = false;
};

}  // namespace

std::optional<std::vector<Share>> place_balanced(const DomainCounts& counts,
                                                 const LevelPlan& plan) {
  return Balancer(counts, plan).place();
}

}  // namespace phalanx::placement
