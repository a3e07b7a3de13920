#include "placement/optimal_subset.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

namespace phalanx::placement {

std::optional<GreedyFit> greedy_fit(std::span<const int32_t> sizes, int32_t slices) {
  int32_t largest = 0;
  for (const int32_t size : sizes) largest = std::max(largest, size);
  // How many there are of each size, from the largest downwards. Sizes are mostly few and small;
  // where they are not, sorting is the cheaper way to the same counts.
  std::vector<std::pair<int32_t, int32_t>> counts;
  if (static_cast<size_t>(largest) <= 4 * sizes.size() + 1024) {
    std::vector<int32_t> count_of(static_cast<size_t>(largest) + 1);
    for (const int32_t size : sizes) ++count_of[size];
    for (int32_t size = largest; size > 0; --size) {
      if (count_of[size] > 0) counts.emplace_back(size, count_of[size]);
    }
  } else {
    std::vector<int32_t> sorted(sizes.begin(), sizes.end());
    std::ranges::sort(sorted, std::greater());
    for (const int32_t size : sorted) {
      if (size > 0) counts.emplace_back(size, 1);
    }
  }
  GreedyFit fit;
  for (const auto& [size, count] : counts) {
    if (slices <= 0) break;
    const int32_t used = std::min(count, (slices - 1) / size + 1);
    fit.domains += used;
    fit.last_other.emplace();
    fit.last_other->slices = fit.last_other->slices_beside_leader = size;
    slices -= static_cast<int32_t>(std::min<int64_t>(slices, static_cast<int64_t>(used) * size));
  }
  if (slices > 0) return std::nullopt;
  return fit;
}

std::optional<GreedyFit> greedy_fit(const CandidateList& list, int32_t slices, bool leader,
                                    bool scored) {
  if (!leader && !scored) {
    std::vector<int32_t> sizes;
    sizes.reserve(list.size());
    for (const Candidate& candidate : list) sizes.push_back(candidate.numbers.slices);
    return greedy_fit(sizes, slices);
  }
  GreedyFit fit;
  CandidateList rest = list;
  size_t next = 0;
  if (leader) {
    sort_by_leader(rest, scored, false);
    while (leader && next < rest.size() && rest[next].numbers.leaders > 0) {
      const DomainNumbers& numbers = rest[next++].numbers;
      fit.last_leader = numbers;
      ++fit.domains;
      slices -= numbers.slices_beside_leader;
      leader = false;
    }
    if (leader) return std::nullopt;
    rest.erase(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(next));
  }
  sort_plain(rest, scored, false);
  for (const Candidate& candidate : rest) {
    if (slices <= 0 || candidate.numbers.slices == 0) break;
    fit.last_other = candidate.numbers;
    ++fit.domains;
    slices -= candidate.numbers.slices;
  }
  if (slices > 0) return std::nullopt;
  return fit;
}

namespace {

// A partial choice: which domain came last, and the choice before it.
struct Step {
  uint32_t candidate = 0;
  int32_t previous = -1;
};

// By leaders left, then pods left: the first choice that led there.
using States = std::map<std::pair<int32_t, int64_t>, int32_t>;

// Looking further than this for the least waste takes longer than the waste is worth. The reference
// has no such bound, and takes minutes for a thousand domains that all differ.
constexpr int64_t kMostSteps = 2'000'000;

// What the greedy walk takes, its last domain as tight as possible.
CandidateList greedy_subset(const CandidateList& list, int32_t slices, bool leader, bool scored) {
  std::set<uint32_t> taken;
  CandidateList rest = list;
  if (leader) {
    sort_by_leader(rest, scored, false);
    taken.insert(rest.front().domain);
    slices -= rest.front().numbers.slices_beside_leader;
    rest.erase(rest.begin());
  }
  sort_plain(rest, scored, false);
  for (size_t index = 0; index < rest.size() && slices > 0; ++index) {
    size_t chosen = index;
    if (rest[index].numbers.slices >= slices) {
      chosen = tightest(rest, index, slices, 0, Mode::kSlices, scored);
    }
    taken.insert(rest[chosen].domain);
    slices -= rest[chosen].numbers.slices;
  }
  CandidateList subset;
  std::ranges::copy_if(list, std::back_inserter(subset), [&](const Candidate& candidate) {
    return taken.contains(candidate.domain);
  });
  return subset;
}

}  // namespace

std::optional<CandidateList> optimal_subset(const CandidateList& list, int32_t slices,
                                            int32_t slice_size, bool leader, bool scored) {
  const auto fit = greedy_fit(list, slices, leader, scored);
  if (!fit) return std::nullopt;
  const int32_t size = fit->domains;
  std::vector<Step> steps;
  std::vector<States> by_size(size + 1);
  int64_t tried = 0;
  by_size[0].emplace(std::pair(leader ? 1 : 0, static_cast<int64_t>(slices) * slice_size), -1);

  int64_t most = 0;  // pods of the largest domain
  for (const Candidate& candidate : list) most = std::max<int64_t>(most, candidate.numbers.pods);

  for (uint32_t index = 0; index < list.size(); ++index) {
    const DomainNumbers& numbers = list[index].numbers;
    for (int32_t used = std::min<int32_t>(size, static_cast<int32_t>(index) + 1); used >= 1;
         --used) {
      if (tried > kMostSteps) return greedy_subset(list, slices, leader, scored);
      tried += static_cast<int64_t>(by_size[used - 1].size()) + 1;
      const auto extend = [&](std::pair<int32_t, int64_t> state, int32_t from) {
        // Even the largest domains could not hold the rest any more: nothing comes of it.
        if (state.second > (size - used) * most) return;
        const auto [entry, is_new] =
            by_size[used].emplace(state, static_cast<int32_t>(steps.size()));
        if (is_new) steps.push_back({index, from});
      };
      for (const auto& [state, last] : by_size[used - 1]) {
        const auto& [leaders_left, pods_left] = state;
        if (leaders_left <= 0 && pods_left <= 0) continue;
        if (leaders_left > 0 && numbers.leaders > 0) {
          extend({leaders_left - numbers.leaders, pods_left - numbers.pods_beside_leader}, last);
        }
        if (numbers.slices > 0) extend({leaders_left, pods_left - numbers.pods}, last);
      }
    }
  }

  // The largest number of pods left that is not above zero: the least waste.
  const States& complete = by_size[size];
  auto best = complete.upper_bound({0, 0});
  if (best == complete.begin()) return std::nullopt;
  --best;
  if (best->first.first != 0) return std::nullopt;
  CandidateList subset;
  for (int32_t step = best->second; step >= 0; step = steps[step].previous) {
    subset.push_back(list[steps[step].candidate]);
  }
  std::ranges::reverse(subset);
  return subset;
}

}  // namespace phalanx::placement
