#include "sim/pod_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/resources.h"
#include "sim/cluster_rules.h"
#include "sim/document.h"
#include "sim/limit_range_rules.h"
#include "sim/pod_spec_rules.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kScheduled = "PodScheduled";
constexpr std::string_view kGatedReason = "SchedulingGated";

// Priority classes that every cluster has.
struct SystemClass {
  std::string_view name;
  int64_t value;
};
constexpr std::array kSystemClasses{SystemClass{"system-cluster-critical", 2'000'000'000},
                                    SystemClass{"system-node-critical", 2'000'001'000}};

struct Priority {
  std::string class_name;
  int64_t value = 0;
  std::string preemption_policy = "PreemptLowerPriority";
};

Priority read_priority(const json::value& priority_class) {
  Priority priority{std::string(string_at(priority_class, {"metadata", "name"})),
                    integer_at(priority_class, {"value"}).value_or(0)};
  const std::string_view policy = string_at(priority_class, {"preemptionPolicy"});
  if (!policy.empty()) priority.preemption_policy = policy;
  return priority;
}

// The priority of pods that name no class.
Priority default_priority(const Store& store) {
  for (const Stored& priority_class : store.list(api::Kind::kPriorityClass).items) {
    if (true_at(*priority_class, {"globalDefault"})) return read_priority(*priority_class);
  }
  return {};
}

ApiResult<Priority> find_priority(const Store& store, const api::ObjectKey& pod,
                                  const std::string& class_name) {
  if (class_name.empty()) return default_priority(store);
  for (const SystemClass& known : kSystemClasses) {
    if (known.name == class_name) return Priority{class_name, known.value};
  }
  const Stored found = store.find({api::Kind::kPriorityClass, "", class_name});
  if (found) return read_priority(*found);
  return forbidden(pod, fmt::format("spec.priorityClassName: there is no PriorityClass \"{}\"; "
                                    "create it first, or name another",
                                    class_name));
}

ApiResult<void> set_priority(const Store& store, json::value& pod) {
  const api::ObjectKey key = key_of(api::Kind::kPod, pod);
  json::object& spec = ensure_object(pod, {"spec"});
  const std::string class_name(string_field(spec, "priorityClassName"));
  ASSIGN_OR_RETURN(const Priority priority, find_priority(store, key, class_name));
  const auto given = integer_at(pod, {"spec", "priority"});
  if (given && *given != priority.value) {
    return forbidden(key, fmt::format("spec.priority: is {}, but the priority class gives {}; "
                                      "leave it out",
                                      *given, priority.value));
  }
  spec["priority"] = priority.value;
  if (!priority.class_name.empty()) spec["priorityClassName"] = priority.class_name;
  if (find_field(spec, "preemptionPolicy") == nullptr) {
    spec["preemptionPolicy"] = priority.preemption_policy;
  }
  return {};
}

// The admission plugin RuntimeClass: what the runtime takes comes on top of the containers.
ApiResult<void> set_overhead(const Store& store, json::value& pod) {
  const api::ObjectKey key = key_of(api::Kind::kPod, pod);
  const std::string name(string_at(pod, {"spec", "runtimeClassName"}));
  Stored runtime_class;
  if (!name.empty()) {
    runtime_class = store.find({api::Kind::kRuntimeClass, "", name});
    if (!runtime_class) {
      return forbidden(key, fmt::format("spec.runtimeClassName: there is no RuntimeClass \"{}\"; "
                                        "create it first, or name another",
                                        name));
    }
  }
  DecodeStatus ignored;  // what is no quantity is refused later
  const api::ResourceAmounts given =
      api::read_resources(JsonReader(&pod, "", ignored).object("spec"), "overhead");
  const json::object* fixed =
      runtime_class ? object_at(*runtime_class, {"overhead", "podFixed"}) : nullptr;
  if (fixed == nullptr) {
    if (given.empty()) return {};
    return forbidden(key,
                     "spec.overhead: is for a RuntimeClass to say, and the pod names none that "
                     "has one; leave it out");
  }
  const JsonReader of_class(runtime_class.get(), "", ignored);
  if (!given.empty() && given != api::read_resources(of_class.object("overhead"), "podFixed")) {
    return forbidden(
        key, fmt::format("spec.overhead: is not that of RuntimeClass {}; leave it out", name));
  }
  ensure_object(pod, {"spec"})["overhead"] = *fixed;
  return {};
}

// A limit without a request is the request.
void default_requests(json::value& pod) {
  for (const std::string_view field : {"initContainers", "containers"}) {
    json::array* containers = array_at(pod, {"spec", field});
    if (containers == nullptr) continue;
    for (json::value& container : *containers) {
      const json::object* limits = object_at(container, {"resources", "limits"});
      if (limits == nullptr || limits->empty()) continue;
      const json::object amounts = *limits;
      const json::value* requests = find_at(container, {"resources", "requests"});
      if (requests != nullptr && !requests->is_object()) continue;  // is refused later
      json::object& filled = ensure_object(container, {"resources", "requests"});
      for (const auto& [resource, amount] : amounts) filled.emplace(resource, amount);
    }
  }
}

// A new pod's status is nobody's but the server's: made anew, should a hook have changed the gates.
void default_status(Time now, json::value& pod) {
  pod.get_object()["status"] = json::object{{"phase", "Pending"}};
  if (is_gated(pod)) {
    set_condition(pod,
                  {kScheduled, "False", kGatedReason,
                   "Scheduling is blocked until all scheduling gates are removed"},
                  format_time(now));
  }
}

void check_status(const json::value& pod, Problems& problems) {
  constexpr std::array<std::string_view, 5> kPhases = {"Pending", "Running", "Succeeded", "Failed",
                                                       "Unknown"};
  const std::string_view phase = string_at(pod, {"status", "phase"});
  if (std::ranges::find(kPhases, phase) == kPhases.end()) {
    problems.add("status.phase", fmt::format("\"{}\" is not {}", phase, fmt::join(kPhases, ", ")));
  }
  check_conditions(pod, problems);
}

}  // namespace

ApiResult<void> default_pod(const RuleInput& input, json::value& pod) {
  // Defaults are those of the time when it was created; later only the status is filled in.
  if (input.old_object == nullptr) {
    const json::value* spec = find_at(pod, {"spec"});
    if (spec == nullptr || !spec->is_object()) return {};  // is refused later
    default_pod_spec(ensure_object(pod, {"spec"}));
    default_requests(pod);
    apply_limit_ranges(input.store, std::string(string_at(pod, {"metadata", "namespace"})), pod);
    RETURN_IF_ERROR(set_priority(input.store, pod));
    RETURN_IF_ERROR(set_overhead(input.store, pod));
    default_status(input.now, pod);
  } else {
    json::object& status = ensure_object(pod, {"status"});
    if (find_field(status, "phase") == nullptr) status["phase"] = "Pending";
  }
  return {};
}

void check_pod(const RuleInput& input, const json::value& pod, Problems& problems) {
  if (input.status) {
    check_status(pod, problems);
    return;
  }
  check_pod_spec(find_at(pod, {"spec"}), "spec", problems);
  if (input.old_object != nullptr) {
    check_pod_update(*input.old_object, pod, problems);
  } else if (is_gated(pod) && !string_at(pod, {"spec", "nodeName"}).empty()) {
    problems.add("spec.nodeName", "cannot be set while there are scheduling gates; remove either");
  }
}

}  // namespace phalanx::sim
