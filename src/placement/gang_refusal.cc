#include "placement/gang_refusal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "placement/descend.h"
#include "placement/remedies.h"

namespace phalanx::placement {
namespace {

using topology::DomainRange;

constexpr int64_t kMaxPods = std::numeric_limits<int32_t>::max();

class Refuser {
 public:
  Refuser(topology::Cluster& cluster, const GangItems& items, const GangSearch& search)
      : cluster_(cluster),
        items_(items),
        search_(search),
        obstacle_(search.obstacle()),
        group_(items.items[obstacle_.item]),
        tree_index_(topology_of(group_)),
        tree_(cluster.tree(items.trees[tree_index_])),
        range_(obstacle_.region[tree_index_]) {}

  std::shared_ptr<const Explanation> run() {
    const topology::Attempt attempt(cluster_);
    for (const auto& [item, shares] : obstacle_.placed) {
      charge(items_.items[item].shape_tree, items_.items[item].shape, shares);
      for (const Share& share : shares) placed_before_ += share.pods;
    }
    if (auto found = explain_alone()) return found;
    if (auto found = explain_alike()) return found;
    if (auto found = explain_floor()) return found;
    return explain_one_after_another();
  }

 private:
  // The topology of the group's own constraint, else of its pods.
  [[nodiscard]] int topology_of(const GangItem& group) const {
    const GangItem* item = &group;
    while (item->tree < 0 && !item->is_leaf) item = &items_.items[item->children.front()];
    return item->tree >= 0 ? item->tree : item->shape_tree;
  }

  // New pods that the group needs, by shape; of a pod set, those it was tried with. Where every
  // child may be left out a minimum of pods is what is missing: any of them would do.
  [[nodiscard]] std::map<int, int64_t> needs() const {
    if (group_.is_leaf) return {{group_.shape, obstacle_.wanted}};
    std::map<int, int64_t> needs = search_.minimum_needs(obstacle_.item);
    std::erase_if(needs, [](const auto& need) { return need.second == 0; });
    if (!needs.empty()) return needs;
    for (const auto& [shape, pods] : search_.whole_needs(obstacle_.item)) {
      if (pods > 0) needs[shape] = std::min(pods, std::max<int64_t>(obstacle_.wanted, 1));
    }
    return needs;
  }

  void charge(int tree_index, int shape, const std::vector<Share>& shares) {
    for (const Share& share : shares) {
      cluster_.charge(items_.trees[tree_index], share.domain, items_.shapes[shape].requests,
                      share.pods);
    }
  }

  [[nodiscard]] LevelPlan plan(int64_t pods) const {
    const bool required = group_.required >= 0;
    LevelPlan plan = plan_anywhere(tree_, required ? group_.required : 0,
                                   static_cast<int32_t>(std::min(pods, kMaxPods)));
    plan.required = required;
    plan.anywhere = !required;
    return plan;
  }

  [[nodiscard]] DomainCounts count(const GangShape& shape, const SliceLayers& layers) const {
    std::optional<DomainRange> confinement;
    if (range_.size() < tree_.leaf_count()) confinement = range_;
    const auto filter = filter_of(cluster_, tree_, shape, confinement);
    return {tree_, counted_shape(tree_, shape.requests, layers), filter, filter};
  }

  // An explanation, unless the pods do fit.
  std::shared_ptr<const Explanation> explain_if_short(const DomainCounts& counts,
                                                      const LevelPlan& plan,
                                                      const std::string& how) {
    const int32_t fits = most_slices(counts, plan);
    if (fits >= plan.slices) return nullptr;
    return explain_now(counts, plan, fits, how);
  }

  std::shared_ptr<const Explanation> explain_now(const DomainCounts& counts, const LevelPlan& plan,
                                                 int32_t fits, const std::string& how) {
    std::vector<std::string> parts;
    if (!how.empty()) parts.push_back(how);
    if (placed_before_ > 0) {
      parts.push_back(fmt::format("beside {} pod(s) of the gang placed before", placed_before_));
    }
    if (range_.size() < tree_.leaf_count()) {
      parts.push_back(fmt::format("inside {}", fmt::join(path_of(range_), " / ")));
    }
    if (items_.items.size() > 1) parts.emplace_back("what would help speaks of this group alone");
    Explanation result =
        *explain(cluster_, items_.trees[tree_index_], counts, plan, {plan.level, fits});
    result.context = fmt::format("{}", fmt::join(parts, "; "));
    return std::make_shared<const Explanation>(std::move(result));
  }

  [[nodiscard]] std::vector<std::string> path_of(DomainRange range) const {
    for (int level = 0; level < tree_.level_count(); ++level) {
      const uint32_t domain = tree_.ancestor(tree_.lowest(), range.begin, level);
      const DomainRange leaves = tree_.leaves(level, domain);
      if (leaves.begin == range.begin && leaves.end == range.end) {
        return cluster_.path(tree_, level, domain);
      }
    }
    return {"the region chosen"};
  }

  // The first kind of pods that does not fit even without the others.
  std::shared_ptr<const Explanation> explain_alone() {
    for (const auto& [shape, pods] : needs()) {
      if (group_.is_leaf && !group_.layers.empty()) {
        if (auto found = explain_slices(pods)) return found;
      }
      const DomainCounts counts = count(items_.shapes[shape], {});
      if (auto found = explain_if_short(counts, plan(pods), "")) return found;
    }
    return nullptr;
  }

  std::shared_ptr<const Explanation> explain_slices(int64_t pods) {
    if (tree_index_ != group_.shape_tree || pods % group_.unit() != 0) return nullptr;
    LevelPlan sliced = plan(pods);
    sliced.slice_level = group_.layers[0].first;
    sliced.slice_size = group_.unit();
    sliced.slices = sliced.count / sliced.slice_size;
    const DomainCounts counts = count(items_.shapes[group_.shape], group_.layers);
    sliced.inner_size = counts.shape().inner_size;
    for (const auto& [level, size] : group_.layers) {
      sliced.constraints.push_back({tree_.level_key(level), size});
    }
    return explain_if_short(counts, sliced, "");
  }

  // Several pod sets alike, each in a domain of its own level: slices, as it were.
  std::shared_ptr<const Explanation> explain_alike() {
    const int64_t all = obstacle_.alike * obstacle_.wanted;
    if (obstacle_.alike < 2 || !group_.is_leaf || all > kMaxPods) return nullptr;
    LevelPlan together = plan_anywhere(tree_, 0, static_cast<int32_t>(all));
    together.slice_level = group_.required;
    together.slice_size = static_cast<int32_t>(obstacle_.wanted);
    together.slices = static_cast<int32_t>(obstacle_.alike);
    const std::string level = tree_.level_key(group_.required);
    together.constraints.push_back({level, together.slice_size});
    const DomainCounts counts =
        count(items_.shapes[group_.shape], {{group_.required, together.slice_size}});
    return explain_if_short(counts, together,
                            fmt::format("{} groups like this one are to be placed, each in one {}",
                                        obstacle_.alike, level));
  }

  // All pods of the group, as small as the smallest of them.
  std::shared_ptr<const Explanation> explain_floor() {
    if (!items_.floor) return nullptr;
    int64_t pods = 0;
    for (const auto& [shape, count] : needs()) pods += count;
    const DomainCounts counts = count(*items_.floor, {});
    return explain_if_short(counts, plan(pods),
                            "all pods together, even if each asked only for the least that any of "
                            "them asks for");
  }

  // Each kind fits alone: the first that does not once those before it are in their place. If that
  // shows nothing either, the largest kind is described as it is.
  std::shared_ptr<const Explanation> explain_one_after_another() {
    std::optional<std::pair<int, int64_t>> largest;
    const auto wanted = needs();
    for (const auto& [shape, pods] : wanted) {
      if (!largest || pods > largest->second) largest = {shape, pods};
      if (wanted.size() < 2) continue;
      const DomainCounts counts = count(items_.shapes[shape], {});
      const LevelPlan all = plan(pods);
      if (auto found = explain_if_short(counts, all, "with the group's other pods in their place"))
        return found;
      if (group_.required >= 0) narrow_to_roomiest(counts);
      take(counts, shape, all);
    }
    if (!largest) return nullptr;
    const DomainCounts counts = count(items_.shapes[largest->first], {});
    const LevelPlan all = plan(largest->second);
    return explain_now(counts, all, most_slices(counts, all),
                       "its pods find room alone, but not together with the others");
  }

  // A group that must be in one domain is followed into the one with the most room.
  void narrow_to_roomiest(const DomainCounts& counts) {
    std::optional<uint32_t> best;
    for (uint32_t domain = 0; domain < tree_.size(group_.required); ++domain) {
      const int32_t pods = counts.pods(group_.required, domain);
      if (!best || pods > counts.pods(group_.required, *best)) best = domain;
    }
    if (best) range_ = tree_.leaves(group_.required, *best);
  }

  void take(const DomainCounts& counts, int shape, const LevelPlan& plan) {
    const auto choice = choose(counts, plan);
    if (!choice) return;
    const auto shares = descend(counts, plan, *choice);
    if (shares) charge(tree_index_, shape, *shares);
  }

  topology::Cluster& cluster_;
  const GangItems& items_;
  const GangSearch& search_;
  const GangObstacle& obstacle_;
  const GangItem& group_;
  int tree_index_;
  const topology::DomainTree& tree_;
  DomainRange range_;  // where the group may be, in its own topology
  int64_t placed_before_ = 0;
};

}  // namespace

GangRefusal refuse_gang(topology::Cluster& cluster, const GangItems& items,
                        const std::string& gang_name, const GangSearch& search) {
  const GangObstacle& obstacle = search.obstacle();
  const GangItem& item = items.items[obstacle.item];
  const std::string where =
      item.required >= 0
          ? " in one " + cluster.tree(items.trees[item.tree]).level_key(item.required)
          : "";
  std::string text = fmt::format("gang \"{}\" does not fit: ", gang_name);
  if (!item.path.empty() || item.is_leaf) {
    const std::string who = item.path.empty() ? "the gang" : fmt::format("group \"{}\"", item.path);
    text += fmt::format("{} finds no room for {} pod(s){}{}", who, obstacle.wanted, where,
                        obstacle.placed.empty() ? "" : " beside the rest of the gang");
  } else {
    text += fmt::format("its {} pods find no room together{}", obstacle.wanted, where);
  }
  if (search.out_of_budget()) {
    text += fmt::format("; not proven, the search stopped after {} steps", search.steps());
  }
  return {std::move(text), Refuser(cluster, items, search).run()};
}

}  // namespace phalanx::placement
