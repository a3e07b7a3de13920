#include "cli/soak_jobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/node.h"
#include "core/names.h"
#include "sim/kubelet.h"
#include "sim/node_generator.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kRequired = "kueue.x-k8s.io/podset-required-topology";
constexpr std::string_view kPreferred = "kueue.x-k8s.io/podset-preferred-topology";
constexpr std::string_view kUnconstrained = "kueue.x-k8s.io/podset-unconstrained-topology";
constexpr std::string_view kSliceTopology = "kueue.x-k8s.io/podset-slice-required-topology";
constexpr std::string_view kSliceSize = "kueue.x-k8s.io/podset-slice-size";

constexpr int64_t kHosts = kSoakHostsOfRack;

}  // namespace

// Most run for about as long as usual, a few for much longer.
int64_t SoakJobs::some_minutes(int64_t usual, int64_t most) {
  int64_t minutes = random_.between(std::max<int64_t>(1, usual / 5), usual);
  while (minutes < most && chance(30)) minutes *= 2;
  return std::min(minutes, most);
}

SoakJobs::Shape SoakJobs::small() {
  Shape shape{"evaluate", random_.between(1, 4), 1 << random_.below(3)};
  shape.minutes = some_minutes(60, 720);
  return shape;
}

SoakJobs::Shape SoakJobs::sweep() {
  Shape shape{"sweep", random_.between(4, 40), random_.between(1, 2)};
  shape.topology = {{kUnconstrained, "true"}};
  shape.minutes = some_minutes(120, 960);
  return shape;
}

SoakJobs::Shape SoakJobs::within_rack() {
  const bool whole_nodes = chance(60);
  Shape shape{"finetune", random_.between(2, whole_nodes ? kHosts : 2 * kHosts),
              whole_nodes ? 8 : 4};
  shape.topology = {{kRequired, sim::kRackLabel}};
  shape.minutes = some_minutes(240, 1200);
  return shape;
}

SoakJobs::Shape SoakJobs::near_rack() {
  Shape shape{"train", random_.between(kHosts / 2, kHosts * 2), 8};
  shape.topology = {{kPreferred, sim::kRackLabel}};
  shape.minutes = some_minutes(300, 1200);
  return shape;
}

SoakJobs::Shape SoakJobs::within_block() {
  Shape shape{"pretrain", random_.between(kHosts, kHosts * 3), 8};
  shape.topology = {{chance(50) ? kRequired : kPreferred, sim::kBlockLabel}};
  shape.minutes = some_minutes(480, 2000);
  return shape;
}

SoakJobs::Shape SoakJobs::sliced() {
  const bool of_hosts = chance(30);
  const int64_t size = of_hosts ? 4 : random_.between(2, 5);
  Shape shape{"pipeline", size * random_.between(2, 6), of_hosts ? 2 : 8};
  shape.slice = size;
  shape.topology = {{chance(60) ? kRequired : kPreferred, sim::kBlockLabel},
                    {kSliceTopology, of_hosts ? api::kHostnameLabel : sim::kRackLabel},
                    {kSliceSize, std::to_string(size)}};
  shape.minutes = some_minutes(300, 1200);
  return shape;
}

SoakJobs::Shape SoakJobs::huge() {
  Shape shape{"huge", random_.between(100, 300), random_.between(1, 4)};
  shape.topology = {{chance(50) ? kPreferred : kUnconstrained, "true"}};
  if (shape.topology.contains(kPreferred)) shape.topology[kPreferred] = sim::kBlockLabel;
  shape.minutes = some_minutes(240, 700);
  return shape;
}

SoakJobs::Shape SoakJobs::choose() {
  const uint64_t draw = random_.below(100);
  if (draw < 25) return small();
  if (draw < 40) return sweep();
  if (draw < 60) return within_rack();
  if (draw < 75) return near_rack();
  if (draw < 83) return within_block();
  return draw < 98 ? sliced() : huge();
}

json::object SoakJobs::labels(const Shape& shape) {
  json::object labels{{core::names::kQueueLabel, kSoakLocalQueue}};
  const uint64_t priority = random_.below(10);
  if (priority == 0) labels[core::names::kPriorityClassLabel] = "high";
  if (priority > 7) labels[core::names::kPriorityClassLabel] = "low";
  // Half of these end before that, the others have to be ended.
  if (chance(4)) {
    const int64_t seconds = std::max<int64_t>(60, shape.minutes * random_.between(20, 120));
    labels[core::names::kMaximumExecutionLabel] = std::to_string(seconds);
  }
  return labels;
}

json::object SoakJobs::pod_template(const Shape& shape, std::string_view team, bool fails) {
  json::object annotations = shape.topology;
  annotations[sim::kRunForAnnotation] = fmt::format("{}m", shape.minutes);
  if (fails) annotations[sim::kExitCodeAnnotation] = "1";
  if (chance(10)) annotations[sim::kTerminatesAfterAnnotation] = "20s";
  const json::object amounts{{"cpu", std::to_string(shape.gpus * kSoakCpusOfNode / 10)},
                             {kSoakGpu, std::to_string(shape.gpus)}};
  json::object container{{"name", "main"},
                         {"image", "soak"},
                         {"resources", json::object{{"requests", amounts}, {"limits", amounts}}}};
  json::object spec{{"restartPolicy", "Never"},
                    {"terminationGracePeriodSeconds", 60},
                    {"containers", json::array{std::move(container)}}};
  // Some want the nodes that have to be made.
  const int64_t hosts = (shape.pods * shape.gpus + kSoakGpusOfNode - 1) / kSoakGpusOfNode;
  const int64_t most = std::min<int64_t>(kHosts, plan_.scaled_nodes() / 2);
  if (team != "product" && hosts <= most && chance(15)) {
    spec["nodeSelector"] = json::object{{sim::kNodeGroupLabel, kSoakScaledGroup}};
  }
  if (chance(10)) {
    spec["tolerations"] =
        json::array{json::object{{"key", "soak.phalanx.dev/maintenance"}, {"operator", "Exists"}}};
  }
  return {{"metadata", json::object{{"annotations", std::move(annotations)}}},
          {"spec", std::move(spec)}};
}

json::value SoakJobs::job(const Shape& shape, std::string_view team) {
  const bool fails = chance(1);
  json::object metadata{{"name", fmt::format("{}-{:05}", shape.name, ++number_)},
                        {"namespace", team},
                        {"labels", labels(shape)}};
  if (shape.name == "sweep" && chance(20)) {
    metadata["annotations"] = json::object{
        {core::names::kMinParallelismAnnotation, std::to_string((shape.pods + 1) / 2)}};
  }
  const bool ranked = chance(70);
  return json::object{{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"metadata", std::move(metadata)},
                      {"spec", json::object{{"parallelism", shape.pods},
                                            {"completions", shape.pods},
                                            {"completionMode", ranked ? "Indexed" : "NonIndexed"},
                                            {"backoffLimit", fails ? 1 : 100'000},
                                            {"ttlSecondsAfterFinished", 300},
                                            {"template", pod_template(shape, team, fails)}}}};
}

SoakJobs::Arrival SoakJobs::next() {
  Shape shape = choose();
  uint64_t lot = random_.below(100);
  const SoakTeam* team = kSoakTeams;
  while (lot >= team->percent) lot -= (team++)->percent;
  // Nobody asks for more than half of the team's quota.
  const int64_t gpus_of_team = int64_t{plan_.fixed_nodes()} * team->percent / 100 * kSoakGpusOfNode;
  shape.pods = std::min(shape.pods, gpus_of_team / 2 / shape.gpus);
  shape.pods = std::max<int64_t>(1, shape.pods / shape.slice) * shape.slice;
  const int64_t all_gpus = int64_t{plan_.fixed_nodes()} * kSoakGpusOfNode;
  const int64_t work = shape.pods * shape.gpus * shape.minutes * 60'000;
  const int64_t spread_percent = random_.between(10, 190);
  Arrival arrival;
  arrival.after = Duration(work * spread_percent / (all_gpus * plan_.load_percent));
  arrival.job = job(shape, team->name);
  return arrival;
}

}  // namespace phalanx::cli
