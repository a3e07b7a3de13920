#include "cli/simulate_pods.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/names.h"
#include "sim/document.h"
#include "sim/object_fields.h"

namespace phalanx::cli {
namespace {

bool is_running(const json::value& pod) {
  return string_at(pod, {"status", "phase"}) == "Running" && !sim::is_deleted(pod);
}

}  // namespace

std::string workload_of(const json::value& pod) {
  const std::string_view name = sim::annotation_of(pod, core::names::kWorkloadAnnotation);
  if (name.empty()) return "";
  return fmt::format("{}/{}", string_at(pod, {"metadata", "namespace"}), name);
}

int64_t done_pods(const json::value& workload) {
  int64_t done = 0;
  for (const json::value& pod_set : sim::list_field(workload, {"status", "reclaimablePods"})) {
    done += integer_at(pod_set, {"count"}).value_or(0);
  }
  return done;
}

std::string node_state(const json::value& node) {
  const json::object* ready = sim::find_condition(node, "Ready");
  const std::string_view status = ready == nullptr ? "" : string_field(*ready, "status");
  std::string text = status == "True" ? "Ready" : status == "Unknown" ? "Unreachable" : "NotReady";
  if (true_at(node, {"spec", "unschedulable"})) text += ", cordoned";
  return text;
}

void RunningPods::observe_pod(const sim::Change& change) {
  if (change.before != nullptr && is_running(*change.before)) {
    const std::string workload = workload_of(*change.before);
    const auto found = workloads_.find(workload);
    const bool same = change.after != nullptr && is_running(*change.after) &&
                      workload_of(*change.after) == workload &&
                      sim::uid_of(*change.before) == sim::uid_of(*change.after);
    if (same || found == workloads_.end()) return;
    found->second.nodes.erase(change.key);
    changed_.insert(workload);
    const std::string_view phase =
        change.after == nullptr ? "" : string_at(*change.after, {"status", "phase"});
    if (phase == "Failed") found->second.lost = "a pod failed";
    if (phase.empty() || phase == "Running") found->second.lost = "a pod is gone";
    if (found->second.nodes.empty() && found->second.lost.empty()) workloads_.erase(found);
  }
  if (change.after == nullptr || !is_running(*change.after)) return;
  const std::string workload = workload_of(*change.after);
  if (workload.empty()) return;
  workloads_[workload].nodes[change.key] = string_at(*change.after, {"spec", "nodeName"});
  changed_.insert(workload);
}

void RunningPods::observe_node(const sim::Change& change) {
  const std::string& name = change.key.name;
  const auto old = bad_nodes_.find(name);
  const std::string before = old == bad_nodes_.end() ? "" : old->second;
  std::string now;
  if (change.after == nullptr) {
    now = "gone";
  } else if (!sim::condition_is_true(*change.after, "Ready")) {
    now = node_state(*change.after);
  }
  if (now == before) return;
  if (now.empty()) {
    bad_nodes_.erase(name);
  } else {
    bad_nodes_[name] = now;
  }
  for (auto& [workload, pods] : workloads_) {
    const bool touched =
        std::ranges::any_of(pods.nodes, [&](const auto& entry) { return entry.second == name; });
    if (!touched) continue;
    changed_.insert(workload);
    if (!now.empty()) pods.lost = fmt::format("node {} is {}", name, now);
  }
}

int64_t RunningPods::running(const std::string& workload) const {
  const auto found = workloads_.find(workload);
  if (found == workloads_.end()) return 0;
  return std::ranges::count_if(found->second.nodes, [this](const auto& entry) {
    return !bad_nodes_.contains(entry.second);
  });
}

std::string RunningPods::loss(const std::string& workload) const {
  const auto found = workloads_.find(workload);
  return found == workloads_.end() ? "" : found->second.lost;
}

void RunningPods::forget_loss(const std::string& workload) {
  const auto found = workloads_.find(workload);
  if (found == workloads_.end()) return;
  found->second.lost.clear();
  if (found->second.nodes.empty()) workloads_.erase(found);
}

}  // namespace phalanx::cli
