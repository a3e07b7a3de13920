// The status of ClusterQueues, LocalQueues and Cohorts: what is read of it, and what is written.
#include <limits>

#include "api/queueing.h"
#include "base/quantity.h"

namespace phalanx::api {
namespace {

constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

std::vector<FlavorUsage> read_usage(const JsonReader& status, std::string_view field) {
  std::vector<FlavorUsage> usage;
  status.each(field, [&](const json::value& value, const std::string& path) {
    const JsonReader flavor(&value, path, status.status());
    FlavorUsage read{flavor.string("name"), {}};
    flavor.each("resources", [&](const json::value& resource_value, const std::string& where) {
      const JsonReader resource(&resource_value, where, status.status());
      const std::string name = resource.string("name");
      read.totals[name] = read_amount(resource, "total", name).value_or(0);
      const int64_t borrowed = read_amount(resource, "borrowed", name).value_or(0);
      if (borrowed != 0) read.borrowed[name] = borrowed;
    });
    usage.push_back(std::move(read));
  });
  return usage;
}

std::optional<RecentUsage> read_recent_usage(const JsonReader& fair_sharing) {
  if (!fair_sharing.has("admissionFairSharingStatus")) return std::nullopt;
  const JsonReader reader = fair_sharing.object("admissionFairSharingStatus");
  return RecentUsage{read_resources(reader, "consumedResources"),
                     read_time(reader, "lastUpdate").value_or(Time{})};
}

void read_fair_sharing(const JsonReader& reader, QueueStatus& status) {
  status.recent_usage = read_recent_usage(reader);
  status.weighted_share =
      reader.optional_integer("weightedShare", 0, std::numeric_limits<int64_t>::max());
  // Beside the recent usage a share must stand, and 0 says nothing.
  if (status.recent_usage && status.weighted_share == 0) status.weighted_share.reset();
}

json::array usage_json(const std::vector<FlavorUsage>& usage, bool of_cluster_queue) {
  json::array list;
  for (const FlavorUsage& flavor : usage) {
    json::array resources;
    for (const auto& [name, total] : flavor.totals) {
      json::object entry{{"name", name}, {"total", format_amount(name, total)}};
      if (of_cluster_queue) {
        const auto borrowed = flavor.borrowed.find(name);
        entry["borrowed"] =
            format_amount(name, borrowed == flavor.borrowed.end() ? 0 : borrowed->second);
      }
      resources.push_back(std::move(entry));
    }
    list.push_back(json::object{{"name", flavor.flavor}, {"resources", std::move(resources)}});
  }
  return list;
}

json::value fair_sharing_json(const QueueStatus& status, const QueueStatus& old) {
  if (!status.weighted_share && !status.recent_usage) return nullptr;
  json::object object{{"weightedShare", status.weighted_share.value_or(0)}};
  if (!status.recent_usage) {
    if (old.recent_usage) object["admissionFairSharingStatus"] = nullptr;
    return object;
  }
  json::object consumed;
  if (old.recent_usage) {
    for (const auto& [resource, amount] : old.recent_usage->consumed) consumed[resource] = nullptr;
  }
  for (const auto& [resource, amount] : status.recent_usage->consumed) {
    consumed[resource] = format_amount(resource, amount);
  }
  object["admissionFairSharingStatus"] =
      json::object{{"consumedResources", std::move(consumed)},
                   {"lastUpdate", format_time(status.recent_usage->at)}};
  return object;
}

}  // namespace

QueueStatus read_queue_status(const JsonReader& status) {
  QueueStatus result{status.integer("pendingWorkloads", 0, 0, kMaxCount),
                     status.integer("reservingWorkloads", 0, 0, kMaxCount),
                     status.integer("admittedWorkloads", 0, 0, kMaxCount),
                     read_usage(status, "flavorsReservation"),
                     read_usage(status, "flavorsUsage"),
                     read_conditions(status)};
  read_fair_sharing(status.object("fairSharing"), result);
  return result;
}

json::object queue_status_json(const QueueStatus& status, const QueueStatus& old,
                               bool of_cluster_queue) {
  return {{"pendingWorkloads", status.pending},
          {"reservingWorkloads", status.reserving},
          {"admittedWorkloads", status.admitted},
          {"flavorsReservation", usage_json(status.reservation, of_cluster_queue)},
          {"flavorsUsage", usage_json(status.usage, of_cluster_queue)},
          {"fairSharing", fair_sharing_json(status, old)},
          {"conditions", conditions_json(status.conditions)}};
}

}  // namespace phalanx::api
