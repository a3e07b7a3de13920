// phalanx bench preemption: how long it takes to decide who has to go for a gang, on clusters that
// are full of workloads of lower priority.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "base/check.h"
#include "base/json.h"
#include "base/process.h"
#include "base/sha256.h"
#include "cli/bench_cluster.h"
#include "cli/bench_full_cluster.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "jobs/batch_job.h"

namespace phalanx::cli {
namespace {

// With no number given: as many repetitions as this takes.
constexpr int kLeastRepeat = 20;
constexpr int64_t kEnoughNanoseconds = 2'000'000'000;
// A whole cycle changes the cluster, and needs a new one each time: only where that is cheap.
constexpr uint32_t kMostNodesOfCycle = 1000;
constexpr int kCycles = 5;

const std::array kGangs{FullClusterGang{"required-rack-16x8gpu", 16, kBenchRack},
                        FullClusterGang{"required-block-64x8gpu", 64, kBenchBlock}};

std::string_view name_of(FullLayout layout) {
  return layout == FullLayout::kPacked ? "packed" : "scattered";
}

struct Measurement {
  FullCluster cluster;
  std::string_view request;
  size_t candidates = 0;
  size_t victims = 0;
  int32_t highest_priority = 0;
  size_t steps = 0;
  bool exact = false;
  size_t repeated = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double p99_cpu_ms = 0;
  std::string result_sha256 = {};
  std::optional<double> cycle_ms = {};
};

double milliseconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-6;
}

void fill(core::Core& core, const FullCluster& cluster, const core::Adapters& adapters) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  fill_core(core, cluster, adapters, [&](uint32_t done, uint32_t of) {
    if (terminal) std::cerr << fmt::format("\r{} of {} objects", done, of);
  });
  if (terminal) std::cerr << "\r\033[K";
}

Measurement measure(core::Core& core, const FullCluster& cluster, const FullClusterGang& gang,
                    const core::Adapters& adapters, int repeat) {
  core::State& state = core.state();
  core::Object object = gang_workload(gang, adapters);
  const core::WorkloadState workload =
      core::derive_workload(state, std::get<api::Workload>(std::move(object.body)));
  const api::ClusterQueue& queue = state.cluster_queues.at(std::string(kFullClusterQueue));
  Measurement result{cluster, gang.name};
  std::vector<int64_t> times;
  std::vector<int64_t> cpu_times;
  int64_t total = 0;
  std::optional<core::Appraisal> first;
  const auto goes_on = [&] {
    if (repeat > 0) return times.size() < static_cast<size_t>(repeat);
    return times.size() < kLeastRepeat || total < kEnoughNanoseconds;
  };
  while (goes_on()) {
    const double cpu_start = process_cpu_seconds();
    const auto start = BenchClock::now();
    core::Appraisal appraisal = core.scheduler().appraise(workload, queue, false);
    times.push_back(nanoseconds_since(start));
    cpu_times.push_back(static_cast<int64_t>((process_cpu_seconds() - cpu_start) * 1e9));
    total += times.back();
    CHECK(appraisal.assigned && !appraisal.victims.empty());
    if (!first)
      first = std::move(appraisal);
    else
      CHECK(first->victims == appraisal.victims);
  }
  std::ranges::sort(times);
  std::ranges::sort(cpu_times);
  result.candidates = first->candidates;
  result.victims = first->victims.size();
  std::string names;
  for (const auto& [name, reason] : first->victims) {
    names += name + "\n";
    result.highest_priority = std::max(result.highest_priority, state.workload(name)->priority);
  }
  result.result_sha256 = sha256_hex(names);
  result.steps = first->steps;
  result.exact = first->exact;
  result.repeated = times.size();
  result.p50_ms = milliseconds(percentile(times, 50));
  result.p99_ms = milliseconds(percentile(times, 99));
  result.p99_cpu_ms = milliseconds(percentile(cpu_times, 99));
  return result;
}

// From the event of the gang's Workload to the writes that evict its victims.
double measure_cycle(const FullCluster& cluster, const FullClusterGang& gang,
                     const core::Adapters& adapters, size_t victims) {
  std::vector<int64_t> times;
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    core::Core core({}, adapters);
    fill_core(core, cluster, adapters, [](uint32_t, uint32_t) {});
    std::vector<core::Event> events;
    events.emplace_back(core::ObjectChanged{gang_workload(gang, adapters)});
    const auto start = BenchClock::now();
    const core::Output output = core.step(full_cluster_now(), std::move(events));
    times.push_back(nanoseconds_since(start));
    CHECK(output.writes.size() >= victims);
  }
  std::ranges::sort(times);
  return milliseconds(percentile(times, 50));
}

json::object to_json(const Measurement& m) {
  json::object row{{"nodes", m.cluster.nodes},
                   {"layout", name_of(m.cluster.layout)},
                   {"request", m.request},
                   {"candidates", m.candidates},
                   {"victims", m.victims},
                   {"highest_priority", m.highest_priority},
                   {"steps", m.steps},
                   {"exact", m.exact},
                   {"repeated", m.repeated},
                   {"p50_ms", m.p50_ms},
                   {"p99_ms", m.p99_ms},
                   {"p99_cpu_ms", m.p99_cpu_ms},
                   {"result_sha256", m.result_sha256}};
  if (m.cycle_ms) row["cycle_ms"] = *m.cycle_ms;
  return row;
}

void print_table(const std::vector<Measurement>& measurements) {
  std::cout << fmt::format(
      "{:>7} {:<10} {:<23} {:>10} {:>8} {:>8} {:>6} {:>6} {:>9} {:>9} {:>11} {:>9}  {}\n", "nodes",
      "layout", "request", "candidates", "victims", "priority", "steps", "exact", "p50 ms",
      "p99 ms", "p99 cpu ms", "cycle ms", "answer");
  for (const Measurement& m : measurements) {
    std::cout << fmt::format(
        "{:>7} {:<10} {:<23} {:>10} {:>8} {:>8} {:>6} {:>6} {:>9.2f} {:>9.2f} {:>11.2f} {:>9}  "
        "{}\n",
        m.cluster.nodes, name_of(m.cluster.layout), m.request, m.candidates, m.victims,
        m.highest_priority, m.steps, m.exact ? "yes" : "no", m.p50_ms, m.p99_ms, m.p99_cpu_ms,
        m.cycle_ms ? fmt::format("{:.2f}", *m.cycle_ms) : "-", m.result_sha256.substr(0, 12));
  }
}

}  // namespace

int bench_preemption(const BenchPreemptionArguments& arguments) {
  const core::Adapters adapters = jobs::all_adapters();
  std::vector<Measurement> measurements;
  for (const uint32_t nodes : arguments.nodes) {
    for (const FullLayout layout : {FullLayout::kPacked, FullLayout::kScattered}) {
      const FullCluster cluster{nodes, layout};
      std::cerr << fmt::format("filling {} nodes, {}\n", nodes, name_of(layout));
      core::Core core({}, adapters);
      fill(core, cluster, adapters);
      for (const FullClusterGang& gang : kGangs) {
        std::cerr << fmt::format("measuring {}\n", gang.name);
        Measurement& result =
            measurements.emplace_back(measure(core, cluster, gang, adapters, arguments.repeat));
        if (nodes > kMostNodesOfCycle) continue;
        result.cycle_ms = measure_cycle(cluster, gang, adapters, result.victims);
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
