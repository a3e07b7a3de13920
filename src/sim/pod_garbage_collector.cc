#include "sim/pod_garbage_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/object_fields.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kOutOfServiceTaint = "node.kubernetes.io/out-of-service";
constexpr Duration kRetryDelay = std::chrono::seconds(1);

std::string node_of(const json::value& pod) {
  return std::string(string_at(pod, {"spec", "nodeName"}));
}

bool out_of_service(const json::value& node) {
  return !condition_is_true(node, "Ready") &&
         std::ranges::any_of(list_field(node, {"spec", "taints"}), [](const json::value& taint) {
           return string_at(taint, {"key"}) == kOutOfServiceTaint;
         });
}

}  // namespace

PodGarbageCollector::PodGarbageCollector(ApiServer& server, PodGarbageCollectorOptions options)
    : server_(server), options_(options), informer_(server, {api::Kind::kNode, api::Kind::kPod}) {}

bool PodGarbageCollector::react() {
  const std::vector<Change> changes = informer_.poll();
  const std::vector<api::ObjectKey> due = timers_.take_due(server_.clock().now());
  std::set<api::ObjectKey> affected(due.begin(), due.end());
  for (const Change& change : changes) {
    if (change.key.kind == api::Kind::kPod) {
      observe_pod(change);
      affected.insert(change.key);
    }
  }
  for (const Change& change : changes) {
    if (change.key.kind != api::Kind::kNode) continue;
    gone_since_.erase(change.key.name);
    const auto pods = pods_on_.find(change.key.name);
    if (pods != pods_on_.end()) affected.insert(pods->second.begin(), pods->second.end());
  }
  for (const api::ObjectKey& key : affected) sync(key);
  return !changes.empty() || !due.empty();
}

void PodGarbageCollector::observe_pod(const Change& change) {
  const std::string before = change.before == nullptr ? "" : node_of(*change.before);
  const std::string after = change.after == nullptr ? "" : node_of(*change.after);
  if (!before.empty() && before != after) {
    std::set<api::ObjectKey>& pods = pods_on_[before];
    pods.erase(change.key);
    if (pods.empty()) {
      pods_on_.erase(before);
      gone_since_.erase(before);
    }
  }
  if (!after.empty()) pods_on_[after].insert(change.key);
}

void PodGarbageCollector::sync(const api::ObjectKey& key) {
  timers_.cancel(key);
  const Stored pod = informer_.find(key);
  if (pod == nullptr || node_of(*pod).empty()) return;
  const std::string node_name = node_of(*pod);
  const Stored node = informer_.find({api::Kind::kNode, "", node_name});
  if (node != nullptr) {
    if (is_deleted(*pod) && out_of_service(*node)) {
      remove(key, *pod, fmt::format("node {} is out of service", node_name));
    }
    return;
  }
  const Time now = server_.clock().now();
  const Time since = gone_since_.try_emplace(node_name, now).first->second;
  if (since + options_.node_gone_for > now) return timers_.set(key, since + options_.node_gone_for);
  remove(key, *pod, fmt::format("node {} does not exist any more", node_name));
}

void PodGarbageCollector::remove(const api::ObjectKey& key, const json::value& pod,
                                 const std::string& message) {
  const Time now = server_.clock().now();
  json::object status = status_of(pod);
  if (!is_terminal(pod)) {
    // Nobody else will say that it has ended.
    status["phase"] = "Failed";
    set_condition(status, {"DisruptionTarget", "True", "DeletionByPodGC", message}, now);
  }
  DeleteOptions options;
  options.uid = uid_of(pod);
  options.grace_period_seconds = 0;
  const bool removed =
      write_status(server_, pod, std::move(status)) && server_.remove(key, options);
  if (!removed) timers_.set(key, now + kRetryDelay);
}

}  // namespace phalanx::sim
