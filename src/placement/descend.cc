#include "placement/descend.h"

namespace phalanx::placement {
namespace {

std::optional<std::vector<Share>> share_among_children(const DomainCounts& counts,
                                                       const LevelPlan& plan, int level,
                                                       const Share& share) {
  const int32_t inner = plan.inner_size[level + 1];
  const int32_t unit = level < plan.slice_level ? plan.slice_size : inner > 0 ? inner : 1;
  if (share.pods % unit != 0) return std::nullopt;  // would be lost
  CandidateList list = candidates(counts, level + 1, counts.tree().children(level, share.domain));
  sort_plain(list, counts.has_scores(), plan.least_free);
  if (unit > 1) {
    for (Candidate& candidate : list) {
      candidate.numbers.slices = candidate.numbers.pods / unit;
      candidate.numbers.slices_beside_leader = candidate.numbers.pods_beside_leader / unit;
    }
  }
  return take(std::move(list),
              {share.pods, share.leaders, unit, unit > 1 ? Mode::kSlices : Mode::kPods,
               plan.least_free, counts.has_scores()});
}

}  // namespace

std::optional<std::vector<Share>> descend(const DomainCounts& counts, const LevelPlan& plan,
                                          int level, const CandidateList& chosen,
                                          bool keep_shares) {
  const topology::DomainTree& tree = counts.tree();
  const TakeRequest whole{plan.count,      counts.has_leader() ? 1 : 0,
                          plan.slice_size, Mode::kSlices,
                          plan.least_free, counts.has_scores()};
  auto shares = take(chosen, whole);

  for (; shares && !keep_shares && level < plan.slice_level; ++level) {
    CandidateList pool;
    for (const Share& share : *shares) {
      const auto children = candidates(counts, level + 1, tree.children(level, share.domain));
      pool.insert(pool.end(), children.begin(), children.end());
    }
    sort_plain(pool, counts.has_scores(), plan.least_free);
    shares = take(std::move(pool), whole);
  }

  for (; shares && level < tree.lowest(); ++level) {
    std::vector<Share> below;
    for (const Share& share : *shares) {
      if (share.pods == 0 && share.leaders == 0) continue;
      const auto parts = share_among_children(counts, plan, level, share);
      if (!parts) return std::nullopt;
      below.insert(below.end(), parts->begin(), parts->end());
    }
    shares = std::move(below);
  }
  return shares;
}

std::optional<std::vector<Share>> descend(const DomainCounts& counts, const LevelPlan& plan,
                                          const Choice& choice) {
  CandidateList chosen;
  chosen.reserve(choice.domains.size());
  for (const uint32_t domain : choice.domains) {
    chosen.push_back({domain, counts.numbers(choice.level, domain)});
  }
  return descend(counts, plan, choice.level, chosen, /*keep_shares=*/false);
}

std::optional<std::vector<Share>> descend_from(const DomainCounts& counts, const LevelPlan& plan,
                                               int level, uint32_t domain) {
  return descend(counts, plan, {level, {domain}});
}

}  // namespace phalanx::placement
