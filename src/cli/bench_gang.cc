#include <fmt/format.h>

#include <functional>
#include <iostream>

#include "api/node.h"
#include "base/check.h"
#include "base/json.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "placement/gang.h"

namespace phalanx::cli {
namespace {

using placement::Gang;
using placement::GangGroup;

struct Search {
  std::string name;
  bool expected = true;
  std::function<int64_t(int rack, int node)> gpus;  // of each node of 10 in each rack of 100
  std::function<int32_t(int group)> pods;           // of each sub-group of 100
};

// 1 000 nodes in 100 racks and 5 blocks.
TreeId build(topology::Cluster& cluster, const Search& search) {
  const TreeId tree =
      cluster.add_tree({"default", {"block", "rack", "kubernetes.io/hostname"}, {}, {}});
  for (int rack = 0; rack < 100; ++rack) {
    for (int index = 0; index < 10; ++index) {
      api::Node node;
      node.name = fmt::format("n{:02d}-{}", rack, index);
      node.labels = {{"block", fmt::format("b{}", rack / 20)},
                     {"rack", fmt::format("r{:02d}", rack)},
                     {"kubernetes.io/hostname", node.name}};
      node.allocatable = {{"nvidia.com/gpu", search.gpus(rack, index)}, {"pods", 110}};
      CHECK(cluster.put_node(node).has_value());
    }
  }
  return tree;
}

// Five groups, each in one block; 20 sub-groups in each, each in one rack.
Gang gang_of(const Search& search) {
  Gang gang;
  gang.name = search.name;
  for (int block = 0; block < 5; ++block) {
    GangGroup group;
    group.name = fmt::format("g{}", block);
    group.required = "block";
    for (int index = 0; index < 20; ++index) {
      GangGroup leaf;
      leaf.name = fmt::format("s{:02d}", index);
      leaf.required = "rack";
      leaf.pods.emplace();
      leaf.pods->count = search.pods(block * 20 + index);
      leaf.pods->requests = {{"nvidia.com/gpu", 1}};
      group.children.push_back(std::move(leaf));
    }
    gang.root.children.push_back(std::move(group));
  }
  return gang;
}

}  // namespace

int bench_gang(const BenchGangArguments& arguments) {
  const std::vector<Search> searches = {
      {"roomy: 100 sub-groups of 10 pods, racks of 80 GPUs", true, [](int, int) { return 8; },
       [](int) { return 10; }},
      {"full: 100 sub-groups of 10 pods, racks of 10 GPUs", true, [](int, int) { return 1; },
       [](int) { return 10; }},
      {"packed: rack i of a block holds i GPUs, one sub-group for each", true,
       [](int rack, int node) {
         return (rack % 20 + 1) / 10 + ((rack % 20 + 1) % 10 > node ? 1 : 0);
       },
       [](int group) { return 20 - group % 20; }},
      {"impossible: as full, but one GPU is missing", false,
       [](int rack, int node) { return rack == 57 && node == 3 ? 0 : 1; }, [](int) { return 10; }},
      {"impossible: as packed, but one GPU is in the wrong rack", false,
       [](int rack, int node) {
         const int size = rack == 43 ? 3 : rack == 44 ? 6 : rack % 20 + 1;
         return size / 10 + (size % 10 > node ? 1 : 0);
       },
       [](int group) { return 20 - group % 20; }},
  };
  json::array list;
  bool all_expected = true;
  for (const Search& search : searches) {
    topology::Cluster cluster;
    const TreeId tree = build(cluster, search);
    cluster.tree(tree);
    const Gang gang = gang_of(search);
    const auto start = BenchClock::now();
    const auto result = placement::place_gang(cluster, {{"default", tree}}, gang, {});
    const int64_t elapsed = nanoseconds_since(start);
    CHECK(result.has_value());
    const bool as_expected = result->placed == search.expected && result->proven;
    all_expected = all_expected && as_expected;
    if (arguments.json) {
      list.push_back(json::object{{"search", search.name},
                                  {"placed", result->placed},
                                  {"proven", result->proven},
                                  {"steps", result->steps},
                                  {"search_ns", elapsed}});
    } else {
      std::cout << fmt::format("{:<64} {:<10} {:>8} steps {:>9.1f} ms\n", search.name,
                               result->placed   ? "placed"
                               : result->proven ? "no, proven"
                                                : "no answer",
                               result->steps, static_cast<double>(elapsed) / 1e6);
    }
  }
  if (arguments.json) std::cout << pretty_json(list) << "\n";
  return all_expected ? kDone : kInternalFault;
}

}  // namespace phalanx::cli
