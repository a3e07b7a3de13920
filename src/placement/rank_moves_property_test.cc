// What moving ranks must keep, on thousands of tiny clusters, against a brute force that tries
// every way to put the moving ranks on hosts. A failure prints its case in the conformance format.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "placement/assignment.h"
#include "placement/placer.h"
#include "placement/rank_moves.h"
#include "placement/testing.h"

namespace phalanx::placement::testing {
namespace {

// A pod set that runs, some of whose ranks are done, and that lost one to three of its nodes.
struct Loss {
  TinyProblem problem;
  RankMoves moves;

  [[nodiscard]] const PodSet& pod_set() const { return problem.workload.pod_sets[0]; }
  [[nodiscard]] bool moves_rank(int32_t rank) const {
    return std::ranges::binary_search(moves.moving, rank);
  }
  [[nodiscard]] bool is_idle(int32_t rank) const {
    return std::ranges::binary_search(moves.idle, rank);
  }
};

std::vector<std::string> hosts_of_ranks(const api::TopologyAssignment& assignment) {
  std::vector<std::string> hosts;
  for (const api::DomainAssignment& domain : assignment.domains) {
    hosts.insert(hosts.end(), static_cast<size_t>(domain.count), domain.values.back());
  }
  return hosts;
}

std::optional<Loss> draw_loss(Generator& generator) {
  Loss loss;
  TinyProblem& problem = loss.problem;
  problem.cluster = generator.cluster();
  problem.options = generator.options();
  problem.options.simulate_empty = false;
  for (int number = static_cast<int>(problem.cluster.nodes.size()); number < 5; ++number) {
    problem.cluster.nodes.push_back(generator.node(problem.cluster.spec, number));
  }
  for (api::Node& node : problem.cluster.nodes) {
    node.allocatable = {{"cpu", 1000L * generator.below(7)}, {"nvidia.com/gpu", 8}, {"pods", 30}};
  }
  problem.workload.pod_sets.push_back(generator.pod_set(problem.cluster.spec, "workers"));
  PodSet& pod_set = problem.workload.pod_sets[0];
  if (pod_set.topology && (pod_set.topology->required == api::kAutoLevel ||
                           pod_set.topology->preferred == api::kAutoLevel)) {
    return std::nullopt;  // which domain was chosen is not on record
  }
  pod_set.requests = {{"cpu", 500L * generator.between(1, 2)}};
  const auto layers =
      pod_set.topology ? pod_set.topology->constraints() : std::vector<api::SliceConstraint>();
  const int32_t size = layers.empty() ? 1 : layers[0].size;
  pod_set.count = size * generator.between(1, std::max(1, 9 / size));
  auto placed = place_fresh(problem);
  if (!placed[0].assignment) return std::nullopt;
  pod_set.previous = std::move(placed[0].assignment);

  const std::vector<std::string> hosts = hosts_of_ranks(*pod_set.previous);
  std::vector<std::string> lost(hosts);
  generator.shuffle(lost);
  lost.resize(std::min<size_t>(lost.size(), generator.between(1, 3)));
  TinyUsage own{"tiny", pod_set.requests, {}};
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const bool is_idle = generator.chance(15);
    if (!is_idle) own.domains.push_back({{hosts[rank]}, 1});
    const bool is_lost = std::ranges::find(lost, hosts[rank]) != lost.end();
    if (is_idle) loss.moves.idle.push_back(static_cast<int32_t>(rank));
    if (!is_idle && is_lost) loss.moves.moving.push_back(static_cast<int32_t>(rank));
  }
  problem.cluster.usages.push_back(std::move(own));
  for (api::Node& node : problem.cluster.nodes) {
    const std::string& host = node.labels.at(std::string(api::kHostnameLabel));
    node.unschedulable |= std::ranges::find(lost, host) != lost.end() || generator.chance(10);
  }
  if (loss.moves.moving.empty() || loss.moves.moving.size() > 5) return std::nullopt;
  return loss;
}

// The rules as a user reads them, asked about hosts by rank.
class Judge {
 public:
  explicit Judge(const Loss& loss)
      : loss_(loss),
        rules_(rules_for(loss.problem.cluster.spec, loss.pod_set(), nullptr)),
        hosts_(hosts_for(loss.problem.cluster, loss.pod_set(), nullptr, false)) {
    for (const api::Node& node : loss.problem.cluster.nodes) {
      std::vector<std::string>& path = paths_[node.labels.at(std::string(api::kHostnameLabel))];
      for (const std::string& level : loss.problem.cluster.spec.levels) {
        const auto label = node.labels.find(level);
        path.push_back(label == node.labels.end() ? "" : label->second);
      }
    }
  }

  // The first rule that is broken; empty: none is.
  [[nodiscard]] std::string broken(const std::vector<std::string>& now) const {
    const std::vector<std::string> before = hosts_of_ranks(*loss_.pod_set().previous);
    if (now.size() != before.size()) return "a rank has no place";
    std::map<std::string, int64_t> added;
    for (size_t rank = 0; rank < now.size(); ++rank) {
      const auto number = static_cast<int32_t>(rank);
      if (loss_.moves_rank(number)) {
        ++added[now[rank]];
      } else if (now[rank] != before[rank]) {
        return "a rank was moved that stays";
      }
    }
    if (!has_room(added)) return "there is no room";
    if (rules_.required_level && !together(now, 0, now.size(), *rules_.required_level)) {
      return "not in one required domain";
    }
    for (const auto& [level, size] : rules_.layers) {
      for (size_t first = 0; first < now.size(); first += static_cast<size_t>(size)) {
        if (!together(now, first, first + static_cast<size_t>(size), level)) {
          return "a slice is torn apart";
        }
      }
    }
    return "";
  }

  // Whether any choice of hosts for the moving ranks breaks no rule.
  [[nodiscard]] bool can_be_moved() const {
    std::vector<std::string> now = hosts_of_ranks(*loss_.pod_set().previous);
    return try_from(0, now);
  }

 private:
  [[nodiscard]] bool has_room(const std::map<std::string, int64_t>& added) const {
    return std::ranges::all_of(added, [&](const auto& entry) {
      const auto host = std::ranges::find(hosts_, entry.first, &Host::hostname);
      if (host == hosts_.end() || !host->takes_workers) return false;
      return std::ranges::all_of(rules_.worker, [&](const auto& need) {
        const auto free = host->free.find(need.first);
        return free != host->free.end() && free->second >= need.second * entry.second;
      });
    });
  }

  // Whether the ranks that are not done are in one domain.
  [[nodiscard]] bool together(const std::vector<std::string>& now, size_t begin, size_t end,
                              int level) const {
    std::set<std::vector<std::string>> domains;
    for (size_t rank = begin; rank < std::min(end, now.size()); ++rank) {
      if (loss_.is_idle(static_cast<int32_t>(rank))) continue;
      const std::vector<std::string>& path = paths_.at(now[rank]);
      domains.insert({path.begin(), path.begin() + level + 1});
    }
    return domains.size() <= 1;
  }

  bool try_from(size_t next, std::vector<std::string>& now) const {
    if (next == loss_.moves.moving.size()) return broken(now).empty();
    for (const Host& host : hosts_) {
      now[static_cast<size_t>(loss_.moves.moving[next])] = host.hostname;
      if (try_from(next + 1, now)) return true;
    }
    return false;
  }

  const Loss& loss_;
  Rules rules_;
  std::vector<Host> hosts_;
  std::map<std::string, std::vector<std::string>> paths_;
};

TEST(RankMovesProperty, OnlyWhoMustMovesAndNoRuleIsBroken) {
  int moved = 0;
  int refused = 0;
  for (uint64_t seed = 1; seed <= 20000; ++seed) {
    Generator generator(seed);
    const auto loss = draw_loss(generator);
    if (!loss) continue;
    topology::Cluster cluster;
    const TreeId tree = load(loss->problem.cluster, cluster);
    cluster.tree(tree);
    UnitPlacer placer(cluster);
    const topology::Attempt attempt(cluster);
    const auto result =
        move_ranks(cluster, tree, placer, loss->pod_set(), loss->moves, loss->problem.options);
    SCOPED_TRACE(as_case(loss->problem));
    const Judge judge(*loss);
    if (result) {
      ++moved;
      EXPECT_EQ(judge.broken(hosts_of_ranks(*result)), "");
    } else {
      ++refused;
      // With several layers, or ranks that are done, slices are filled one after another, and an
      // earlier one may take the room that a later one needs.
      const auto& topology = loss->pod_set().topology;
      const size_t layers = topology ? topology->constraints().size() : 0;
      if (layers == 0 || (layers == 1 && loss->moves.idle.empty())) {
        EXPECT_FALSE(judge.can_be_moved()) << result.error().text;
      }
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(moved, 2000);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace phalanx::placement::testing
