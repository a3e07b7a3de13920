#include "placement/balanced.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "placement/descend.h"
#include "placement/optimal_subset.h"

namespace phalanx::placement {
namespace {

using topology::DomainRange;

// How evenly the pods are spread over the children; summed in ascending order, so that equal
// multisets give equal results.
double entropy(std::vector<int32_t> pods) {
  std::ranges::sort(pods);
  double total = 0;
  for (const int32_t count : pods) total += count;
  double sum = 0;
  double term = 0;
  int32_t previous = 0;
  for (const int32_t count : pods) {
    if (count != previous) term = count / total * std::log2(count / total);
    sum -= term;
    previous = count;
  }
  return sum;
}

int32_t largest(std::span<const int32_t> column) {
  int32_t most = 0;
  for (const int32_t value : column) most = std::max(most, value);
  return most;
}

int32_t rounded_up(int32_t count, int32_t size) {
  return size <= 0 ? 0 : (count - 1) / size + 1;
}

class Balancer {
 public:
  Balancer(const DomainCounts& counts, const LevelPlan& plan)
      : counts_(counts),
        plan_(plan),
        tree_(counts.tree()),
        leader_(counts.has_leader()),
        scored_(counts.has_scores()),
        two_levels_(plan.level < plan.slice_level) {}

  std::optional<std::vector<Share>> place() {
    // What no place can beat: every share as large as the largest domains allow, in as few domains.
    const int32_t fewest_shares = rounded_up(
        plan_.slices, largest(counts_.slice_column(plan_.level + (two_levels_ ? 1 : 0))));
    const int32_t best_threshold = fewest_shares > 0 ? plan_.slices / fewest_shares : 0;
    const int32_t fewest_domains =
        rounded_up(plan_.slices, largest(counts_.slice_column(plan_.level)));

    std::optional<Found> best;
    const uint32_t parents = plan_.level == 0 ? 1 : tree_.size(plan_.level - 1);
    for (uint32_t parent = 0; parent < parents; ++parent) {
      if (plan_.level > 0 && counts_.slices(plan_.level - 1, parent) < plan_.slices) continue;
      const DomainRange domains = tree_.children(plan_.level - 1, parent);
      const auto found = evaluate(domains, best ? best->threshold : 0);
      if (!found) continue;
      if (!best || found->threshold > best->threshold || found->used < best->used) best = found;
      if (best->threshold == best_threshold && best->used == fewest_domains) break;
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

  // The best threshold of one candidate place, unless it is below `least`.
  std::optional<Found> evaluate(DomainRange domains, int32_t least) const {
    if (domains.size() == 0) return std::nullopt;
    const auto fit = fit_over_shares(domains);
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
    auto used = domains_used(domains, threshold);
    if (!used && lower < threshold) {
      if (lower <= 0 || lower < least) return std::nullopt;
      threshold = lower;
      used = domains_used(domains, threshold);
    }
    if (!used) return std::nullopt;
    return Found{domains, threshold, *used};
  }

  // The greedy walk over the domains that will get a share each.
  [[nodiscard]] std::optional<GreedyFit> fit_over_shares(DomainRange domains) const {
    int level = plan_.level;
    if (two_levels_) {
      domains = {tree_.children(level, domains.begin).begin,
                 tree_.children(level, domains.end - 1).end};
      ++level;
    }
    if (!leader_ && !scored_) {
      return greedy_fit(
          std::span(counts_.slice_column(level)).subspan(domains.begin, domains.size()),
          plan_.slices);
    }
    return greedy_fit(candidates(counts_, level, domains), plan_.slices, leader_, scored_);
  }

  [[nodiscard]] std::optional<int32_t> domains_used(DomainRange domains, int32_t threshold) const {
    const auto fit = greedy_fit(pruned(domains, threshold), plan_.slices, leader_, scored_);
    if (!fit) return std::nullopt;
    return fit->domains;
  }

  // A domain that cannot hold `threshold` slices is cut away; one that cannot beside the leader
  // is cut for the leader only.
  [[nodiscard]] DomainNumbers cut(DomainNumbers numbers, int32_t threshold) const {
    if (numbers.slices < threshold) numbers.pods = numbers.slices = 0;
    const bool without_leader =
        numbers.slices < threshold ||
        (leader_ && numbers.leaders > 0 && numbers.slices_beside_leader < threshold);
    if (without_leader) {
      numbers.pods_beside_leader = numbers.slices_beside_leader = numbers.leaders = 0;
    }
    return numbers;
  }

  [[nodiscard]] std::vector<DomainNumbers> cut_children(uint32_t domain, int32_t threshold) const {
    std::vector<DomainNumbers> children;
    const auto [begin, end] = tree_.children(plan_.level, domain);
    for (uint32_t child = begin; child < end; ++child) {
      children.push_back(cut(counts_.numbers(plan_.level + 1, child), threshold));
    }
    return children;
  }

  // The domains with what is left of them: children cut first, then added up, then cut themselves.
  [[nodiscard]] CandidateList pruned(DomainRange domains, int32_t threshold) const {
    CandidateList list;
    list.reserve(domains.size());
    for (uint32_t domain = domains.begin; domain < domains.end; ++domain) {
      DomainNumbers numbers;
      if (plan_.level == tree_.lowest()) {
        numbers = counts_.numbers(plan_.level, domain);
      } else if (leader_ || scored_) {
        numbers = counts_.combine(plan_.level, cut_children(domain, threshold));
      } else if (two_levels_) {
        numbers = sum_of_kept_children(domain, threshold);
      }  // else the children are no slices, and all of them are cut
      list.push_back({domain, cut(numbers, threshold)});
    }
    return list;
  }

  // What combine gives without leader and scores.
  [[nodiscard]] DomainNumbers sum_of_kept_children(uint32_t domain, int32_t threshold) const {
    const auto [begin, end] = tree_.children(plan_.level, domain);
    const auto& slices = counts_.slice_column(plan_.level + 1);
    const auto& pods = counts_.pod_column(plan_.level + 1);
    int64_t slice_sum = 0;
    int64_t pod_sum = 0;
    for (uint32_t child = begin; child < end; ++child) {
      if (slices[child] < threshold) continue;
      slice_sum += slices[child];
      pod_sum += pods[child];
    }
    DomainNumbers numbers;
    numbers.slices = numbers.slices_beside_leader =
        static_cast<int32_t>(std::min<int64_t>(slice_sum, INT32_MAX));
    numbers.pods = numbers.pods_beside_leader =
        static_cast<int32_t>(std::min<int64_t>(pod_sum, INT32_MAX));
    return numbers;
  }

  // Children of the chosen domains; what the domain lost for the leader its children lost, too.
  [[nodiscard]] CandidateList pruned_children(const CandidateList& chosen,
                                              int32_t threshold) const {
    CandidateList list;
    for (const Candidate& parent : chosen) {
      uint32_t child = tree_.children(plan_.level, parent.domain).begin;
      for (DomainNumbers numbers : cut_children(parent.domain, threshold)) {
        if (leader_ && parent.numbers.leaders == 0) {
          numbers.pods_beside_leader = numbers.slices_beside_leader = numbers.leaders = 0;
        }
        list.push_back({child++, numbers});
      }
    }
    std::ranges::sort(list, {}, &Candidate::domain);
    return list;
  }

  std::optional<std::vector<Share>> place_in(const Found& found) const {
    CandidateList list = pruned(found.domains, found.threshold);
    int level = plan_.level;
    if (two_levels_) {
      sort_by_capacity(list, found.threshold);
      const auto chosen = optimal_subset(list, plan_.slices, plan_.slice_size, leader_, scored_);
      if (!chosen) return std::nullopt;
      list = pruned_children(*chosen, found.threshold);
      ++level;
    }
    auto set = optimal_subset(list, plan_.slices, plan_.slice_size, leader_, scored_);
    if (!set || !give_evenly(*set, found.threshold)) return std::nullopt;
    // Below the set nothing was cut: the original counts serve.
    return descend(counts_, plan_, level, *set, /*keep_shares=*/true);
  }

  // Leaders, then slices, then how evenly the children are filled: that is costly to know, and
  // asked only of domains that are equal otherwise.
  void sort_by_capacity(CandidateList& list, int32_t threshold) const {
    const auto size = [](const Candidate& candidate) {
      return std::pair(-candidate.numbers.leaders, -candidate.numbers.slices_beside_leader);
    };
    std::ranges::sort(list, {}, [&](const Candidate& candidate) {
      return std::pair(size(candidate), candidate.domain);
    });
    for (auto begin = list.begin(); begin != list.end();) {
      const auto end = std::find_if(begin, list.end(), [&](const Candidate& candidate) {
        return size(candidate) != size(*begin);
      });
      const bool empty = !leader_ && begin->numbers.slices == 0;
      if (end - begin > 1 && !empty) sort_by_entropy(begin, end, threshold);
      begin = end;
    }
  }

  void sort_by_entropy(CandidateList::iterator begin, CandidateList::iterator end,
                       int32_t threshold) const {
    std::vector<std::tuple<double, uint32_t, Candidate>> keyed;
    for (auto candidate = begin; candidate != end; ++candidate) {
      keyed.emplace_back(-entropy(kept_pods(candidate->domain, threshold)), candidate->domain,
                         *candidate);
    }
    std::ranges::sort(keyed, {}, [](const auto& entry) {
      return std::pair(std::get<0>(entry), std::get<1>(entry));
    });
    std::ranges::transform(keyed, begin, [](const auto& entry) { return std::get<2>(entry); });
  }

  [[nodiscard]] std::vector<int32_t> kept_pods(uint32_t domain, int32_t threshold) const {
    const auto [begin, end] = tree_.children(plan_.level, domain);
    const auto& slices = counts_.slice_column(plan_.level + 1);
    const auto& pods = counts_.pod_column(plan_.level + 1);
    std::vector<int32_t> kept;
    for (uint32_t child = begin; child < end; ++child) {
      if (slices[child] >= threshold && pods[child] > 0) kept.push_back(pods[child]);
    }
    return kept;
  }

  // Every domain gets the threshold, the first ones as much of the rest as they hold.
  bool give_evenly(CandidateList& set, int32_t threshold) const {
    int64_t extra = plan_.slices - static_cast<int64_t>(set.size()) * threshold;
    if (extra < 0) return false;
    sort_by_leader(set, scored_, /*least_free=*/false);
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

  const DomainCounts& counts_;
  const LevelPlan& plan_;
  const topology::DomainTree& tree_;
  const bool leader_;
  const bool scored_;
  const bool two_levels_;  // also balance over the children of the requested level's domains
};

}  // namespace

std::optional<std::vector<Share>> place_balanced(const DomainCounts& counts,
                                                 const LevelPlan& plan) {
  return Balancer(counts, plan).place();
}

}  // namespace phalanx::placement
