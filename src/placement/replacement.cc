#include "placement/replacement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

namespace phalanx::placement {
namespace {

using Failure = std::unexpected<UnitFailure>;

Failure failure(std::string text) {
  return Failure(UnitFailure{std::move(text), nullptr});
}

class Replacer {
 public:
  Replacer(topology::Cluster& cluster, TreeId tree, UnitPlacer& placer, const PodSet& pod_set,
           const Options& options)
      : cluster_(cluster),
        tree_id_(tree),
        tree_(cluster.tree(tree)),
        placer_(placer),
        pod_set_(pod_set),
        options_(options),
        requests_(cluster.make_request(pod_set.requests)) {
    options_.simulate_empty = false;
    options_.elastic_resize = false;
    if (pod_set.topology) {
      constraints_ = pod_set.topology->constraints();
      request_ = pod_set.topology;
      request_->slice_required_topology.reset();
      request_->slice_size.reset();
    }
  }

  std::expected<Replacement, UnitFailure> run(const std::vector<std::string>& failed) {
    std::set<std::string> hosts;
    for (const std::string& node : failed) {
      hosts.insert(node);
      hosts.insert(cluster_.hostname_of(node));
    }
    if (pods_in(*pod_set_.previous) > std::numeric_limits<int32_t>::max()) {
      return failure(
          "Cannot replace the node, because the existing topologyAssignment has more "
          "pods than a pod set can have");
    }
    api::TopologyAssignment kept = *pod_set_.previous;
    std::erase_if(kept.domains, [&](const api::DomainAssignment& domain) {
      const bool is_lost = hosts.contains(domain.values.back());
      if (is_lost) lost_ += domain.count;
      return is_lost;
    });
    for (const api::DomainAssignment& domain : kept.domains) {
      const auto leaf = cluster_.find_leaf(tree_id_, domain.values);
      if (!leaf) {
        return failure(fmt::format(
            "Cannot replace the node, because the existing topologyAssignment is invalid, as it "
            "contains the stale domain {}",
            domain.values.front()));
      }
      if (!first_kept_) first_kept_ = leaf;
      remaining_[*leaf] += domain.count;
    }
    if (request_) {  // the rest relies on it
      auto problem = problem_of_request(tree_, *pod_set_.topology, options_);
      if (problem) return failure(std::move(*problem));
    }
    if (failed.size() > 1 && lost_ == 0) {
      return Replacement{{}, *pod_set_.previous};
    }
    if (auto placed = replace(failed.size() == 1); !placed) return Failure(placed.error());
    if (added_.empty()) {
      return failure(fmt::format("cannot find replacement assignment for unhealthy node: {}",
                                 fmt::join(failed, ", ")));
    }
    add_to(remaining_, added_);
    return Replacement{added_, to_assignment(cluster_, tree_, remaining_)};
  }

 private:
  using Placed = std::expected<void, UnitFailure>;
  using Confinement = std::optional<topology::DomainRange>;

  Placed replace(bool one) {
    const int lowest = constraints_.empty() ? tree_.lowest() : level_of(constraints_[0].topology);
    if (request_ && request_->preferred == api::kAutoLevel) {
      request_->preferred = tree_.level_key(lowest);
    }
    if (!request_ || request_->required != api::kAutoLevel) {
      return one ? replace_one() : replace_all();
    }
    // `required: auto`: the narrowest domain around the remaining pods that has room.
    for (int level = lowest;; --level) {
      request_->required = tree_.level_key(level);
      const auto around = remaining_at(level, std::nullopt);
      Placed placed;
      if (around.size() <= 1) placed = one ? replace_one() : replace_all();
      if ((around.size() <= 1 && placed) || level == 0) return placed;
      for (const auto& [leaf, count] : added_) cluster_.charge(tree_id_, leaf, requests_, -count);
      added_.clear();  // of an attempt that got half-way
    }
  }

  // Of a level of the request, which is known to be good.
  [[nodiscard]] int level_of(const std::string& key) const { return *tree_.find_level(key); }

  // The required domain that the remaining pods are in.
  [[nodiscard]] Confinement required_domain() const {
    if (!first_kept_ || !request_ || !request_->required) return std::nullopt;
    const int level = level_of(*request_->required);
    return tree_.leaves(level, tree_.ancestor(tree_.lowest(), *first_kept_, level));
  }

  [[nodiscard]] std::map<uint32_t, int64_t> remaining_at(int level, Confinement inside) const {
    std::map<uint32_t, int64_t> pods;
    for (const auto& [leaf, count] : remaining_) {
      if (inside && (leaf < inside->begin || leaf >= inside->end)) continue;
      pods[tree_.ancestor(tree_.lowest(), leaf, level)] += count;
    }
    return pods;
  }

  // The domain whose slices the lost pods complete.
  [[nodiscard]] Confinement incomplete_domain(const api::SliceConstraint& layer) const {
    const int level = level_of(layer.topology);
    for (const auto& [domain, pods] : remaining_at(level, std::nullopt)) {
      if ((pods + lost_) % layer.size == 0) return tree_.leaves(level, domain);
    }
    return std::nullopt;
  }

  // One failed node, as the reference does it: all its pods together, confined to the domain of
  // the innermost slice that they leave incomplete. With three layers that can break a slice of the
  // middle one (reference/placement.md 12.3); then the general way is taken.
  Placed replace_one() {
    const bool breaks_slice = !constraints_.empty() && lost_ % constraints_[0].size != 0;
    if (!first_kept_) return place(lost_, std::nullopt, constraints_);
    if (!breaks_slice) return place(lost_, required_domain(), constraints_);
    const auto divides = [&](const api::SliceConstraint& layer) { return lost_ % layer.size == 0; };
    const auto broken = std::find_if_not(constraints_.rbegin(), constraints_.rend(), divides);
    const Confinement inside = incomplete_domain(*broken);
    if (!inside) return replace_all();
    std::vector<api::SliceConstraint> kept;
    const auto whole = std::find_if(constraints_.rbegin(), constraints_.rend(), divides);
    if (whole != constraints_.rend()) kept.push_back(*whole);
    const auto found = find(lost_, inside, kept);
    if (constraints_.size() >= 3 && (!found || !slices_whole(*found))) {
      const auto general = replace_all();
      if (general || found) return general;
    }
    if (!found) return Failure(found.error());
    book(*found);
    return {};
  }

  // Whether every slice of every layer is whole with these pods added.
  [[nodiscard]] bool slices_whole(const PodsByLeaf& found) const {
    PodsByLeaf all = remaining_;
    add_to(all, found);
    return std::ranges::all_of(constraints_, [&](const api::SliceConstraint& layer) {
      const int level = level_of(layer.topology);
      std::map<uint32_t, int64_t> pods;
      for (const auto& [leaf, count] : all) {
        pods[tree_.ancestor(tree_.lowest(), leaf, level)] += count;
      }
      return std::ranges::all_of(pods, [&](const auto& p) { return p.second % layer.size == 0; });
    });
  }

  // Any number of failed nodes and any number of slice layers.
  Placed replace_all() {
    // A slice-only request has no level left once its slices are handled one by one.
    const bool slice_only = request_ && !request_->required && !request_->preferred;
    if (slice_only && !constraints_.empty()) request_->unconstrained = true;
    return fill(0, required_domain(), lost_);
  }

  // Places `pods` inside a domain so that every slice of layer `layer` and below ends up whole:
  // first the slices that lost a part, each where its rest is, then whole new ones.
  Placed fill(size_t layer, Confinement inside, int64_t pods) {
    const std::vector<api::SliceConstraint> layers(constraints_.begin() + layer,
                                                   constraints_.end());
    if (!layers.empty()) {
      const int level = level_of(layers[0].topology);
      for (const auto& [domain, present] : remaining_at(level, inside)) {
        const int64_t missing = missing_in(layer, level, domain, present);
        if (missing == 0) continue;
        pods -= missing;
        if (pods < 0) return inconsistent(layers[0]);
        const auto leaves = tree_.leaves(level, domain);
        if (auto placed = fill(layer + 1, leaves, missing); !placed) return placed;
      }
      if (pods % layers[0].size != 0) return inconsistent(layers[0]);
    }
    return pods == 0 ? Placed() : place(pods, inside, layers);
  }

  // The fewest pods that make all slices of this layer and of those below it whole in a domain.
  [[nodiscard]] int64_t missing_in(size_t layer, int level, uint32_t domain,
                                   int64_t present) const {
    const int64_t size = constraints_[layer].size;
    int64_t missing = (size - present % size) % size;
    if (layer + 1 == constraints_.size()) return missing;
    int64_t inside = 0;
    const int below = level_of(constraints_[layer + 1].topology);
    for (const auto& [part, pods] : remaining_at(below, tree_.leaves(level, domain))) {
      inside += missing_in(layer + 1, below, part, pods);
    }
    while (missing < inside) missing += size;
    return missing;
  }

  [[nodiscard]] static Placed inconsistent(const api::SliceConstraint& layer) {
    return failure(
        fmt::format("Cannot replace the node, because the existing topologyAssignment does not "
                    "consist of whole "
                    "slices of {} pods at level {}",
                    layer.size, layer.topology));
  }

  Placed place(int64_t pods, Confinement inside, const std::vector<api::SliceConstraint>& layers) {
    auto found = find(pods, inside, layers);
    if (!found) return Failure(found.error());
    book(*found);
    return {};
  }

  std::expected<PodsByLeaf, UnitFailure> find(int64_t pods, Confinement inside,
                                              const std::vector<api::SliceConstraint>& layers) {
    Unit unit{&pod_set_, nullptr, static_cast<int32_t>(pods), request_, inside};
    if (unit.topology) unit.topology->slice_constraints = layers;
    auto placed = placer_.place(tree_id_, unit, options_);
    if (!placed) return Failure(placed.error());
    return workers_of(*placed);
  }

  void book(const PodsByLeaf& found) {
    charge(cluster_, tree_id_, requests_, found);
    add_to(added_, found);
  }

  topology::Cluster& cluster_;
  TreeId tree_id_;
  const topology::DomainTree& tree_;
  UnitPlacer& placer_;
  const PodSet& pod_set_;
  Options options_;
  topology::RequestVector requests_;
  std::vector<api::SliceConstraint> constraints_;
  std::optional<api::TopologyRequest> request_;  // without its slices
  int64_t lost_ = 0;
  PodsByLeaf remaining_;
  std::optional<uint32_t> first_kept_;  // in the order of the previous assignment
  PodsByLeaf added_;
};

}  // namespace

std::optional<std::string> problem_of_request(const topology::DomainTree& tree,
                                              api::TopologyRequest request,
                                              const Options& options) {
  const std::string& highest = tree.level_key(0);
  if (request.required == api::kAutoLevel) request.required = highest;
  if (request.preferred == api::kAutoLevel) request.preferred = highest;
  const auto layers = request.constraints();
  const int32_t one_slice = layers.empty() ? 1 : layers[0].size;
  const auto plan = plan_levels(tree, request, one_slice, options);
  if (!plan) return plan.error().message;
  return std::nullopt;
}

std::expected<Replacement, UnitFailure> replace_failed(topology::Cluster& cluster, TreeId tree,
                                                       UnitPlacer& placer, const PodSet& pod_set,
                                                       const std::vector<std::string>& failed,
                                                       const Options& options) {
  return Replacer(cluster, tree, placer, pod_set, options).run(failed);
}

}  // namespace phalanx::placement
