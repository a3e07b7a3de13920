#include "sim/kubelet.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "api/node.h"
#include "base/check.h"
#include "base/quantity.h"
#include "sim/node_lifecycle.h"
#include "sim/object_fields.h"
#include "sim/pod_status.h"

namespace phalanx::sim {
namespace {

using std::chrono::seconds;

constexpr Duration kRetryDelay = seconds(1);
constexpr int64_t kKilledExitCode = 143;  // ended by SIGTERM

// nullopt if it is no exit code.
std::optional<int64_t> exit_code_of(const json::value& pod) {
  const std::string_view text = annotation_of(pod, kExitCodeAnnotation);
  int64_t code = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool whole = problem == std::errc() && stop == text.data() + text.size();
  if (!whole || code < 0 || code > 255) return std::nullopt;
  return code;
}

// 10 s, doubling, at most 5 min.
Duration restart_delay(int64_t restarts) {
  constexpr int64_t kDoublings = 5;
  return std::min<Duration>(seconds(10) * (1 << std::min(restarts, kDoublings)), seconds(300));
}

bool restarts(const json::value& pod, int64_t exit_code) {
  const std::string_view policy = text_or(pod, {"spec", "restartPolicy"}, "Always");
  return policy == "Always" || (policy == "OnFailure" && exit_code != 0);
}

const json::value* first_container(const json::value& pod) {
  const auto containers = list_field(pod, {"status", "containerStatuses"});
  return containers.empty() ? nullptr : &containers.front();
}

}  // namespace

std::string problem_of_run_annotations(const json::value& pod) {
  const json::object* annotations = object_at(pod, {"metadata", "annotations"});
  if (annotations == nullptr) return "";
  for (const std::string_view name :
       {kRunForAnnotation, kTerminatesAfterAnnotation, kExitCodeAnnotation}) {
    const json::value* value = annotations->if_contains(name);
    if (value == nullptr || value->is_string()) continue;
    return fmt::format("metadata.annotations[{}]: must be a string; put it in quotes", name);
  }
  for (const std::string_view name : {kRunForAnnotation, kTerminatesAfterAnnotation}) {
    if (!annotations->contains(name)) continue;
    if (const auto duration = parse_duration(annotation_of(pod, name)); !duration) {
      return fmt::format("metadata.annotations[{}]: {}", name, duration.error().message);
    }
  }
  if (!annotations->contains(kExitCodeAnnotation) || exit_code_of(pod)) return "";
  return fmt::format("metadata.annotations[{}]: \"{}\" is no exit code; write 0 to 255",
                     kExitCodeAnnotation, annotation_of(pod, kExitCodeAnnotation));
}

Kubelets::Kubelets(ApiServer& server, KubeletOptions options)
    : server_(server), options_(options), informer_(server, {api::Kind::kNode, api::Kind::kPod}) {}

bool Kubelets::react() {
  const std::vector<Change> changes = informer_.poll();
  std::set<api::ObjectKey> affected;
  for (const Change& change : changes) {
    if (change.key.kind == api::Kind::kNode) {
      observe_node(change, affected);
    } else {
      observe_pod(change);
      affected.insert(change.key);
    }
  }
  const std::vector<api::ObjectKey> due = timers_.take_due(server_.clock().now());
  affected.insert(due.begin(), due.end());

  // Pods that run go first, because those that end make room; then by age, as kubelets admit.
  std::vector<std::tuple<bool, std::string, api::ObjectKey>> order;
  for (const api::ObjectKey& key : affected) {
    const auto found = pods_.find(key);
    if (found == pods_.end()) continue;
    order.emplace_back(found->second.stage == Stage::kNew, found->second.created, key);
  }
  std::ranges::sort(order);
  for (const auto& [is_new, created, key] : order) act(key);
  return !changes.empty() || !due.empty();
}

void Kubelets::observe_node(const Change& change, std::set<api::ObjectKey>& affected) {
  NodeRecord& record = nodes_[change.key.name];
  const bool was_alive = std::exchange(record.alive, false);
  if (change.after == nullptr) {
    if (record.pods.empty()) nodes_.erase(change.key.name);
    return;
  }
  DecodeStatus status;
  record.load.set_allocatable(
      api::read_node(JsonReader(change.after.get(), "", status)).allocatable);
  record.alive = kubelet_state(*change.after) == KubeletState::kAlive &&
                 condition_is_true(*change.after, "Ready");
  if (record.alive && !was_alive) affected.insert(record.pods.begin(), record.pods.end());
}

void Kubelets::observe_pod(const Change& change) {
  const api::ObjectKey& key = change.key;
  const auto known = pods_.find(key);
  const std::optional<PodRecord> old =
      known == pods_.end() ? std::nullopt : std::optional(known->second);
  forget(key);
  if (change.after == nullptr) return;
  const json::value& pod = *change.after;
  PodRecord record;
  record.node = string_at(pod, {"spec", "nodeName"});
  if (record.node.empty()) return;
  record.uid = uid_of(pod);
  record.demand = pod_demand(pod);
  record.created = string_at(pod, {"metadata", "creationTimestamp"});
  record.stage = stage_of(pod);
  const bool goes_on = old && old->uid == record.uid && old->stage == record.stage;
  record.since =
      goes_on ? old->since : began_at(stage_began(pod, record.stage), server_.clock().now());
  record.counted = !is_terminal(pod) && find_at(pod, {"status", "startTime"}) != nullptr;
  NodeRecord& node = nodes_[record.node];
  node.pods.insert(key);
  if (record.counted) node.load.add(record.demand);
  pods_.emplace(key, std::move(record));
}

void Kubelets::forget(const api::ObjectKey& key) {
  timers_.cancel(key);
  const auto found = pods_.find(key);
  if (found == pods_.end()) return;
  NodeRecord& node = nodes_[found->second.node];
  node.pods.erase(key);
  if (found->second.counted) node.load.remove(found->second.demand);
  pods_.erase(found);
}

Kubelets::Stage Kubelets::stage_of(const json::value& pod) {
  if (is_terminal(pod)) return Stage::kEnded;
  if (is_deleted(pod)) return Stage::kTerminating;
  if (find_at(pod, {"status", "startTime"}) == nullptr) return Stage::kNew;
  if (string_at(pod, {"status", "phase"}) != "Running") return Stage::kStarting;
  const json::value* container = first_container(pod);
  const bool waits = container != nullptr && find_at(*container, {"state", "waiting"}) != nullptr;
  return waits ? Stage::kBackingOff : Stage::kRunning;
}

std::optional<Time> Kubelets::stage_began(const json::value& pod, Stage stage) {
  const json::value* container = first_container(pod);
  switch (stage) {
    case Stage::kNew:
    case Stage::kEnded:
      return std::nullopt;
    case Stage::kStarting:
      return time_field(pod, {"status", "startTime"});
    case Stage::kRunning:
      if (container != nullptr) {
        if (auto time = time_field(*container, {"state", "running", "startedAt"})) return time;
      }
      return time_field(pod, {"status", "startTime"});
    case Stage::kBackingOff:
      return time_field(*container, {"lastState", "terminated", "finishedAt"});
    case Stage::kTerminating:
      return deleted_at(pod);
  }
  return std::nullopt;
}

void Kubelets::act(const api::ObjectKey& key) {
  PodRecord& record = pods_.at(key);
  if (!nodes_[record.node].alive) return;
  const Stored pod = informer_.find(key);
  CHECK(pod != nullptr);
  const Time now = server_.clock().now();
  switch (record.stage) {
    case Stage::kNew:
      return admit(key, *pod, record);
    case Stage::kStarting:
      if (due(key, record, options_.start_delay)) write(key, *pod, running_status(*pod, now));
      return;
    case Stage::kRunning: {
      const auto run_for = duration_annotation(*pod, kRunForAnnotation);
      const auto delay = run_for ? run_for : options_.run_for;
      if (delay && due(key, record, *delay)) finish_run(key, *pod);
      return;
    }
    case Stage::kBackingOff:
      if (due(key, record, restart_delay(restart_count(*pod)))) {
        write(key, *pod, running_status(*pod, now));
      }
      return;
    case Stage::kTerminating: {
      const auto grace = integer_at(*pod, {"metadata", "deletionGracePeriodSeconds"});
      const Duration wanted =
          duration_annotation(*pod, kTerminatesAfterAnnotation).value_or(options_.terminates_after);
      const Duration delay = grace ? std::min<Duration>(wanted, seconds(*grace)) : wanted;
      if (due(key, record, delay)) terminate(key, *pod);
      return;
    }
    case Stage::kEnded:
      if (is_deleted(*pod)) terminate(key, *pod);
      return;
  }
}

void Kubelets::admit(const api::ObjectKey& key, const json::value& pod, PodRecord& record) {
  const Time now = server_.clock().now();
  if (const std::string problem = problem_of_run_annotations(pod); !problem.empty()) {
    write(key, pod, refused_status(pod, "InvalidAnnotation", problem, now));
    return;
  }
  NodeLoad& load = nodes_[record.node].load;
  const std::vector<std::string> missing = load.missing(record.demand);
  if (!missing.empty()) {
    const std::string& resource = missing.front();
    const auto shown = [&](const api::ResourceAmounts& amounts) {
      return format_amount(resource, amount_of(amounts, resource));
    };
    const std::string message = fmt::format(
        "node {} cannot hold this pod: it asks for {} of {}, {} of {} are taken; bind it to a node "
        "with room",
        record.node, shown(record.demand), resource, shown(load.used()), shown(load.allocatable()));
    write(key, pod, refused_status(pod, "OutOf" + resource, message, now));
    return;
  }
  const bool at_once = options_.start_delay == Duration::zero();
  if (!write(key, pod, at_once ? running_status(pod, now) : accepted_status(pod, now))) return;
  // Counts from now on, also against the next pod of this same moment.
  load.add(record.demand);
  record.counted = true;
}

void Kubelets::finish_run(const api::ObjectKey& key, const json::value& pod) {
  const Time now = server_.clock().now();
  const bool says = !annotation_of(pod, kExitCodeAnnotation).empty();
  const int64_t exit_code = says ? exit_code_of(pod).value_or(1) : 0;
  write(key, pod,
        restarts(pod, exit_code) ? restarting_status(pod, exit_code, now)
                                 : ended_status(pod, exit_code, now));
}

void Kubelets::terminate(const api::ObjectKey& key, const json::value& pod) {
  if (!is_terminal(pod) &&
      !write(key, pod, ended_status(pod, kKilledExitCode, server_.clock().now()))) {
    return;
  }
  DeleteOptions options;
  options.uid = uid_of(pod);
  options.grace_period_seconds = 0;
  if (!server_.remove(key, options)) timers_.set(key, server_.clock().now() + kRetryDelay);
}

bool Kubelets::due(const api::ObjectKey& key, const PodRecord& record, Duration delay) {
  if (record.since + delay <= server_.clock().now()) return true;
  timers_.set(key, record.since + delay);
  return false;
}

bool Kubelets::write(const api::ObjectKey& key, const json::value& pod, json::object status) {
  if (write_status(server_, pod, std::move(status))) return true;
  timers_.set(key, server_.clock().now() + kRetryDelay);
  return false;
}

}  // namespace phalanx::sim
