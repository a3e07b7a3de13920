#include "sim/limit_range_rules.h"

#include <fmt/format.h>

#include "api/pod.h"
#include "api/resources.h"
#include "base/quantity.h"
#include "sim/document.h"
#include "sim/resource_rules.h"

namespace phalanx::sim {
namespace {

// Copies what `to` does not have yet.
void fill_in(json::object& limit, std::string_view to, std::string_view from) {
  const json::value* source = find_field(limit, from);
  if (source == nullptr || !source->is_object()) return;
  const json::object amounts = source->get_object();
  json::value& target = limit[to];
  if (target.is_null()) target.emplace_object();
  if (!target.is_object()) return;
  for (const auto& field : amounts) target.get_object().emplace(field.key(), field.value());
}

template <typename Visit>
void each_limit(const Store& store, const std::string& namespace_name, std::string_view type,
                Visit visit) {
  for (const Stored& range : store.list(api::Kind::kLimitRange, namespace_name).items) {
    const json::array* limits = array_at(*range, {"spec", "limits"});
    if (limits == nullptr) continue;
    for (const json::value& limit : *limits) {
      if (string_at(limit, {"type"}) == type) visit(*range, limit);
    }
  }
}

void add_missing(json::value& container, std::string_view field, const json::value& limit,
                 std::string_view from) {
  const json::object* defaults = object_at(limit, {from});
  if (defaults == nullptr || defaults->empty()) return;
  json::object& amounts = ensure_object(container, {"resources", field});
  for (const auto& [resource, amount] : *defaults) amounts.emplace(resource, amount);
}

// Compares amounts of a container or a pod with one limit, and collects what breaks it.
class LimitCheck {
 public:
  LimitCheck(const json::value& range, const json::value& limit, Problems& problems)
      : name_(string_at(range, {"metadata", "name"})),
        limit_(&limit, "", status_),
        problems_(problems) {}

  void check(const std::string& path, const api::ResourceAmounts& requests,
             const api::ResourceAmounts& limits) {
    for (const auto& [resource, minimum] : api::read_resources(limit_, "min")) {
      const auto request = requests.find(resource);
      const int64_t amount = request == requests.end() ? 0 : request->second;
      if (amount < minimum) add(path, resource, "requests", amount, "at least", minimum);
    }
    for (const auto& [resource, maximum] : api::read_resources(limit_, "max")) {
      const auto limit = limits.find(resource);
      if (limit == limits.end()) {
        problems_.add(path, fmt::format("has no limit of {}, but LimitRange {} allows at most {}; "
                                        "set a limit",
                                        resource, name_, format_amount(resource, maximum)));
      } else if (limit->second > maximum) {
        add(path, resource, "limits", limit->second, "at most", maximum);
      }
    }
  }

 private:
  void add(const std::string& path, const std::string& resource, std::string_view field,
           int64_t amount, std::string_view bound, int64_t allowed) {
    problems_.add(path, fmt::format("{} {} of {}, but LimitRange {} allows {} {}", field,
                                    format_amount(resource, amount), resource, name_, bound,
                                    format_amount(resource, allowed)));
  }

  std::string_view name_;
  DecodeStatus status_;
  JsonReader limit_;
  Problems& problems_;
};

struct ContainerAmounts {
  std::string path;
  api::ResourceAmounts requests;
  api::ResourceAmounts limits;
};

std::vector<ContainerAmounts> amounts_of_containers(const json::value& pod, DecodeStatus& status) {
  std::vector<ContainerAmounts> containers;
  const JsonReader spec = JsonReader(&pod, "", status).object("spec");
  for (const std::string_view field : {"initContainers", "containers"}) {
    spec.each(field, [&](const json::value& value, const std::string& path) {
      const JsonReader resources = JsonReader(&value, path, status).object("resources");
      containers.push_back({resources.path(), api::read_resources(resources, "requests"),
                            api::read_resources(resources, "limits")});
    });
  }
  return containers;
}

// The pod's limits, found as its requests are: from a pod that requests its limits.
api::ResourceAmounts pod_limits(const json::value& pod, DecodeStatus& status) {
  json::value limits_only = pod;
  for (const std::string_view field : {"initContainers", "containers"}) {
    json::array* containers = array_at(limits_only, {"spec", field});
    if (containers == nullptr) continue;
    for (json::value& container : *containers) erase_at(container, {"resources", "requests"});
  }
  return api::read_pod_spec(JsonReader(&limits_only, "", status).object("spec")).requests;
}

void check_limit(const JsonReader& limit, Problems& problems) {
  for (const std::string_view field : {"min", "max", "default", "defaultRequest"}) {
    check_amounts(limit, field, problems);
  }
  const auto amounts = [&](std::string_view field) { return api::read_resources(limit, field); };
  const auto ordered = [&](std::string_view low, std::string_view high) {
    const api::ResourceAmounts upper = amounts(high);
    for (const auto& [resource, amount] : amounts(low)) {
      const auto bound = upper.find(resource);
      if (bound == upper.end() || amount <= bound->second) continue;
      problems.add(fmt::format("{}[{}]", limit.path_of(low), resource),
                   fmt::format("is {}, more than {} of {}", format_amount(resource, amount), high,
                               format_amount(resource, bound->second)));
    }
  };
  ordered("min", "max");
  ordered("min", "defaultRequest");
  ordered("defaultRequest", "default");
  ordered("default", "max");
  (void)amounts("maxLimitRequestRatio");
}

}  // namespace

void default_limit_range(json::value& limit_range) {
  json::array* limits = array_at(limit_range, {"spec", "limits"});
  if (limits == nullptr) return;
  for (json::value& value : *limits) {
    json::object* limit = value.if_object();
    if (limit == nullptr || string_field(*limit, "type") != "Container") continue;
    fill_in(*limit, "default", "max");
    fill_in(*limit, "defaultRequest", "default");
    fill_in(*limit, "defaultRequest", "min");
  }
}

void check_limit_range(const json::value& limit_range, Problems& problems) {
  DecodeStatus status;
  const JsonReader spec = JsonReader(&limit_range, "", status).object("spec");
  if (!spec.has("limits")) spec.report("limits", "is required");
  spec.each("limits", [&](const json::value& value, const std::string& path) {
    const JsonReader limit(&value, path, status);
    const std::string type = limit.required_string("type");
    if (type != "Container" && type != "Pod" && type != "PersistentVolumeClaim") {
      limit.report("type",
                   fmt::format("\"{}\" is not Container, Pod or PersistentVolumeClaim", type));
    }
    if (type == "Pod" && (limit.has("default") || limit.has("defaultRequest"))) {
      limit.report("", "defaults are for the type Container; a Pod has min and max only");
    }
    check_limit(limit, problems);
  });
  if (status.error()) problems.add("", status.error()->message);
}

void apply_limit_ranges(const Store& store, const std::string& namespace_name, json::value& pod) {
  each_limit(store, namespace_name, "Container", [&](const json::value&, const json::value& limit) {
    for (const std::string_view field : {"initContainers", "containers"}) {
      json::array* containers = array_at(pod, {"spec", field});
      if (containers == nullptr) continue;
      for (json::value& container : *containers) {
        if (!container.is_object()) continue;
        add_missing(container, "limits", limit, "default");
        add_missing(container, "requests", limit, "defaultRequest");
      }
    }
  });
}

ApiResult<void> enforce_limit_ranges(const Store& store, const api::ObjectKey& key,
                                     const json::value& pod) {
  Problems problems;
  DecodeStatus status;
  each_limit(store, key.namespace_, "Container",
             [&](const json::value& range, const json::value& limit) {
               for (const ContainerAmounts& container : amounts_of_containers(pod, status)) {
                 LimitCheck(range, limit, problems)
                     .check(container.path, container.requests, container.limits);
               }
             });
  each_limit(store, key.namespace_, "Pod", [&](const json::value& range, const json::value& limit) {
    const JsonReader spec = JsonReader(&pod, "", status).object("spec");
    LimitCheck(range, limit, problems)
        .check("spec", api::read_pod_spec(spec).requests, pod_limits(pod, status));
  });
  if (problems.none()) return {};
  return forbidden(key, problems.text());
}

}  // namespace phalanx::sim
