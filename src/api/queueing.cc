#include "api/queueing.h"

#include <algorithm>
#include <limits>

#include "base/quantity.h"

namespace phalanx::api {
namespace {

constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

StopPolicy read_stop_policy(const JsonReader& spec) {
  const std::string text = spec.string("stopPolicy", "None");
  if (text == "Hold") return StopPolicy::kHold;
  if (text == "HoldAndDrain") return StopPolicy::kHoldAndDrain;
  if (text != "None") {
    spec.report("stopPolicy", "\"" + text + "\" is not None, Hold or HoldAndDrain");
  }
  return StopPolicy::kNone;
}

// A quantity that may stand as a string or as a number.
int64_t read_quantity(const JsonReader& reader, std::string_view field, std::string_view resource) {
  const json::value* value = reader.find(field);
  if (value == nullptr) {
    reader.report(field, "is required; write how much there is, such as \"8\" or 64Gi");
    return 0;
  }
  const std::string text =
      value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  const auto amount = parse_amount(resource, text);
  if (amount) return *amount;
  reader.report(field, amount.error().message);
  return 0;
}

FlavorQuotas read_flavor_quotas(const JsonReader& reader) {
  FlavorQuotas quotas{reader.required_string("name"), {}};
  reader.each("resources", [&](const json::value& value, const std::string& path) {
    const JsonReader resource(&value, path, reader.status());
    const std::string name = resource.required_string("name");
    quotas.resources.push_back({name, read_quantity(resource, "nominalQuota", name)});
  });
  return quotas;
}

ResourceGroup read_group(const JsonReader& reader) {
  ResourceGroup group{reader.strings("coveredResources"), {}};
  reader.each("flavors", [&](const json::value& value, const std::string& path) {
    group.flavors.push_back(read_flavor_quotas(JsonReader(&value, path, reader.status())));
  });
  return group;
}

std::vector<FlavorUsage> read_usage(const JsonReader& status, std::string_view field) {
  std::vector<FlavorUsage> usage;
  status.each(field, [&](const json::value& value, const std::string& path) {
    const JsonReader flavor(&value, path, status.status());
    FlavorUsage read{flavor.string("name"), {}};
    flavor.each("resources", [&](const json::value& resource_value, const std::string& where) {
      const JsonReader resource(&resource_value, where, status.status());
      const std::string name = resource.string("name");
      read.totals[name] = resource.has("total") ? read_quantity(resource, "total", name) : 0;
    });
    usage.push_back(std::move(read));
  });
  return usage;
}

QueueStatus read_queue_status(const JsonReader& status) {
  return {status.integer("pendingWorkloads", 0, 0, kMaxCount),
          status.integer("reservingWorkloads", 0, 0, kMaxCount),
          status.integer("admittedWorkloads", 0, 0, kMaxCount),
          read_usage(status, "flavorsReservation"),
          read_usage(status, "flavorsUsage"),
          read_conditions(status)};
}

json::array usage_json(const std::vector<FlavorUsage>& usage, bool of_cluster_queue) {
  json::array list;
  for (const FlavorUsage& flavor : usage) {
    json::array resources;
    for (const auto& [name, total] : flavor.totals) {
      json::object entry{{"name", name}, {"total", format_amount(name, total)}};
      if (of_cluster_queue) entry["borrowed"] = "0";
      resources.push_back(std::move(entry));
    }
    list.push_back(json::object{{"name", flavor.flavor}, {"resources", std::move(resources)}});
  }
  return list;
}

}  // namespace

const ResourceQuota* FlavorQuotas::find(std::string_view resource) const {
  const auto found = std::ranges::find(resources, resource, &ResourceQuota::resource);
  return found == resources.end() ? nullptr : &*found;
}

bool ResourceGroup::covers(std::string_view resource) const {
  return std::ranges::find(covered_resources, resource) != covered_resources.end();
}

const ResourceGroup* ClusterQueue::group_of(std::string_view resource) const {
  const auto found =
      std::ranges::find_if(groups, [&](const ResourceGroup& g) { return g.covers(resource); });
  return found == groups.end() ? nullptr : &*found;
}

Namespace read_namespace(const JsonReader& object) {
  return {read_object_meta(object)};
}

PriorityClass read_priority_class(const JsonReader& object) {
  return {read_object_meta(object),
          static_cast<int32_t>(object.integer("value", 0, std::numeric_limits<int32_t>::min(),
                                              std::numeric_limits<int32_t>::max())),
          object.boolean("globalDefault", false)};
}

ResourceFlavor read_resource_flavor(const JsonReader& object) {
  const JsonReader spec = object.object("spec");
  ResourceFlavor flavor{read_object_meta(object),
                        spec.string_map("nodeLabels"),
                        read_taints(spec, "nodeTaints"),
                        read_tolerations(spec, "tolerations"),
                        {},
                        spec.string("topologyName")};
  if (const json::value* list = spec.find("tolerations"); list != nullptr && list->is_array()) {
    flavor.toleration_documents = list->get_array();
  }
  return flavor;
}

ClusterQueue read_cluster_queue(const JsonReader& object) {
  ClusterQueue queue;
  queue.meta = read_object_meta(object);
  const JsonReader spec = object.object("spec");
  spec.each("resourceGroups", [&](const json::value& value, const std::string& path) {
    queue.groups.push_back(read_group(JsonReader(&value, path, object.status())));
  });
  const std::string strategy = spec.string("queueingStrategy", "BestEffortFIFO");
  if (strategy == "StrictFIFO") queue.strategy = QueueingStrategy::kStrictFifo;
  queue.namespace_selector = read_label_selector(spec, "namespaceSelector");
  queue.stop_policy = read_stop_policy(spec);
  spec.object("admissionChecksStrategy")
      .each("admissionChecks", [&](const json::value& value, const std::string& path) {
        queue.admission_checks.push_back(
            JsonReader(&value, path, object.status()).required_string("name"));
      });
  queue.status = read_queue_status(object.object("status"));
  return queue;
}

LocalQueue read_local_queue(const JsonReader& object) {
  const JsonReader spec = object.object("spec");
  return {read_object_meta(object), spec.string("clusterQueue"), read_stop_policy(spec),
          read_queue_status(object.object("status"))};
}

json::object queue_status_json(const QueueStatus& status, bool of_cluster_queue) {
  return {{"pendingWorkloads", status.pending},
          {"reservingWorkloads", status.reserving},
          {"admittedWorkloads", status.admitted},
          {"flavorsReservation", usage_json(status.reservation, of_cluster_queue)},
          {"flavorsUsage", usage_json(status.usage, of_cluster_queue)},
          {"conditions", conditions_json(status.conditions)}};
}

}  // namespace phalanx::api
