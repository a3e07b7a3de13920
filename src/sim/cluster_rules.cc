#include "sim/cluster_rules.h"

#include <fmt/format.h>

#include <limits>
#include <set>
#include <utility>

#include "api/resources.h"
#include "api/taint.h"
#include "sim/document.h"
#include "sim/names.h"
#include "sim/resource_rules.h"

namespace phalanx::sim {
namespace {

// Above are the priorities of the system's own classes.
constexpr int64_t kMaxUserPriority = 1'000'000'000;
constexpr std::string_view kSystemPrefix = "system-";

void check_preemption_policy(const json::value& priority_class, Problems& problems) {
  const json::value* value = find_at(priority_class, {"preemptionPolicy"});
  if (value == nullptr) return;
  const std::string_view policy = string_at(priority_class, {"preemptionPolicy"});
  if (policy == "Never" || policy == "PreemptLowerPriority") return;
  problems.add("preemptionPolicy",
               fmt::format("\"{}\" is not Never or PreemptLowerPriority", policy));
}

}  // namespace

void default_namespace(json::value& object) {
  const std::string name(string_at(object, {"metadata", "name"}));
  const json::value* labels = find_at(object, {"metadata", "labels"});
  if (labels == nullptr || labels->is_object()) {
    ensure_object(object, {"metadata", "labels"})["kubernetes.io/metadata.name"] = name;
  }
  json::object& status = ensure_object(object, {"status"});
  if (find_field(status, "phase") == nullptr) status["phase"] = "Active";
}

void check_node(const json::value& node, Problems& problems) {
  DecodeStatus decoding;
  const JsonReader reader(&node, "", decoding);
  const JsonReader spec = reader.object("spec");
  (void)spec.boolean("unschedulable", false);
  std::set<std::pair<std::string, std::string>> seen;
  for (const api::Taint& taint : api::read_taints(spec, "taints")) {
    if (!seen.emplace(taint.key, taint.effect).second) {
      problems.add("spec.taints", fmt::format("{} with effect {} stands twice; remove one",
                                              taint.key, taint.effect));
    }
  }
  const JsonReader status = reader.object("status");
  for (const std::string_view field : {"allocatable", "capacity"}) {
    (void)api::read_resources(status, field);
    check_amounts(status, field, problems);
  }
  if (decoding.error()) problems.add("", decoding.error()->message);
  check_conditions(node, problems);
}

void check_priority_class(const RuleInput& input, const json::value& priority_class,
                          Problems& problems) {
  DecodeStatus decoding;
  const JsonReader reader(&priority_class, "", decoding);
  if (!reader.has("value")) reader.report("value", "is required");
  const int64_t value = reader.integer("value", 0, std::numeric_limits<int32_t>::min(),
                                       std::numeric_limits<int32_t>::max());
  (void)reader.boolean("globalDefault", false);
  if (decoding.error()) problems.add("", decoding.error()->message);
  const std::string_view name = string_at(priority_class, {"metadata", "name"});
  if (name.starts_with(kSystemPrefix)) {
    problems.add("metadata.name",
                 "names that begin with system- belong to the cluster; choose another");
  }
  if (value > kMaxUserPriority) {
    problems.add("value", fmt::format("is {}, but only the system's own classes are above {}",
                                      value, kMaxUserPriority));
  }
  check_preemption_policy(priority_class, problems);
  if (input.old_object != nullptr) {
    for (const std::string_view field : {"value", "preemptionPolicy"}) {
      if (same_value(find_at(*input.old_object, {field}), find_at(priority_class, {field}))) {
        continue;
      }
      problems.add(std::string(field), "cannot be changed; create another PriorityClass");
    }
  }
  if (!true_at(priority_class, {"globalDefault"})) return;
  for (const Stored& other : input.store.list(api::Kind::kPriorityClass).items) {
    const std::string_view other_name = string_at(*other, {"metadata", "name"});
    if (other_name != name && true_at(*other, {"globalDefault"})) {
      problems.add("globalDefault", fmt::format("PriorityClass {} is the default already; there "
                                                "can be only one",
                                                other_name));
    }
  }
}

void check_runtime_class(const RuleInput& input, const json::value& runtime_class,
                         Problems& problems) {
  const std::string handler(string_at(runtime_class, {"handler"}));
  if (handler.empty()) {
    problems.add("handler", "is required: what the nodes call the runtime");
  } else if (const std::string problem = problem_of_dns_label(handler); !problem.empty()) {
    problems.add("handler", problem);
  }
  DecodeStatus decoding;
  const JsonReader reader(&runtime_class, "", decoding);
  const JsonReader overhead = reader.object("overhead");
  (void)api::read_resources(overhead, "podFixed");
  check_amounts(overhead, "podFixed", problems);
  if (decoding.error()) problems.add("", decoding.error()->message);
  if (input.old_object != nullptr &&
      !same_value(find_at(*input.old_object, {"handler"}), find_at(runtime_class, {"handler"}))) {
    problems.add("handler", "cannot be changed; create another RuntimeClass");
  }
}

void check_event(const json::value& event, Problems& problems) {
  const json::value* type = find_at(event, {"type"});
  const std::string_view text = string_at(event, {"type"});
  if (type != nullptr && text != "Normal" && text != "Warning") {
    problems.add("type", fmt::format("\"{}\" is not Normal or Warning", text));
  }
  const json::value* involved = find_at(event, {"involvedObject"});
  if (involved == nullptr || !involved->is_object()) {
    problems.add("involvedObject", "is required: the object that the event is about");
  }
}

void check_conditions(const json::value& object, Problems& problems) {
  DecodeStatus decoding;
  const JsonReader status = JsonReader(&object, "", decoding).object("status");
  std::set<std::string> types;
  status.each("conditions", [&](const json::value& value, const std::string& path) {
    const JsonReader condition(&value, path, decoding);
    const std::string type = condition.required_string("type");
    const std::string state = condition.required_string("status");
    if (!types.insert(type).second) {
      condition.report("type", fmt::format("\"{}\" stands twice; remove one", type));
    }
    if (state != "True" && state != "False" && state != "Unknown") {
      condition.report("status",
                       fmt::format("\"{}\" is not \"True\", \"False\" or \"Unknown\"", state));
    }
  });
  if (decoding.error()) problems.add("", decoding.error()->message);
}

}  // namespace phalanx::sim
