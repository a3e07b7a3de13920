#include "placement/remedies.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "base/saturating.h"
#include "placement/choose.h"

namespace phalanx::placement {
namespace {

constexpr int32_t kMaxCount = std::numeric_limits<int32_t>::max();

// More steps than this for one number of nodes are not worth it: there is none, then.
constexpr int64_t kMaxSteps = 1 << 21;

int64_t divide_up(int64_t dividend, int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

int64_t amount_of(const topology::RequestVector& request, ResourceId resource) {
  const auto found = std::ranges::find(request, resource, &topology::Request::resource);
  return found == request.end() ? 0 : found->amount;
}

// ---- Nodes for slices that are larger than a node.
//
// Each slice domain i has room for r_i pods beyond its whole slices of S pods, a new node brings f.
// Gaining j slices in it takes c_i(j) = ceil((j S - r_i) / f) nodes, c_i(0) = 0. Wanted: the
// cheapest way to gain m slices in all. New slice domains need not be thought of: the nodes of one
// serve as well in a domain that exists.

struct SliceDomain {
  uint32_t domain = 0;
  int32_t rest = 0;  // r
};

class SliceFilling {
 public:
  SliceFilling(std::vector<SliceDomain> domains, int64_t slice_size, int64_t pods_per_node,
               int64_t missing)
      : domains_(std::move(domains)),
        slice_size_(slice_size),
        pods_per_node_(pods_per_node),
        missing_(missing) {
    // A domain with more left over is never the worse choice, so no more than `missing` count.
    std::ranges::sort(domains_, {},
                      [](const SliceDomain& d) { return std::pair(-d.rest, d.domain); });
    if (std::ssize(domains_) > missing) domains_.resize(missing);
  }

  // The nodes for each domain that gets some; nullopt if finding out takes too long.
  std::optional<std::map<uint32_t, int64_t>> run() const {
    if (domains_.size() == 1) return {{{domains_[0].domain, nodes_for(domains_[0], missing_)}}};
    if (slice_size_ % pods_per_node_ == 0) return fill_in_turn();
    return fill_by_search();
  }

 private:
  [[nodiscard]] int64_t nodes_for(const SliceDomain& domain, int64_t slices) const {
    if (slices == 0) return 0;
    return divide_up(slices * slice_size_ - domain.rest, pods_per_node_);
  }

  // Whole nodes make a slice: its first slice is the cheapest of a domain, all others cost the
  // same. So the cheapest first slices are taken, and what costs the full price goes to one domain.
  [[nodiscard]] std::map<uint32_t, int64_t> fill_in_turn() const {
    std::map<uint32_t, int64_t> nodes;
    const int64_t full_price = slice_size_ / pods_per_node_;
    int64_t gained = 0;
    for (const SliceDomain& domain : domains_) {
      if (nodes_for(domain, 1) == full_price) break;
      nodes[domain.domain] = nodes_for(domain, 1);
      ++gained;
    }
    if (gained < missing_) nodes[domains_[0].domain] += (missing_ - gained) * full_price;
    return nodes;
  }

  // By dynamic programming over the slices gained. c_i repeats itself every P = f / gcd(S, f)
  // slices, at the same price for all: more than P slices are needed in one domain only.
  [[nodiscard]] std::optional<std::map<uint32_t, int64_t>> fill_by_search() const {
    const int64_t period = pods_per_node_ / std::gcd(slice_size_, pods_per_node_);
    const int64_t most = std::min(period, missing_);
    if (std::ssize(domains_) > kMaxSteps / missing_ / most) return std::nullopt;
    const size_t width = missing_ + 1;
    std::vector<int64_t> cheapest(width);
    std::vector<uint32_t> taken(domains_.size() * width);  // slices, by domain and slices gained
    for (size_t gained = 0; gained < width; ++gained) {
      cheapest[gained] = nodes_for(domains_[0], static_cast<int64_t>(gained));
      taken[gained] = static_cast<uint32_t>(gained);
    }
    for (size_t index = 1; index < domains_.size(); ++index) {
      for (size_t gained = width - 1; gained > 0; --gained) {
        for (size_t here = 1; here <= std::min<size_t>(most, gained); ++here) {
          const int64_t nodes =
              cheapest[gained - here] + nodes_for(domains_[index], static_cast<int64_t>(here));
          if (nodes >= cheapest[gained]) continue;
          cheapest[gained] = nodes;
          taken[index * width + gained] = static_cast<uint32_t>(here);
        }
      }
    }
    std::map<uint32_t, int64_t> nodes;
    size_t gained = width - 1;
    for (size_t index = domains_.size(); index-- > 0 && gained > 0;) {
      const uint32_t here = taken[index * width + gained];
      if (here > 0) nodes[domains_[index].domain] = nodes_for(domains_[index], here);
      gained -= here;
    }
    return nodes;
  }

  std::vector<SliceDomain> domains_;  // most left over first
  int64_t slice_size_;
  int64_t pods_per_node_;
  int64_t missing_;
};

// ---- How many nodes are missing in a domain.

// A domain, or with level -1 the whole topology.
struct Region {
  int level = -1;
  uint32_t domain = 0;
  topology::DomainRange leaves;
};

class NodeAdder {
 public:
  NodeAdder(const topology::Cluster& cluster, const DomainCounts& counts, const LevelPlan& plan)
      : cluster_(cluster), counts_(counts), tree_(counts.tree()), plan_(plan) {
    for (const topology::Request& need : counts.shape().worker) add_resource(need);
    if (!counts.has_leader()) return;
    for (const topology::Request& need : *counts.shape().leader) add_resource(need);
  }

  std::vector<MoreNodes> run(const std::vector<uint32_t>& best) const {
    std::vector<MoreNodes> result;
    if (!calculable()) return result;
    const auto try_region = [&](Region region, const DomainNumbers& now) {
      const auto confined = confine(region);
      if (!confined) return;
      if (auto more = needed(*confined, now)) result.push_back(*std::move(more));
    };
    if (!plan_.required || plan_.level == tree_.lowest()) {
      try_region({-1, 0, {0, tree_.leaf_count()}}, numbers_of_everything(counts_));
    } else {
      for (const uint32_t domain : best) {
        if (result.size() == kMostAdditions) break;
        try_region({plan_.level, domain, tree_.leaves(plan_.level, domain)},
                   counts_.numbers(plan_.level, domain));
      }
    }
    std::ranges::sort(result, {}, [](const MoreNodes& m) { return std::tie(m.nodes, m.domain); });
    return result;
  }

 private:
  // What an empty node of one shape holds.
  struct NodeShape {
    NodeId node;         // the first of this shape
    uint32_t nodes = 0;  // of this shape
    int32_t pods = 0;    // that count: whole inner slices
    int32_t slices = 0;
    bool leader_fits = false;
    int32_t slices_beside_leader = 0;
  };

  void add_resource(const topology::Request& need) {
    const bool known = std::ranges::find(resources_, need.resource) != resources_.end();
    if (need.amount > 0 && !known) resources_.push_back(need.resource);
  }

  // The whole request on one node.
  [[nodiscard]] bool on_one_host() const { return plan_.required && plan_.level == tree_.lowest(); }
  [[nodiscard]] bool slices_in_hosts() const { return plan_.slice_level == tree_.lowest(); }
  [[nodiscard]] int32_t inner_size(int level) const { return std::max(plan_.inner_size[level], 1); }

  [[nodiscard]] bool calculable() const {
    if (!tree_.by_host()) return false;
    if (counts_.has_leader() && !slices_in_hosts()) return false;
    // Rounding at the hosts is felt by each node alone, rounding between them and the slices not.
    for (int level = plan_.slice_level + 1; level < tree_.lowest(); ++level) {
      if (inner_size(level) != inner_size(tree_.lowest())) return false;
    }
    return true;
  }

  // The part of the region where new nodes are of use: a replacement may have to stay inside less.
  [[nodiscard]] std::optional<Region> confine(const Region& region) const {
    const auto inside = counts_.filter().confinement();
    if (!inside) return region;
    const auto [begin, end] = *inside;
    if (region.leaves.begin >= begin && region.leaves.end <= end) return region;
    if (begin < region.leaves.begin || end > region.leaves.end) return std::nullopt;
    for (int level = 0; level < tree_.level_count(); ++level) {
      const uint32_t domain = tree_.ancestor(tree_.lowest(), begin, level);
      const topology::DomainRange leaves = tree_.leaves(level, domain);
      if (leaves.begin == begin && leaves.end == end) return Region{level, domain, leaves};
    }
    return std::nullopt;
  }

  [[nodiscard]] NodeShape measure(uint32_t leaf) const {
    const CountedShape& shape = counts_.shape();
    NodeShape result{tree_.leaf_node(leaf)};
    result.pods = fit_in_node(cluster_, result.node, shape.worker);
    result.pods -= slices_in_hosts() ? 0 : result.pods % inner_size(tree_.lowest());
    result.slices = result.pods / plan_.slice_size;
    result.slices_beside_leader = result.slices;
    if (!shape.leader) return result;
    result.leader_fits = counts_.leader_filter().admits(leaf) &&
                         fit_in_node(cluster_, result.node, *shape.leader) > 0;
    result.slices_beside_leader =
        fit_in_node(cluster_, result.node, shape.worker, *shape.leader) / plan_.slice_size;
    return result;
  }

  [[nodiscard]] bool useful(const NodeShape& shape) const {
    if (on_one_host()) {
      return shape.slices_beside_leader >= plan_.slices &&
             (shape.leader_fits || !counts_.has_leader());
    }
    return slices_in_hosts() ? shape.slices > 0 : shape.pods > 0;
  }

  // The most common shape among those the pods may use and that hold some; of equals the one that
  // holds most.
  [[nodiscard]] std::optional<NodeShape> dominant_shape(topology::DomainRange leaves) const {
    std::map<std::pair<std::vector<int64_t>, bool>, NodeShape> shapes;
    for (uint32_t leaf = leaves.begin; leaf < leaves.end; ++leaf) {
      if (!tree_.leaf_active(leaf) || !counts_.filter().admits(leaf)) continue;
      std::vector<int64_t> amounts;
      for (const ResourceId resource : resources_) {
        amounts.push_back(cluster_.allocatable(tree_.leaf_node(leaf), resource));
      }
      const auto [shape, is_new] = shapes.try_emplace(
          {std::move(amounts), counts_.leader_filter().admits(leaf)}, NodeShape());
      if (is_new) shape->second = measure(leaf);
      ++shape->second.nodes;
    }
    std::optional<NodeShape> best;
    for (const auto& [key, shape] : shapes) {
      if (!useful(shape)) continue;
      if (!best || std::pair(shape.nodes, shape.pods) > std::pair(best->nodes, best->pods)) {
        best = shape;
      }
    }
    return best;
  }

  // Slices inside hosts add up node by node; a leader costs the slices of the node where it
  // displaces fewest.
  [[nodiscard]] std::optional<int64_t> hosts_needed(const NodeShape& shape,
                                                    const DomainNumbers& now) const {
    int64_t loss = 0;
    if (counts_.has_leader()) {
      loss = kMaxCount;
      if (now.leaders > 0) loss = now.slices - now.slices_beside_leader;
      if (shape.leader_fits) {
        loss = std::min<int64_t>(loss, shape.slices - shape.slices_beside_leader);
      }
      if (loss == kMaxCount) return std::nullopt;
    }
    const int64_t missing = int64_t{plan_.slices} - now.slices + loss;
    return std::max<int64_t>(divide_up(std::max<int64_t>(missing, 0), shape.slices), 1);
  }

  [[nodiscard]] std::vector<SliceDomain> slice_domains(const Region& region) const {
    topology::DomainRange range{region.domain, region.domain + 1};
    if (region.level >= plan_.slice_level) {
      const uint32_t above = tree_.ancestor(region.level, region.domain, plan_.slice_level);
      range = {above, above + 1};
    } else {
      int level = region.level;
      if (level < 0) range = tree_.children(level++, 0);
      for (; level < plan_.slice_level; ++level) {
        range = {tree_.children(level, range.begin).begin,
                 tree_.children(level, range.end - 1).end};
      }
    }
    std::vector<SliceDomain> result;
    for (uint32_t domain = range.begin; domain < range.end; ++domain) {
      const auto [first, last] = tree_.leaves(plan_.slice_level, domain);
      bool usable = false;  // a domain that the pods are kept off as a whole is no place for nodes
      for (uint32_t leaf = first; leaf < last && !usable; ++leaf) {
        usable = tree_.leaf_active(leaf) && counts_.filter().admits(leaf);
      }
      if (!usable) continue;
      result.push_back({domain, counts_.pods(plan_.slice_level, domain) % plan_.slice_size});
    }
    return result;
  }

  [[nodiscard]] std::optional<MoreNodes> needed(const Region& region,
                                                const DomainNumbers& now) const {
    const auto shape = dominant_shape(region.leaves);
    if (!shape) return std::nullopt;
    MoreNodes result;
    if (region.level >= 0) result.domain = cluster_.path(tree_, region.level, region.domain);
    result.like = cluster_.hostname_of(cluster_.node_name(shape->node));
    for (const ResourceId resource : resources_) {
      result.shape.push_back(
          {cluster_.resource_name(resource), cluster_.allocatable(shape->node, resource)});
    }
    std::ranges::sort(result.shape, {}, &ResourceAmount::resource);
    if (on_one_host()) {
      result.nodes = 1;
    } else if (slices_in_hosts()) {
      const auto nodes = hosts_needed(*shape, now);
      if (!nodes) return std::nullopt;
      result.nodes = *nodes;
    } else {
      const auto nodes = SliceFilling(slice_domains(region), plan_.slice_size, shape->pods,
                                      int64_t{plan_.slices} - now.slices)
                             .run();
      if (!nodes) return std::nullopt;
      list(*nodes, result);
    }
    return result;
  }

  void list(const std::map<uint32_t, int64_t>& nodes, MoreNodes& result) const {
    for (const auto& [domain, count] : nodes) {
      result.nodes += count;
      if (result.spread.size() < kMostShares) {
        result.spread.emplace_back(cluster_.path(tree_, plan_.slice_level, domain), count);
      } else {
        ++result.more_spread_domains;
        result.more_spread_nodes += count;
      }
    }
  }

  const topology::Cluster& cluster_;
  const DomainCounts& counts_;
  const topology::DomainTree& tree_;
  const LevelPlan& plan_;
  std::vector<ResourceId> resources_;  // that the request asks for
};

// ---- Asking differently.

FitsAtLevel describe(const topology::Cluster& cluster, const topology::DomainTree& tree,
                     const Choice& choice) {
  return {tree.level_key(choice.level), cluster.path(tree, choice.level, choice.domains.front()),
          static_cast<uint32_t>(choice.domains.size())};
}

WithoutAdmitted count_without_admitted(const DomainCounts& counts, const LevelPlan& plan) {
  if (counts.shape().simulate_empty) {  // it was counted like that, and did not fit
    return {false, most_slices(counts, plan) * plan.slice_size};
  }
  CountedShape shape = counts.shape();
  shape.simulate_empty = true;
  // Both filters outlive the second count, so it only borrows them.
  const auto borrow = [](const NodeFilter& filter) {
    return std::shared_ptr<const NodeFilter>(std::shared_ptr<void>(), &filter);
  };
  const DomainCounts emptied(counts.tree(), std::move(shape), borrow(counts.filter()),
                             borrow(counts.leader_filter()));
  return {choose(emptied, plan).has_value(), most_slices(emptied, plan) * plan.slice_size};
}

}  // namespace

int32_t fit_in_node(const topology::Cluster& cluster, NodeId node,
                    const topology::RequestVector& request, const topology::RequestVector& beside) {
  int64_t pods = kMaxCount;
  for (const topology::Request& need : request) {
    if (need.amount <= 0) continue;
    const int64_t left = saturating_subtract(cluster.allocatable(node, need.resource),
                                             amount_of(beside, need.resource));
    pods = std::min(pods, left / need.amount);
  }
  return static_cast<int32_t>(std::max<int64_t>(pods, 0));
}

DomainNumbers numbers_of_everything(const DomainCounts& counts) {
  return counts.roll_up(-1, 0);
}

int32_t most_slices(const DomainCounts& counts, const LevelPlan& plan) {
  const auto room = [&](const DomainNumbers& numbers) {
    if (!counts.has_leader()) return numbers.slices;
    return numbers.leaders > 0 ? numbers.slices_beside_leader : 0;
  };
  int32_t most = 0;
  if (plan.required) {
    for (uint32_t domain = 0; domain < counts.tree().size(plan.level); ++domain) {
      most = std::max(most, room(counts.numbers(plan.level, domain)));
    }
  } else {
    most = room(numbers_of_everything(counts));
  }
  return std::min(most, plan.slices);
}

Remedies find_remedies(const topology::Cluster& cluster, const DomainCounts& counts,
                       const LevelPlan& plan, const std::vector<uint32_t>& best) {
  Remedies remedies;
  remedies.fewer_pods = most_slices(counts, plan) * plan.slice_size;
  LevelPlan other = plan;
  while (plan.required && !remedies.coarser_level && other.level > 0) {
    --other.level;
    const auto choice = choose(counts, other);
    if (choice) remedies.coarser_level = describe(cluster, counts.tree(), *choice);
  }
  if (plan.required) {
    other = plan;
    other.required = false;
    const auto choice = choose(counts, other);
    if (choice) remedies.preferred = describe(cluster, counts.tree(), *choice);
  }
  remedies.more_nodes = NodeAdder(cluster, counts, plan).run(best);
  remedies.without_admitted_workloads = count_without_admitted(counts, plan);
  return remedies;
}

}  // namespace phalanx::placement
