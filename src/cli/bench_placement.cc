#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <set>

#include "base/check.h"
#include "base/process.h"
#include "cli/bench_cluster.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/conformance_case.h"
#include "placement/placer.h"

namespace phalanx::cli {
namespace {

using placement::Unit;

struct Measurement {
  std::string shape;
  uint32_t nodes = 0;
  int64_t scratch_ns = 0;
  int64_t warm_ns = 0;
  int64_t update_ns = 0;
  int64_t limit_ns = 0;
  int64_t rss_bytes = 0;
  std::string result_sha256;
};

class PlacementBench {
 public:
  PlacementBench(topology::Cluster& cluster, TreeId tree, uint32_t nodes, int repeat)
      : cluster_(cluster), tree_(tree), nodes_(nodes), repeat_(repeat), placer_(cluster) {}

  Measurement measure(const BenchShape& shape) {
    Measurement result{shape.name, nodes_, 0, 0, 0, 0, 0, ""};
    unit_ = unit_of(shape);
    options_ = shape.options;
    result.result_sha256 = answer_hash(placer_.place(tree_, shape.workload, options_));
    // Alternating, so that both meet the same state of the machine; the best of many counts.
    result.scratch_ns = result.warm_ns = result.limit_ns = std::numeric_limits<int64_t>::max();
    for (int round = 0; round < repeat_; ++round) {
      result.limit_ns = std::min(result.limit_ns, time_limit());
      placer_.units().forget();
      result.scratch_ns = std::min(result.scratch_ns, time_decision());
      result.warm_ns = std::min(result.warm_ns, time_decision());
    }
    result.update_ns = time_updates();
    result.rss_bytes = resident_bytes();
    return result;
  }

 private:
  static Unit unit_of(const BenchShape& shape) {
    const auto& pod_sets = shape.workload.pod_sets;
    Unit unit;
    unit.workers = &pod_sets.back();
    if (pod_sets.size() == 2) unit.leader = &pod_sets.front();
    unit.count = unit.workers->count;
    unit.topology = unit.workers->topology;
    return unit;
  }

  int64_t time_decision() {
    const auto start = BenchClock::now();
    const auto placed = placer_.units().place(tree_, unit_, options_);
    const int64_t elapsed = nanoseconds_since(start);
    decided_ += placed ? placed->size() : 1;
    return elapsed;
  }

  // One pass over the same bytes: the sum of the columns of the requested resources.
  int64_t time_limit() {
    std::set<ResourceId> resources;
    for (const auto& request : cluster_.make_request(unit_.workers->requests)) {
      resources.insert(request.resource);
    }
    if (unit_.leader != nullptr) {
      for (const auto& request : cluster_.make_request(unit_.leader->requests)) {
        resources.insert(request.resource);
      }
    }
    const topology::DomainTree& tree = cluster_.tree(tree_);
    const auto start = BenchClock::now();
    int64_t sum = 0;
    for (const ResourceId resource : resources) {
      for (const int64_t free : tree.free(resource)) sum += free;
    }
    const int64_t elapsed = nanoseconds_since(start);
    checksum_ += sum;
    return elapsed;
  }

  // One node's usage changes and the remembered counts follow, many times over.
  int64_t time_updates() {
    constexpr int kUpdates = 2000;
    const auto plan =
        placement::plan_levels(cluster_.tree(tree_), unit_.topology, unit_.count, options_);
    CHECK(plan.has_value());
    const topology::DomainTree& tree = cluster_.tree(tree_);
    placement::CountedShape counted{cluster_.make_request(unit_.workers->requests),
                                    std::nullopt,
                                    plan->slice_level,
                                    plan->slice_size,
                                    plan->inner_size,
                                    false};
    if (unit_.leader != nullptr) counted.leader = cluster_.make_request(unit_.leader->requests);
    const auto filter =
        std::make_shared<placement::NodeFilter>(cluster_, tree, placement::NodePredicates{});
    placement::DomainCounts counts(tree, counted, filter, filter);
    const topology::Attempt attempt(cluster_);
    const auto request = cluster_.make_request(unit_.workers->requests);
    int64_t best = std::numeric_limits<int64_t>::max();
    for (int round = 0; round < 5; ++round) {
      const auto start = BenchClock::now();
      for (int update = 0; update < kUpdates; ++update) {
        const auto leaf = static_cast<uint32_t>(splitmix64(update) % tree.leaf_count());
        cluster_.charge(tree_, leaf, request, round % 2 == 0 ? 1 : -1);
        counts.refresh();
      }
      best = std::min(best, nanoseconds_since(start) / kUpdates);
    }
    return best;
  }

  topology::Cluster& cluster_;
  TreeId tree_;
  uint32_t nodes_;
  int repeat_;
  placement::Placer placer_;
  Unit unit_;
  placement::Options options_;
  size_t decided_ = 0;
  int64_t checksum_ = 0;
};

json::object to_json(const Measurement& m) {
  return {{"shape", m.shape},           {"nodes", m.nodes},
          {"scratch_ns", m.scratch_ns}, {"warm_ns", m.warm_ns},
          {"update_ns", m.update_ns},   {"limit_ns", m.limit_ns},
          {"rss_bytes", m.rss_bytes},   {"result_sha256", m.result_sha256}};
}

void print_table(const std::vector<Measurement>& measurements) {
  std::cout << fmt::format("{:<50} {:>8} {:>11} {:>9} {:>10} {:>9} {:>9} {:>8}  {}\n", "shape",
                           "nodes", "scratch us", "x limit", "warm us", "x limit", "update ns",
                           "rss MB", "answer");
  for (const Measurement& m : measurements) {
    const auto limit = static_cast<double>(std::max<int64_t>(m.limit_ns, 1));
    std::cout << fmt::format(
        "{:<50} {:>8} {:>11.1f} {:>9.1f} {:>10.1f} {:>9.2f} {:>9} {:>8.1f}  {}\n", m.shape, m.nodes,
        static_cast<double>(m.scratch_ns) / 1e3, static_cast<double>(m.scratch_ns) / limit,
        static_cast<double>(m.warm_ns) / 1e3, static_cast<double>(m.warm_ns) / limit, m.update_ns,
        static_cast<double>(m.rss_bytes) / 1e6, m.result_sha256.substr(0, 12));
  }
}

}  // namespace

int bench_placement(const BenchPlacementArguments& arguments) {
  std::vector<BenchShape> shapes = bench_shapes();
  for (const std::string& wanted : arguments.shapes) {
    if (std::ranges::find(shapes, wanted, &BenchShape::name) == shapes.end()) {
      std::string names;
      for (const BenchShape& shape : shapes) names += "\n  " + shape.name;
      return bad_input(fmt::format("--shape: no shape \"{}\"; there are{}", wanted, names),
                       arguments.json);
    }
  }
  std::erase_if(shapes, [&](const BenchShape& shape) {
    return !arguments.shapes.empty() &&
           std::ranges::find(arguments.shapes, shape.name) == arguments.shapes.end();
  });
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::vector<Measurement> measurements;
  for (const uint32_t nodes : arguments.nodes) {
    for (const bool empty : {false, true}) {
      if (std::ranges::find(shapes, empty, &BenchShape::empty_cluster) == shapes.end()) continue;
      topology::Cluster cluster;
      std::cerr << fmt::format("building {} nodes{}\n", nodes, empty ? ", empty" : "");
      const TreeId tree = build_bench_cluster(cluster, nodes, !empty, [&](uint32_t done) {
        if (terminal) std::cerr << fmt::format("\r{} of {} nodes", done, nodes);
      });
      if (terminal) std::cerr << "\r\033[K";
      PlacementBench bench(cluster, tree, nodes, arguments.repeat);
      for (const BenchShape& shape : shapes) {
        if (shape.empty_cluster != empty) continue;
        std::cerr << fmt::format("measuring {}\n", shape.name);
        measurements.push_back(bench.measure(shape));
      }
    }
  }
  if (arguments.json) {
    json::array list;
    for (const Measurement& m : measurements) list.push_back(to_json(m));
    std::cout << pretty_json(list) << "\n";
  } else {
    print_table(measurements);
  }
  return kDone;
}

}  // namespace phalanx::cli
