#include "quota/fair_share.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "base/check.h"

namespace phalanx::quota {
namespace {

struct OfResource {
  double borrowed = 0;
  double lendable = 0;
};

struct Champion {
  double share = 0;
  size_t index = 0;

  auto operator<=>(const Champion&) const = default;
};

}  // namespace

double fair_share(const QuotaTree& tree, MemberId member, Book book) {
  const MemberId parent = tree.parent(member);
  if (!parent.valid()) return 0;
  std::map<std::string_view, OfResource> resources;
  for (size_t i = 0; i < tree.flavor_resources(); ++i) {
    const FlavorResourceId what(i);
    OfResource& resource = resources[tree.what(what).resource];
    const int64_t over = tree.usage(member, what, book) - tree.subtree_quota(member, what);
    resource.borrowed += static_cast<double>(std::max<int64_t>(0, over));
    resource.lendable += static_cast<double>(std::max<int64_t>(0, tree.maximum(parent, what)));
  }
  double share = 0;
  for (const auto& [name, resource] : resources) {
    if (resource.borrowed == 0) continue;
    // More than nothing of what nobody lends: quota was taken away under it.
    if (resource.lendable == 0) return std::numeric_limits<double>::infinity();
    share = std::max(share, resource.borrowed * 1000 / resource.lendable);
  }
  if (share == 0) return 0;
  const int64_t weight = tree.weight_milli(member);
  if (weight == 0) return std::numeric_limits<double>::infinity();
  return share * 1000 / static_cast<double>(weight);
}

int64_t share_status(double share) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  if (share >= static_cast<double>(kLargest)) return kLargest;
  return static_cast<int64_t>(std::ceil(share));
}

size_t next_by_share(QuotaTree& tree, const std::vector<Contender>& contenders) {
  CHECK(!contenders.empty());
  // The best of every member that has contenders below it; in rounds, from the queues up.
  std::map<MemberId, size_t> champions;
  for (size_t i = 0; i < contenders.size(); ++i) champions.try_emplace(contenders[i].queue, i);
  while (true) {
    std::map<MemberId, Champion> best;
    bool rose = false;
    size_t deepest = 0;
    const auto depth = [&](MemberId member) {
      size_t levels = 0;
      for (MemberId at = tree.parent(member); at.valid(); at = tree.parent(at)) ++levels;
      return levels;
    };
    for (const auto& [member, index] : champions) deepest = std::max(deepest, depth(member));
    for (const auto& [member, index] : champions) {
      if (deepest == 0 || depth(member) < deepest) continue;
      const Contender& contender = contenders[index];
      tree.add(contender.queue, contender.wanted, +1, Book::kPromised);
      const Champion champion{fair_share(tree, member), index};
      tree.add(contender.queue, contender.wanted, -1, Book::kPromised);
      const auto [known, is_new] = best.try_emplace(tree.parent(member), champion);
      if (!is_new) known->second = std::min(known->second, champion);
      rose = true;
    }
    if (!rose) return champions.begin()->second;
    std::erase_if(champions, [&](const auto& entry) { return depth(entry.first) == deepest; });
    for (const auto& [member, champion] : best) {
      // A queue and a cohort are never the same member, so nobody is overwritten.
      champions[member] = champion.index;
    }
  }
}

}  // namespace phalanx::quota
