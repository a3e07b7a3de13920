#include "cli/bench_cluster.h"

#include <fmt/format.h>

#include "api/node.h"
#include "base/check.h"
#include "base/sha256.h"
#include "cli/conformance_case.h"

namespace phalanx::cli {
namespace {

placement::PodSet pod_set(const std::string& name, int32_t count, int64_t gpus,
                          api::TopologyRequest request) {
  placement::PodSet result;
  result.name = name;
  result.count = count;
  result.requests = {{"cpu", 4000 * gpus}, {"nvidia.com/gpu", gpus}};
  result.topology = std::move(request);
  return result;
}

api::TopologyRequest required(const char* level) {
  api::TopologyRequest request;
  request.required = level;
  return request;
}

api::TopologyRequest preferred(const char* level) {
  api::TopologyRequest request;
  request.preferred = level;
  return request;
}

api::TopologyRequest sliced(api::TopologyRequest request,
                            std::vector<api::SliceConstraint> layers) {
  request.slice_constraints = std::move(layers);
  return request;
}

}  // namespace

uint64_t splitmix64(uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

int bench_load(uint64_t node) {
  const uint64_t rack = splitmix64(node / 16) % 4;
  if (rack == 0) return 0;
  if (rack == 1) return 8;
  return static_cast<int>(splitmix64(1000000007ULL + node) % 9);
}

std::vector<BenchShape> bench_shapes() {
  const std::string host(api::kHostnameLabel);
  std::vector<BenchShape> shapes;
  const auto add = [&](const std::string& name, std::vector<placement::PodSet> pod_sets) -> auto& {
    shapes.push_back({name, {name, std::move(pod_sets), {}, false}, {}, false, false});
    return shapes.back();
  };
  api::TopologyRequest anywhere;
  anywhere.unconstrained = true;

  add("required-rack-16x8gpu", {pod_set("main", 16, 8, required(kBenchRack))});
  add("preferred-block-512x1gpu", {pod_set("main", 512, 1, preferred(kBenchBlock))});
  add("preferred-block-512x8gpu", {pod_set("main", 512, 8, preferred(kBenchBlock))});
  add("unconstrained-1000x1gpu", {pod_set("main", 1000, 1, anywhere)});
  add("slices-rack16-preferred-block-128x8gpu",
      {pod_set("main", 128, 8, sliced(preferred(kBenchBlock), {{kBenchRack, 16}}))});
  add("slices-host4-required-block-256x1gpu",
      {pod_set("main", 256, 1, sliced(required(kBenchBlock), {{host, 4}}))});
  add("multilayer-rack32-host4-required-block-128x1gpu",
      {pod_set("main", 128, 1, sliced(required(kBenchBlock), {{kBenchRack, 32}, {host, 4}}))});

  api::TopologyRequest grouped = required(kBenchRack);
  grouped.group_name = "g";
  placement::PodSet leader = pod_set("leader", 1, 0, grouped);
  leader.requests = {{"cpu", 8000}};
  add("leader-workers-required-rack-1+15x8gpu", {leader, pod_set("workers", 15, 8, grouped)});

  add("balanced-preferred-rack-100x1gpu", {pod_set("main", 100, 1, preferred(kBenchRack))})
      .options.balanced = true;
  add("balanced-preferred-rack-400x1gpu", {pod_set("main", 400, 1, preferred(kBenchRack))})
      .options.balanced = true;
  add("balanced-preferred-block-600x1gpu", {pod_set("main", 600, 1, preferred(kBenchBlock))})
      .options.balanced = true;

  BenchShape& large = add("unconstrained-100000x1gpu", {pod_set("main", 100000, 1, anywhere)});
  large.empty_cluster = true;
  large.extra = true;
  return shapes;
}

TreeId build_bench_cluster(topology::Cluster& cluster, uint32_t nodes, bool loaded,
                           const std::function<void(uint32_t)>& progress) {
  const TreeId tree = cluster.add_tree(
      {"default", {kBenchBlock, kBenchRack, std::string(api::kHostnameLabel)}, {}, {}});
  std::vector<topology::DomainUsage> usage;
  for (uint32_t index = 0; index < nodes; ++index) {
    api::Node node;
    node.name = fmt::format("n{:06d}", index);
    node.labels = {{kBenchBlock, fmt::format("b{:03d}", index / 512)},
                   {kBenchRack, fmt::format("r{:02d}", index % 512 / 16)},
                   {std::string(api::kHostnameLabel), node.name}};
    node.allocatable = {
        {"cpu", 96000}, {"memory", int64_t{1024} << 30}, {"nvidia.com/gpu", 8}, {"pods", 110}};
    CHECK(cluster.put_node(node).has_value());
    const int pods = bench_load(index);
    if (loaded && pods > 0) usage.push_back({{node.name}, pods});
    if (index % 1024 == 0) progress(index);
  }
  cluster.tree(tree);
  cluster.add_usage(
      "load", tree,
      cluster.make_request({{"cpu", 4000}, {"memory", int64_t{16} << 30}, {"nvidia.com/gpu", 1}}),
      usage);
  return tree;
}

// The hash is of compact JSON with <, > and & escaped.
std::string answer_hash(const std::vector<placement::PodSetResult>& results) {
  std::string text;
  for (const char next : json::serialize(results_json(results))) {
    switch (next) {
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      default:
        text += next;
    }
  }
  return sha256_hex(text);
}

}  // namespace phalanx::cli
