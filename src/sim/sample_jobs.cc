#include "sim/sample_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/node.h"
#include "base/quantity.h"
#include "base/saturating.h"
#include "sim/kubelet.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kKueue = "kueue.x-k8s.io/v1beta2";
constexpr std::string_view kTopology = "default";
constexpr std::string_view kFlavor = "tas";
constexpr std::string_view kLocalQueue = "main";
constexpr std::string_view kRequired = "kueue.x-k8s.io/podset-required-topology";
constexpr std::string_view kPreferred = "kueue.x-k8s.io/podset-preferred-topology";
constexpr std::string_view kUnconstrained = "kueue.x-k8s.io/podset-unconstrained-topology";
constexpr std::string_view kSliceTopology = "kueue.x-k8s.io/podset-slice-required-topology";
constexpr std::string_view kSliceSize = "kueue.x-k8s.io/podset-slice-size";

struct Team {
  std::string_view name;
  int64_t percent;  // of the cluster; together more than all of it, as quotas usually are
};
constexpr std::array<Team, 3> kTeams{{{"research", 50}, {"product", 40}, {"batch", 30}}};

// Work arrives faster than it can be done, by this much.
constexpr int64_t kLoadPercent = 115;
// So much of the cluster is asked for at once in the beginning.
constexpr int64_t kFirstPercent = 95;

json::object object(std::string_view api_version, std::string_view kind, std::string_view name,
                    std::string_view namespace_name = "") {
  json::object metadata{{"name", name}};
  if (!namespace_name.empty()) metadata["namespace"] = namespace_name;
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

}  // namespace

SampleJobs::SampleJobs(const NodePlan& nodes, uint64_t seed) : nodes_(nodes), random_(seed) {
  hosts_ = static_cast<int64_t>(nodes.hosts);
  resource_ = "cpu";
  for (const auto& [name, amount] : nodes.amounts) {
    if (name.find('/') != std::string::npos) resource_ = name;
  }
  for (const auto& [name, amount] : nodes.amounts) {
    if (name == resource_) units_ = parse_amount(name, amount).value_or(0);
  }
}

int64_t SampleJobs::hosts_of_team(int64_t percent) const {
  return std::max<int64_t>(1, static_cast<int64_t>(nodes_.count()) * percent / 100);
}

json::object SampleJobs::cluster_queue(std::string_view team, int64_t percent) const {
  json::array names;
  json::array quotas;
  // Whole hosts, because jobs take whole ones, and at least one.
  const int64_t hosts = hosts_of_team(percent);
  for (const auto& [name, amount] : nodes_.amounts) {
    if (name == "pods") continue;
    const int64_t of_host = parse_amount(name, amount).value_or(0);
    names.emplace_back(name);
    quotas.push_back(
        json::object{{"name", name},
                     {"nominalQuota", format_amount(name, saturating_multiply(of_host, hosts))}});
  }
  json::object queue = object(kKueue, "ClusterQueue", team);
  queue["spec"] = json::object{
      {"namespaceSelector", json::object{}},
      {"resourceGroups",
       json::array{json::object{
           {"coveredResources", std::move(names)},
           {"flavors",
            json::array{json::object{{"name", kFlavor}, {"resources", std::move(quotas)}}}}}}}};
  return queue;
}

std::vector<json::value> SampleJobs::setup() const {
  std::vector<json::value> documents;
  json::array levels;
  for (const std::string& key : nodes_.level_keys()) {
    levels.push_back(json::object{{"nodeLabel", key}});
  }
  json::object topology = object(kKueue, "Topology", kTopology);
  topology["spec"] = json::object{{"levels", std::move(levels)}};
  documents.emplace_back(std::move(topology));
  json::object flavor = object(kKueue, "ResourceFlavor", kFlavor);
  flavor["spec"] = json::object{{"nodeLabels", json::object{{kNodeGroupLabel, kNodeGroup}}},
                                {"topologyName", kTopology}};
  documents.emplace_back(std::move(flavor));
  json::object high = object(kKueue, "WorkloadPriorityClass", "high");
  high["value"] = 100;
  documents.emplace_back(std::move(high));
  for (const Team& team : kTeams) {
    documents.emplace_back(cluster_queue(team.name, team.percent));
    json::object queue = object(kKueue, "LocalQueue", kLocalQueue, team.name);
    queue["spec"] = json::object{{"clusterQueue", team.name}};
    documents.emplace_back(std::move(queue));
  }
  return documents;
}

SampleJobs::Shape SampleJobs::small() {
  const int64_t per_host = std::clamp<int64_t>(units_, 1, 4);
  return {"evaluate", random_.between(1, 4), per_host, {}, random_.between(5, 40)};
}

SampleJobs::Shape SampleJobs::anywhere() {
  const int64_t per_host = std::clamp<int64_t>(units_, 1, 8);
  return {"sweep",
          random_.between(4, 16),
          per_host,
          {{kUnconstrained, "true"}},
          random_.between(10, 90)};
}

SampleJobs::Shape SampleJobs::within_rack() {
  const int64_t pods = random_.between((hosts_ + 3) / 4, hosts_);
  return {"finetune", pods, 1, {{kRequired, kRackLabel}}, random_.between(20, 120)};
}

SampleJobs::Shape SampleJobs::near_rack() {
  const int64_t pods = random_.between((hosts_ + 1) / 2, hosts_ + hosts_ / 2);
  return {"train", pods, 1, {{kPreferred, kRackLabel}}, random_.between(30, 150)};
}

SampleJobs::Shape SampleJobs::near_block() {
  const int64_t racks = std::min<int64_t>(3, static_cast<int64_t>(nodes_.racks));
  const int64_t pods = random_.between(hosts_, hosts_ * racks);
  return {"pretrain", pods, 1, {{kPreferred, kBlockLabel}}, random_.between(60, 240)};
}

SampleJobs::Shape SampleJobs::sliced() {
  const int64_t size = std::max<int64_t>(1, hosts_ / 4);
  const int64_t most = std::max<int64_t>(2, static_cast<int64_t>(nodes_.racks) * 2);
  const int64_t pods = size * random_.between(2, std::min<int64_t>(most, 8));
  return {
      "pipeline",
      pods,
      1,
      {{kRequired, kBlockLabel}, {kSliceTopology, kRackLabel}, {kSliceSize, std::to_string(size)}},
      random_.between(40, 180),
      size};
}

SampleJobs::Shape SampleJobs::choose() {
  const uint64_t draw = random_.below(100);
  if (nodes_.racks == 0 || draw < 30) return draw % 2 == 0 ? small() : anywhere();
  if (nodes_.blocks == 0 || draw < 70) return draw % 2 == 0 ? within_rack() : near_rack();
  return draw % 2 == 0 ? sliced() : near_block();
}

json::object SampleJobs::requests(int64_t pods_per_host) const {
  json::object requests;
  for (const auto& [name, amount] : nodes_.amounts) {
    if (name == "pods") continue;
    int64_t part = parse_amount(name, amount).value_or(0) / pods_per_host;
    // Of what the jobs do not compete for there is enough.
    if (name != resource_) part /= 2;
    if (part > 0) requests[name] = format_amount(name, part);
  }
  return requests;
}

json::value SampleJobs::job(const Shape& shape, std::string_view team) {
  json::object annotations = shape.topology;
  annotations[kRunForAnnotation] = fmt::format("{}m", shape.minutes);
  const bool fails = random_.below(100) < 3;
  if (fails) annotations[kExitCodeAnnotation] = "1";
  json::object labels{{"kueue.x-k8s.io/queue-name", kLocalQueue}};
  if (random_.below(10) == 0) labels["kueue.x-k8s.io/priority-class"] = "high";
  json::object job =
      object("batch/v1", "Job", fmt::format("{}-{:05}", shape.name, ++number_), team);
  job["metadata"].get_object()["labels"] = std::move(labels);
  json::object container{{"name", "main"},
                         {"image", "sample"},
                         {"resources", json::object{{"requests", requests(shape.pods_per_host)},
                                                    {"limits", requests(shape.pods_per_host)}}}};
  job["spec"] = json::object{
      {"parallelism", shape.pods},
      {"completions", shape.pods},
      {"completionMode", "Indexed"},
      {"backoffLimit", 0},
      {"ttlSecondsAfterFinished", 600},
      {"template",
       json::object{{"metadata", json::object{{"annotations", std::move(annotations)}}},
                    {"spec", json::object{{"restartPolicy", "Never"},
                                          {"containers", json::array{std::move(container)}}}}}}};
  return job;
}

SampleJobs::Arrival SampleJobs::next() {
  Shape shape = choose();
  const Team& team = kTeams[random_.below(kTeams.size())];
  const auto all_hosts = static_cast<int64_t>(nodes_.count());
  // Nobody asks for more than half of the team's quota.
  const int64_t most = (hosts_of_team(team.percent) + 1) / 2;
  shape.pods = std::min(shape.pods, most * shape.pods_per_host);
  shape.pods = std::max(shape.pods / shape.slice_size, int64_t{1}) * shape.slice_size;
  Arrival arrival;
  const int64_t minutes_of_hosts = shape.pods * shape.minutes / shape.pods_per_host;
  const int64_t spread_percent = random_.between(50, 150);
  if (submitted_hosts_ * 100 < all_hosts * kFirstPercent) {
    submitted_hosts_ += std::max<int64_t>(1, shape.pods / shape.pods_per_host);
  } else {
    arrival.after = Duration(minutes_of_hosts * 60'000 / all_hosts * spread_percent / kLoadPercent);
  }
  arrival.job = job(shape, team.name);
  return arrival;
}

}  // namespace phalanx::sim
