// Making tiny problems, loading and printing them; the brute force is in brute_force_test.cc.
#include <algorithm>

#include "base/check.h"
#include "base/quantity.h"
#include "placement/placer.h"
#include "placement/testing.h"

namespace phalanx::placement::testing {
namespace {

const std::vector<std::string>& level_keys() {
  static const std::vector<std::string> kKeys = {"zone", "block", "rack",
                                                 std::string(api::kHostnameLabel)};
  return kKeys;
}

json::object amounts_json(const api::ResourceAmounts& amounts) {
  json::object object;
  for (const auto& [name, amount] : amounts) object[name] = format_amount(name, amount);
  return object;
}

template <typename Pairs>
json::object map_json(const Pairs& pairs) {
  json::object object;
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

json::array tolerations_json(const std::vector<api::Toleration>& tolerations) {
  json::array list;
  for (const api::Toleration& toleration : tolerations) {
    json::object object{{"key", toleration.key},
                        {"operator", toleration.exists ? "Exists" : "Equal"}};
    if (!toleration.value.empty()) object["value"] = toleration.value;
    if (!toleration.effect.empty()) object["effect"] = toleration.effect;
    list.push_back(std::move(object));
  }
  return list;
}

json::object term_json(const api::NodeSelectorTerm& term) {
  static const std::map<api::SelectorOperator, const char*> kNames = {
      {api::SelectorOperator::kIn, "In"},
      {api::SelectorOperator::kNotIn, "NotIn"},
      {api::SelectorOperator::kExists, "Exists"},
      {api::SelectorOperator::kDoesNotExist, "DoesNotExist"}};
  json::array expressions;
  for (const auto& expression : term.expressions) {
    json::object object{{"key", expression.key}, {"operator", kNames.at(expression.op)}};
    if (!expression.values.empty()) {
      object["values"] = json::array(expression.values.begin(), expression.values.end());
    }
    expressions.push_back(std::move(object));
  }
  return {{"matchExpressions", std::move(expressions)}};
}

json::object affinity_json(const api::NodeAffinity& affinity) {
  json::object object;
  if (affinity.required) {
    json::array terms;
    for (const auto& term : *affinity.required) terms.push_back(term_json(term));
    object["requiredDuringSchedulingIgnoredDuringExecution"] =
        json::object{{"nodeSelectorTerms", std::move(terms)}};
  }
  json::array preferred;
  for (const auto& [weight, term] : affinity.preferred) {
    preferred.push_back(json::object{{"weight", weight}, {"preference", term_json(term)}});
  }
  if (!preferred.empty()) {
    object["preferredDuringSchedulingIgnoredDuringExecution"] = std::move(preferred);
  }
  return object;
}

json::object assignment_json(const std::vector<std::string>& levels, const auto& domains) {
  json::array list;
  for (const auto& domain : domains) {
    list.push_back(json::object{{"values", json::array(domain.values.begin(), domain.values.end())},
                                {"count", domain.count}});
  }
  return {{"levels", json::array(levels.begin(), levels.end())}, {"domains", std::move(list)}};
}

json::object request_json(const api::TopologyRequest& request) {
  json::object object;
  if (request.required) object["required"] = *request.required;
  if (request.preferred) object["preferred"] = *request.preferred;
  if (request.unconstrained) object["unconstrained"] = true;
  if (request.slice_required_topology) {
    object["podSetSliceRequiredTopology"] = *request.slice_required_topology;
  }
  if (request.slice_size) object["podSetSliceSize"] = *request.slice_size;
  json::array layers;
  for (const auto& [topology, size] : request.slice_constraints) {
    layers.push_back(json::object{{"topology", topology}, {"size", size}});
  }
  if (!layers.empty()) object["podsetSliceRequiredTopologyConstraints"] = std::move(layers);
  if (request.group_name) object["podSetGroupName"] = *request.group_name;
  return object;
}

json::object pod_set_json(const PodSet& pod_set) {
  json::object object{{"name", pod_set.name},
                      {"count", pod_set.count},
                      {"requests", amounts_json(pod_set.requests)}};
  if (!pod_set.node_selector.empty()) object["nodeSelector"] = map_json(pod_set.node_selector);
  if (!pod_set.tolerations.empty()) object["tolerations"] = tolerations_json(pod_set.tolerations);
  if (!pod_set.affinity.empty()) object["nodeAffinity"] = affinity_json(pod_set.affinity);
  if (pod_set.topology) object["topologyRequest"] = request_json(*pod_set.topology);
  if (pod_set.previous) {
    object["previousAssignment"] =
        assignment_json(pod_set.previous->levels, pod_set.previous->domains);
  }
  return object;
}

json::object node_json(const api::Node& node) {
  json::object object{{"name", node.name},
                      {"labels", map_json(node.labels)},
                      {"allocatable", amounts_json(node.allocatable)}};
  json::array taints;
  for (const api::Taint& taint : node.taints) {
    taints.push_back(
        json::object{{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  if (!taints.empty()) object["taints"] = std::move(taints);
  if (!node.ready) object["ready"] = false;
  if (node.unschedulable) object["unschedulable"] = true;
  return object;
}

json::object options_json(const Options& options) {
  return {{"profile", options.profile == Profile::kMixed ? "Mixed" : "BestFit"},
          {"balancedPlacement", options.balanced},
          {"preferredNodeAffinity", options.preferred_node_affinity},
          {"simulateEmpty", options.simulate_empty}};
}

json::array usages_json(const std::vector<TinyUsage>& usages) {
  const std::vector<std::string> host{std::string(api::kHostnameLabel)};
  json::array list;
  for (const TinyUsage& usage : usages) {
    json::object pod_set{{"requests", amounts_json(usage.requests)},
                         {"topologyAssignment", assignment_json(host, usage.domains)}};
    list.push_back(json::object{{"name", usage.workload}, {"podSets", json::array{pod_set}}});
  }
  return list;
}

}  // namespace

std::string as_case(const TinyProblem& problem) {
  const auto& [spec, nodes, pods, usages] = problem.cluster;
  json::array node_list;
  for (const api::Node& node : nodes) node_list.push_back(node_json(node));
  json::array pod_list;
  for (const TinyPod& pod : pods) {
    pod_list.push_back(
        json::object{{"nodeName", pod.node}, {"requests", amounts_json(pod.requests)}});
  }
  json::array pod_sets;
  for (const PodSet& pod_set : problem.workload.pod_sets) pod_sets.push_back(pod_set_json(pod_set));
  json::object workload{{"podSets", std::move(pod_sets)}};
  const auto& failed = problem.workload.unhealthy_nodes;
  if (!failed.empty()) workload["unhealthyNodes"] = json::array(failed.begin(), failed.end());
  const json::object document{
      {"name", "tiny"},
      {"topology", {{"levels", json::array(spec.levels.begin(), spec.levels.end())}}},
      {"resourceFlavor",
       {{"nodeLabels", map_json(spec.node_labels)},
        {"tolerations", tolerations_json(spec.tolerations)}}},
      {"nodes", std::move(node_list)},
      {"pods", std::move(pod_list)},
      {"admittedWorkloads", usages_json(usages)},
      {"workload", std::move(workload)},
      {"options", options_json(problem.options)}};
  return json::serialize(document);
}

TreeId load(const TinyCluster& tiny, topology::Cluster& cluster) {
  const TreeId tree = cluster.add_tree(tiny.spec);
  for (const api::Node& node : tiny.nodes) CHECK(cluster.put_node(node).has_value());
  for (const TinyPod& pod : tiny.pods) cluster.put_pod(pod.key, pod.node, pod.requests);
  for (const TinyUsage& usage : tiny.usages) {
    cluster.add_usage(usage.workload, tree, cluster.make_request(usage.requests), usage.domains);
  }
  return tree;
}

std::vector<PodSetResult> place_fresh(const TinyProblem& problem) {
  topology::Cluster cluster;
  const TreeId tree = load(problem.cluster, cluster);
  return Placer(cluster).place(tree, problem.workload, problem.options);
}

std::string text_of(const std::vector<PodSetResult>& results) {
  std::string text;
  for (const PodSetResult& result : results) {
    text += result.name + ":";
    if (result.failure) text += " no: " + *result.failure;
    if (result.assignment) {
      for (const api::DomainAssignment& domain : result.assignment->domains) {
        text += " " + domain.values.back() + "=" + std::to_string(domain.count);
      }
    }
    text += "\n";
  }
  return text;
}

TinyCluster Generator::cluster() {
  TinyCluster cluster;
  const int levels = between(2, 4);
  cluster.spec.levels.assign(level_keys().end() - levels, level_keys().end());
  if (chance(15)) cluster.spec.node_labels = {{"pool", "a"}};
  if (chance(10)) cluster.spec.tolerations = {{"maintenance", true, "", ""}};
  const int nodes = between(1, 6);
  for (int number = 0; number < nodes; ++number) {
    cluster.nodes.push_back(node(cluster.spec, number));
  }
  for (int number = below(3); number > 0; --number) cluster.pods.push_back(pod(cluster, number));
  for (int number = below(3); number > 0; --number) {
    cluster.usages.push_back(usage(cluster, number));
  }
  shuffle(cluster.nodes);
  return cluster;
}

api::Node Generator::node(const topology::TreeSpec& spec, int number) {
  api::Node node;
  const std::string hostname = "h" + std::to_string(number);
  node.name = number % 2 == 0 ? hostname : "node-" + hostname;
  // Few values, and the same in every parent.
  for (const std::string& key : spec.levels) {
    if (chance(98)) node.labels[key] = key.substr(0, 1) + std::to_string(below(2));
  }
  node.labels[std::string(api::kHostnameLabel)] = hostname;
  if (chance(90)) node.labels["pool"] = "a";
  if (chance(70)) node.labels["disk"] = chance(50) ? "ssd" : "hdd";
  node.allocatable["cpu"] = 1000L * below(5);
  if (chance(90)) node.allocatable["nvidia.com/gpu"] = below(5);
  node.allocatable["pods"] = chance(15) ? below(4) : 30;
  if (chance(10)) node.taints.push_back({"maintenance", "", "NoSchedule"});
  if (chance(10)) node.taints.push_back({"team", chance(50) ? "a" : "b", "NoExecute"});
  if (chance(5)) node.taints.push_back({"team", "a", "PreferNoSchedule"});
  node.ready = !chance(5);
  node.unschedulable = chance(3);
  return node;
}

TinyPod Generator::pod(const TinyCluster& cluster, int number) {
  return {"pod-" + std::to_string(number), any_of(cluster.nodes).name, {{"cpu", 500L * below(4)}}};
}

TinyUsage Generator::usage(const TinyCluster& cluster, int number) {
  TinyUsage usage{"workload-" + std::to_string(number), {{"cpu", 1000L * below(2)}}, {}};
  if (chance(50)) usage.requests["nvidia.com/gpu"] = 1;
  for (const api::Node& node : cluster.nodes) {
    if (!chance(30)) continue;
    usage.domains.push_back({{node.labels.at(std::string(api::kHostnameLabel))}, between(1, 2)});
  }
  return usage;
}

void Generator::draw_filters(PodSet& pod_set) {
  if (chance(12)) pod_set.node_selector["disk"] = chance(50) ? "ssd" : "hdd";
  if (chance(15)) pod_set.tolerations.push_back({"maintenance", true, "", "NoSchedule"});
  if (chance(15)) pod_set.tolerations.push_back({"team", false, "a", ""});
  using enum api::SelectorOperator;
  if (chance(10)) {
    auto& terms = pod_set.affinity.required.emplace();
    terms.push_back({{{"disk", chance(50) ? kNotIn : kIn, {"hdd"}}}, {}});
    if (chance(20)) terms.push_back({});
  }
  for (int terms = chance(40) ? between(1, 2) : 0; terms > 0; --terms) {
    const api::NodeSelectorRequirement wish =
        chance(50) ? api::NodeSelectorRequirement{"disk", chance(50) ? kIn : kNotIn, {"ssd"}}
                   : api::NodeSelectorRequirement{"rack", chance(50) ? kExists : kIn, {}};
    pod_set.affinity.preferred.push_back({between(1, 3), {{wish}, {}}});
    if (wish.op == kIn && wish.values.empty()) {
      pod_set.affinity.preferred.back().term.expressions[0].values = {"r1"};
    }
  }
}

// The slice layers come first: the level asked for must not be below the outermost of them.
api::TopologyRequest Generator::request(const topology::TreeSpec& spec) {
  const int lowest = static_cast<int>(spec.levels.size()) - 1;
  api::TopologyRequest request;
  int deepest = lowest;
  const int layers = chance(45) ? 0 : between(1, 3);
  std::vector<int> levels;
  for (int level = 0; level <= lowest; ++level) levels.push_back(level);
  shuffle(levels);
  levels.resize(std::min<size_t>(levels.size(), layers));
  std::ranges::sort(levels);
  int32_t size = 1;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    size *= between(1, size >= 4 ? 1 : size == 1 ? 3 : 2);
    request.slice_constraints.insert(request.slice_constraints.begin(),
                                     {spec.levels[*level], size});
    deepest = *level;
  }
  if (request.slice_constraints.size() == 1 && chance(50)) {
    request.slice_required_topology = request.slice_constraints[0].topology;
    request.slice_size = request.slice_constraints[0].size;
    request.slice_constraints.clear();
  }
  const auto level = [&] {
    return chance(10) ? std::string(api::kAutoLevel) : spec.levels[between(0, deepest)];
  };
  switch (below(6)) {
    case 0:
    case 1:
      request.required = level();
      break;
    case 2:
    case 3:
    case 4:
      request.preferred = level();
      break;
    default:  // slice-only, or anywhere
      request.unconstrained = levels.empty() || (deepest == lowest && chance(50));
  }
  return request;
}

PodSet Generator::pod_set(const topology::TreeSpec& spec, const std::string& name) {
  PodSet pod_set;
  pod_set.name = name;
  if (chance(85)) pod_set.requests["cpu"] = 500L * below(5);
  if (chance(40)) pod_set.requests["nvidia.com/gpu"] = below(3);
  draw_filters(pod_set);
  int32_t size = 1;
  if (chance(92)) {
    pod_set.topology = request(spec);
    const auto constraints = pod_set.topology->constraints();
    if (!constraints.empty()) size = constraints[0].size;
  }
  pod_set.count = size * between(1, std::max(1, 7 / size));
  return pod_set;
}

Workload Generator::workload(const topology::TreeSpec& spec) {
  Workload workload;
  workload.name = "tiny";
  workload.pod_sets.push_back(pod_set(spec, "workers"));
  if (chance(40)) {
    PodSet& workers = workload.pod_sets[0];
    if (!workers.topology) {
      workers.topology.emplace();
      workers.topology->unconstrained = true;
    }
    workers.topology->group_name = "group";
    PodSet leader;
    leader.name = "leader";
    leader.requests["cpu"] = 500L * below(6);
    if (chance(30)) leader.requests["nvidia.com/gpu"] = 1;
    if (chance(40)) {
      draw_filters(leader);
    } else {
      leader.tolerations = workers.tolerations;
    }
    leader.topology = workers.topology;
    // At one pod each the first is the workers.
    if (workers.count == 1 || chance(50)) {
      workload.pod_sets.push_back(std::move(leader));
    } else {
      workload.pod_sets.insert(workload.pod_sets.begin(), std::move(leader));
    }
  }
  if (chance(20)) workload.pod_sets.push_back(pod_set(spec, "more"));
  return workload;
}

Options Generator::options() {
  Options options;
  options.profile = chance(50) ? Profile::kMixed : Profile::kBestFit;
  options.balanced = chance(40);
  options.preferred_node_affinity = chance(40);
  options.simulate_empty = chance(10);
  return options;
}

TinyProblem Generator::problem() {
  TinyProblem problem;
  problem.cluster = cluster();
  problem.workload = workload(problem.cluster.spec);
  problem.options = options();
  return problem;
}

}  // namespace phalanx::placement::testing
