#include "placement/take.h"

#include <algorithm>
#include <tuple>

namespace phalanx::placement {
namespace {

int32_t capacity(const DomainNumbers& numbers, int32_t leaders, Mode mode) {
  if (mode == Mode::kSlices) {
    return leaders > 0 ? numbers.slices_beside_leader : numbers.slices;
  }
  return leaders > 0 ? numbers.pods_beside_leader : numbers.pods;
}

}  // namespace

CandidateList candidates(const DomainCounts& counts, int level, topology::DomainRange range) {
  CandidateList list;
  list.reserve(range.size());
  for (uint32_t domain = range.begin; domain < range.end; ++domain) {
    list.push_back({domain, counts.numbers(level, domain)});
  }
  return list;
}

void sort_plain(CandidateList& list, bool scored, bool least_free) {
  std::ranges::sort(list, {}, [=](const Candidate& candidate) {
    const DomainNumbers& n = candidate.numbers;
    const int64_t slices = n.slices;
    return std::tuple(scored ? -n.score : 0, least_free ? slices : -slices, n.pods,
                      candidate.domain);
  });
}

void sort_by_leader(CandidateList& list, bool scored, bool least_free) {
  std::ranges::sort(list, {}, [=](const Candidate& candidate) {
    const DomainNumbers& n = candidate.numbers;
    const int64_t slices = n.slices_beside_leader;
    return std::tuple(-n.leaders, scored ? -n.score : 0, least_free ? slices : -slices,
                      n.pods_beside_leader, candidate.domain);
  });
}

size_t tightest(const CandidateList& list, size_t start, int32_t need, int32_t leaders, Mode mode,
                bool scored) {
  size_t best = start;
  bool found = false;
  for (size_t index = start; index < list.size(); ++index) {
    const DomainNumbers& numbers = list[index].numbers;
    if (scored && numbers.score != list[start].numbers.score) break;
    const int32_t room = capacity(numbers, leaders, mode);
    if (numbers.leaders < leaders || room < need) continue;
    if (!found || room < capacity(list[best].numbers, leaders, mode)) {
      best = index;
      found = true;
    }
  }
  return best;
}

void move_leader_first(CandidateList& list, int32_t need, int32_t leaders, Mode mode) {
  if (leaders == 0 || list.size() < 2) return;
  int64_t available = 0;
  for (const Candidate& candidate : list) available += capacity(candidate.numbers, 0, mode);
  for (auto entry = list.begin(); entry != list.end(); ++entry) {
    const int64_t penalty =
        capacity(entry->numbers, 0, mode) - capacity(entry->numbers, leaders, mode);
    if (entry->numbers.leaders < leaders || available - penalty < need) continue;
    std::rotate(list.begin(), entry, entry + 1);
    return;
  }
}

std::optional<std::vector<Share>> take(CandidateList list, const TakeRequest& request) {
  const int32_t unit = request.mode == Mode::kSlices ? request.size : 1;
  int32_t remaining = request.count / unit;
  int32_t leaders = request.leaders;
  move_leader_first(list, remaining, leaders, request.mode);
  std::vector<Share> shares;
  shares.reserve(list.size());
  for (size_t index = 0; index < list.size(); ++index) {
    const auto holds_rest = [&](const DomainNumbers& numbers) {
      return capacity(numbers, leaders, request.mode) >= remaining && numbers.leaders >= leaders;
    };
    size_t chosen = index;
    if (!request.least_free && holds_rest(list[index].numbers)) {
      chosen = tightest(list, index, remaining, leaders, request.mode, request.scored);
    }
    const Candidate& entry = list[chosen];
    if (holds_rest(entry.numbers)) {
      shares.push_back({entry.domain, remaining * unit, leaders});
      return shares;
    }
    const int32_t units = std::min(capacity(entry.numbers, leaders, request.mode), remaining);
    const int32_t placed_leaders = std::min(entry.numbers.leaders, leaders);
    shares.push_back({entry.domain, units * unit, placed_leaders});
    remaining -= units;
    leaders -= placed_leaders;
  }
  if (remaining > 0 || leaders > 0) return std::nullopt;
  return shares;
}

}  // namespace phalanx::placement
