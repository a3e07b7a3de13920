#include "placement/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "base/saturating.h"
#include "placement/remedies.h"

namespace phalanx::placement {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr std::string_view kPods = "pods";

// What stands against every leaf, found in one pass and added up for any range afterwards.
class LeafCauses {
 public:
  LeafCauses(const topology::Cluster& cluster, const DomainCounts& counts)
      : cluster_(cluster), counts_(counts), tree_(counts.tree()), leaves_(tree_.leaf_count()) {
    active_before_.reserve(leaves_.size() + 1);
    active_before_.push_back(0);
    for (uint32_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      const bool active = tree_.leaf_active(leaf);
      active_before_.push_back(active_before_.back() + (active ? 1 : 0));
      if (!active) continue;
      judge_workers(leaf);
      if (counts.has_leader()) judge_leader(leaf);
    }
  }

  [[nodiscard]] uint32_t active(topology::DomainRange range) const {
    return active_before_[range.end] - active_before_[range.begin];
  }

  [[nodiscard]] int64_t pods_if_empty(topology::DomainRange range) const {
    int64_t pods = 0;
    for (uint32_t leaf = range.begin; leaf < range.end; ++leaf) pods += leaves_[leaf].when_empty;
    return pods;
  }

  // The causes in a range that are `wanted`, the one that affects most nodes first: `limit` of the
  // `total` that there are.
  template <typename Wanted>
  std::vector<Cause> tally(topology::DomainRange range, size_t limit, size_t& total,
                           Wanted wanted) const {
    const std::vector<Cause> sums = add_up(range);
    std::vector<uint32_t> order;
    for (uint32_t index = 0; index < sums.size(); ++index) {
      if (sums[index].affected() > 0 && wanted(causes_[index])) order.push_back(index);
    }
    total = order.size();
    const auto shown = order.begin() + std::min(limit, total);
    std::ranges::partial_sort(order, shown, {}, [&](uint32_t index) {
      const Cause& cause = causes_[index];
      return std::tuple(-int64_t{sums[index].affected()}, cause.of_leader, cause.kind,
                        std::string_view(cause.name));
    });
    std::vector<Cause> result;
    for (auto index = order.begin(); index != shown; ++index) {
      Cause& cause = result.emplace_back(sums[*index]);
      cause.kind = causes_[*index].kind;
      cause.of_leader = causes_[*index].of_leader;
      cause.name = causes_[*index].name;
    }
    return result;
  }

  // The cause in a range that affects most nodes, of those that concern the leader or of the
  // others.
  [[nodiscard]] std::optional<Cause> worst(topology::DomainRange range, bool of_leader) const {
    size_t total = 0;
    auto found = tally(range, 1, total, [&](const Cause& c) { return c.of_leader == of_leader; });
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  }

 private:
  struct Leaf {
    uint32_t cause = kNone;
    uint32_t leader_cause = kNone;
    int32_t when_empty = 0;  // pods
    int32_t withheld = 0;    // pods that the cause costs
    bool holds_some = false;
    bool too_small_for_leader = false;
  };

  void judge_workers(uint32_t leaf) {
    Leaf& result = leaves_[leaf];
    const CountedShape& shape = counts_.shape();
    const LeafFit fit = fit_in_leaf(tree_, leaf, shape.worker, shape.simulate_empty);
    result.when_empty = fit_when_empty(leaf, shape.worker);
    if (!counts_.filter().admits(leaf)) {
      result.cause = exclusion_cause(counts_.filter(), leaf, false);
      result.withheld = fit.pods;
      return;
    }
    result.holds_some = fit.pods > 0;
    result.withheld = std::max(result.when_empty - fit.pods, 0);
    if (fit.pods == 0 || result.withheld > 0) result.cause = resource_cause(fit.limiting, false);
  }

  void judge_leader(uint32_t leaf) {
    const bool fits = counts_.numbers(tree_.lowest(), leaf).leaders > 0;
    if (fits || !counts_.filter().admits(leaf)) return;  // excluded for both alike
    Leaf& result = leaves_[leaf];
    const CountedShape& shape = counts_.shape();
    if (!counts_.leader_filter().admits(leaf)) {
      result.leader_cause = exclusion_cause(counts_.leader_filter(), leaf, true);
      return;
    }
    const LeafFit fit = fit_in_leaf(tree_, leaf, *shape.leader, shape.simulate_empty);
    result.leader_cause = resource_cause(fit.limiting, true);
    result.too_small_for_leader = fit_when_empty(leaf, *shape.leader) == 0;
  }

  // What an aggregate leaf can hold at all is not recorded; without admitted usage comes nearest.
  [[nodiscard]] int32_t fit_when_empty(uint32_t leaf,
                                       const topology::RequestVector& request) const {
    if (!tree_.by_host()) return fit_in_leaf(tree_, leaf, request, true).pods;
    return fit_in_node(cluster_, tree_.leaf_node(leaf), request);
  }

  uint32_t exclusion_cause(const NodeFilter& filter, uint32_t leaf, bool of_leader) {
    switch (filter.exclusion(leaf)) {
      case Exclusion::kTaint: {
        const api::Taint& taint = filter.blocking_taint(leaf);
        const auto [known, is_new] = taint_causes_.try_emplace({&taint, of_leader}, kNone);
        if (is_new) known->second = cause(CauseKind::kTaint, of_leader, taint.text());
        return known->second;
      }
      case Exclusion::kNodeSelector:
        return cause(CauseKind::kNodeSelector, of_leader, "");
      case Exclusion::kAffinity:
        return cause(CauseKind::kAffinity, of_leader, "");
      case Exclusion::kConfinement:
        return cause(CauseKind::kConfinement, of_leader, "");
      case Exclusion::kNone:
        break;
    }
    return kNone;
  }

  uint32_t resource_cause(ResourceId resource, bool of_leader) {
    const auto [known, is_new] = resource_causes_.try_emplace({resource, of_leader}, kNone);
    if (is_new) {
      known->second = cause(CauseKind::kResource, of_leader, cluster_.resource_name(resource));
    }
    return known->second;
  }

  uint32_t cause(CauseKind kind, bool of_leader, std::string name) {
    const auto next = static_cast<uint32_t>(causes_.size());
    const auto [known, is_new] = numbers_.emplace(std::tuple(of_leader, kind, name), next);
    if (is_new) causes_.push_back({kind, of_leader, std::move(name)});
    return known->second;
  }

  // The numbers of each cause; its kind and name are those of causes_.
  [[nodiscard]] std::vector<Cause> add_up(topology::DomainRange range) const {
    std::vector<Cause> sums(causes_.size());
    for (uint32_t index = range.begin; index < range.end; ++index) {
      const Leaf& leaf = leaves_[index];
      if (leaf.cause != kNone) {
        Cause& sum = sums[leaf.cause];
        ++(leaf.holds_some ? sum.partly_used : sum.nodes);
        if (leaf.when_empty == 0 && causes_[leaf.cause].kind == CauseKind::kResource)
          ++sum.too_small;
        sum.pods += leaf.withheld;
      }
      if (leaf.leader_cause != kNone) {
        Cause& sum = sums[leaf.leader_cause];
        ++sum.nodes;
        if (leaf.too_small_for_leader) ++sum.too_small;
      }
    }
    return sums;
  }

  const topology::Cluster& cluster_;
  const DomainCounts& counts_;
  const topology::DomainTree& tree_;
  std::vector<Leaf> leaves_;
  std::vector<uint32_t> active_before_;  // by leaf
  std::vector<Cause> causes_;            // kind and name of each
  std::map<std::tuple<bool, CauseKind, std::string>, uint32_t> numbers_;
  std::map<std::pair<const api::Taint*, bool>, uint32_t> taint_causes_;
  std::map<std::pair<ResourceId, bool>, uint32_t> resource_causes_;
};

class Explainer {
 public:
  Explainer(topology::Cluster& cluster, TreeId tree, const DomainCounts& counts,
            const LevelPlan& plan)
      : cluster_(cluster),
        tree_id_(tree),
        tree_(counts.tree()),
        counts_(counts),
        plan_(plan),
        causes_(cluster, counts) {}

  Explanation run(const Shortfall& shortfall) {
    result_.topology = tree_.name();
    result_.level_keys = tree_.spec().levels;
    result_.asked = asked();
    result_.fits_slices = most_slices(counts_, plan_);
    result_.searched_level = tree_.level_key(shortfall.level);
    result_.left_out = left_out();
    const topology::DomainRange all{0, tree_.leaf_count()};
    result_.everything = report(all, room_of(numbers_of_everything(counts_)), plan_.slices);
    size_t total = 0;
    result_.causes = causes_.tally(all, kMostCauses, total, [](const Cause&) { return true; });
    result_.more_causes = total - result_.causes.size();

    const std::vector<uint32_t> best = report_level(plan_.level, LevelRole::kSearched);
    for (int level = plan_.level - 1; level >= 0; --level) report_level(level, LevelRole::kAbove);
    const bool slices_below = !plan_.constraints.empty() && plan_.slice_level > plan_.level;
    if (slices_below) report_level(plan_.slice_level, LevelRole::kSlices);
    name_users();
    result_.remedies = find_remedies(cluster_, counts_, plan_, best);
    return std::move(result_);
  }

 private:
  // What a domain holds, next to the leader where it fits.
  struct Room {
    bool leader_fits = true;
    int32_t slices = 0;
    int32_t pods = 0;

    auto operator<=>(const Room&) const = default;
  };

  [[nodiscard]] Room room_of(const DomainNumbers& numbers) const {
    const bool leader_fits = !counts_.has_leader() || numbers.leaders > 0;
    if (!leader_fits) return {false, numbers.slices, numbers.pods};
    return {true, numbers.slices_beside_leader, numbers.pods_beside_leader};
  }

  [[nodiscard]] ResourceList amounts(const topology::RequestVector& request) const {
    ResourceList list;
    for (const topology::Request& need : request) {
      const std::string& name = cluster_.resource_name(need.resource);
      const bool only_itself = name == kPods && need.amount == 1;  // every pod is one
      if (need.amount > 0 && !only_itself) list.push_back({name, need.amount});
    }
    return list;
  }

  [[nodiscard]] AskedFor asked() const {
    const CountedShape& shape = counts_.shape();
    AskedFor result;
    result.pods = plan_.count;
    result.slices = plan_.slices;
    result.slice_size = plan_.slice_size;
    result.mode = plan_.required   ? RequestMode::kRequired
                  : plan_.anywhere ? RequestMode::kUnconstrained
                                   : RequestMode::kPreferred;
    if (!plan_.anywhere) result.level = tree_.level_key(plan_.level);
    result.slice_level = tree_.level_key(plan_.slice_level);
    result.slice_layers = plan_.constraints;
    result.per_pod = amounts(shape.worker);
    if (shape.leader) result.leader = amounts(*shape.leader);
    result.without_admitted = shape.simulate_empty;
    return result;
  }

  [[nodiscard]] LeftOut left_out() const {
    const topology::LeftOutNodes nodes = cluster_.left_out(tree_id_);
    LeftOut result{nodes.not_ready, nodes.unschedulable, nodes.other_flavor, {}};
    for (size_t level = 0; level < nodes.lacking_level.size(); ++level) {
      if (nodes.lacking_level[level] == 0) continue;
      result.lacking_label.emplace_back(tree_.level_key(static_cast<int>(level)),
                                        nodes.lacking_level[level]);
    }
    return result;
  }

  // The best few domains of a level, best first.
  std::vector<uint32_t> report_level(int level, LevelRole role) {
    LevelReport entry;
    entry.level = tree_.level_key(level);
    entry.role = role;
    const bool of_slices = role == LevelRole::kSlices;
    std::vector<std::pair<Room, uint32_t>> domains;
    for (uint32_t domain = 0; domain < tree_.size(level); ++domain) {
      if (causes_.active(tree_.leaves(level, domain)) == 0) continue;
      const DomainNumbers numbers = counts_.numbers(level, domain);
      // The leader needs one of the slices' domains, not each.
      const Room room = of_slices ? Room{true, numbers.slices, numbers.pods} : room_of(numbers);
      if (room.slices > 0) ++entry.holding_some;
      if (room.leader_fits && room.slices >= plan_.slices) ++entry.holding_all;
      domains.emplace_back(room, domain);
    }
    entry.domains = static_cast<uint32_t>(domains.size());
    const auto shown = domains.begin() + std::min(kMostDomains, domains.size());
    std::partial_sort(domains.begin(), shown, domains.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<uint32_t> best;
    for (const auto& [room, domain] : std::span(domains.begin(), shown)) {
      best.push_back(domain);
      entry.best.push_back(report(tree_.leaves(level, domain), room, of_slices ? 1 : plan_.slices));
      entry.best.back().path = cluster_.path(tree_, level, domain);
    }
    entry.more = static_cast<uint32_t>(domains.end() - shown);
    result_.levels.push_back(std::move(entry));
    return best;
  }

  DomainReport report(topology::DomainRange leaves, const Room& room, int32_t wanted) {
    DomainReport result;
    result.nodes = causes_.active(leaves);
    result.slices = room.slices;
    result.pods = room.pods;
    result.missing = std::max(wanted - room.slices, 0);
    result.leader_fits = room.leader_fits;
    result.pods_if_empty = causes_.pods_if_empty(leaves);
    ResourceId resource = cluster_.find_resource(kPods);
    if (result.missing > 0 || !room.leader_fits) {
      result.blocking = causes_.worst(leaves, !room.leader_fits);
      // Where the workers' own filters leave no node, nothing concerns the leader in particular.
      if (!result.blocking) result.blocking = causes_.worst(leaves, false);
    }
    if (result.blocking && result.blocking->kind == CauseKind::kResource) {
      resource = cluster_.find_resource(result.blocking->name);
      if (tree_.by_host()) result.balance = balance(leaves, resource);
    }
    uses_.push_back({leaves, resource});
    return result;
  }

  [[nodiscard]] ResourceBalance balance(topology::DomainRange leaves, ResourceId resource) const {
    ResourceBalance sum{cluster_.resource_name(resource)};
    const auto add = [](int64_t& total, std::span<const int64_t> column, uint32_t leaf) {
      if (!column.empty()) total = saturating_add(total, column[leaf]);
    };
    for (uint32_t leaf = leaves.begin; leaf < leaves.end; ++leaf) {
      if (!tree_.leaf_active(leaf)) continue;
      sum.allocatable =
          saturating_add(sum.allocatable, cluster_.allocatable(tree_.leaf_node(leaf), resource));
      add(sum.used_by_workloads, tree_.used(resource), leaf);
      add(sum.free, tree_.free(resource), leaf);
    }
    sum.used_by_others =
        saturating_subtract(saturating_subtract(sum.allocatable, sum.free), sum.used_by_workloads);
    return sum;
  }

  // One pass over the admitted usage answers for all domains reported.
  void name_users() {
    if (counts_.shape().simulate_empty) return;  // they were not counted
    const auto users = cluster_.workloads_in(tree_id_, uses_, kMostUsers);
    size_t next = 0;
    const auto fill = [&](DomainReport& domain) {
      for (const topology::WorkloadShare& share : users[next].most) {
        domain.used_by.push_back({share.workload, share.pods});
      }
      domain.more_users = users[next++].others;
    };
    fill(result_.everything);
    for (LevelReport& level : result_.levels) {
      for (DomainReport& domain : level.best) fill(domain);
    }
  }

  topology::Cluster& cluster_;
  TreeId tree_id_;
  const topology::DomainTree& tree_;
  const DomainCounts& counts_;
  const LevelPlan& plan_;
  LeafCauses causes_;
  Explanation result_;
  std::vector<topology::LeafUse> uses_;  // of the domains reported, in that order
};

}  // namespace

std::shared_ptr<const Explanation> explain_unreadable(const topology::DomainTree& tree,
                                                      int32_t pods, std::string_view problem) {
  auto result = std::make_shared<Explanation>();
  result->topology = tree.name();
  result->level_keys = tree.spec().levels;
  result->asked.pods = pods;
  result->context = fmt::format("{}; the levels of topology {} are: {}", problem, tree.name(),
                                fmt::join(result->level_keys, ", "));
  return result;
}

std::shared_ptr<const Explanation> explain(topology::Cluster& cluster, TreeId tree,
                                           const DomainCounts& counts, const LevelPlan& plan,
                                           const Shortfall& shortfall) {
  return std::make_shared<const Explanation>(Explainer(cluster, tree, counts, plan).run(shortfall));
}

}  // namespace phalanx::placement
