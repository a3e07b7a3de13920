#include "cli/bench_admission_stream.h"

#include <fmt/format.h>

#include "api/topology_request.h"
#include "base/check.h"
#include "base/json.h"
#include "base/json_path.h"
#include "sim/document.h"

namespace phalanx::cli {
namespace {

using api::Kind;
using sim::ApiServer;

// Of a node that has no room: less than any pod asks for.
constexpr std::string_view kRestOfAFullNode = "100m";

void create(ApiServer& server, json::object document) {
  CHECK(server.create(std::move(document)));
}

json::object named(std::string_view version, std::string_view kind, const std::string& name) {
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", json::object{{"name", name}}}};
}

std::string workload_name(const WorkloadClass& size, int queue, int index) {
  return fmt::format("{}-{:02}-{:03}", size.name, queue, index);
}

double work(const WorkloadClass& size, Duration duration) {
  return static_cast<double>(size.cpu_milli) * static_cast<double>(duration.count());
}

}  // namespace

bool has_room(uint32_t node, uint32_t nodes, const AdmissionPreset& preset) {
  constexpr uint32_t kRacksWithRoom = 10;
  const uint32_t racks = (nodes + kRackSize - 1) / kRackSize;
  const uint32_t stride = std::max(1U, racks / kRacksWithRoom);
  const uint32_t rack = node / kRackSize;
  return !preset.few || (rack % stride == 0 && rack / stride < kRacksWithRoom);
}

void create_queues(ApiServer& server, const AdmissionPreset& preset) {
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
    json::object quota{{"name", "cpu"}, {"nominalQuota", preset.quota}};
    if (preset.preempts()) quota["borrowingLimit"] = preset.borrowing_limit;
    const json::object quotas{{"name", "default"}, {"resources", json::array{quota}}};
    queue["spec"] = json::object{
        {"namespaceSelector", json::object()},
        {"resourceGroups", json::array{json::object{{"coveredResources", json::array{"cpu"}},
                                                    {"flavors", json::array{quotas}}}}}};
    if (preset.preempts()) {
      auto& spec = queue["spec"].as_object();
      spec["cohortName"] = fmt::format("cohort-{}", index / preset.queues_of_cohort);
      spec["preemption"] =
          json::object{{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}};
    }
    create(server, std::move(queue));
    json::object local = named(kKueue, "LocalQueue", name);
    local["metadata"].as_object()["namespace"] = "default";
    local["spec"] = json::object{{"clusterQueue", name}};
    create(server, std::move(local));
  }
}

void create_nodes(ApiServer& server, uint32_t count, const AdmissionPreset& preset) {
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

json::object workload_document(const WorkloadClass& size, int queue, int index) {
  json::object metadata{{"name", workload_name(size, queue, index)}, {"namespace", "default"}};
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

Stream::Stream(ApiServer& server, const AdmissionPreset& preset, int percent)
    : server_(server),
      informer_(server, {Kind::kWorkload}),
      preset_(preset),
      percent_(percent),
      integrated_to_(server.clock().now()) {
  for (size_t size = 0; size < kClasses.size(); ++size) {
    for (int queue = 0; queue < kQueues; ++queue) due_.push({integrated_to_, size, queue, 0, 0});
  }
}

bool Stream::react() {
  const Time now = server_.clock().now();
  const std::vector<sim::Change> changes = informer_.poll();
  for (const sim::Change& change : changes) observe(change, now);
  bool acted = !changes.empty();
  while (!due_.empty() && due_.top().at <= now) {
    const Due due = due_.top();
    due_.pop();
    due.run > 0 ? finish(due, now) : submit(due, now);
    acted = true;
  }
  return acted;
}

std::optional<Time> Stream::wake_at() const {
  if (due_.empty()) return std::nullopt;
  return due_.top().at;
}

double Stream::busy(Time until) {
  integrate(until);
  return busy_;
}

void Stream::submit(const Due& due, Time now) {
  const WorkloadClass& size = kClasses[due.size];
  create(server_, workload_document(size, due.queue, due.index));
  if (due.index + 1 < size.per_queue * percent_ / 100) {
    due_.push({now + size.every / preset_.speed, due.size, due.queue, due.index + 1, 0});
  }
  lives_[workload_name(size, due.queue, due.index)] = {due};
}

void Stream::observe(const sim::Change& change, Time now) {
  const auto found = lives_.find(change.key.name);
  if (change.after == nullptr || found == lives_.end()) return;
  const bool runs = sim::condition_is_true(*change.after, "Admitted") &&
                    !sim::condition_is_true(*change.after, "Evicted");
  Life& life = found->second;
  if (runs == life.running.has_value()) return;
  runs ? begin(life, now) : lose(life, *change.after, now);
}

void Stream::begin(Life& life, Time now) {
  const Due& arrival = life.arrival;
  const WorkloadClass& size = kClasses[arrival.size];
  if (life.runs == 0) first_[arrival.size].add(now - arrival.at);
  ++life.runs;
  life.running = now;
  integrate(now);
  running_milli_ += size.cpu_milli;
  due_.push({now + size.runs, arrival.size, arrival.queue, arrival.index, life.runs});
}

// Preempted: what it has done so far was for nothing.
void Stream::lose(Life& life, const json::value& workload, Time now) {
  const WorkloadClass& size = kClasses[life.arrival.size];
  const json::object* preempted = sim::find_condition(workload, "Preempted");
  CHECK(preempted != nullptr);
  ++preemptions_[std::string(preempted->at("reason").as_string())];
  lost_ += work(size, now - *life.running);
  life.running.reset();
  integrate(now);
  running_milli_ -= size.cpu_milli;
}

void Stream::finish(const Due& due, Time now) {
  const WorkloadClass& size = kClasses[due.size];
  const api::ObjectKey key{Kind::kWorkload, "default", workload_name(size, due.queue, due.index)};
  const auto found = lives_.find(key.name);
  // A run that was cut short does not end here.
  if (found == lives_.end() || !found->second.running || found->second.runs != due.run) return;
  last_[due.size].add(*found->second.running - found->second.arrival.at);
  lives_.erase(found);
  json::value status = *find_at(*server_.get(key), {"status"});
  status.as_object()["conditions"].as_array().push_back(
      json::object{{"type", "Finished"},
                   {"status", "True"},
                   {"reason", "Succeeded"},
                   {"message", ""},
                   {"lastTransitionTime", format_time(now)}});
  CHECK(server_.patch(key, sim::PatchType::kMerge, json::object{{"status", std::move(status)}},
                      {.status = true, .field_manager = ""}));
  ++finished_;
  integrate(now);
  running_milli_ -= size.cpu_milli;
  CHECK(server_.remove(key));
}

void Stream::integrate(Time now) {
  busy_ +=
      static_cast<double>(running_milli_) * static_cast<double>((now - integrated_to_).count());
  integrated_to_ = now;
}

}  // namespace phalanx::cli
