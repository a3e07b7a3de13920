// What replacing failed nodes must keep, on thousands of tiny clusters, against a brute force
// (placement/testing.h). A failure prints its case in the conformance format.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "placement/placer.h"
#include "placement/testing.h"

namespace phalanx::placement::testing {
namespace {

// A workload of one pod set that was placed, and lost one to three of its nodes.
struct Loss {
  TinyProblem problem;
  std::set<std::string> failed;  // hostnames
  int32_t lost = 0;              // pods

  [[nodiscard]] const PodSet& pod_set() const { return problem.workload.pod_sets[0]; }
};

// How a node fails: it is gone, not ready, cordoned, or tainted and keeps nobody but tolerant pods.
// (Of a node that is gone nothing is known but its name; it is found only by that as hostname.)
void fail_node(Generator& generator, TinyCluster& cluster, const std::string& hostname) {
  const auto node = std::ranges::find_if(cluster.nodes, [&](const api::Node& candidate) {
    return candidate.labels.at(std::string(api::kHostnameLabel)) == hostname;
  });
  CHECK(node != cluster.nodes.end());
  switch (generator.below(node->name == hostname ? 4 : 3)) {
    case 3:
      cluster.nodes.erase(node);
      break;
    case 0:
      node->ready = false;
      break;
    case 1:
      node->unschedulable = true;
      break;
    default:
      node->taints.push_back({"node.kubernetes.io/unreachable", "", "NoExecute"});
  }
}

// Losses are of interest where there is something to lose: more room, more pods.
void make_roomy(Generator& generator, TinyCluster& cluster, PodSet& pod_set) {
  for (int number = static_cast<int>(cluster.nodes.size()); number < 5; ++number) {
    cluster.nodes.push_back(generator.node(cluster.spec, number));
  }
  for (api::Node& node : cluster.nodes) {
    node.allocatable = {{"cpu", 1000L * generator.below(7)}, {"nvidia.com/gpu", 8}, {"pods", 30}};
  }
  pod_set.requests = {{"cpu", 500L * generator.between(1, 2)}};
  const auto constraints =
      pod_set.topology ? pod_set.topology->constraints() : std::vector<api::SliceConstraint>();
  const int32_t size = constraints.empty() ? 1 : constraints[0].size;
  pod_set.count = size * generator.between(1, std::max(1, 9 / size));
}

// nullopt if the drawn workload did not fit in the first place.
std::optional<Loss> draw_loss(Generator& generator) {
  Loss loss;
  TinyProblem& problem = loss.problem;
  problem.cluster = generator.cluster();
  problem.options = generator.options();
  problem.options.simulate_empty = false;
  problem.workload.pod_sets.push_back(generator.pod_set(problem.cluster.spec, "workers"));
  PodSet& pod_set = problem.workload.pod_sets[0];
  if (pod_set.topology && (pod_set.topology->required == api::kAutoLevel ||
                           pod_set.topology->preferred == api::kAutoLevel)) {
    return std::nullopt;  // which domain was chosen is not on record
  }
  make_roomy(generator, problem.cluster, pod_set);
  const auto hosts = hosts_for(problem.cluster, pod_set, nullptr, false);
  const auto placed =
      draw_placement(hosts, rules_for(problem.cluster.spec, pod_set, nullptr), generator);
  if (!placed) return std::nullopt;

  pod_set.previous = {{std::string(api::kHostnameLabel)}, {}};
  for (size_t index = 0; index < hosts.size(); ++index) {
    if (placed->pods[index] == 0) continue;
    pod_set.previous->domains.push_back({{hosts[index].hostname}, placed->pods[index]});
  }
  TinyUsage own{"tiny", pod_set.requests, {}};
  for (const auto& domain : pod_set.previous->domains) {
    own.domains.push_back({domain.values, domain.count});
  }
  problem.cluster.usages.push_back(std::move(own));
  // Others come and make it narrow.
  if (generator.chance(30)) problem.cluster.pods.push_back(generator.pod(problem.cluster, 9));

  auto domains = pod_set.previous->domains;
  generator.shuffle(domains);
  domains.resize(std::min<size_t>(domains.size(), generator.between(1, 3)));
  for (const api::DomainAssignment& domain : domains) {
    const std::string& hostname = domain.values.back();
    loss.failed.insert(hostname);
    loss.lost += domain.count;
    fail_node(generator, problem.cluster, hostname);
    // Workloads name nodes, assignments hosts.
    const int number = hostname[1] - '0';
    problem.workload.unhealthy_nodes.push_back(number % 2 == 0 ? hostname : "node-" + hostname);
  }
  return loss;
}

// The hosts as the replacement finds them, with the pods that stay.
std::vector<Host> remaining_hosts(const Loss& loss) {
  std::vector<Host> hosts = hosts_for(loss.problem.cluster, loss.pod_set(), nullptr, false);
  for (const api::DomainAssignment& domain : loss.pod_set().previous->domains) {
    if (loss.failed.contains(domain.values.back())) continue;
    const auto host = std::ranges::find(hosts, domain.values.back(), &Host::hostname);
    CHECK(host != hosts.end());
    host->kept = domain.count;
  }
  return hosts;
}

size_t layers(const Loss& loss) {
  return loss.pod_set().topology ? loss.pod_set().topology->constraints().size() : 0;
}

// `may_refuse`: saying no is right although there is a way.
void check_replacement(const Loss& loss, const PodSetResult& result, bool may_refuse) {
  const std::vector<Host> hosts = remaining_hosts(loss);
  Rules rules = rules_for(loss.problem.cluster.spec, loss.pod_set(), nullptr);
  rules.count = loss.lost;
  if (!result.assignment) {
    ASSERT_TRUE(result.failure);
    EXPECT_TRUE(may_refuse || !can_be_placed(hosts, rules));
    return;
  }
  const auto all = pods_by_host(hosts, *result.assignment);
  ASSERT_TRUE(all) << "a host that takes no part was used";
  Distribution added{*all, std::nullopt};
  for (size_t index = 0; index < hosts.size(); ++index) {
    added.pods[index] -= hosts[index].kept;
    ASSERT_GE(added.pods[index], 0) << "a pod was moved away from " << hosts[index].hostname;
  }
  EXPECT_EQ(broken_rule(hosts, rules, added), "");
}

// With one failed node the reference's rule holds, which keeps all lost pods together where their
// slice is and says no more often than it would have to.
TEST(ReplacementProperty, LosesNoPodAndBreaksNoRule) {
  int replaced = 0;
  int refused = 0;
  for (uint64_t seed = 1; seed <= 20000; ++seed) {
    Generator generator(seed);
    const auto loss = draw_loss(generator);
    if (!loss) continue;
    const auto results = place_fresh(loss->problem);
    SCOPED_TRACE(as_case(loss->problem) + "\n" + text_of(results));
    check_replacement(*loss, results[0], /*may_refuse=*/loss->failed.size() == 1);
    ++(results[0].assignment ? replaced : refused);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(replaced, 2000);
  EXPECT_GT(refused, 1000);
}

// Three layers are where the reference's rule breaks slices (reference/placement.md 12.3), so there
// is no reason to follow it into a "no".
TEST(ReplacementProperty, ThreeLayersAreRefusedOnlyIfBruteForceAgrees) {
  for (uint64_t seed = 1; seed <= 60000; ++seed) {
    Generator generator(seed);
    const auto loss = draw_loss(generator);
    if (!loss || loss->failed.size() > 1 || layers(*loss) < 3) continue;
    const auto results = place_fresh(loss->problem);
    SCOPED_TRACE(as_case(loss->problem) + "\n" + text_of(results));
    check_replacement(*loss, results[0], /*may_refuse=*/false);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

// ---- What the search above found, each as the smallest case that shows it.

api::Node host(const std::string& name, const std::string& block, const std::string& rack,
               int64_t pods) {
  api::Node node;
  node.name = name;
  node.labels = {{"block", block}, {"rack", rack}, {std::string(api::kHostnameLabel), name}};
  node.allocatable = {{"pods", pods}};
  return node;
}

// The pod set of a workload that has its pods on the given hosts, charged to the cluster.
TinyProblem running(std::vector<api::Node> nodes, api::TopologyRequest request,
                    const std::vector<std::pair<std::string, int32_t>>& pods) {
  TinyProblem problem;
  problem.cluster.spec.levels = {"block", "rack", std::string(api::kHostnameLabel)};
  problem.cluster.nodes = std::move(nodes);
  PodSet pod_set;
  pod_set.name = "workers";
  pod_set.count = 0;
  pod_set.topology = std::move(request);
  pod_set.previous = {{std::string(api::kHostnameLabel)}, {}};
  TinyUsage own{"tiny", {}, {}};
  for (const auto& [name, count] : pods) {
    pod_set.count += count;
    pod_set.previous->domains.push_back({{name}, count});
    own.domains.push_back({{name}, count});
  }
  problem.cluster.usages.push_back(std::move(own));
  problem.workload.pod_sets.push_back(std::move(pod_set));
  return problem;
}

// The block keeps a multiple of its slice size, but two racks in it do not.
TEST(Replacement, InnerSlicesAreMadeWholeWhereTheOuterOnesAre) {
  api::TopologyRequest request;
  request.slice_constraints = {{"block", 4}, {"rack", 2}};
  TinyProblem problem =
      running({host("h1", "b1", "r1", 4), host("h2", "b1", "r1", 4), host("h3", "b1", "r2", 4),
               host("h4", "b1", "r2", 4), host("h5", "b1", "r3", 4), host("h6", "b0", "r1", 4)},
              request, {{"h1", 1}, {"h2", 1}, {"h3", 1}, {"h4", 3}, {"h5", 2}});
  problem.cluster.nodes[1].ready = false;
  problem.cluster.nodes[3].ready = false;
  problem.workload.unhealthy_nodes = {"h2", "h4"};
  const auto results = place_fresh(problem);
  ASSERT_TRUE(results[0].assignment) << text_of(results);
  // One pod back into each of the racks r1 and r2, and two more where they fit.
  std::map<std::string, int32_t> racks;
  for (const auto& domain : results[0].assignment->domains) {
    const auto node =
        std::ranges::find(problem.cluster.nodes, domain.values.back(), &api::Node::name);
    racks[node->labels["block"] + "/" + node->labels["rack"]] += domain.count;
  }
  for (const auto& [rack, count] : racks)
    EXPECT_EQ(count % 2, 0) << rack << "\n" << text_of(results);
}

TEST(Replacement, AutoLevelsKnowTheSlicesThatBroke) {
  for (const bool required : {true, false}) {
    api::TopologyRequest request;
    (required ? request.required : request.preferred) = std::string(api::kAutoLevel);
    request.slice_constraints = {{"rack", 4}};
    TinyProblem problem =
        running({host("h1", "b1", "r1", 4), host("h2", "b1", "r1", 4), host("h3", "b1", "r1", 4)},
                request, {{"h1", 2}, {"h2", 2}});
    problem.cluster.nodes[1].ready = false;
    problem.workload.unhealthy_nodes = {"h2"};
    const auto results = place_fresh(problem);
    EXPECT_TRUE(results[0].assignment) << text_of(results);
  }
}

// The pods that stay say where "one domain" is.
TEST(Replacement, RequiredAutoStaysInItsDomain) {
  api::TopologyRequest request;
  request.required = std::string(api::kAutoLevel);
  TinyProblem problem = running({host("h1", "b1", "r1", 2), host("h2", "b1", "r1", 2),
                                 host("h3", "b1", "r1", 2), host("h4", "b0", "r0", 2)},
                                request, {{"h1", 2}, {"h2", 2}});
  problem.cluster.nodes[1].ready = false;
  problem.workload.unhealthy_nodes = {"h2"};
  EXPECT_EQ(text_of(place_fresh(problem)), "workers: h1=2 h3=2\n");
}

// A Node object that was deleted is still named by the workload, by a name that is not its
// hostname.
TEST(Replacement, ADeletedNodeIsFoundByItsName) {
  api::TopologyRequest request;
  request.unconstrained = true;
  TinyProblem problem =
      running({host("h1", "b1", "r1", 2), host("h2", "b1", "r1", 2)}, request, {{"h1", 1}});
  problem.cluster.nodes[0].name = "ip-10-0-0-1";
  topology::Cluster cluster;
  const TreeId tree = load(problem.cluster, cluster);
  cluster.remove_node("ip-10-0-0-1");
  problem.workload.unhealthy_nodes = {"ip-10-0-0-1"};
  EXPECT_EQ(text_of(Placer(cluster).place(tree, problem.workload, problem.options)),
            "workers: h2=1\n");
}

}  // namespace
}  // namespace phalanx::placement::testing
