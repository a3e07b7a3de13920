#include "placement/explanation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/check.h"
#include "placement/explanation_render.h"
#include "placement/placer.h"

namespace phalanx::placement {
namespace {

const std::string kBlock = "cloud.provider.com/topology-block";
const std::string kRack = "cloud.provider.com/topology-rack";
const std::string kHost(api::kHostnameLabel);
const std::string kGpu = "nvidia.com/gpu";

// A cluster of blocks, racks and hosts with GPUs.
class World {
 public:
  explicit World(topology::TreeSpec spec = {"default", {kBlock, kRack, kHost}, {}, {}})
      : tree_(cluster_.add_tree(std::move(spec))) {}

  static api::Node node(const std::string& block, const std::string& rack, const std::string& name,
                        int64_t gpus = 8) {
    return {name,
            {{kBlock, block}, {kRack, rack}, {kHost, name}},
            {{"cpu", 64000}, {kGpu, gpus}, {"pods", 110}},
            {},
            false,
            true};
  }
  void add(const api::Node& node) { CHECK(cluster_.put_node(node).has_value()); }
  // Nodes <rack>-0, <rack>-1, ... of a rack.
  void add_rack(const std::string& block, const std::string& rack, int nodes, int64_t gpus = 8) {
    for (int number = 0; number < nodes; ++number) {
      add(node(block, rack, fmt::format("{}-{}", rack, number), gpus));
    }
  }
  void use(const std::string& workload, const std::string& host, int64_t pods,
           const api::ResourceAmounts& per_pod) {
    cluster_.add_usage(workload, tree_, cluster_.make_request(per_pod), {{{host}, pods}});
  }

  std::vector<PodSetResult> place(const Workload& workload, Options options = {}) {
    options.explain = true;
    return Placer(cluster_).place(tree_, workload, options);
  }
  // Of a pod set that does not fit.
  Explanation explain(const PodSet& pod_set, const Options& options = {}) {
    const auto results = place({"job", {pod_set}, {}, false}, options);
    CHECK(results[0].failure && results[0].explanation);
    return *results[0].explanation;
  }
  topology::Cluster& cluster() { return cluster_; }

 private:
  topology::Cluster cluster_;
  TreeId tree_;
};

PodSet pods(int32_t count, int64_t gpus) {
  PodSet pod_set;
  pod_set.name = "workers";
  pod_set.count = count;
  pod_set.requests = {{kGpu, gpus}};
  return pod_set;
}

PodSet required(PodSet pod_set, const std::string& level) {
  if (!pod_set.topology) pod_set.topology.emplace();
  pod_set.topology->required = level;
  return pod_set;
}

PodSet sliced(PodSet pod_set, const std::string& level, int32_t size) {
  if (!pod_set.topology) pod_set.topology.emplace();
  pod_set.topology->slice_constraints = {{level, size}};
  return pod_set;
}

const Cause* find(const std::vector<Cause>& causes, CauseKind kind, const std::string& name = "",
                  bool of_leader = false) {
  const auto found = std::ranges::find_if(causes, [&](const Cause& cause) {
    return cause.kind == kind && cause.name == name && cause.of_leader == of_leader;
  });
  return found == causes.end() ? nullptr : &*found;
}

// What the cause counts: nodes, too small, partly used, pods.
std::vector<int64_t> numbers(const Cause* cause) {
  if (cause == nullptr) return {};
  return {cause->nodes, cause->too_small, cause->partly_used, cause->pods};
}
using Numbers = std::vector<int64_t>;

// Both forms of every explanation are well formed.
void expect_rendered_well(const Explanation& explanation) {
  const json::value document = explanation_json(explanation);
  const auto parsed = parse_json(pretty_json(document));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(*parsed, document);
  for (const bool full : {false, true}) {
    const std::string text = explanation_text(explanation, full);
    EXPECT_TRUE(text.ends_with('\n'));
    EXPECT_EQ(text.find(" \n"), std::string::npos) << text;
    EXPECT_EQ(text.find("\n\n"), std::string::npos) << text;
  }
}

TEST(Explanation, SaysWhatWasAsked) {
  World world;
  world.add_rack("b1", "r1", 1);
  PodSet workers = required(sliced(pods(8, 4), kRack, 4), kBlock);
  workers.requests["cpu"] = 1500;
  const Explanation result = world.explain(workers);
  EXPECT_EQ(result.topology, "default");
  EXPECT_EQ(result.level_keys, (std::vector{kBlock, kRack, kHost}));
  EXPECT_EQ(result.asked.pods, 8);
  EXPECT_EQ(result.asked.slices, 2);
  EXPECT_EQ(result.asked.slice_size, 4);
  EXPECT_EQ(result.asked.mode, RequestMode::kRequired);
  EXPECT_EQ(result.asked.level, kBlock);
  EXPECT_EQ(result.asked.slice_level, kRack);
  EXPECT_EQ(result.asked.per_pod, (ResourceList{{"cpu", 1500}, {kGpu, 4}}));
  EXPECT_EQ(result.searched_level, kBlock);
  EXPECT_EQ(result.fits_slices, 0);
  ASSERT_EQ(result.levels.size(), 2u);
  EXPECT_EQ(result.levels[1].level, kRack);
  EXPECT_EQ(result.levels[1].role, LevelRole::kSlices);
  EXPECT_EQ(result.levels[1].best[0].pods, 2);
  EXPECT_EQ(result.levels[1].best[0].missing, 1);
  EXPECT_EQ(explanation_text(result, false).substr(0, 93),
            "8 pods of 1500m cpu, 4 nvidia.com/gpu, in slices of 4 per "
            "cloud.provider.com/topology-rack, r");
  expect_rendered_well(result);

  PodSet preferred = pods(8, 4);
  preferred.topology.emplace().preferred = kRack;
  EXPECT_EQ(world.explain(preferred).asked.mode, RequestMode::kPreferred);
  EXPECT_EQ(world.explain(preferred).searched_level, kBlock);
  EXPECT_EQ(world.explain(pods(8, 4)).asked.mode, RequestMode::kUnconstrained);
  EXPECT_EQ(world.explain(pods(8, 4)).asked.level, "");
}

TEST(Explanation, CountsEveryKindOfCause) {
  World world({"default", {kBlock, kRack, kHost}, {{"flavor", "gpu"}}, {}});
  int next = 0;
  const auto add = [&](auto change) {
    api::Node node = World::node("b1", "r1", fmt::format("n{}", next++));
    node.labels["flavor"] = "gpu";
    node.labels["disk"] = "ssd";
    change(node);
    world.add(node);
    return node.name;
  };
  const auto nothing = [](api::Node&) {};
  add([](api::Node& node) { node.taints = {{"team", "a", "NoSchedule"}}; });
  add([](api::Node& node) { node.taints = {{"team", "a", "NoSchedule"}, {"x", "", "NoExecute"}}; });
  add([](api::Node& node) { node.taints = {{"x", "", "NoExecute"}}; });
  add([](api::Node& node) { node.labels["disk"] = "hdd"; });
  add([](api::Node& node) { node.labels["old"] = "yes"; });
  add([](api::Node& node) { node.allocatable[kGpu] = 1; });          // too small
  world.use("full", add(nothing), 1, {{kGpu, 8}});                   // holds none of two
  world.use("half", add(nothing), 2, {{kGpu, 2}});                   // holds one of two
  world.cluster().put_pod("other", add(nothing), {{"cpu", 63500}});  // holds none for lack of cpu
  add(nothing);                                                      // holds two
  add([](api::Node& node) { node.ready = false; });
  add([](api::Node& node) { node.unschedulable = true; });
  add([](api::Node& node) { node.labels["flavor"] = "cpu"; });
  add([](api::Node& node) { node.labels.erase(kRack); });

  PodSet workers = required(pods(4, 4), kRack);
  workers.requests["cpu"] = 1000;
  workers.node_selector = {{"disk", "ssd"}};
  workers.affinity.required = {{{{"old", api::SelectorOperator::kDoesNotExist, {}}}, {}}};
  const Explanation result = world.explain(workers);
  EXPECT_EQ(result.everything.nodes, 10u);
  EXPECT_EQ(result.fits_slices, 3);
  using enum CauseKind;
  EXPECT_EQ(result.causes.size(), 6u);
  EXPECT_EQ(numbers(find(result.causes, kTaint, "team=a:NoSchedule")), (Numbers{2, 0, 0, 4}));
  EXPECT_EQ(numbers(find(result.causes, kTaint, "x:NoExecute")), (Numbers{1, 0, 0, 2}));
  EXPECT_EQ(numbers(find(result.causes, kNodeSelector)), (Numbers{1, 0, 0, 2}));
  EXPECT_EQ(numbers(find(result.causes, kAffinity)), (Numbers{1, 0, 0, 2}));
  EXPECT_EQ(numbers(find(result.causes, kResource, kGpu)), (Numbers{2, 1, 1, 3}));
  EXPECT_EQ(numbers(find(result.causes, kResource, "cpu")), (Numbers{1, 0, 0, 2}));
  EXPECT_EQ(result.causes[0].name, kGpu);  // three nodes, more than any other
  EXPECT_EQ(result.left_out, (LeftOut{1, 1, 1, {{kRack, 1}}}));
  EXPECT_EQ(result.levels[0].best[0].blocking, result.causes[0]);
  EXPECT_EQ(result.levels[0].best[0].pods_if_empty, 18);
  EXPECT_EQ(result.levels[0].best[0].balance, (ResourceBalance{kGpu, 73, 12, 0, 61}));
  expect_rendered_well(result);
}

TEST(Explanation, LeaderThatFitsNowhereIsTheCause) {
  World world;
  world.add_rack("b1", "r1", 3);
  world.add_rack("b1", "r2", 2);
  PodSet workers = required(pods(2, 8), kRack);
  workers.topology->group_name = "group";
  PodSet leader = required(pods(1, 0), kRack);
  leader.name = "leader";
  leader.requests = {{"cpu", 65000}};
  leader.topology->group_name = "group";
  const auto results = world.place({"job", {workers, leader}, {}, false});
  ASSERT_NE(results[0].explanation, nullptr);
  const Explanation& result = *results[0].explanation;
  EXPECT_EQ(result.asked.leader, (ResourceList{{"cpu", 65000}}));
  EXPECT_EQ(result.fits_slices, 0);
  EXPECT_EQ(numbers(find(result.causes, CauseKind::kResource, "cpu", true)), (Numbers{5, 5, 0, 0}));
  const DomainReport& best = result.levels[0].best[0];
  EXPECT_FALSE(best.leader_fits);
  EXPECT_EQ(best.slices, 3);
  ASSERT_TRUE(best.blocking.has_value());
  EXPECT_TRUE(best.blocking->of_leader);
  EXPECT_TRUE(result.remedies.more_nodes.empty());
  expect_rendered_well(result);
}

TEST(Explanation, ReplacementNamesWhatIsOutsideItsDomain) {
  World world;
  world.add_rack("b1", "r1", 3);
  world.add_rack("b1", "r2", 3);
  world.use("job", "r1-0", 1, {{kGpu, 8}});
  world.use("other", "r1-2", 1, {{kGpu, 8}});
  PodSet workers = required(pods(2, 8), kRack);
  workers.previous = api::TopologyAssignment{{kHost}, {{{"r1-0"}, 1}, {{"r1-1"}, 1}}};
  api::Node failed = World::node("b1", "r1", "r1-1");
  failed.ready = false;
  world.add(failed);
  const auto results = world.place({"job", {workers}, {"r1-1"}, false});
  ASSERT_NE(results[0].explanation, nullptr);
  const Explanation& result = *results[0].explanation;
  EXPECT_EQ(numbers(find(result.causes, CauseKind::kConfinement)), (Numbers{3, 0, 0, 3}));
  EXPECT_EQ(result.left_out.not_ready, 1u);
  EXPECT_EQ(result.asked.pods, 1);
  EXPECT_EQ(result.levels[0].best[0].path, (DomainPath{"b1", "r1"}));
  EXPECT_EQ(result.levels[0].best[0].nodes, 2u);
  ASSERT_EQ(result.remedies.more_nodes.size(), 1u);
  EXPECT_EQ(result.remedies.more_nodes[0].domain, (DomainPath{"b1", "r1"}));
  EXPECT_EQ(result.remedies.more_nodes[0].nodes, 1);
  expect_rendered_well(result);
}

TEST(Explanation, BestDomainsComeFirst) {
  World world;
  world.add_rack("b1", "r1", 2, 8);
  world.add_rack("b1", "r2", 3, 8);
  world.add_rack("b1", "r3", 3, 10);  // as many whole slices, more pods
  world.add_rack("b2", "r2", 0);
  for (int number = 0; number < 3; ++number) {
    world.add(World::node("b0", "r9", fmt::format("b0r9-{}", number), 8));
  }
  // Hosts of 8 hold one slice of three pods with 2 GPUs each, and a pod more; those of 10 two more.
  const Explanation result = world.explain(required(sliced(pods(30, 2), kHost, 3), kRack));
  std::vector<DomainPath> order;
  for (const DomainReport& domain : result.levels[0].best) order.push_back(domain.path);
  EXPECT_EQ(order,
            (std::vector<DomainPath>{{"b1", "r3"}, {"b0", "r9"}, {"b1", "r2"}, {"b1", "r1"}}));
  EXPECT_EQ(result.levels[0].best[0].slices, 3);
  EXPECT_EQ(result.levels[0].best[0].pods, 15);
  EXPECT_EQ(result.levels[0].best[0].missing, 7);
  EXPECT_EQ(result.levels[0].best[0].blocking, std::nullopt);
  EXPECT_EQ(result.levels[0].holding_some, 4u);
  EXPECT_EQ(result.levels[1].level, kBlock);
  EXPECT_EQ(result.levels[1].role, LevelRole::kAbove);
  EXPECT_EQ(result.levels[2].role, LevelRole::kSlices);
  expect_rendered_well(result);
}

TEST(Explanation, UsersAreRankedByTheResourceThatIsShort) {
  World world;
  world.add_rack("b1", "r1", 4);
  for (int host = 0; host < 4; ++host) {
    const std::string name = fmt::format("r1-{}", host);
    world.use("logging", name, 40, {{"cpu", 10}});
    world.use(host == 0 ? "small" : "large", name, 2, {{kGpu, 2}});
  }
  world.use("zeta", "r1-0", 1, {{kGpu, 4}});
  world.use("alpha", "r1-1", 1, {{kGpu, 1}});
  world.cluster().put_pod("plain", "r1-1", {{kGpu, 1}});
  const Explanation result = world.explain(required(pods(4, 8), kRack));
  const DomainReport& rack = result.levels[0].best[0];
  EXPECT_EQ(rack.used_by, (std::vector<WorkloadUse>{{"large", 6}, {"small", 2}, {"zeta", 1}}));
  EXPECT_EQ(rack.more_users, 1u);
  EXPECT_EQ(rack.balance, (ResourceBalance{kGpu, 32, 21, 1, 10}));
  EXPECT_EQ(result.remedies.without_admitted_workloads, (WithoutAdmitted{false, 3}));
}

TEST(Explanation, AggregateTopologiesSpeakOfDomains) {
  World world({"racks", {kBlock, kRack}, {}, {}});
  world.add_rack("b1", "r1", 2);
  world.add_rack("b1", "r2", 2);
  world.cluster().add_usage("train", TreeId(0), world.cluster().make_request({{kGpu, 8}}),
                            {{{"b1", "r1"}, 2}});
  const Explanation result = world.explain(required(pods(5, 8), kBlock));
  EXPECT_EQ(result.everything.nodes, 2u);
  EXPECT_EQ(numbers(find(result.causes, CauseKind::kResource, kGpu)), (Numbers{1, 0, 0, 2}));
  EXPECT_EQ(result.levels[0].best[0].used_by, (std::vector<WorkloadUse>{{"train", 2}}));
  EXPECT_TRUE(result.remedies.more_nodes.empty());
  EXPECT_EQ(result.remedies.without_admitted_workloads, (WithoutAdmitted{false, 4}));
  EXPECT_NE(explanation_text(result, true).find("on 1 of 2 domains"), std::string::npos);
  expect_rendered_well(result);
}

TEST(Explanation, TopologyWithoutNodes) {
  World world;
  api::Node node = World::node("b1", "r1", "n0");
  node.ready = false;
  world.add(node);
  Explanation result = world.explain(required(pods(1, 8), kRack));
  EXPECT_EQ(result.everything.nodes, 0u);
  EXPECT_EQ(result.left_out.not_ready, 1u);
  expect_rendered_well(result);
  // A node that goes leaves its leaf behind, which counts for nothing.
  node.ready = true;
  world.add(node);
  EXPECT_EQ(world.explain(required(pods(2, 8), kRack)).levels[0].domains, 1u);
  node.ready = false;
  world.add(node);
  EXPECT_EQ(world.explain(required(pods(1, 8), kRack)), result);
}

TEST(Explanation, StaysSmallInALargeCluster) {
  World world;
  for (int rack = 0; rack < 1000; ++rack) {
    for (int host = 0; host < 2; ++host) {
      const std::string name = fmt::format("n-{}-{}", rack, host);
      api::Node node = World::node(fmt::format("b{}", rack / 50), fmt::format("r{}", rack), name);
      if (host == 0) node.taints = {{"owner", name, "NoSchedule"}};  // a cause for each
      world.add(node);
      world.use(fmt::format("team/workload-{}", rack), name, 1, {{kGpu, 1 + rack % 2}});
    }
  }
  const Explanation result = world.explain(required(sliced(pods(4000, 1), kRack, 20), kBlock));
  EXPECT_EQ(result.causes.size(), kMostCauses);
  EXPECT_EQ(result.causes[0], (Cause{CauseKind::kResource, false, kGpu, 0, 0, 1000, 1500}));
  EXPECT_EQ(result.more_causes, 1000 + 1 - kMostCauses);
  EXPECT_EQ(result.levels[1].domains, 1000u);
  EXPECT_EQ(result.levels[1].best.size(), kMostDomains);
  EXPECT_EQ(result.levels[1].more, 1000 - kMostDomains);
  EXPECT_EQ(result.everything.used_by.size(), kMostUsers);
  EXPECT_EQ(result.everything.more_users, 1000 - kMostUsers);
  EXPECT_LT(json::serialize(explanation_json(result)).size(), 16000u);
  EXPECT_LT(explanation_text(result, true).size(), 8000u);
  expect_rendered_well(result);
}

TEST(Explanation, ShortTextReads) {
  World world;
  world.add_rack("b1", "r1", 16);
  world.add_rack("b1", "r2", 16);
  world.add_rack("b2", "r3", 4);
  for (int host = 0; host < 6; ++host)
    world.use("team-a/train", fmt::format("r1-{}", host), 8, {{kGpu, 1}});
  for (int host = 0; host < 3; ++host)
    world.use("team-b/eval", fmt::format("r2-{}", host), 1, {{kGpu, 8}});
  world.use("team-c/notebook", "r2-3", 2, {{kGpu, 1}});
  api::Node tainted = World::node("b2", "r3", "r3-9");
  tainted.taints = {{"maintenance", "", "NoSchedule"}};
  world.add(tainted);
  const Explanation result = world.explain(required(pods(16, 8), kRack));
  EXPECT_EQ(
      explanation_text(result, false),
      R"(16 pods of 8 nvidia.com/gpu, required in one cloud.provider.com/topology-rack: does not fit
  best: block b1 / rack r2 holds 12, 4 missing: resource nvidia.com/gpu on 4 of 16 nodes (used by team-b/eval 3 pods, team-c/notebook 2 pods)
  in the way: resource nvidia.com/gpu on 10 of 37 nodes; taint "maintenance:NoSchedule" on 1 of 37 nodes
  what would help:
    - 12 pods instead of 16: fits now
    - required in one cloud.provider.com/topology-block instead: fits now, in block b1
    - preferred instead of required: fits now, in block b1
    - 4 more nodes like r2-0 (8 nvidia.com/gpu) in block b1 / rack r2
    - 6 more nodes like r1-0 (8 nvidia.com/gpu) in block b1 / rack r1
    - 12 more nodes like r3-0 (8 nvidia.com/gpu) in block b2 / rack r3
    - waiting: fits once enough workloads have ended
)");
  expect_rendered_well(result);
}

}  // namespace
}  // namespace phalanx::placement
