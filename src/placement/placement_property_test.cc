// What placement must keep whatever it is asked, on thousands of tiny clusters, against a brute
// force (placement/testing.h). A failure prints its case in the conformance format.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "placement/choose.h"
#include "placement/placer.h"
#include "placement/testing.h"

namespace phalanx::placement::testing {
namespace {

// The pod sets of a workload as they are placed: one, or a leader and its workers.
struct TinyUnit {
  const PodSet* workers = nullptr;
  const PodSet* leader = nullptr;
  const PodSetResult* workers_result = nullptr;
  const PodSetResult* leader_result = nullptr;
};

std::vector<TinyUnit> units_of(const Workload& workload, const std::vector<PodSetResult>& results) {
  std::vector<TinyUnit> units;
  const auto named = [&](const char* name) -> std::optional<size_t> {
    const auto found = std::ranges::find(workload.pod_sets, name, &PodSet::name);
    if (found == workload.pod_sets.end()) return std::nullopt;
    return found - workload.pod_sets.begin();
  };
  const size_t workers = *named("workers");
  units.push_back({&workload.pod_sets[workers], nullptr, &results[workers], nullptr});
  if (const auto leader = named("leader")) {
    units[0].leader = &workload.pod_sets[*leader];
    units[0].leader_result = &results[*leader];
  }
  if (const auto more = named("more")) {
    units.push_back({&workload.pod_sets[*more], nullptr, &results[*more], nullptr});
  }
  return units;
}

bool is_auto(const PodSet& pod_set) {
  return pod_set.topology && pod_set.topology->required == api::kAutoLevel;
}

// Where `required: auto` must put the unit: the narrowest level that holds it, if any does.
std::optional<int> narrowest_level(const topology::TreeSpec& spec, const std::vector<Host>& hosts,
                                   Rules rules) {
  const int lowest = static_cast<int>(spec.levels.size()) - 1;
  for (int level = rules.layers.empty() ? lowest : rules.layers[0].first; level >= 0; --level) {
    rules.required_level = level;
    if (can_be_placed(hosts, rules)) return level;
  }
  return std::nullopt;
}

// Checks one unit's results against the rules and the brute force; takes what it got from `hosts`.
// Whether the unit was placed.
bool check_unit(const TinyProblem& problem, const TinyUnit& unit, std::vector<Host>& hosts) {
  Rules rules = rules_for(problem.cluster.spec, *unit.workers, unit.leader);
  bool possible = false;
  if (is_auto(*unit.workers)) {
    rules.required_level = narrowest_level(problem.cluster.spec, hosts, rules);
    possible = rules.required_level.has_value();
  } else {
    possible = can_be_placed(hosts, rules);
  }
  const PodSetResult& result = *unit.workers_result;
  EXPECT_EQ(result.assignment.has_value(), possible);
  EXPECT_NE(result.assignment.has_value(), result.failure.has_value());
  if (unit.leader_result != nullptr) {
    EXPECT_EQ(unit.leader_result->assignment.has_value(), result.assignment.has_value());
    EXPECT_EQ(unit.leader_result->failure, result.failure);
  }
  if (!result.assignment) return false;

  const auto pods = pods_by_host(hosts, *result.assignment);
  EXPECT_TRUE(pods.has_value()) << "a host that takes no part was used";
  if (!pods) return false;
  Distribution distribution{*pods, std::nullopt};
  if (unit.leader_result != nullptr && unit.leader_result->assignment) {
    const auto& domains = unit.leader_result->assignment->domains;
    EXPECT_EQ(domains.size(), 1U);
    EXPECT_EQ(domains[0].count, 1);
    const auto host = std::ranges::find(hosts, domains[0].values.back(), &Host::hostname);
    EXPECT_NE(host, hosts.end());
    distribution.leader = host - hosts.begin();
  }
  EXPECT_EQ(broken_rule(hosts, rules, distribution), "");
  take_from(hosts, rules, distribution);
  return true;
}

// Hosts of the next unit: with its own filters, and without what the earlier units took.
std::vector<Host> next_hosts(const TinyProblem& problem, const TinyUnit& unit,
                             const std::vector<Host>& before) {
  std::vector<Host> hosts =
      hosts_for(problem.cluster, *unit.workers, unit.leader, problem.options.simulate_empty);
  for (size_t index = 0; index < before.size(); ++index) hosts[index].free = before[index].free;
  return hosts;
}

void check_results(const TinyProblem& problem, const std::vector<PodSetResult>& results) {
  std::vector<Host> hosts;
  bool stopped = false;
  for (const TinyUnit& unit : units_of(problem.workload, results)) {
    if (stopped) {
      EXPECT_FALSE(unit.workers_result->assignment || unit.workers_result->failure);
      continue;
    }
    hosts = next_hosts(problem, unit, hosts);
    stopped = !check_unit(problem, unit, hosts);
  }
}

TEST(PlacementProperty, KeepsEveryRuleAndSaysNoOnlyIfBruteForceAgrees) {
  int placed = 0;
  int refused = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    const TinyProblem problem = Generator(seed).problem();
    const auto results = place_fresh(problem);
    SCOPED_TRACE(as_case(problem) + "\n" + text_of(results));
    check_results(problem, results);
    ++(results[0].assignment ? placed : refused);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  // The generator is of use only as long as it makes both kinds.
  EXPECT_GT(placed, 1500);
  EXPECT_GT(refused, 1500);
}

// A preferred request that one domain of the level holds must not be spread, and one that does not
// must not climb further than needed. (Scores outrank that, and balancing looks for evenness.)
TEST(PlacementProperty, PreferredStaysAsNarrowAsItCan) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    TinyProblem problem = Generator(seed).problem();
    PodSet& workers = *std::ranges::find(problem.workload.pod_sets, "workers", &PodSet::name);
    if (!workers.topology || !workers.topology->preferred) continue;
    if (workers.topology->preferred == api::kAutoLevel) continue;
    problem.options.balanced = false;
    problem.options.preferred_node_affinity = false;
    const auto results = place_fresh(problem);
    const TinyUnit unit = units_of(problem.workload, results)[0];
    if (!unit.workers_result->assignment) continue;
    std::vector<Host> hosts = next_hosts(problem, unit, {});
    Rules rules = rules_for(problem.cluster.spec, *unit.workers, unit.leader);
    const auto& levels = problem.cluster.spec.levels;
    int level =
        static_cast<int>(std::ranges::find(levels, *workers.topology->preferred) - levels.begin());
    for (; level >= 0; --level) {
      rules.required_level = level;
      if (can_be_placed(hosts, rules)) break;
    }
    if (level < 0) continue;
    Distribution distribution{*pods_by_host(hosts, *unit.workers_result->assignment), {}};
    if (unit.leader_result != nullptr) {
      const auto& leader = unit.leader_result->assignment->domains[0].values.back();
      distribution.leader = std::ranges::find(hosts, leader, &Host::hostname) - hosts.begin();
    }
    SCOPED_TRACE(as_case(problem) + "\n" + text_of(results));
    ASSERT_EQ(broken_rule(hosts, rules, distribution), "") << "seed " << seed;
    ++checked;
  }
  EXPECT_GT(checked, 500);
}

TEST(PlacementProperty, OrderOfNodesCarriesNoMeaning) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Generator generator(seed);
    TinyProblem problem = generator.problem();
    const std::string expected = text_of(place_fresh(problem));
    for (int round = 0; round < 2; ++round) {
      generator.shuffle(problem.cluster.nodes);
      generator.shuffle(problem.cluster.pods);
      generator.shuffle(problem.cluster.usages);
      ASSERT_EQ(text_of(place_fresh(problem)), expected) << as_case(problem) << " seed " << seed;
    }
  }
}

// Brings a cluster to the state of `target` by a detour: nodes that differ, come back or go, pods
// and usage that come and go, and questions asked on the way so that the placer remembers counts.
class Detour {
 public:
  // `come_and_go`: nodes also appear, vanish, and turn ready and not ready.
  Detour(Generator& generator, const TinyProblem& target, bool come_and_go)
      : generator_(generator),
        target_(target),
        come_and_go_(come_and_go),
        tree_(cluster_.add_tree(target.cluster.spec)),
        placer_(cluster_) {}

  std::vector<PodSetResult> run() {
    for (int step = generator_.between(3, 15); step > 0; --step) wander();
    settle();
    return ask();
  }

 private:
  std::vector<PodSetResult> ask() {
    return placer_.place(tree_, target_.workload, target_.options);
  }

  void add_usage(const TinyUsage& usage) {
    cluster_.add_usage(usage.workload, tree_, cluster_.make_request(usage.requests), usage.domains);
  }

  // Another version of a node of the target, or a node that the target does not have.
  api::Node other_node() {
    const TinyCluster& tiny = target_.cluster;
    if (come_and_go_ && generator_.chance(20)) return generator_.node(tiny.spec, 6);
    const api::Node& wanted = generator_.any_of(tiny.nodes);
    api::Node node = generator_.chance(40) ? wanted : generator_.node(tiny.spec, number_of(wanted));
    node.ready = wanted.ready != (come_and_go_ && generator_.chance(30));
    node.unschedulable = wanted.unschedulable != (come_and_go_ && generator_.chance(10));
    // A node without one of these labels is as good as gone.
    for (const char* key : {"zone", "block", "rack", "pool"}) {
      if (come_and_go_ || node.labels.contains(key) == wanted.labels.contains(key)) continue;
      node.labels.erase(key);
      if (wanted.labels.contains(key)) node.labels[key] = wanted.labels.at(key);
    }
    return node;
  }
  static int number_of(const api::Node& node) { return node.name.back() - '0'; }

  // One step that need not lead anywhere.
  void wander() {
    const TinyCluster& tiny = target_.cluster;
    const int number = generator_.below(4);
    switch (generator_.below(8)) {
      case 0:
      case 1:
      case 2:
        CHECK(cluster_.put_node(other_node()).has_value());
        break;
      case 3: {
        const TinyPod pod = generator_.pod(tiny, number);
        cluster_.put_pod(pod.key, pod.node, pod.requests);
        break;
      }
      case 4:
        add_usage(generator_.usage(tiny, number));
        break;
      case 5:
        cluster_.remove_usage("workload-" + std::to_string(number));
        if (come_and_go_) cluster_.remove_node(other_node().name);
        break;
      default:
        (void)ask();
    }
  }

  // Everything that is missing, and away with everything that is too much, in any order.
  void settle() {
    std::vector<std::function<void()>> steps;
    steps.emplace_back([this] { cluster_.remove_node(generator_.node({}, 6).name); });
    for (const api::Node& node : target_.cluster.nodes) {
      steps.emplace_back([this, &node] { CHECK(cluster_.put_node(node).has_value()); });
    }
    for (int number = 0; number < 4; ++number) {
      steps.emplace_back([this, number] { settle_pod("pod-" + std::to_string(number)); });
      steps.emplace_back([this, number] { settle_usage("workload-" + std::to_string(number)); });
      steps.emplace_back([this] { (void)ask(); });
    }
    generator_.shuffle(steps);
    for (const auto& step : steps) step();
  }

  void settle_pod(const std::string& key) {
    cluster_.remove_pod(key);
    for (const TinyPod& pod : target_.cluster.pods) {
      if (pod.key == key) cluster_.put_pod(pod.key, pod.node, pod.requests);
    }
  }

  void settle_usage(const std::string& workload) {
    cluster_.remove_usage(workload);
    for (const TinyUsage& usage : target_.cluster.usages) {
      if (usage.workload == workload) add_usage(usage);
    }
  }

  Generator& generator_;
  const TinyProblem& target_;
  const bool come_and_go_;
  topology::Cluster cluster_;
  TreeId tree_;
  Placer placer_;
};

void expect_no_meaning_of_detours(bool come_and_go) {
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    Generator generator(seed);
    const TinyProblem problem = generator.problem();
    const std::string expected = text_of(place_fresh(problem));
    ASSERT_EQ(text_of(Detour(generator, problem, come_and_go).run()), expected)
        << as_case(problem) << " seed " << seed;
  }
}

TEST(PlacementProperty, TheWayToAStateCarriesNoMeaning) {
  expect_no_meaning_of_detours(/*come_and_go=*/false);
}

TEST(PlacementProperty, NodesThatCameAndWentCarryNoMeaning) {
  expect_no_meaning_of_detours(/*come_and_go=*/true);
}

// Domains without a single slice are left out: taking nothing from them changes nothing.
std::string choice_text(const DomainCounts& counts,
                        const std::expected<Choice, Shortfall>& choice) {
  if (!choice) {
    return "level " + std::to_string(choice.error().level) + " fits " +
           std::to_string(choice.error().fits) + (choice.error().no_domains ? " none" : "");
  }
  std::string text = "level " + std::to_string(choice->level) + ":";
  for (const uint32_t domain : choice->domains) {
    if (counts.slices(choice->level, domain) > 0) text += " " + std::to_string(domain);
  }
  return text;
}

TEST(PlacementProperty, ScanningChoosesWhatSortingChooses) {
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    TinyProblem problem = Generator(seed).problem();
    const PodSet& pod_set = problem.workload.pod_sets.back();
    topology::Cluster cluster;
    const topology::DomainTree& tree = cluster.tree(load(problem.cluster, cluster));
    const auto plan = plan_levels(tree, pod_set.topology, pod_set.count, problem.options);
    if (!plan) continue;  // auto
    const CountedShape shape{cluster.make_request(pod_set.requests),
                             std::nullopt,
                             plan->slice_level,
                             plan->slice_size,
                             plan->inner_size,
                             false};
    const auto filter = std::make_shared<NodeFilter>(
        cluster, tree,
        NodePredicates{pod_set.node_selector, pod_set.tolerations, pod_set.affinity});
    const DomainCounts counts(tree, shape, filter, filter);
    ASSERT_EQ(choice_text(counts, choose(counts, *plan)),
              choice_text(counts, choose_by_sorting(counts, *plan)))
        << as_case(problem) << " seed " << seed;
  }
}

TEST(PlacementProperty, PodsThatDoNotDivideIntoSlicesAreRefused) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    TinyProblem problem = Generator(seed).problem();
    PodSet& workers = *std::ranges::find(problem.workload.pod_sets, "workers", &PodSet::name);
    if (!workers.topology || workers.topology->constraints().empty()) continue;
    if (workers.topology->constraints()[0].size == 1) continue;
    workers.count += 1;
    const auto results = place_fresh(problem);
    const TinyUnit unit = units_of(problem.workload, results)[0];
    ASSERT_TRUE(unit.workers_result->failure) << as_case(problem) << " seed " << seed;
    ASSERT_NE(unit.workers_result->failure->find("do not divide into slices"), std::string::npos)
        << *unit.workers_result->failure;
  }
}

// ---- What the detours found, each as the smallest case that shows it.

const std::string kHost{api::kHostnameLabel};

class NodesThatWent : public ::testing::Test {
 protected:
  NodesThatWent() : tree_(cluster_.add_tree({"default", {"rack", kHost}, {}, {}})) {
    PodSet& pod_set = workload_.pod_sets.emplace_back();
    pod_set.name = "workers";
    pod_set.topology.emplace().required = "rack";
  }

  void put(const std::string& name, const std::string& rack, bool ready = true,
           const std::string& disk = "", int64_t pods = 1) {
    api::Node node;
    node.name = name;
    node.labels = {{"rack", rack}, {kHost, name}, {"disk", disk}};
    node.allocatable = {{"pods", pods}};
    node.ready = ready;
    if (disk == "broken") node.taints.push_back({"broken", "", "NoSchedule"});
    CHECK(cluster_.put_node(node).has_value());
    cluster_.tree(tree_);
  }

  std::string place() { return text_of(placer_.place(tree_, workload_, options_)); }

  topology::Cluster cluster_;
  TreeId tree_;
  Placer placer_{cluster_};
  Workload workload_;
  Options options_;
};

TEST_F(NodesThatWent, ComeBackWithTheirTaints) {
  put("h0", "r0", true, "broken");
  put("h0", "r0", false, "broken");
  EXPECT_EQ(place(), "workers: no: no topology domains at level: rack\n");
  put("h0", "r0", true, "broken");
  EXPECT_EQ(place(),
            "workers: no: topology \"default\" doesn't allow to fit any of 1 pod(s). Total nodes: "
            "1; excluded: taint \"broken:NoSchedule\": 1\n");
}

TEST_F(NodesThatWent, LeaveNoScoreBehind) {
  options_.preferred_node_affinity = true;
  workload_.pod_sets[0].affinity.preferred = {
      {1, {{{"disk", api::SelectorOperator::kIn, {"ssd"}}}, {}}}};
  put("h0", "r0");
  put("h1", "r0", true, "ssd");
  put("h2", "r0", true, "ssd");
  put("h3", "r1", true, "ssd");
  put("h1", "r0", false, "ssd");
  put("h2", "r0", false, "ssd");
  EXPECT_EQ(place(), "workers: h3=1\n");
}

TEST_F(NodesThatWent, AreNotInTheTextOfMultiLayerRequests) {
  workload_.pod_sets[0].count = 4;
  workload_.pod_sets[0].topology->slice_constraints = {{"rack", 4}, {kHost, 2}};
  put("h0", "r0");
  put("h1", "r1", true, "", 2);
  put("h0", "r0", false);
  EXPECT_EQ(place(),
            "workers: no: topology \"default\" doesn't allow to fit; 0/1 slice(s) fit on level "
            "rack; 1/2 slice(s) fit on level kubernetes.io/hostname\n");
}

TEST_F(NodesThatWent, AreNotInTheTextOfGroups) {
  workload_.pod_sets[0].count = 2;
  workload_.pod_sets[0].topology->group_name = "group";
  PodSet leader = workload_.pod_sets[0];
  leader.name = "leader";
  leader.count = 1;
  leader.requests["nvidia.com/gpu"] = 1;
  workload_.pod_sets.push_back(leader);
  put("h0", "r0");
  put("h1", "r1");
  put("h0", "r0", false);
  const std::string no = "no: topology \"default\" allows to fit only 1 out of 2 pod(s)\n";
  EXPECT_EQ(place(), "workers: " + no + "leader: " + no);
}

}  // namespace
}  // namespace phalanx::placement::testing
