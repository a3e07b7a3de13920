#include "placement/rank_moves.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/check.h"
#include "placement/assignment.h"
#include "placement/replacement.h"

namespace phalanx::placement {
namespace {

using Failure = std::unexpected<UnitFailure>;
using Placed = std::expected<void, UnitFailure>;
using Ranks = std::vector<int32_t>;
using Confinement = std::optional<topology::DomainRange>;

class Mover {
 public:
  Mover(topology::Cluster& cluster, TreeId tree, UnitPlacer& placer, const PodSet& pod_set,
        const RankMoves& moves, const Options& options)
      : cluster_(cluster),
        tree_id_(tree),
        tree_(cluster.tree(tree)),
        placer_(placer),
        pod_set_(pod_set),
        moves_(moves),
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

  std::expected<api::TopologyAssignment, UnitFailure> run() {
    if (request_) {  // the rest relies on it
      auto problem = problem_of_request(tree_, *pod_set_.topology, options_);
      if (problem) return Failure(UnitFailure{std::move(*problem), nullptr});
    }
    find_stayers();
    if (auto placed = move_all(); !placed) return Failure(placed.error());
    return result();
  }

 private:
  // Who is somewhere and stays. A node that is no longer in the tree ties nobody to anything.
  void find_stayers() {
    int32_t rank = 0;
    for (const api::DomainAssignment& domain : pod_set_.previous->domains) {
      const auto leaf = cluster_.find_any_leaf(tree_id_, domain.values);
      for (int32_t i = 0; i < domain.count; ++i, ++rank) {
        const bool stays = !std::ranges::binary_search(moves_.moving, rank) &&
                           !std::ranges::binary_search(moves_.idle, rank);
        if (leaf && stays) staying_.emplace(rank, *leaf);
      }
    }
  }

  Placed move_all() {
    if (!request_) return fill(0, moves_.moving, std::nullopt);
    const int lowest = constraints_.empty() ? tree_.lowest() : level_of(constraints_[0].topology);
    if (request_->preferred == api::kAutoLevel) request_->preferred = tree_.level_key(lowest);
    if (request_->required != api::kAutoLevel) return move_inside();
    // `required: auto`: the narrowest domain around those who stay that has room.
    for (int level = lowest;; --level) {
      request_->required = tree_.level_key(level);
      Placed placed;
      const bool together = are_together(level);
      if (together) placed = move_inside();
      if ((together && placed) || level == 0) return placed;
      for (const auto& [rank, leaf] : moved_) cluster_.charge(tree_id_, leaf, requests_, -1);
      moved_.clear();  // of an attempt that got half-way
    }
  }

  [[nodiscard]] bool are_together(int level) const {
    return std::ranges::all_of(staying_, [&](const auto& stayer) {
      return domain_of(stayer.second, level) == domain_of(staying_.begin()->second, level);
    });
  }

  Placed move_inside() {
    Confinement inside;
    if (request_->required) {
      const int level = level_of(*request_->required);
      if (!staying_.empty()) {
        inside = leaves_around(staying_.begin()->second, level);
      } else if (!moves_.idle.empty() && !constraints_.empty()) {
        // Slices of which some ranks are done are placed one by one, in one domain all the same.
        const auto all = find(moves_.moving.size(), std::nullopt, {});
        if (!all) return Failure(all.error());
        inside = leaves_around(all->begin()->first, level);
      }
    }
    // A slice-only request has no level left once its slices are handled one by one.
    const bool slice_only = !request_->required && !request_->preferred;
    if (slice_only && !constraints_.empty()) request_->unconstrained = true;
    return fill(0, moves_.moving, inside);
  }

  // Of a level of the request, which is known to be good.
  [[nodiscard]] int level_of(const std::string& key) const { return *tree_.find_level(key); }
  [[nodiscard]] uint32_t domain_of(uint32_t leaf, int level) const {
    return tree_.ancestor(tree_.lowest(), leaf, level);
  }
  [[nodiscard]] topology::DomainRange leaves_around(uint32_t leaf, int level) const {
    return tree_.leaves(level, domain_of(leaf, level));
  }

  // Places ranks inside a domain so that every slice of this layer and of those below it is in one
  // domain: first those that lost a part, each where its rest is, then whole new ones.
  Placed fill(size_t layer, const Ranks& ranks, Confinement inside) {
    if (layer == constraints_.size()) return place(ranks, inside, layer);
    const int32_t size = constraints_[layer].size;
    const int level = level_of(constraints_[layer].topology);
    Ranks whole;
    for (const auto& [slice, members] : by_slice(ranks, size)) {
      const auto fellow = fellow_of(slice, size, inside);
      if (!fellow && std::cmp_equal(members.size(), size)) {
        whole.insert(whole.end(), members.begin(), members.end());
        continue;
      }
      auto placed = fellow ? fill(layer + 1, members, leaves_around(*fellow, level))
                           : fill_together(layer, members, inside);
      if (!placed) return placed;
    }
    return whole.empty() ? Placed() : place(whole, inside, layer);
  }

  // The rest of a slice, nobody of which is left anywhere.
  Placed fill_together(size_t layer, const Ranks& ranks, Confinement inside) {
    const std::string& topology = constraints_[layer].topology;
    const api::TopologyRequest request = *request_;
    request_->required = topology;
    request_->preferred.reset();
    request_->unconstrained = false;
    const auto found = find(ranks.size(), inside, {});
    request_ = request;
    if (!found) return Failure(found.error());
    return fill(layer + 1, ranks, leaves_around(found->begin()->first, level_of(topology)));
  }

  [[nodiscard]] static std::map<int32_t, Ranks> by_slice(const Ranks& ranks, int32_t size) {
    std::map<int32_t, Ranks> slices;
    for (const int32_t rank : ranks) slices[rank / size].push_back(rank);
    return slices;
  }

  // Where somebody of the slice is who stays, or has a new place already.
  [[nodiscard]] std::optional<uint32_t> fellow_of(int32_t slice, int32_t size,
                                                  Confinement inside) const {
    for (const auto* places : {&staying_, &moved_}) {
      for (auto fellow = places->lower_bound(slice * size);
           fellow != places->end() && fellow->first / size == slice; ++fellow) {
        const uint32_t leaf = fellow->second;
        if (!inside || (leaf >= inside->begin && leaf < inside->end)) return leaf;
      }
    }
    return std::nullopt;
  }

  // In the order of their ranks, as a first placement is read: whole slices are neighbours.
  Placed place(const Ranks& ranks, Confinement inside, size_t layer) {
    const auto found = find(ranks.size(), inside, std::span(constraints_).subspan(layer));
    if (!found) return Failure(found.error());
    charge(cluster_, tree_id_, requests_, *found);
    auto next = ranks.begin();
    for (const auto& [leaf, count] : *found) {
      for (int32_t i = 0; i < count; ++i) moved_.emplace(*next++, leaf);
    }
    CHECK(next == ranks.end());
    return {};
  }

  std::expected<PodsByLeaf, UnitFailure> find(size_t pods, Confinement inside,
                                              std::span<const api::SliceConstraint> layers) {
    Unit unit{&pod_set_, nullptr, static_cast<int32_t>(pods), request_, inside};
    if (unit.topology) unit.topology->slice_constraints = {layers.begin(), layers.end()};
    auto placed = placer_.place(tree_id_, unit, options_);
    if (!placed) return Failure(placed.error());
    return workers_of(*placed);
  }

  [[nodiscard]] api::TopologyAssignment result() const {
    api::TopologyAssignment assignment{pod_set_.previous->levels, {}};
    const auto add = [&](const std::vector<std::string>& values) {
      if (assignment.domains.empty() || assignment.domains.back().values != values) {
        assignment.domains.push_back({values, 0});
      }
      ++assignment.domains.back().count;
    };
    int32_t rank = 0;
    for (const api::DomainAssignment& domain : pod_set_.previous->domains) {
      for (int32_t i = 0; i < domain.count; ++i, ++rank) {
        const auto moved = moved_.find(rank);
        add(moved == moved_.end()
                ? domain.values
                : to_assignment(cluster_, tree_, {{moved->second, 1}}).domains.front().values);
      }
    }
    return assignment;
  }

  topology::Cluster& cluster_;
  TreeId tree_id_;
  const topology::DomainTree& tree_;
  UnitPlacer& placer_;
  const PodSet& pod_set_;
  const RankMoves& moves_;
  Options options_;
  topology::RequestVector requests_;
  std::vector<api::SliceConstraint> constraints_;
  std::optional<api::TopologyRequest> request_;  // without its slices
  std::map<int32_t, uint32_t> staying_;          // leaf by rank
  std::map<int32_t, uint32_t> moved_;
};

}  // namespace

std::expected<api::TopologyAssignment, UnitFailure> move_ranks(topology::Cluster& cluster,
                                                               TreeId tree, UnitPlacer& placer,
                                                               const PodSet& pod_set,
                                                               const RankMoves& moves,
                                                               const Options& options) {
  return Mover(cluster, tree, placer, pod_set, moves, options).run();
}

}  // namespace phalanx::placement
