#include "cli/conformance_case.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "placement/placer.h"

namespace phalanx::cli {
namespace {

constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

api::TopologyAssignment read_assignment(const JsonReader& reader) {
  reader.allow_only({"levels", "domains"});
  api::TopologyAssignment assignment;
  assignment.levels = reader.strings("levels");
  reader.each("domains", [&](const json::value& value, const std::string& path) {
    const JsonReader domain(&value, path, reader.status());
    domain.allow_only({"values", "count"});
    assignment.domains.push_back(
        {domain.strings("values"), static_cast<int32_t>(domain.integer("count", 0, 0, kMaxCount))});
    if (assignment.domains.back().values.size() != assignment.levels.size() ||
        assignment.levels.empty()) {
      domain.report("values", "must hold one value for each of the levels");
    }
  });
  return assignment;
}

void read_topology(const JsonReader& root, topology::TreeSpec& spec) {
  const JsonReader topology = root.object("topology");
  if (!topology.present()) root.report("topology", "is required");
  topology.allow_only({"name", "levels"});
  spec.name = topology.string("name", "default");
  spec.levels = topology.strings("levels");
  if (spec.levels.empty() || spec.levels.size() > 16) {
    topology.report("levels",
                    fmt::format("holds {} level keys, but must hold 1 to 16", spec.levels.size()));
  }
  if (std::set<std::string>(spec.levels.begin(), spec.levels.end()).size() != spec.levels.size()) {
    topology.report("levels", "names a level twice");
  }
  const JsonReader flavor = root.object("resourceFlavor");
  flavor.allow_only({"nodeLabels", "tolerations"});
  for (const auto& label : flavor.string_map("nodeLabels")) spec.node_labels.push_back(label);
  spec.tolerations = api::read_tolerations(flavor, "tolerations");
}

api::Node read_case_node(const JsonReader& reader) {
  reader.allow_only({"name", "labels", "allocatable", "taints", "unschedulable", "ready"});
  return {reader.string("name"),
          reader.string_map("labels"),
          api::read_resources(reader, "allocatable"),
          api::read_taints(reader, "taints"),
          reader.boolean("unschedulable", false),
          reader.boolean("ready", true)};
}

void read_admitted(const JsonReader& workload, std::vector<AdmittedPodSet>& admitted) {
  workload.allow_only({"name", "podSets"});
  const std::string name = workload.string("name");
  workload.each("podSets", [&](const json::value& value, const std::string& path) {
    const JsonReader pod_set(&value, path, workload.status());
    pod_set.allow_only({"name", "requests", "topologyAssignment"});
    admitted.push_back({name, api::read_resources(pod_set, "requests"),
                        read_assignment(pod_set.object("topologyAssignment"))});
  });
}

placement::PodSet read_pod_set(const JsonReader& reader) {
  reader.allow_only({"name", "count", "requests", "nodeSelector", "tolerations", "nodeAffinity",
                     "topologyRequest", "previousAssignment"});
  placement::PodSet pod_set;
  pod_set.name = reader.required_string("name");
  pod_set.count = static_cast<int32_t>(reader.integer("count", 1, 1, kMaxCount));
  pod_set.requests = api::read_resources(reader, "requests");
  pod_set.node_selector = reader.string_map("nodeSelector");
  pod_set.tolerations = api::read_tolerations(reader, "tolerations");
  pod_set.affinity = api::read_node_affinity(reader.object("nodeAffinity"));
  if (reader.has("topologyRequest")) {
    pod_set.topology = api::read_topology_request(reader.object("topologyRequest"));
  }
  if (reader.has("previousAssignment")) {
    pod_set.previous = read_assignment(reader.object("previousAssignment"));
  }
  return pod_set;
}

void read_workload(const JsonReader& root, placement::Workload& workload) {
  const JsonReader reader = root.object("workload");
  if (!reader.present()) root.report("workload", "is required");
  reader.allow_only({"podSets", "unhealthyNodes", "ownedBySinglePod"});
  workload.unhealthy_nodes = reader.strings("unhealthyNodes");
  workload.owned_by_single_pod = reader.boolean("ownedBySinglePod", false);
  std::set<std::string> names;
  reader.each("podSets", [&](const json::value& value, const std::string& path) {
    const JsonReader pod_set(&value, path, root.status());
    workload.pod_sets.push_back(read_pod_set(pod_set));
    if (!names.insert(workload.pod_sets.back().name).second) {
      pod_set.report("name", "stands twice in the workload");
    }
  });
  if (workload.pod_sets.empty()) reader.report("podSets", "must hold at least one pod set");
}

placement::Options read_options(const JsonReader& reader) {
  reader.allow_only({"profile", "balancedPlacement", "preferredNodeAffinity", "elasticResize",
                     "simulateEmpty", "keepSinglePodOwnerAssignment", "jointPodSets"});
  placement::Options options;
  const std::string profile = reader.string("profile", "Mixed");
  if (profile != "Mixed" && profile != "BestFit") {
    reader.report("profile", fmt::format("\"{}\" is not Mixed or BestFit", profile));
  }
  if (profile == "BestFit") options.profile = placement::Profile::kBestFit;
  options.balanced = reader.boolean("balancedPlacement", false);
  options.preferred_node_affinity = reader.boolean("preferredNodeAffinity", false);
  options.elastic_resize = reader.boolean("elasticResize", false);
  options.simulate_empty = reader.boolean("simulateEmpty", false);
  options.joint_pod_sets = reader.boolean("jointPodSets", false);
  options.keep_single_pod_owner_assignment = reader.boolean("keepSinglePodOwnerAssignment", true);
  return options;
}

// Brings an expected result into the form of results_json, whatever the order of its fields.
json::value read_expected_results(const JsonReader& reader) {
  std::vector<placement::PodSetResult> results;
  reader.allow_only({"podSets"});
  reader.each("podSets", [&](const json::value& value, const std::string& path) {
    const JsonReader result(&value, path, reader.status());
    result.allow_only({"name", "topologyAssignment", "failure", "notEvaluated"});
    placement::PodSetResult read;
    read.name = result.required_string("name");
    if (result.has("topologyAssignment")) {
      read.assignment = read_assignment(result.object("topologyAssignment"));
    }
    read.failure = result.optional_string("failure");
    if (!read.assignment && !read.failure && !result.boolean("notEvaluated", false)) {
      result.report("name", "has neither topologyAssignment nor failure nor notEvaluated");
    }
    results.push_back(std::move(read));
  });
  return results_json(results);
}

void read_expected(const JsonReader& root, std::vector<json::value>& expected) {
  if (!root.has("expected")) return;
  const JsonReader reader = root.object("expected");
  reader.allow_only({"podSets", "anyOf"});
  if (!reader.has("anyOf")) {
    expected.push_back(read_expected_results(reader));
    return;
  }
  reader.each("anyOf", [&](const json::value& value, const std::string& path) {
    expected.push_back(read_expected_results(JsonReader(&value, path, root.status())));
  });
}

}  // namespace

Result<ConformanceCase> read_case(std::string_view line) {
  ASSIGN_OR_RETURN(const json::value document, parse_json(line));
  DecodeStatus status;
  const JsonReader root(&document, "", status);
  root.allow_only({"name", "tags", "source", "comment", "topology", "resourceFlavor", "nodes",
                   "pods", "admittedWorkloads", "workload", "options", "expected"});
  ConformanceCase result;
  result.name = root.required_string("name");
  read_topology(root, result.tree);
  if (!root.has("nodes")) root.report("nodes", "is required");
  std::set<std::string> names;
  root.each("nodes", [&](const json::value& value, const std::string& path) {
    const JsonReader node(&value, path, status);
    result.nodes.push_back(read_case_node(node));
    if (!names.insert(result.nodes.back().name).second) {
      node.report("name", fmt::format("node \"{}\" stands twice; remove one of them",
                                      result.nodes.back().name));
    }
  });
  root.each("pods", [&](const json::value& value, const std::string& path) {
    const JsonReader pod(&value, path, status);
    pod.allow_only({"name", "namespace", "nodeName", "phase", "requests"});
    result.pods.push_back(
        {pod.string("nodeName"), pod.string("phase"), api::read_resources(pod, "requests")});
  });
  root.each("admittedWorkloads", [&](const json::value& value, const std::string& path) {
    read_admitted(JsonReader(&value, path, status), result.admitted);
  });
  read_workload(root, result.workload);
  result.options = read_options(root.object("options"));
  read_expected(root, result.expected);
  if (status.error()) {
    if (result.name.empty()) return std::unexpected(*status.error());
    return within("case " + result.name, *status.error());
  }
  return result;
}

Result<std::vector<placement::PodSetResult>> answer(const ConformanceCase& input) {
  topology::Cluster cluster;
  for (const api::Node& node : input.nodes) {
    // A node that lacks a level or is not ready takes part in nothing, a doubtful hostname
    // included.
    RETURN_IF_ERROR(cluster.put_node(node));
  }
  const TreeId tree = cluster.add_tree(input.tree);
  size_t number = 0;
  for (const OtherPod& pod : input.pods) {
    const bool gone = pod.phase == "Succeeded" || pod.phase == "Failed";
    if (!pod.node_name.empty() && !gone) {
      cluster.put_pod(std::to_string(number++), pod.node_name, pod.requests);
    }
  }
  for (const AdmittedPodSet& admitted : input.admitted) {
    std::vector<topology::DomainUsage> usage;
    for (const auto& domain : admitted.assignment.domains) {
      usage.push_back({domain.values, domain.count});
    }
    cluster.add_usage(admitted.workload, tree, cluster.make_request(admitted.requests), usage);
  }
  return placement::Placer(cluster).place(tree, input.workload, input.options);
}

json::value assignment_json(const api::TopologyAssignment& assignment) {
  json::array levels(assignment.levels.begin(), assignment.levels.end());
  json::array domains;
  for (const api::DomainAssignment& domain : assignment.domains) {
    domains.push_back(
        json::object{{"values", json::array(domain.values.begin(), domain.values.end())},
                     {"count", domain.count}});
  }
  return json::object{{"levels", std::move(levels)}, {"domains", std::move(domains)}};
}

json::value results_json(const std::vector<placement::PodSetResult>& results) {
  json::array list;
  for (const placement::PodSetResult& result : results) {
    json::object entry{{"name", result.name}};
    if (result.assignment) {
      entry["topologyAssignment"] = assignment_json(*result.assignment);
    } else if (result.failure) {
      entry["failure"] = *result.failure;
    } else {
      entry["notEvaluated"] = true;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace phalanx::cli
