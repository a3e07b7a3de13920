#include "core/replacement.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "core/admitted_pods.h"
#include "core/slices.h"
#include "placement/assignment.h"
#include "placement/rank_moves.h"
#include "placement/units.h"

namespace phalanx::core {
namespace {

using Ranks = std::vector<int32_t>;

class Search {
 public:
  Search(State& state, const WorkloadState& workload, const LostNodes& lost)
      : state_(state),
        cluster_(state.account.cluster()),
        workload_(workload),
        lost_(lost),
        places_(workload.assignments) {}

  std::expected<Places, std::string> run() {
    // Trees are rebuilt now, if they must be: an open attempt forbids it.
    for (size_t i = 0; i < places_.size(); ++i) {
      trees_.push_back(tree_of(i));
      moves_.push_back(moves_of(i));
      if (!trees_[i]) continue;
      for (const api::DomainAssignment& domain : places_[i]->domains) {
        cluster_.need_leaf(*trees_[i], domain.values.back());
      }
      cluster_.tree(*trees_[i]);
    }
    const topology::Attempt attempt(cluster_);
    for (const auto& tree : std::set<std::optional<TreeId>>(trees_.begin(), trees_.end())) {
      if (tree) close_lost(*tree);
    }
    for (const std::vector<size_t>& unit : units_in_turn()) {
      if (auto no = replace(unit)) return std::unexpected(std::move(*no));
    }
    return std::move(places_);
  }

 private:
  using No = std::optional<std::string>;

  const api::PodSetAssignment* admission_of(size_t index) const {
    return assignment_of(workload_.object, workload_.object.pod_sets[index].name);
  }

  [[nodiscard]] std::optional<TreeId> tree_of(size_t index) const {
    const api::PodSetAssignment* admission = admission_of(index);
    if (admission == nullptr || !workload_.assignments[index]) return std::nullopt;
    for (const auto& [resource, flavor] : admission->flavors) {
      if (const auto tree = state_.account.tree_of(flavor)) return tree;
    }
    return std::nullopt;
  }

  // Of the ranks on lost hosts as many move as places are needed; the others are done, or nobody
  // knows which of them are.
  [[nodiscard]] placement::RankMoves moves_of(size_t index) const {
    placement::RankMoves moves;
    const auto lost = lost_.places.find(index);
    if (lost == lost_.places.end()) return moves;
    const Ranks done = done_ranks(state_, workload_, index);
    std::map<std::string, int64_t> needed = lost->second;
    int32_t rank = 0;
    for (const api::DomainAssignment& domain : places_[index]->domains) {
      const bool is_lost = lost_.why.contains(domain.values.back());
      int64_t& more = needed[domain.values.back()];
      for (int32_t i = 0; i < domain.count; ++i, ++rank) {
        const bool is_done = std::ranges::binary_search(done, rank);
        if (is_lost && !is_done && more > 0) {
          moves.moving.push_back(rank);
          --more;
        } else if (is_lost || is_done) {
          moves.idle.push_back(rank);
        }
      }
    }
    return moves;
  }

  [[nodiscard]] bool is_moved(size_t index) const { return !moves_[index].moving.empty(); }

  // Whether somebody of the pod set keeps its place.
  [[nodiscard]] bool is_tied(size_t index) const {
    if (!places_[index]) return false;
    const size_t all = moves_[index].moving.size() + moves_[index].idle.size();
    return std::cmp_less(all, placement::pods_in(*places_[index]));
  }

  // Those that can go anywhere come last: they must not take what the others depend on.
  [[nodiscard]] std::vector<std::vector<size_t>> units_in_turn() const {
    std::vector<std::vector<size_t>> tied;
    std::vector<std::vector<size_t>> free;
    for (const placement::Members& unit : placement::units_of(workload_.request, {})) {
      const bool is_confined = std::ranges::any_of(unit.all, [&](size_t index) {
        const auto& topology = workload_.request.pod_sets[index].topology;
        return is_tied(index) && topology &&
               (topology->required || !topology->constraints().empty());
      });
      (is_confined ? tied : free).push_back(unit.all);
    }
    tied.insert(tied.end(), free.begin(), free.end());
    return tied;
  }

  No replace(const std::vector<size_t>& unit) {
    if (can_move_whole(unit)) return move_whole(unit);
    for (const size_t index : unit) {
      if (!is_moved(index)) continue;
      if (!trees_[index]) return "the topology that it is placed by is gone";
      const placement::PodSet request = request_of(index);
      auto moved = placement::move_ranks(cluster_, *trees_[index], state_.account.placer().units(),
                                         request, moves_[index], options_for(request));
      if (!moved) return moved.error().text;
      places_[index] = std::move(*moved);
      moves_[index] = {};  // from now on the others follow it
    }
    return std::nullopt;
  }

  // Nothing ties it to where it was: leader and workers are placed together again.
  [[nodiscard]] bool can_move_whole(const std::vector<size_t>& unit) const {
    return unit.size() > 1 && std::ranges::all_of(unit, [&](size_t index) {
             return is_moved(index) && moves_[index].idle.empty() && !is_tied(index) &&
                    trees_[index] && trees_[index] == trees_[unit.front()];
           });
  }

  No move_whole(const std::vector<size_t>& unit) {
    const TreeId tree = *trees_[unit.front()];
    placement::Workload request{workload_.request.name, {}, {}, false};
    placement::Options options;
    for (const size_t index : unit) {
      request.pod_sets.push_back(request_of(index));
      request.pod_sets.back().previous.reset();
      options = options_for(request.pod_sets.back());
    }
    const auto results = state_.account.placer().place(tree, request, options);
    for (size_t i = 0; i < unit.size(); ++i) {
      if (!results[i].assignment) return results[i].failure.value_or("there is no other place");
      const auto leaves = placement::to_leaves(cluster_, tree, *results[i].assignment);
      placement::charge(cluster_, tree, cluster_.make_request(request.pod_sets[i].requests),
                        *leaves);
      places_[unit[i]] = results[i].assignment;
      moves_[unit[i]] = {};
    }
    return std::nullopt;
  }

  [[nodiscard]] placement::Options options_for(const placement::PodSet& pod_set) const {
    placement::Options options = state_.configuration.placement;
    options.balanced |= pod_set.topology && pod_set.topology->balanced;
    return options;
  }

  // The pods of one pod set as they were admitted, with what their flavors and checks add.
  [[nodiscard]] placement::PodSet request_of(size_t index) const {
    placement::PodSet pod_set = workload_.request.pod_sets[index];
    pod_set.previous = places_[index];
    pod_set.count = static_cast<int32_t>(placement::pods_in(*places_[index]));
    for (const HeldPodSet& held : state_.holdings.at(workload_.request.name).pod_sets) {
      if (held.name == pod_set.name) pod_set.requests = held.per_pod;
    }
    for (const auto& [resource, name] : admission_of(index)->flavors) {
      const api::ResourceFlavor* flavor = state_.flavor(name);
      if (flavor == nullptr) continue;
      for (const auto& [key, value] : flavor->node_labels) pod_set.node_selector[key] = value;
      pod_set.tolerations.insert(pod_set.tolerations.end(), flavor->tolerations.begin(),
                                 flavor->tolerations.end());
    }
    add_updates(workload_.object, pod_set);
    stay_with_group(index, pod_set);
    return pod_set;
  }

  // Pod sets of a group share the required domain. One of which nobody is left anywhere has to stay
  // where the others are.
  void stay_with_group(size_t index, placement::PodSet& pod_set) const {
    if (!pod_set.topology || !pod_set.topology->group_name) return;
    if (pod_set.topology->required.value_or(std::string(api::kAutoLevel)) == api::kAutoLevel)
      return;
    if (host_left_of(index)) return;
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto& other = workload_.request.pod_sets[i].topology;
      const auto host = host_left_of(i);
      if (!other || other->group_name != pod_set.topology->group_name || !host) continue;
      const std::vector<std::string> levels = slice_levels(state_, workload_, index);
      for (const std::string& level : levels) {
        pod_set.node_selector[level] = state_.account.label_of_host(*host, level);
        if (level == *pod_set.topology->required) return;
      }
    }
  }

  // A host of somebody who is there, or has a new place already.
  [[nodiscard]] std::optional<std::string> host_left_of(size_t index) const {
    if (!places_[index]) return std::nullopt;
    for (const api::DomainAssignment& domain : places_[index]->domains) {
      const std::string& host = domain.values.back();
      if (!lost_.why.contains(host)) return host;
    }
    return std::nullopt;
  }

  // A lost node may be open to pods as such: not to these.
  void close_lost(TreeId tree) {
    const topology::RequestVector pods = cluster_.make_request({{"pods", 1}});
    constexpr int64_t kMore = std::numeric_limits<int32_t>::max();
    for (const auto& [host, why] : lost_.why) {
      const auto leaf = cluster_.find_leaf(tree, std::span(&host, 1));
      if (leaf) cluster_.charge(tree, *leaf, pods, kMore);
    }
  }

  State& state_;
  topology::Cluster& cluster_;
  const WorkloadState& workload_;
  const LostNodes& lost_;
  Places places_;
  std::vector<std::optional<TreeId>> trees_;
  std::vector<placement::RankMoves> moves_;  // of those that have no new place yet
};

}  // namespace

std::expected<Places, std::string> find_replacement(State& state, const WorkloadState& workload,
                                                    const LostNodes& lost) {
  return Search(state, workload, lost).run();
}

}  // namespace phalanx::core
