#include "placement/gang_file.h"

#include <fmt/format.h>

#include <limits>

namespace phalanx::placement {
namespace {

constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();
constexpr int kMaxDepth = 16;

std::optional<int32_t> optional_count(const JsonReader& reader, std::string_view field) {
  const auto value = reader.optional_integer(field, 0, kMaxCount);
  if (!value) return std::nullopt;
  return static_cast<int32_t>(*value);
}

GangPods read_pods(const JsonReader& reader) {
  reader.allow_only({"count", "min", "requests", "nodeSelector", "tolerations", "nodeAffinity",
                     "slices", "running"});
  GangPods pods;
  pods.count = optional_count(reader, "count").value_or(1);
  pods.minimum = optional_count(reader, "min");
  pods.requests = api::read_resources(reader, "requests");
  pods.node_selector = reader.string_map("nodeSelector");
  pods.tolerations = api::read_tolerations(reader, "tolerations");
  pods.affinity = api::read_node_affinity(reader.object("nodeAffinity"));
  reader.each("slices", [&](const json::value& value, const std::string& path) {
    const JsonReader layer(&value, path, reader.status());
    layer.allow_only({"topology", "size"});
    pods.slices.push_back({layer.required_string("topology"),
                           static_cast<int32_t>(layer.integer("size", 0, 1, kMaxCount))});
  });
  const JsonReader running = reader.object("running");
  if (running.present()) {
    for (const auto& field : reader.find("running")->get_object()) {
      pods.running[std::string(field.key())] =
          static_cast<int32_t>(running.integer(field.key(), 0, 0, kMaxCount));
    }
  }
  return pods;
}

GangGroup read_group(const JsonReader& reader, bool root, int depth) {
  reader.allow_only(
      {"name", "topology", "required", "preferred", "minChildren", "minPods", "groups", "pods"});
  GangGroup group;
  if (depth > kMaxDepth) {
    reader.report("groups", fmt::format("nested deeper than {} levels", kMaxDepth));
    return group;
  }
  if (root && reader.has("name")) reader.report("name", "the root is named by metadata.name");
  if (!root) group.name = reader.required_string("name");
  if (group.name.find('/') != std::string::npos) {
    reader.report("name",
                  "contains a /, which separates the names of a path; use another character");
  }
  group.topology = reader.string("topology");
  group.required = reader.optional_string("required");
  group.preferred = reader.optional_string("preferred");
  group.min_children = optional_count(reader, "minChildren");
  group.min_pods = optional_count(reader, "minPods");
  if (reader.has("pods")) group.pods = read_pods(reader.object("pods"));
  reader.each("groups", [&](const json::value& value, const std::string& path) {
    group.children.push_back(
        read_group(JsonReader(&value, path, reader.status()), false, depth + 1));
  });
  if (group.pods && !group.children.empty()) {
    reader.report("pods", "a group has either pods or groups");
  }
  if (!group.pods && group.children.empty()) {
    reader.report("groups", "a group needs pods or groups");
  }
  if (group.pods && group.min_children) {
    reader.report("minChildren", "is for groups with groups; a minimum of pods is pods.min");
  }
  return group;
}

}  // namespace

Result<Gang> read_gang(const json::value& document) {
  DecodeStatus status;
  const JsonReader root(&document, "", status);
  root.allow_only({"apiVersion", "kind", "metadata", "spec"});
  Gang gang;
  gang.name = root.object("metadata").required_string("name");
  if (!root.has("spec")) root.report("spec", "is required");
  gang.root = read_group(root.object("spec"), true, 0);
  if (status.error()) return std::unexpected(*status.error());
  return gang;
}

json::value gang_result_json(const Gang& gang, const GangResult& result) {
  json::object document{{"name", gang.name},
                        {"placed", result.placed},
                        {"complete", result.complete},
                        {"steps", result.steps}};
  if (!result.placed) {
    document["failure"] = result.failure;
    document["proven"] = result.proven;
    return document;
  }
  if (!result.remarks.empty()) {
    document["remarks"] = json::array(result.remarks.begin(), result.remarks.end());
  }
  json::array groups;
  for (const GangGroupResult& group : result.groups) {
    groups.push_back(
        json::object{{"name", group.path},
                     {"topology", group.topology},
                     {"level", group.level},
                     {"domain", json::array(group.domain.begin(), group.domain.end())}});
  }
  json::array pod_sets;
  for (const GangLeafResult& leaf : result.leaves) {
    json::array domains;
    int32_t rank = leaf.running;
    for (const api::DomainAssignment& domain : leaf.assignment.domains) {
      domains.push_back(
          json::object{{"values", json::array(domain.values.begin(), domain.values.end())},
                       {"count", domain.count},
                       {"firstRank", rank}});
      rank += domain.count;
    }
    json::array levels(leaf.assignment.levels.begin(), leaf.assignment.levels.end());
    pod_sets.push_back(json::object{
        {"name", leaf.path},
        {"wanted", leaf.wanted},
        {"running", leaf.running},
        {"placed", leaf.placed},
        {"topologyAssignment",
         json::object{{"levels", std::move(levels)}, {"domains", std::move(domains)}}}});
  }
  document["groups"] = std::move(groups);
  document["podSets"] = std::move(pod_sets);
  return document;
}

}  // namespace phalanx::placement
