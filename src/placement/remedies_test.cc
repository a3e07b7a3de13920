// Remedies are tried out: what they say is done to the cluster or the request, and must make it
// fit, while a little less must not.
#include "placement/remedies.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/check.h"
#include "placement/explanation_render.h"
#include "placement/placer.h"
#include "placement/testing.h"

namespace phalanx::placement {
namespace {

using testing::Generator;
using testing::TinyProblem;

const std::string kHost(api::kHostnameLabel);

// One unit, the workers first: so they stay the workers whatever their number.
TinyProblem one_unit(TinyProblem problem) {
  auto& sets = problem.workload.pod_sets;
  std::erase_if(sets, [](const PodSet& set) { return set.name == "more"; });
  const auto workers = std::ranges::find(sets, "workers", &PodSet::name);
  std::rotate(sets.begin(), workers, workers + 1);
  problem.options.explain = true;
  return problem;
}

bool fits(const TinyProblem& problem) {
  return testing::place_fresh(problem)[0].assignment.has_value();
}

api::TopologyRequest& topology_of(TinyProblem& problem) {
  auto& topology = problem.workload.pod_sets[0].topology;
  if (!topology) topology.emplace().unconstrained = true;
  return *topology;
}

bool fits_with(TinyProblem problem, int32_t count) {
  problem.workload.pod_sets[0].count = count;
  return fits(problem);
}

void check_fewer_pods(const TinyProblem& problem, const Explanation& no) {
  const int32_t most = no.remedies.fewer_pods;
  EXPECT_EQ(most, no.fits_slices * no.asked.slice_size);
  EXPECT_LT(most, no.asked.pods);
  if (most > 0) EXPECT_TRUE(fits_with(problem, most));
  EXPECT_FALSE(fits_with(problem, most + no.asked.slice_size));
}

void check_other_levels(TinyProblem problem, const Explanation& no) {
  if (no.asked.mode != RequestMode::kRequired) {
    EXPECT_FALSE(no.remedies.coarser_level || no.remedies.preferred);
    return;
  }
  const auto& keys = no.level_keys;
  std::optional<std::string> fitting;
  for (auto level = std::ranges::find(keys, no.asked.level) - keys.begin(); --level >= 0;) {
    topology_of(problem).required = keys[level];
    if (!fitting && fits(problem)) fitting = keys[level];
  }
  EXPECT_EQ(no.remedies.coarser_level.has_value(), fitting.has_value());
  if (fitting && no.remedies.coarser_level) EXPECT_EQ(no.remedies.coarser_level->level, *fitting);
  topology_of(problem).required.reset();
  topology_of(problem).preferred = no.asked.level;
  EXPECT_EQ(no.remedies.preferred.has_value(), fits(problem));
}

void check_without_admitted(TinyProblem problem, const Explanation& no) {
  problem.cluster.usages.clear();
  const WithoutAdmitted& without = no.remedies.without_admitted_workloads;
  EXPECT_EQ(without.fits, fits(problem));
  if (without.fits) {
    EXPECT_EQ(without.pods, no.asked.pods);
  } else {
    const auto explanation = testing::place_fresh(problem)[0].explanation;
    EXPECT_EQ(without.pods, explanation->remedies.fewer_pods);
  }
}

// Puts new nodes into domains, each like another node.
class NodeMaker {
 public:
  NodeMaker(const TinyProblem& problem, const MoreNodes& more) : problem_(problem) {
    const auto& nodes = problem.cluster.nodes;
    like_ = *std::ranges::find_if(
        nodes, [&](const api::Node& node) { return node.labels.at(kHost) == more.like; });
    for (const auto& [resource, amount] : more.shape) {
      EXPECT_EQ(like_.allocatable[resource], amount) << resource;
    }
  }
  void add(const DomainPath& path, int64_t count, const std::string& below) {
    const auto& levels = problem_.cluster.spec.levels;
    for (; count > 0; --count) {
      api::Node node = like_;
      node.name = fmt::format("added-{}", problem_.cluster.nodes.size());
      for (size_t level = 0; level < levels.size(); ++level) {
        node.labels[levels[level]] = level < path.size() ? path[level] : below;
      }
      node.labels[kHost] = node.name;
      problem_.cluster.nodes.push_back(std::move(node));
    }
  }
  [[nodiscard]] const TinyProblem& problem() const { return problem_; }

 private:
  TinyProblem problem_;
  api::Node like_;
};

// Domains of the slice level (of the host's parent, if slices are inside hosts) below a path, and a
// new one.
std::set<DomainPath> places_below(const TinyProblem& problem, const Explanation& no,
                                  const DomainPath& path) {
  const auto& keys = no.level_keys;
  size_t length = std::ranges::find(keys, no.asked.slice_level) - keys.begin() + 1;
  length = std::max(std::min(length, keys.size() - 1), path.size());
  std::set<DomainPath> places;
  for (const api::Node& node : problem.cluster.nodes) {
    DomainPath place;
    for (size_t level = 0; level < length && node.labels.contains(keys[level]); ++level) {
      place.push_back(node.labels.at(keys[level]));
    }
    const bool inside = std::equal(path.begin(), path.end(), place.begin(),
                                   place.begin() + std::min(place.size(), path.size()));
    if (inside && place.size() == length) places.insert(place);
  }
  DomainPath fresh = path;
  fresh.resize(length, "new");
  places.insert(fresh);
  return places;
}

// Whether the request fits with `count` such nodes, put into the domain in any way.
bool fits_anyhow(const TinyProblem& problem, const Explanation& no, const MoreNodes& more,
                 int64_t count) {
  const auto places = places_below(problem, no, more.domain);
  std::function<bool(std::set<DomainPath>::const_iterator, int64_t, const NodeMaker&)> any;
  any = [&](auto place, int64_t left, const NodeMaker& so_far) {
    if (left == 0 || place == places.end()) return left == 0 && fits(so_far.problem());
    for (int64_t here = 0; here <= left; ++here) {
      NodeMaker with = so_far;
      with.add(*place, here, "x");
      if (any(std::next(place), left - here, with)) return true;
    }
    return false;
  };
  return any(places.begin(), count, NodeMaker(problem, more));
}

void check_more_nodes(const TinyProblem& problem, const Explanation& no, const MoreNodes& more) {
  ASSERT_GT(more.nodes, 0);
  ASSERT_EQ(more.more_spread_domains, 0u);  // tiny
  NodeMaker maker(problem, more);
  if (more.spread.empty()) maker.add(more.domain, more.nodes, "new");
  int64_t spread = 0;
  for (const auto& [path, count] : more.spread) {
    maker.add(path, count, "new");
    spread += count;
  }
  if (!more.spread.empty()) EXPECT_EQ(spread, more.nodes);
  EXPECT_TRUE(fits(maker.problem())) << "with the nodes it must fit";
  // All ways of placing fewer: few enough to try if the nodes are few.
  if (more.nodes <= 5) {
    EXPECT_FALSE(fits_anyhow(problem, no, more, more.nodes - 1)) << "fewer nodes do, too";
  }
}

struct Seen {
  int explained = 0;
  int coarser = 0;
  int preferred = 0;
  int more_nodes = 0;
  int spread = 0;
  int more_with_leader = 0;
  int inner_layers = 0;
  int waiting = 0;
};

void check_remedies(const TinyProblem& problem, Seen& seen) {
  const auto result = testing::place_fresh(problem)[0];
  if (!result.failure || result.explanation == nullptr) return;
  const Explanation& no = *result.explanation;
  SCOPED_TRACE(testing::as_case(problem) + "\n" + explanation_text(no, true));
  check_fewer_pods(problem, no);
  check_other_levels(problem, no);
  check_without_admitted(problem, no);
  for (const MoreNodes& more : no.remedies.more_nodes) {
    check_more_nodes(problem, no, more);
    ++seen.more_nodes;
    if (!more.spread.empty()) ++seen.spread;
    if (no.asked.leader) ++seen.more_with_leader;
    if (no.asked.slice_layers.size() > 1) ++seen.inner_layers;
  }
  EXPECT_TRUE(std::ranges::is_sorted(no.remedies.more_nodes, {}, &MoreNodes::nodes));
  ++seen.explained;
  if (no.remedies.coarser_level) ++seen.coarser;
  if (no.remedies.preferred) ++seen.preferred;
  if (no.remedies.without_admitted_workloads.fits) ++seen.waiting;
}

TEST(Remedies, HoldInTinyClusters) {
  Seen seen;
  for (uint64_t seed = 0; seed < 4000 && !HasFailure(); ++seed) {
    Generator generator(seed);
    check_remedies(one_unit(generator.problem()), seen);
  }
  EXPECT_GT(seen.explained, 1000);
  EXPECT_GT(seen.coarser, 5);
  EXPECT_GT(seen.preferred, 30);
  EXPECT_GT(seen.more_nodes, 500);
  EXPECT_GT(seen.more_with_leader, 50);
  EXPECT_GT(seen.waiting, 50);
}

// Racks that each have a few GPUs left, and slices that stay inside a rack.
TinyProblem rack_problem(uint64_t seed) {
  Generator generator(seed);
  TinyProblem problem;
  problem.cluster.spec.levels = {"block", "rack", kHost};
  const int racks = generator.between(1, 4);
  const int gpus = generator.between(1, 8);
  for (int rack = 0; rack < racks; ++rack) {
    for (int host = generator.between(1, 3); host > 0; --host) {
      api::Node node;
      node.name = fmt::format("n{}", problem.cluster.nodes.size());
      node.labels = {{"block", fmt::format("b{}", rack % 2)},
                     {"rack", fmt::format("r{}", rack)},
                     {kHost, node.name}};
      node.allocatable = {{"gpu", generator.chance(80) ? gpus : gpus + 2}, {"pods", 30}};
      problem.cluster.nodes.push_back(node);
      if (!generator.chance(50)) continue;
      problem.cluster.usages.push_back(
          {"workload-" + node.name, {{"gpu", generator.between(1, gpus)}}, {{{node.name}, 1}}});
    }
  }
  PodSet workers;
  workers.name = "workers";
  workers.requests["gpu"] = generator.chance(70) ? 1 : 2;
  const int inner = generator.chance(25) ? generator.between(2, 3) : 1;
  const int size = inner * generator.between(1, 7);
  workers.count = size * generator.between(1, generator.chance(50) ? 2 : 6);
  api::TopologyRequest& request = workers.topology.emplace();
  request.slice_constraints = {{"rack", size}};
  if (inner > 1) request.slice_constraints.push_back({kHost, inner});
  const int mode = generator.below(4);
  if (mode == 0) request.required = "rack";
  if (mode == 1) request.required = "block";
  if (mode == 2) request.preferred = "block";
  problem.workload = {"tiny", {workers}, {}, false};
  problem.options.profile = generator.chance(50) ? Profile::kMixed : Profile::kBestFit;
  return one_unit(problem);
}

TEST(Remedies, HoldForSlicesInsideRacks) {
  Seen seen;
  for (uint64_t seed = 0; seed < 1500 && !HasFailure(); ++seed) {
    check_remedies(rack_problem(seed), seen);
  }
  EXPECT_GT(seen.explained, 400);
  EXPECT_GT(seen.more_nodes, 400);
  EXPECT_EQ(seen.spread, seen.more_nodes);
  EXPECT_GT(seen.inner_layers, 50);
  EXPECT_GT(seen.coarser, 5);
}

// Nodes of 4 GPUs in racks of a block.
TinyProblem racks(int count, int hosts_each) {
  TinyProblem problem;
  problem.cluster.spec.levels = {"block", "rack", kHost};
  for (int number = 0; number < count * hosts_each; ++number) {
    const std::string name = fmt::format("n{}", number);
    const std::string rack = fmt::format("r{}", number / hosts_each);
    problem.cluster.nodes.push_back({name,
                                     {{"block", "b0"}, {"rack", rack}, {kHost, name}},
                                     {{"gpu", 4}, {"pods", 30}},
                                     {},
                                     false,
                                     true});
  }
  PodSet workers;
  workers.name = "workers";
  workers.requests["gpu"] = 4;
  workers.topology.emplace();
  problem.workload = {"tiny", {workers}, {}, false};
  problem.options.explain = true;
  return problem;
}

TEST(Remedies, NodesForAReplacementGoWhereItMustStay) {
  // A slice in r0 lost one of its two pods: the block has room, its rack has not.
  TinyProblem problem = racks(2, 2);
  PodSet& workers = problem.workload.pod_sets[0];
  workers.count = 2;
  workers.topology->required = "block";
  workers.topology->slice_constraints = {{"rack", 2}};
  workers.previous = api::TopologyAssignment{{kHost}, {{{"n0"}, 1}, {{"n1"}, 1}}};
  problem.cluster.usages.push_back({"job", {{"gpu", 4}}, {{{"n0"}, 1}, {{"n1"}, 1}}});
  problem.cluster.nodes[1].ready = false;
  problem.workload.unhealthy_nodes = {"n1"};
  const auto no = testing::place_fresh(problem)[0].explanation;
  ASSERT_NE(no, nullptr);
  ASSERT_EQ(no->remedies.more_nodes.size(), 1u);
  const MoreNodes& more = no->remedies.more_nodes[0];
  EXPECT_EQ(more.domain, (DomainPath{"b0", "r0"}));
  EXPECT_EQ(more.nodes, 1);
  NodeMaker elsewhere(problem, more);
  elsewhere.add({"b0", "r1"}, 1, "");
  EXPECT_FALSE(fits(elsewhere.problem()));
  NodeMaker there(problem, more);
  there.add(more.domain, 1, "");
  EXPECT_TRUE(fits(there.problem()));
}

TEST(Remedies, OneNodeMayCompleteSeveralSlices) {
  // Each rack holds three pods, so a slice of two and a half; a node of three makes three of that.
  // Two slices more in each rack take a node each; any other way to gain four takes three nodes.
  TinyProblem problem = racks(2, 1);
  PodSet& workers = problem.workload.pod_sets[0];
  for (api::Node& node : problem.cluster.nodes) node.allocatable["gpu"] = 3;
  workers.requests["gpu"] = 1;
  workers.count = 12;
  workers.topology->required = "block";
  workers.topology->slice_constraints = {{"rack", 2}};
  const auto no = testing::place_fresh(problem)[0].explanation;
  ASSERT_NE(no, nullptr);
  ASSERT_EQ(no->remedies.more_nodes.size(), 1u);
  EXPECT_EQ(no->remedies.more_nodes[0].nodes, 2);
  EXPECT_EQ(no->remedies.more_nodes[0].spread.size(), 2u);
  check_more_nodes(problem, *no, no->remedies.more_nodes[0]);
}

TEST(Remedies, NoNumberWhereMoreThanTheNumberMatters) {
  // Two pods of every slice must share a rack: new nodes count in pairs, or with what is there.
  TinyProblem problem = racks(3, 1);
  PodSet& workers = problem.workload.pod_sets[0];
  workers.count = 4;
  workers.topology->required = "block";
  workers.topology->slice_constraints = {{"block", 4}, {"rack", 2}};
  const auto no = testing::place_fresh(problem)[0].explanation;
  ASSERT_NE(no, nullptr);
  EXPECT_TRUE(no->remedies.more_nodes.empty());
}

TEST(Remedies, ManyNodesAreListedUpToALimit) {
  // Twenty racks of three hosts each lack one host for a slice of four.
  TinyProblem problem = racks(20, 3);
  PodSet& workers = problem.workload.pod_sets[0];
  workers.count = 72;
  workers.topology->required = "block";
  workers.topology->slice_constraints = {{"rack", 4}};
  const auto no = testing::place_fresh(problem)[0].explanation;
  ASSERT_NE(no, nullptr);
  ASSERT_EQ(no->remedies.more_nodes.size(), 1u);
  const MoreNodes& more = no->remedies.more_nodes[0];
  EXPECT_EQ(more.nodes, 18);
  EXPECT_EQ(more.spread.size(), kMostShares);
  EXPECT_EQ(more.more_spread_domains, 18 - kMostShares);
  EXPECT_EQ(more.more_spread_nodes, static_cast<int64_t>(18 - kMostShares));
}

}  // namespace
}  // namespace phalanx::placement
