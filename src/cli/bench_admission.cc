// Admissions: 15 000 workloads of three sizes stream into 30 queues of a cluster of racks, each
// runs for a moment and goes. The API server is the embedded one and time is virtual; what is
// measured is the CPU time that the core takes to decode, decide and write, and how long workloads
// wait.
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <queue>

#include "base/check.h"
#include "base/json.h"
#include "base/process.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "jobs/batch_job.h"
#include "sim/core_host.h"
#include "sim/document.h"
#include "sim/simulation.h"

namespace phalanx::cli {
namespace {

using api::Kind;
using sim::ApiServer;
using sim::Stored;

constexpr int kQueues = 30;
constexpr uint32_t kRackSize = 64;
// Of a node that has no room: less than any pod asks for.
constexpr std::string_view kRestOfAFullNode = "100m";

struct WorkloadClass {
  std::string_view name;
  int per_queue;
  int pods;
  std::string_view cpu;  // of each pod
  int64_t cpu_milli;     // of all pods
  int priority;
  Duration runs;
  Duration every;  // between arrivals, in each queue
};

constexpr std::array kClasses{
    WorkloadClass{"small", 350, 2, "500m", 1'000, 50, Duration(200), Duration(100)},
    WorkloadClass{"medium", 100, 4, "1250m", 5'000, 100, Duration(500), Duration(500)},
    WorkloadClass{"large", 50, 8, "2500m", 20'000, 200, Duration(1000), Duration(1200)},
};

// What limits: the quota of each queue (the nodes have plenty), or the nodes.
struct Preset {
  std::string_view name;
  std::string_view node_cpu;
  int64_t node_cpu_milli;
  std::string_view quota;  // cpu of each queue
  int64_t quota_milli;
  int speed;  // arrivals come so many times as fast
  bool few;   // only so many racks are of use, however many there are
};

constexpr std::array kPresets{Preset{"quota", "96", 96'000, "20", 20'000, 1, false},
                              Preset{"nodes", "4", 4'000, "1000", 1'000'000, 4, true}};

// In a large cluster where nodes are the limit most are full: ten racks, spread over the cluster,
// have room.
bool has_room(uint32_t node, uint32_t nodes, const Preset& preset) {
  constexpr uint32_t kRacksWithRoom = 10;
  const uint32_t racks = (nodes + kRackSize - 1) / kRackSize;
  const uint32_t stride = std::max(1U, racks / kRacksWithRoom);
  const uint32_t rack = node / kRackSize;
  return !preset.few || (rack % stride == 0 && rack / stride < kRacksWithRoom);
}

void create(ApiServer& server, json::object document) {
  CHECK(server.create(std::move(document)));
}

json::object named(std::string_view version, std::string_view kind, const std::string& name) {
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", json::object{{"name", name}}}};
}

void create_queues(ApiServer& server, const Preset& preset) {
  constexpr std::string_view kKueue = "kueue.x-k8s.io/v1beta2";
  json::object topology = named(kKueue, "Topology", "default");
  topology["spec"] =
      json::object{{"levels", json::array{json::object{{"nodeLabel", "rack"}},
                                          json::object{{"nodeLabel", "kubernetes.io/hostname"}}}}};
  create(server, std::move(topology));
  json::object flavor = named(kKueue, "ResourceFlavor", "default");
  flavor["spec"] =
      json::object{{"nodeLabels", json::object{{"pool", "bench"}}}, {"topologyName", "default"}};
  create(server, std::move(flavor));
  for (int index = 0; index < kQueues; ++index) {
    const std::string name = fmt::format("queue-{:02}", index);
    json::object queue = named(kKueue, "ClusterQueue", name);
    const json::object quota{{"name", "cpu"}, {"nominalQuota", preset.quota}};
    const json::object quotas{{"name", "default"}, {"resources", json::array{quota}}};
    queue["spec"] = json::object{
        {"namespaceSelector", json::object()},
        {"resourceGroups", json::array{json::object{{"coveredResources", json::array{"cpu"}},
                                                    {"flavors", json::array{quotas}}}}}};
    create(server, std::move(queue));
    json::object local = named(kKueue, "LocalQueue", name);
    local["metadata"].as_object()["namespace"] = "default";
    local["spec"] = json::object{{"clusterQueue", name}};
    create(server, std::move(local));
  }
}

void create_nodes(ApiServer& server, uint32_t count, const Preset& preset) {
  for (uint32_t index = 0; index < count; ++index) {
    const std::string name = fmt::format("n{:06}", index);
    json::object node = named("v1", "Node", name);
    node["metadata"].as_object()["labels"] =
        json::object{{"pool", "bench"},
                     {"rack", fmt::format("r{:04}", index / kRackSize)},
                     {"kubernetes.io/hostname", name}};
    const std::string_view cpu =
        has_room(index, count, preset) ? preset.node_cpu : kRestOfAFullNode;
    node["status"] = json::object{
        {"allocatable", json::object{{"cpu", cpu}, {"pods", "110"}}},
        {"conditions", json::array{json::object{{"type", "Ready"}, {"status", "True"}}}}};
    create(server, std::move(node));
  }
}

json::object workload(const WorkloadClass& size, int queue, int index) {
  json::object metadata{{"name", fmt::format("{}-{:02}-{:03}", size.name, queue, index)},
                        {"namespace", "default"}};
  json::object annotations;
  // Required, preferred and balanced on the rack, in turn.
  json::object request;
  const int mode = index % 3;
  request[mode == 0 ? "required" : "preferred"] = "rack";
  if (mode == 2) annotations[api::kPlacementAnnotation] = api::kBalancedPlacement;
  const json::object container{
      {"name", "c"},
      {"image", "i"},
      {"resources", json::object{{"requests", json::object{{"cpu", size.cpu}}}}}};
  json::object pod_template{{"metadata", json::object{{"annotations", std::move(annotations)}}},
                            {"spec", json::object{{"containers", json::array{container}}}}};
  json::object pod_set{{"name", "main"},
                       {"count", size.pods},
                       {"template", std::move(pod_template)},
                       {"topologyRequest", std::move(request)}};
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", "Workload"},
          {"metadata", std::move(metadata)},
          {"spec", json::object{{"queueName", fmt::format("queue-{:02}", queue)},
                                {"priority", size.priority},
                                {"active", true},
                                {"podSets", json::array{std::move(pod_set)}}}}};
}

// Submits the workloads as time passes, and finishes each when it has run.
class Stream : public sim::Component {
 public:
  Stream(ApiServer& server, const Preset& preset)
      : server_(server), informer_(server, {Kind::kWorkload}), preset_(preset) {
    for (size_t size = 0; size < kClasses.size(); ++size) {
      for (int queue = 0; queue < kQueues; ++queue) due_.push({start(), size, queue, 0, false});
    }
  }

  bool react() override {
    const Time now = server_.clock().now();
    const std::vector<sim::Change> changes = informer_.poll();
    for (const sim::Change& change : changes) observe(change, now);
    bool acted = !changes.empty();
    while (!due_.empty() && due_.top().at <= now) {
      const Due due = due_.top();
      due_.pop();
      due.finishes ? finish(due) : submit(due, now);
      acted = true;
    }
    return acted;
  }
  [[nodiscard]] std::optional<Time> wake_at() const override {
    if (due_.empty()) return std::nullopt;
    return due_.top().at;
  }

  [[nodiscard]] size_t finished() const { return finished_; }
  [[nodiscard]] const std::array<Duration, 3>& waited() const { return waited_; }
  [[nodiscard]] const std::array<Duration, 3>& longest() const { return longest_; }
  // CPU milliseconds-of-cluster that ran up to the last arrival.
  [[nodiscard]] double busy(Time until) {
    integrate(until);
    return busy_at_end_;
  }
  [[nodiscard]] Duration arrivals() const { return last_arrival_ - start(); }

 private:
  struct Due {
    Time at;
    size_t size = 0;
    int queue = 0;
    int index = 0;
    bool finishes = false;

    bool operator<(const Due& other) const {  // of a heap: the earliest comes first
      return std::tuple(other.at, other.finishes, other.size, other.queue, other.index) <
             std::tuple(at, finishes, size, queue, index);
    }
  };

  [[nodiscard]] Time start() const { return server_.clock().now(); }

  void submit(const Due& due, Time now) {
    const WorkloadClass& size = kClasses[due.size];
    create(server_, workload(size, due.queue, due.index));
    last_arrival_ = now;
    if (due.index + 1 < size.per_queue) {
      due_.push({now + size.every / preset_.speed, due.size, due.queue, due.index + 1, false});
    }
    submitted_[fmt::format("{}-{:02}-{:03}", size.name, due.queue, due.index)] = {due, now};
  }

  void observe(const sim::Change& change, Time now) {
    if (change.after == nullptr || !sim::condition_is_true(*change.after, "Admitted")) return;
    const auto found = submitted_.find(change.key.name);
    if (found == submitted_.end()) return;
    const auto [due, since] = found->second;
    submitted_.erase(found);
    waited_[due.size] += now - since;
    longest_[due.size] = std::max(longest_[due.size], now - since);
    integrate(now);
    running_milli_ += kClasses[due.size].cpu_milli;
    due_.push({now + kClasses[due.size].runs, due.size, due.queue, due.index, true});
  }

  void finish(const Due& due) {
    const WorkloadClass& size = kClasses[due.size];
    const api::ObjectKey key{Kind::kWorkload, "default",
                             fmt::format("{}-{:02}-{:03}", size.name, due.queue, due.index)};
    json::value status = *find_at(*server_.get(key), {"status"});
    status.as_object()["conditions"].as_array().push_back(
        json::object{{"type", "Finished"},
                     {"status", "True"},
                     {"reason", "Succeeded"},
                     {"message", ""},
                     {"lastTransitionTime", format_time(server_.clock().now())}});
    CHECK(server_.patch(key, sim::PatchType::kMerge, json::object{{"status", std::move(status)}},
                        {.status = true, .field_manager = ""}));
    ++finished_;
    integrate(server_.clock().now());
    running_milli_ -= size.cpu_milli;
    CHECK(server_.remove(key));
  }

  void integrate(Time now) {
    if (now > last_arrival_ && submitted_.empty() && busy_at_end_ > 0) return;
    busy_at_end_ +=
        static_cast<double>(running_milli_) * static_cast<double>((now - integrated_to_).count());
    integrated_to_ = now;
  }

  ApiServer& server_;
  sim::Informer informer_;
  const Preset& preset_;
  std::priority_queue<Due> due_;
  std::map<std::string, std::pair<Due, Time>> submitted_;  // and not admitted yet
  std::array<Duration, 3> waited_{};
  std::array<Duration, 3> longest_{};
  size_t finished_ = 0;
  int64_t running_milli_ = 0;
  double busy_at_end_ = 0;
  Time integrated_to_ = start();
  Time last_arrival_ = start();
};

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
    json::value document = workload(size, 0, round);
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

json::object run(const BenchAdmissionArguments& arguments, const Preset& preset) {
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
  auto owned_stream = std::make_unique<Stream>(simulation.server(), preset);
  Stream& stream = *owned_stream;
  simulation.add("workloads", std::move(owned_stream));
  const auto quiet = simulation.run_until_quiet(start + std::chrono::hours(24));
  CHECK(quiet && *quiet);
  const double cpu = host.core_cpu_seconds() - core_before;
  const auto decisions = static_cast<double>(host.core().scheduler().decisions());
  json::object wait;
  for (size_t size = 0; size < kClasses.size(); ++size) {
    const auto count = static_cast<double>(kClasses[size].per_queue * kQueues);
    wait[kClasses[size].name] = json::object{{"mean", seconds(stream.waited()[size]) / count},
                                             {"max", seconds(stream.longest()[size])}};
  }
  const Duration span = simulation.now() - start;
  const double busy = stream.busy(simulation.now()) / static_cast<double>(span.count());
  int64_t of_use = 0;
  for (uint32_t node = 0; node < arguments.nodes; ++node) {
    if (has_room(node, arguments.nodes, preset)) of_use += preset.node_cpu_milli;
  }
  return {{"preset", preset.name},
          {"nodes", arguments.nodes},
          {"workloads", stream.finished()},
          {"decisions", host.core().scheduler().decisions()},
          {"decisions_per_cpu_s", decisions / cpu},
          {"decision_us", cpu / decisions * 1e6},
          {"placement_us", placement_microseconds(host.core(), adapters)},
          {"admissions_per_cpu_s", static_cast<double>(stream.finished()) / cpu},
          {"time_to_admission_s", std::move(wait)},
          {"quota_utilisation", busy / static_cast<double>(preset.quota_milli * kQueues)},
          {"node_utilisation", busy / static_cast<double>(of_use)},
          {"virtual_s", seconds(span)},
          {"cpu_s", cpu},
          {"process_cpu_s", process_cpu_seconds() - process_before},
          {"writes", host.writes()},
          {"rss_bytes", peak_resident_bytes()}};
}

}  // namespace

int bench_admission(const BenchAdmissionArguments& arguments) {
  const auto preset = std::ranges::find(kPresets, arguments.preset, &Preset::name);
  if (preset == kPresets.end()) {
    return bad_input(
        fmt::format("bench admission: --preset: \"{}\" is not quota or nodes", arguments.preset),
        arguments.json);
  }
  const json::object result = run(arguments, *preset);
  if (arguments.json) {
    std::cout << result << "\n";
    return kDone;
  }
  for (const auto& field : result) {
    std::cout << fmt::format("{:<22}", std::string_view(field.key())) << field.value() << "\n";
  }
  return kDone;
}

}  // namespace phalanx::cli
