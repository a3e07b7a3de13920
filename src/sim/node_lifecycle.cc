#include "sim/node_lifecycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/node.h"
#include "api/taint.h"
#include "sim/object_fields.h"
#include "sim/pod_resources.h"

namespace phalanx::sim {
namespace {

using std::chrono::seconds;

constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";
constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";
constexpr std::string_view kDefaultPods = "110";
constexpr Duration kDefaultToleration = seconds(300);
constexpr Duration kRetryDelay = seconds(1);
// By these texts the conditions written here are told from those of somebody else.
constexpr std::string_view kReadyMessage = "the kubelet is alive";
constexpr std::string_view kDownMessage =
    "the kubelet is not heard of (annotation phalanx.dev/kubelet: down)";
constexpr std::string_view kNotReadyMessage =
    "the kubelet says it is not ready (annotation phalanx.dev/kubelet: not-ready)";

// What a kubelet reports of its resources where the Node does not say.
void complete_resources(json::object& status) {
  json::value* allocatable = status.if_contains("allocatable");
  json::value* capacity = status.if_contains("capacity");
  if (allocatable == nullptr && capacity != nullptr) {
    json::value copy = *capacity;
    allocatable = &(status["allocatable"] = std::move(copy));
  }
  if (allocatable == nullptr || !allocatable->is_object() || allocatable->get_object().empty()) {
    return;
  }
  json::object& amounts = allocatable->get_object();
  if (!amounts.contains(kPodsResource)) amounts[kPodsResource] = kDefaultPods;
  if (!status.contains("capacity")) {
    json::value copy = *status.if_contains("allocatable");
    status["capacity"] = std::move(copy);
  }
}

bool written_here(const json::object& condition) {
  const std::string_view message = string_field(condition, "message");
  return message == kReadyMessage || message == kDownMessage || message == kNotReadyMessage;
}

struct WantedTaint {
  std::string_view key;
  std::string_view effect;
};

std::vector<WantedTaint> wanted_taints(const json::value& node) {
  std::vector<WantedTaint> wanted;
  if (const json::object* ready = find_condition(node, "Ready")) {
    const std::string_view status = string_field(*ready, "status");
    const std::string_view key = status == "Unknown" ? kUnreachableTaint : kNotReadyTaint;
    if (status != "True") wanted = {{key, "NoSchedule"}, {key, "NoExecute"}};
  }
  if (true_at(node, {"spec", "unschedulable"})) {
    wanted.push_back({kUnschedulableTaint, "NoSchedule"});
  }
  return wanted;
}

bool is(const json::value& taint, const WantedTaint& wanted) {
  return string_at(taint, {"key"}) == wanted.key && string_at(taint, {"effect"}) == wanted.effect;
}

bool follows_condition(const json::value& taint) {
  const std::string_view key = string_at(taint, {"key"});
  return key == kNotReadyTaint || key == kUnreachableTaint || key == kUnschedulableTaint;
}

json::array taints_of(const json::value& node, Time now) {
  const std::vector<WantedTaint> wanted = wanted_taints(node);
  const auto old = list_field(node, {"spec", "taints"});
  json::array taints;
  for (const json::value& taint : old) {
    const bool stays = std::ranges::any_of(wanted, [&](const auto& w) { return is(taint, w); });
    if (follows_condition(taint) && !stays) continue;
    taints.push_back(taint);
    const bool undated =
        string_at(taint, {"effect"}) == "NoExecute" && !find_at(taint, {"timeAdded"});
    if (undated && taint.is_object()) {
      taints.back().get_object()["timeAdded"] = format_time(now);
    }
  }
  for (const WantedTaint& want : wanted) {
    if (std::ranges::any_of(old, [&](const auto& taint) { return is(taint, want); })) continue;
    json::object taint{{"key", want.key}, {"effect", want.effect}};
    if (want.effect == "NoExecute") taint["timeAdded"] = format_time(now);
    taints.push_back(std::move(taint));
  }
  return taints;
}

// A time that never comes.
constexpr Time kNever = Time::max();

// Until when a pod may stay in spite of one taint.
Time tolerated_until(const json::value& pod, const json::value& taint, Time now) {
  const Time added = time_field(taint, {"timeAdded"}).value_or(now);
  const api::Taint read{std::string(string_at(taint, {"key"})),
                        std::string(string_at(taint, {"value"})),
                        std::string(string_at(taint, {"effect"}))};
  DecodeStatus status;
  const auto tolerations =
      api::read_tolerations(JsonReader(&pod, "", status).object("spec"), "tolerations");
  const auto raw = list_field(pod, {"spec", "tolerations"});
  for (size_t i = 0; i < tolerations.size(); ++i) {
    if (!tolerations[i].tolerates(read)) continue;
    const auto limit = integer_at(raw[i], {"tolerationSeconds"});
    if (!limit) return kNever;
    constexpr int64_t kLongest = 1'000'000'000;  // 30 years: as good as for ever
    return added + seconds(std::clamp<int64_t>(*limit, 0, kLongest));
  }
  const bool is_default = read.key == kNotReadyTaint || read.key == kUnreachableTaint;
  return is_default ? added + kDefaultToleration : now;
}

struct Eviction {
  Time at = kNever;
  std::string taint;
};

// The earliest eviction by any NoExecute taint of the node.
Eviction eviction_of(const json::value& pod, const json::value& node, Time now) {
  Eviction earliest;
  for (const json::value& taint : list_field(node, {"spec", "taints"})) {
    if (string_at(taint, {"effect"}) != "NoExecute") continue;
    const Time until = tolerated_until(pod, taint, now);
    if (until < earliest.at) earliest = {until, std::string(string_at(taint, {"key"}))};
  }
  return earliest;
}

}  // namespace

KubeletState kubelet_state(const json::value& node) {
  const std::string_view state = annotation_of(node, kKubeletAnnotation);
  if (state == "down") return KubeletState::kDown;
  if (state == "not-ready") return KubeletState::kNotReady;
  return KubeletState::kAlive;
}

NodeLifecycle::NodeLifecycle(ApiServer& server, NodeLifecycleOptions options)
    : server_(server), options_(options), informer_(server, {api::Kind::kNode, api::Kind::kPod}) {}

bool NodeLifecycle::react() {
  const std::vector<Change> changes = informer_.poll();
  std::set<api::ObjectKey> affected;
  for (const Change& change : changes) {
    affected.insert(change.key);
    timers_.cancel(change.key);
    if (change.key.kind == api::Kind::kPod) {
      if (change.before != nullptr) {
        const std::string node(string_at(*change.before, {"spec", "nodeName"}));
        const auto found = pods_on_.find(node);
        if (found != pods_on_.end() && found->second.erase(change.key) > 0 &&
            found->second.empty()) {
          pods_on_.erase(found);
        }
      }
      if (change.after != nullptr) {
        const std::string node(string_at(*change.after, {"spec", "nodeName"}));
        if (!node.empty()) pods_on_[node].insert(change.key);
      }
    }
  }
  for (const Change& change : changes) {
    if (change.key.kind != api::Kind::kNode || change.after == nullptr) continue;
    const auto found = pods_on_.find(change.key.name);
    const auto taints = [](const Stored& node) {
      const json::value* list = node ? find_at(*node, {"spec", "taints"}) : nullptr;
      return list == nullptr ? json::value() : *list;
    };
    if (found == pods_on_.end() || taints(change.before) == taints(change.after)) continue;
    affected.insert(found->second.begin(), found->second.end());
  }
  const std::vector<api::ObjectKey> due = timers_.take_due(server_.clock().now());
  affected.insert(due.begin(), due.end());
  for (const api::ObjectKey& key : affected) {
    if (key.kind == api::Kind::kNode) {
      sync_node(key);
    } else {
      sync_pod(key);
    }
  }
  return !changes.empty() || !due.empty();
}

void NodeLifecycle::sync_node(const api::ObjectKey& key) {
  const Stored node = informer_.find(key);
  if (node == nullptr || is_deleted(*node)) return;
  if (note_stop(key, *node)) return;
  if (label(key, *node)) return;
  if (report(key, *node)) return;
  taint(key, *node);
}

bool NodeLifecycle::note_stop(const api::ObjectKey& key, const json::value& node) {
  const bool down = kubelet_state(node) == KubeletState::kDown;
  const bool noted = !annotation_of(node, kKubeletStoppedAnnotation).empty();
  if (down == noted) return false;
  json::object annotations;
  annotations[kKubeletStoppedAnnotation] =
      down ? json::value(format_micro_time(server_.clock().now())) : json::value();
  retry_unless(patch_metadata(server_, node, {{"annotations", std::move(annotations)}}), key);
  return true;
}

bool NodeLifecycle::label(const api::ObjectKey& key, const json::value& node) {
  const bool labelled = find_at(node, {"metadata", "labels", api::kHostnameLabel}) != nullptr;
  if (labelled || kubelet_state(node) == KubeletState::kDown) return false;
  json::object labels;
  labels[api::kHostnameLabel] = key.name;
  retry_unless(patch_metadata(server_, node, {{"labels", std::move(labels)}}), key);
  return true;
}

bool NodeLifecycle::report(const api::ObjectKey& key, const json::value& node) {
  const Time now = server_.clock().now();
  const json::object* ready = find_condition(node, "Ready");
  json::object status = status_of(node);
  const json::object old = status;
  switch (kubelet_state(node)) {
    case KubeletState::kDown: {
      const auto stopped = parse_time(annotation_of(node, kKubeletStoppedAnnotation));
      const Time lost = stopped.value_or(now) + options_.grace_period;
      if (now < lost) {
        timers_.set(key, lost);
        return false;
      }
      set_condition(status, {"Ready", "Unknown", "NodeStatusUnknown", kDownMessage}, now);
      break;
    }
    case KubeletState::kNotReady:
      complete_resources(status);
      set_condition(status, {"Ready", "False", "KubeletNotReady", kNotReadyMessage}, now);
      break;
    case KubeletState::kAlive:
      complete_resources(status);
      if (ready == nullptr || written_here(*ready)) {
        set_condition(status, {"Ready", "True", "KubeletReady", kReadyMessage}, now);
      }
      break;
  }
  if (status == old) return false;
  retry_unless(write_status(server_, node, std::move(status)), key);
  return true;
}

bool NodeLifecycle::taint(const api::ObjectKey& key, const json::value& node) {
  json::array taints = taints_of(node, server_.clock().now());
  const auto old = list_field(node, {"spec", "taints"});
  if (std::ranges::equal(taints, old)) return false;
  auto written = server_.patch(
      key, PatchType::kMerge,
      json::object{
          {"metadata", {{"resourceVersion", string_at(node, {"metadata", "resourceVersion"})}}},
          {"spec", json::object{{"taints", std::move(taints)}}}});
  if (!written) timers_.set(key, server_.clock().now() + kRetryDelay);
  return true;
}

void NodeLifecycle::sync_pod(const api::ObjectKey& key) {
  const Stored pod = informer_.find(key);
  if (pod == nullptr || is_deleted(*pod) || is_terminal(*pod)) return;
  const std::string node_name(string_at(*pod, {"spec", "nodeName"}));
  const Stored node = informer_.find({api::Kind::kNode, "", node_name});
  if (node_name.empty() || node == nullptr) return;
  const Time now = server_.clock().now();
  const Eviction eviction = eviction_of(*pod, *node, now);
  if (eviction.at == kNever) return;
  if (eviction.at > now) return timers_.set(key, eviction.at);

  json::object status = status_of(*pod);
  const std::string message = fmt::format("does not tolerate the taint {} of node {} (any longer)",
                                          eviction.taint, node_name);
  set_condition(status, {"DisruptionTarget", "True", "DeletionByTaintManager", message}, now);
  const auto written = write_status(server_, *pod, std::move(status));
  DeleteOptions options;
  options.uid = uid_of(*pod);
  retry_unless(written ? server_.remove(key, options) : written, key);
}

void NodeLifecycle::retry_unless(const ApiResult<void>& written, const api::ObjectKey& key) {
  if (!written) timers_.set(key, server_.clock().now() + kRetryDelay);
}

}  // namespace phalanx::sim
