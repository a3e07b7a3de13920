#include "sim/pod_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/object_fields.h"

namespace phalanx::sim {
namespace {

// An address within 10.0.0.0/8 that depends only on the pod, so that a kubelet that was restarted
// gives the same one. Nobody routes to it.
std::string address_of(const json::value& pod) {
  uint32_t hash = 2166136261;  // FNV-1a
  for (const char byte : uid_of(pod)) {
    hash = (hash ^ static_cast<uint8_t>(byte)) * 16777619;
  }
  return fmt::format("10.{}.{}.{}", (hash >> 16) & 255, (hash >> 8) & 255, hash & 255);
}

const json::value* container_status(const json::value& pod, std::string_view name) {
  for (const json::value& status : list_field(pod, {"status", "containerStatuses"})) {
    if (string_at(status, {"name"}) == name) return &status;
  }
  return nullptr;
}

int64_t restarts_of(const json::value* container) {
  return container == nullptr ? 0 : integer_at(*container, {"restartCount"}).value_or(0);
}

std::string_view started_at(const json::value* container) {
  return container == nullptr ? "" : string_at(*container, {"state", "running", "startedAt"});
}

json::object terminated(const json::value* container, int64_t exit_code, Time now) {
  json::object state{{"exitCode", exit_code}, {"reason", exit_code == 0 ? "Completed" : "Error"}};
  if (const std::string_view start = started_at(container); !start.empty()) {
    state["startedAt"] = start;
  }
  state["finishedAt"] = format_time(now);
  return {{"terminated", std::move(state)}};
}

// One entry for each container of the spec; `describe` fills in state and what belongs to it, given
// the entry that is there so far (nullptr: none).
template <typename Describe>
json::array container_statuses(const json::value& pod, bool ready, Describe describe) {
  json::array statuses;
  for (const json::value& container : list_field(pod, {"spec", "containers"})) {
    const std::string_view name = string_at(container, {"name"});
    const json::value* old = container_status(pod, name);
    json::object status{{"name", name},     {"image", string_at(container, {"image"})},
                        {"imageID", ""},    {"ready", ready},
                        {"started", ready}, {"restartCount", restarts_of(old)}};
    describe(status, old);
    statuses.push_back(std::move(status));
  }
  return statuses;
}

void set_ready(json::object& status, bool ready, std::string_view reason, Time now) {
  const std::string_view value = ready ? "True" : "False";
  set_condition(status, {"Ready", value, reason, ""}, now);
  set_condition(status, {"ContainersReady", value, reason, ""}, now);
}

}  // namespace

json::object accepted_status(const json::value& pod, Time now) {
  json::object status = status_of(pod);
  status["phase"] = "Pending";
  status["startTime"] = format_time(now);
  set_condition(status, {"Initialized", "True", "", ""}, now);
  set_ready(status, false, "ContainersNotReady", now);
  set_condition(status, {"PodScheduled", "True", "", ""}, now);
  status["containerStatuses"] =
      container_statuses(pod, false, [](json::object& container, const json::value*) {
        container["state"] =
            json::object{{"waiting", json::object{{"reason", "ContainerCreating"}}}};
      });
  return status;
}

json::object refused_status(const json::value& pod, std::string_view reason,
                            std::string_view message, Time now) {
  json::object status = status_of(pod);
  status["phase"] = "Failed";
  status["reason"] = reason;
  status["message"] = message;
  status["startTime"] = format_time(now);
  return status;
}

json::object running_status(const json::value& pod, Time now) {
  json::object status = status_of(pod);
  status["phase"] = "Running";
  if (!status.contains("startTime")) status["startTime"] = format_time(now);
  status["podIP"] = address_of(pod);
  status["podIPs"] = json::array{json::object{{"ip", address_of(pod)}}};
  set_condition(status, {"Initialized", "True", "", ""}, now);
  set_ready(status, true, "", now);
  set_condition(status, {"PodScheduled", "True", "", ""}, now);
  status["containerStatuses"] =
      container_statuses(pod, true, [&](json::object& container, const json::value* old) {
        const json::value* last =
            old == nullptr ? nullptr : find_at(*old, {"lastState", "terminated"});
        if (last != nullptr) {
          container["restartCount"] = restarts_of(old) + 1;
          container["lastState"] = json::object{{"terminated", *last}};
        }
        container["state"] =
            json::object{{"running", json::object{{"startedAt", format_time(now)}}}};
      });
  return status;
}

json::object restarting_status(const json::value& pod, int64_t exit_code, Time now) {
  json::object status = status_of(pod);
  set_ready(status, false, "ContainersNotReady", now);
  status["containerStatuses"] =
      container_statuses(pod, false, [&](json::object& container, const json::value* old) {
        container["lastState"] = terminated(old, exit_code, now);
        container["state"] =
            json::object{{"waiting", json::object{{"reason", "CrashLoopBackOff"}}}};
      });
  return status;
}

json::object ended_status(const json::value& pod, int64_t exit_code, Time now) {
  json::object status = status_of(pod);
  const bool succeeded = exit_code == 0;
  status["phase"] = succeeded ? "Succeeded" : "Failed";
  if (!status.contains("startTime")) status["startTime"] = format_time(now);
  set_ready(status, false, succeeded ? "PodCompleted" : "PodFailed", now);
  status["containerStatuses"] =
      container_statuses(pod, false, [&](json::object& container, const json::value* old) {
        container["state"] = terminated(old, exit_code, now);
      });
  return status;
}

int64_t restart_count(const json::value& pod) {
  int64_t most = 0;
  for (const json::value& container : list_field(pod, {"status", "containerStatuses"})) {
    most = std::max(most, restarts_of(&container));
  }
  return most;
}

}  // namespace phalanx::sim
