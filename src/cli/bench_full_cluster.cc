#include "cli/bench_full_cluster.h"

#include <fmt/format.h>

#include "base/check.h"
#include "cli/bench_cluster.h"
#include "topology/assignment_encoding.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kKueue = "kueue.x-k8s.io/v1beta2";
constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr int kPriorities = 4;
constexpr int kGangPriority = 1000;
constexpr size_t kBatch = 1000;

const Time kBegin(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1));

// Documents as an API server sends them, told to a core in batches.
class Teller {
 public:
  Teller(core::Core& core, const core::Adapters& adapters,
         const std::function<void(uint32_t, uint32_t)>& progress, uint32_t total)
      : core_(core), adapters_(adapters), progress_(progress), total_(total) {}

  void tell(json::object document) {
    auto& metadata = document["metadata"].as_object();
    ++told_;
    metadata["uid"] = fmt::format("00000000-0000-4000-8000-{:012x}", told_);
    metadata["resourceVersion"] = std::to_string(told_);
    metadata["generation"] = 1;
    auto object = core::decode_object(document, adapters_);
    CHECK(object && !std::holds_alternative<core::Unreadable>(object->body));
    events_.emplace_back(core::ObjectChanged{std::move(*object)});
    if (events_.size() >= kBatch) flush();
  }
  void finish() {
    events_.emplace_back(core::Synced{});
    flush();
  }

 private:
  void flush() {
    [[maybe_unused]] const core::Output output =
        core_.step(full_cluster_now(), std::exchange(events_, {}));
    progress_(told_, total_);
  }

  core::Core& core_;
  const core::Adapters& adapters_;
  const std::function<void(uint32_t, uint32_t)>& progress_;
  uint32_t total_;
  uint32_t told_ = 0;
  std::vector<core::Event> events_;
};

json::object named(std::string_view version, std::string_view kind, std::string_view name) {
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", json::object{{"name", name}}}};
}

// One queue for everything, with more quota than there is to have.
void tell_queue(Teller& teller) {
  teller.tell(named("v1", "Namespace", "default"));
  json::array levels;
  for (const std::string_view key :
       {std::string_view(kBenchBlock), std::string_view(kBenchRack), api::kHostnameLabel}) {
    levels.push_back(json::object{{"nodeLabel", key}});
  }
  json::object topology = named(kKueue, "Topology", "default");
  topology["spec"] = json::object{{"levels", std::move(levels)}};
  teller.tell(std::move(topology));
  json::object flavor = named(kKueue, "ResourceFlavor", "gpu");
  flavor["spec"] =
      json::object{{"nodeLabels", json::object{{"pool", "bench"}}}, {"topologyName", "default"}};
  teller.tell(std::move(flavor));
  json::array quotas;
  json::array covered;
  using Quota = std::pair<std::string_view, std::string_view>;
  for (const auto& [resource, nominal] :
       {Quota("cpu", "1G"), Quota("memory", "1000P"), Quota(kGpu, "1G")}) {
    covered.emplace_back(resource);
    quotas.push_back(json::object{{"name", resource}, {"nominalQuota", nominal}});
  }
  const json::object flavors{{"name", "gpu"}, {"resources", std::move(quotas)}};
  json::object queue = named(kKueue, "ClusterQueue", kFullClusterQueue);
  queue["spec"] = json::object{
      {"namespaceSelector", json::object()},
      {"preemption", json::object{{"withinClusterQueue", "LowerPriority"}}},
      {"resourceGroups", json::array{json::object{{"coveredResources", std::move(covered)},
                                                  {"flavors", json::array{flavors}}}}}};
  teller.tell(std::move(queue));
  json::object local = named(kKueue, "LocalQueue", kFullClusterQueue);
  local["metadata"].as_object()["namespace"] = "default";
  local["spec"] = json::object{{"clusterQueue", kFullClusterQueue}};
  teller.tell(std::move(local));
}

std::string node_name(uint32_t index) {
  return fmt::format("n{:06d}", index);
}

json::object node_document(uint32_t index) {
  json::object node = named("v1", "Node", node_name(index));
  node["metadata"].as_object()["labels"] =
      json::object{{"pool", "bench"},
                   {kBenchBlock, fmt::format("b{:03d}", index / 512)},
                   {kBenchRack, fmt::format("r{:02d}", index % 512 / 16)},
                   {api::kHostnameLabel, node_name(index)}};
  node["status"] = json::object{
      {"allocatable",
       json::object{{"cpu", "96"}, {"memory", "1024Gi"}, {kGpu, "8"}, {"pods", "110"}}},
      {"conditions", json::array{json::object{{"type", "Ready"}, {"status", "True"}}}}};
  return node;
}

json::object pod_set(uint32_t count, int64_t gpus, json::object requests) {
  requests["cpu"] = std::to_string(4 * gpus);
  requests[kGpu] = std::to_string(gpus);
  const json::object container{{"name", "c"},
                               {"image", "i"},
                               {"resources", json::object{{"requests", std::move(requests)}}}};
  return {
      {"name", "main"},
      {"count", count},
      {"template", json::object{{"spec", json::object{{"containers", json::array{container}}}}}}};
}

json::object workload_document(const std::string& name, int priority, Time created,
                               json::object pod_set) {
  json::object workload = named(kKueue, "Workload", name);
  auto& metadata = workload["metadata"].as_object();
  metadata["namespace"] = "default";
  metadata["creationTimestamp"] = format_time(created);
  workload["spec"] = json::object{{"queueName", kFullClusterQueue},
                                  {"priority", priority},
                                  {"active", true},
                                  {"podSets", json::array{std::move(pod_set)}}};
  return workload;
}

json::object condition(std::string_view type, Time since) {
  return {{"type", type},
          {"status", "True"},
          {"reason", type},
          {"message", ""},
          {"lastTransitionTime", format_time(since)}};
}

// Pods of a workload by node, in the order of nodes.
std::vector<std::pair<uint32_t, int32_t>> pods_of(const FullCluster& cluster, uint32_t index) {
  std::vector<std::pair<uint32_t, int32_t>> nodes;
  const auto put = [&](uint32_t pod) {
    if (nodes.empty() || nodes.back().first != pod / 8) nodes.emplace_back(pod / 8, 0);
    ++nodes.back().second;
  };
  const uint64_t pods = cluster.pods();
  const uint64_t workloads = cluster.workloads();
  if (cluster.layout == FullLayout::kScattered) {
    for (uint64_t pod = index; pod < pods; pod += workloads) put(static_cast<uint32_t>(pod));
  } else {
    const uint64_t end = (index + 1) * pods / workloads;
    for (uint64_t pod = index * pods / workloads; pod < end; ++pod) {
      put(static_cast<uint32_t>(pod));
    }
  }
  return nodes;
}

json::object running_workload(const FullCluster& cluster, uint32_t index) {
  api::TopologyAssignment assignment{{std::string(api::kHostnameLabel)}, {}};
  uint32_t count = 0;
  for (const auto& [node, pods] : pods_of(cluster, index)) {
    assignment.domains.push_back({{node_name(node)}, pods});
    count += static_cast<uint32_t>(pods);
  }
  // No two are of one age, and neighbours are not next to each other in age.
  const Time since = kBegin + std::chrono::seconds(index * 7919ULL % 10007ULL);
  const int priority = static_cast<int>(splitmix64(index) % kPriorities) * 100;
  json::object workload = workload_document(fmt::format("job-{:05d}", index), priority, since,
                                            pod_set(count, 1, json::object{{"memory", "16Gi"}}));
  auto encoded = topology::encode_v1beta2(assignment, topology::Slicing::kFewest);
  CHECK(encoded);
  const json::object placed{
      {"name", "main"},
      {"count", count},
      {"flavors", json::object{{"cpu", "gpu"}, {"memory", "gpu"}, {kGpu, "gpu"}}},
      {"resourceUsage", json::object{{"cpu", std::to_string(4 * count)},
                                     {"memory", fmt::format("{}Gi", 16 * count)},
                                     {kGpu, std::to_string(count)}}},
      {"topologyAssignment", std::move(*encoded)}};
  workload["status"] = json::object{
      {"admission", json::object{{"clusterQueue", kFullClusterQueue},
                                 {"podSetAssignments", json::array{placed}}}},
      {"conditions", json::array{condition("QuotaReserved", since), condition("Admitted", since)}}};
  return workload;
}

}  // namespace

Time full_cluster_now() {
  return kBegin + std::chrono::hours(24);
}

void fill_core(core::Core& core, const FullCluster& cluster, const core::Adapters& adapters,
               const std::function<void(uint32_t, uint32_t)>& progress) {
  Teller teller(core, adapters, progress, cluster.nodes + cluster.workloads());
  tell_queue(teller);
  for (uint32_t i = 0; i < cluster.nodes; ++i) teller.tell(node_document(i));
  for (uint32_t i = 0; i < cluster.workloads(); ++i) teller.tell(running_workload(cluster, i));
  teller.finish();
  // Built when somebody is first placed; those that run have been.
  const auto tree = core.state().account.tree_of("gpu");
  CHECK(tree && core.state().account.cluster().tree(*tree).leaf_count() == cluster.nodes);
}

core::Object gang_workload(const FullClusterGang& gang, const core::Adapters& adapters) {
  json::object gang_pods = pod_set(static_cast<uint32_t>(gang.pods), 8, {});
  gang_pods["topologyRequest"] = json::object{{"required", gang.level}};
  json::value document =
      workload_document("gang", kGangPriority, full_cluster_now(), std::move(gang_pods));
  auto& metadata = document.as_object()["metadata"].as_object();
  metadata["uid"] = "00000000-0000-4000-8000-ffffffffffff";
  metadata["resourceVersion"] = "1000000000";
  auto object = core::decode_object(document, adapters);
  CHECK(object && std::holds_alternative<api::Workload>(object->body));
  return *std::move(object);
}

}  // namespace phalanx::cli
