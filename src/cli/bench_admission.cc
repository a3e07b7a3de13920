// Admissions: 15 000 workloads of three sizes stream into 30 queues of a cluster of racks, each
// runs for a moment and goes. The API server is the embedded one and time is virtual; what is
// measured is the CPU time that the core takes to decode, decide and write, and how long workloads
// wait.
#include <fmt/format.h>

#include <array>
#include <iostream>

#include "base/check.h"
#include "base/json.h"
#include "base/process.h"
#include "cli/bench_admission_stream.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "jobs/batch_job.h"
#include "sim/core_host.h"
#include "sim/simulation.h"

namespace phalanx::cli {
namespace {

// What placing alone takes for workloads like those of the stream, each after a change of a node,
// on the cluster that has become empty again: the yardstick for the cost of a whole decision.
double placement_microseconds(core::Core& core, const core::Adapters& adapters) {
  constexpr int kRounds = 300;
  core::State& state = core.state();
  topology::Cluster& cluster = state.account.cluster();
  const auto tree = state.account.tree_of("default");
  CHECK(tree);
  int64_t nanoseconds = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int in_ten = round % 10;
    const WorkloadClass& size = kClasses[in_ten < 7 ? 0 : (in_ten < 9 ? 1 : 2)];
    json::value document = workload_document(size, 0, round);
    const auto object = core::decode_object(document, adapters);
    CHECK(object);
    const core::WorkloadState wanted =
        core::derive_workload(state, std::get<api::Workload>(object->body));
    placement::Options options;
    options.balanced = round % 3 == 2;
    cluster.put_pod("bench", fmt::format("n{:06}", round % kRackSize), {{"cpu", 1 + round}});
    const auto start = BenchClock::now();
    const auto results = state.account.placer().place(*tree, wanted.request, options);
    nanoseconds += nanoseconds_since(start);
    CHECK(!results.front().failure);
  }
  cluster.remove_pod("bench");
  return static_cast<double>(nanoseconds) / kRounds * 1e-3;
}

double seconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1000.0;
}

json::object waits_json(const std::array<Stream::Waits, kClasses.size()>& waits) {
  json::object result;
  for (size_t size = 0; size < kClasses.size(); ++size) {
    const auto count = static_cast<double>(waits[size].count);
    result[kClasses[size].name] = json::object{{"mean", seconds(waits[size].total) / count},
                                               {"max", seconds(waits[size].longest)}};
  }
  return result;
}

json::object run(const BenchAdmissionArguments& arguments, const AdmissionPreset& preset) {
  const Time start(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1));
  sim::Simulation simulation(start, 1);
  const core::Adapters adapters = jobs::all_adapters();
  sim::CoreHostOptions options;
  options.write_events = false;
  auto owned_host = std::make_unique<sim::CoreHost>(simulation.server(), adapters, options);
  sim::CoreHost& host = *owned_host;
  create_queues(simulation.server(), preset);
  create_nodes(simulation.server(), arguments.nodes, preset);
  simulation.add("phalanx", std::move(owned_host));
  CHECK(simulation.settle());
  const double core_before = host.core_cpu_seconds();
  const double process_before = process_cpu_seconds();
  auto owned_stream = std::make_unique<Stream>(simulation.server(), preset, arguments.percent);
  Stream& stream = *owned_stream;
  simulation.add("workloads", std::move(owned_stream));
  const auto quiet = simulation.run_until_quiet(start + std::chrono::hours(24));
  CHECK(quiet && *quiet);
  const double cpu = host.core_cpu_seconds() - core_before;
  const auto decisions = static_cast<double>(host.core().scheduler().decisions());
  const Duration span = simulation.now() - start;
  const double busy_total = stream.busy(simulation.now());
  const double busy = busy_total / static_cast<double>(span.count());
  int64_t of_use = 0;
  for (uint32_t node = 0; node < arguments.nodes; ++node) {
    if (has_room(node, arguments.nodes, preset)) of_use += preset.node_cpu_milli;
  }
  json::object result{
      {"preset", preset.name},
      {"nodes", arguments.nodes},
      {"workloads", stream.finished()},
      {"decisions", host.core().scheduler().decisions()},
      {"decisions_per_cpu_s", decisions / cpu},
      {"decision_us", cpu / decisions * 1e6},
      {"placement_us", placement_microseconds(host.core(), adapters)},
      {"admissions_per_cpu_s", static_cast<double>(stream.finished()) / cpu},
      {"time_to_admission_s", waits_json(stream.first_waits())},
      {"quota_utilisation", busy / static_cast<double>(preset.quota_milli * kQueues)},
      {"node_utilisation", busy / static_cast<double>(of_use)},
      {"virtual_s", seconds(span)},
      {"cpu_s", cpu},
      {"process_cpu_s", process_cpu_seconds() - process_before},
      {"writes", host.writes()},
      {"rss_bytes", peak_resident_bytes()}};
  if (preset.preempts()) {
    result["time_to_last_admission_s"] = waits_json(stream.last_waits());
    json::object& preemptions = result["preemptions"].emplace_object();
    for (const auto& [reason, count] : stream.preemptions()) preemptions[reason] = count;
    result["lost_cpu_s"] = stream.lost() * 1e-6;
    result["lost_share"] = stream.lost() / busy_total;
  }
  return result;
}

}  // namespace

int bench_admission(const BenchAdmissionArguments& arguments) {
  const auto preset =
      std::ranges::find(kAdmissionPresets, arguments.preset, &AdmissionPreset::name);
  if (preset == kAdmissionPresets.end()) {
    return bad_input(fmt::format("bench admission: --preset: \"{}\" is not quota, nodes or cohorts",
                                 arguments.preset),
                     arguments.json);
  }
  const json::object result = run(arguments, *preset);
  if (arguments.json) {
    std::cout << result << "\n";
    return kDone;
  }
  for (const auto& field : result) {
    std::cout << fmt::format("{:<25}", std::string_view(field.key())) << field.value() << "\n";
  }
  return kDone;
}

}  // namespace phalanx::cli
