#include "sim/pod_spec_rules.h"

#include <fmt/format.h>

#include <set>

#include "api/pod.h"
#include "base/quantity.h"
#include "sim/document.h"
#include "sim/names.h"
#include "sim/resource_rules.h"

namespace phalanx::sim {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

// Huge pages and whatever is not Kubernetes' own are never overcommitted: a request must be the
// limit.
bool may_be_overcommitted(std::string_view resource) {
  if (resource.starts_with("hugepages-")) return false;
  return !resource.contains('/') || resource.contains("kubernetes.io/");
}

void check_names(const JsonReader& resources, std::string_view field, Problems& problems) {
  for (const auto& [name, amount] : api::read_resources(resources, field)) {
    const std::string problem = problem_of_resource_name(name);
    if (problem.empty()) continue;
    problems.add(fmt::format("{}[{}]", resources.path_of(field), name), problem);
  }
}

void check_limits(const JsonReader& resources, Problems& problems) {
  for (const std::string_view field : {"requests", "limits"}) {
    check_names(resources, field, problems);
    check_amounts(resources, field, problems);
  }
  const api::ResourceAmounts limits = api::read_resources(resources, "limits");
  for (const auto& [name, request] : api::read_resources(resources, "requests")) {
    const auto limit = limits.find(name);
    const std::string path = fmt::format("{}.requests[{}]", resources.path(), name);
    if (limit == limits.end()) {
      if (may_be_overcommitted(name)) continue;
      problems.add(path,
                   fmt::format("must have an equal limit, because {} cannot be overcommitted; "
                               "add {} to limits",
                               name, name));
      continue;
    }
    if (request > limit->second) {
      problems.add(path,
                   fmt::format("is {}, more than the limit of {}", format_amount(name, request),
                               format_amount(name, limit->second)));
    } else if (!may_be_overcommitted(name) && request != limit->second) {
      problems.add(path,
                   fmt::format("must equal the limit of {}, because {} cannot be overcommitted",
                               format_amount(name, limit->second), name));
    }
  }
}

class PodSpecCheck {
 public:
  PodSpecCheck(const json::value* value, const std::string& path, Problems& problems)
      : spec_(value, path, status_), problems_(problems) {}

  void run() {
    if (!spec_.present()) {
      if (status_.ok()) spec_.report("", "is required");
      return finish();
    }
    (void)api::read_pod_spec(spec_);
    if (!spec_.has("containers")) spec_.report("containers", "must hold at least one container");
    check_containers("containers");
    check_containers("initContainers");
    check_amounts(spec_, "overhead", problems_);
    check_limits(spec_.object("resources"), problems_);
    check_scalars();
    check_node_selector();
    check_gates();
    finish();
  }

 private:
  // What a reader reports is one problem, the first.
  void finish() {
    if (status_.error()) problems_.add("", status_.error()->message);
  }

  void check_containers(std::string_view field) {
    size_t count = 0;
    spec_.each(field, [&](const json::value& value, const std::string& path) {
      ++count;
      const JsonReader container(&value, path, status_);
      const std::string name = container.required_string("name");
      if (name.empty()) return;
      if (const std::string problem = problem_of_dns_label(name); !problem.empty()) {
        problems_.add(path + ".name", problem);
      } else if (!names_.insert(name).second) {
        problems_.add(path + ".name", fmt::format("\"{}\" stands twice; give every container its "
                                                  "own name",
                                                  name));
      }
      check_limits(container.object("resources"), problems_);
    });
    if (field == "containers" && count == 0 && spec_.has(field)) {
      problems_.add(spec_.path_of(field), "must hold at least one container");
    }
  }

  void check_scalars() {
    const std::string policy = spec_.string("restartPolicy", "Always");
    if (policy != "Always" && policy != "OnFailure" && policy != "Never") {
      problems_.add(spec_.path_of("restartPolicy"),
                    fmt::format("\"{}\" is not Always, OnFailure or Never", policy));
    }
    (void)spec_.optional_integer("terminationGracePeriodSeconds", 0,
                                 std::numeric_limits<int64_t>::max());
    (void)spec_.optional_integer("activeDeadlineSeconds", 1, kMaxInt32);
    for (const std::string_view field : {"nodeName", "schedulerName", "priorityClassName"}) {
      (void)spec_.optional_string(field);
    }
  }

  void check_node_selector() {
    for (const auto& [key, value] : spec_.string_map("nodeSelector")) {
      std::string problem = problem_of_qualified_name(key);
      if (problem.empty()) problem = problem_of_label_value(value);
      if (problem.empty()) continue;
      problems_.add(fmt::format("{}[{}]", spec_.path_of("nodeSelector"), key), problem);
    }
  }

  void check_gates() {
    std::set<std::string> gates;
    spec_.each("schedulingGates", [&](const json::value& value, const std::string& path) {
      const std::string name = JsonReader(&value, path, status_).required_string("name");
      if (name.empty()) return;
      if (const std::string problem = problem_of_qualified_name(name); !problem.empty()) {
        problems_.add(path + ".name", problem);
      } else if (!gates.insert(name).second) {
        problems_.add(path + ".name", fmt::format("\"{}\" stands twice; remove one", name));
      }
    });
  }

  DecodeStatus status_;
  JsonReader spec_;
  Problems& problems_;
  std::set<std::string> names_;
};

void set_default(json::object& object, std::string_view field, json::value value) {
  if (find_field(object, field) == nullptr) object[field] = std::move(value);
}

}  // namespace

void default_pod_spec(json::object& spec) {
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "terminationGracePeriodSeconds", 30);
  set_default(spec, "schedulerName", "default-scheduler");
}

void check_pod_spec(const json::value* spec, const std::string& path, Problems& problems) {
  PodSpecCheck(spec, path, problems).run();
}

void check_template_metadata(const json::value* metadata, const std::string& path,
                             Problems& problems) {
  DecodeStatus status;
  const JsonReader reader(metadata, path, status);
  for (const auto& [key, value] : reader.string_map("labels")) {
    std::string problem = problem_of_qualified_name(key);
    if (problem.empty()) problem = problem_of_label_value(value);
    if (!problem.empty()) {
      problems.add(fmt::format("{}[{}]", reader.path_of("labels"), key), problem);
    }
  }
  (void)reader.string_map("annotations");
  if (status.error()) problems.add("", status.error()->message);
}

bool is_gated(const json::value& pod) {
  const json::array* gates = array_at(pod, {"spec", "schedulingGates"});
  return gates != nullptr && !gates->empty();
}

}  // namespace phalanx::sim
