#include "admission/kueue_presence.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/document.h"
#include "admission/installation.h"
#include "base/json_path.h"
#include "core/names.h"

namespace phalanx::admission {
namespace {

constexpr int64_t kDefaultLeaseSeconds = 15;
// Longer than the two seconds after which Kueue renews its lease.
constexpr Duration kGlance = std::chrono::seconds(3);

// "Lease kueue-system/c1f6bfd2.kueue.x-k8s.io". Documents of a list do not say their kind.
std::string object_text(std::string_view kind, const json::value& document) {
  const Place metadata = Place(&document)["metadata"];
  const std::string_view space = metadata["namespace"].text();
  return fmt::format("{} {}{}{}", kind, space, space.empty() ? "" : "/", metadata["name"].text());
}

std::string_view holder_of(const json::value& lease) {
  return Place(&lease)["spec"]["holderIdentity"].text();
}

Duration lasts(const json::value& lease) {
  const auto seconds = Place(&lease)["spec"]["leaseDurationSeconds"].number();
  return std::chrono::seconds(seconds.value_or(kDefaultLeaseSeconds));
}

bool moved(const json::value& lease, const std::vector<json::value>& later) {
  return std::ranges::any_of(later, [&](const json::value& other) {
    const bool same = object_text("", other) == object_text("", lease);
    const Place before = Place(&lease)["spec"];
    const Place after = Place(&other)["spec"];
    return same && !holder_of(other).empty() && !after["renewTime"].same_as(before["renewTime"]);
  });
}

void add_lease(const json::value& lease, const std::vector<json::value>& later,
               std::vector<KueuePresence>& found) {
  if (!moved(lease, later)) return;
  found.push_back({PresenceKind::kManager, object_text("Lease", lease),
                   fmt::format("{} holds and renews it: Kueue decides about Workloads; stop it",
                               holder_of(lease))});
}

void add_deployment(const json::value& deployment, std::vector<KueuePresence>& found) {
  const Place document(&deployment);
  const int64_t wanted = document["spec"]["replicas"].number().value_or(1);
  if (wanted == 0) return;
  const Place metadata = document["metadata"];
  found.push_back({PresenceKind::kManager, object_text("Deployment", deployment),
                   fmt::format("has {} replica{}; stop it: kubectl scale --replicas=0 --namespace "
                               "{} deployment/{}",
                               wanted, wanted == 1 ? "" : "s", metadata["namespace"].text(),
                               metadata["name"].text())});
}

void add_pod(const json::value& pod, std::vector<KueuePresence>& found) {
  const std::string_view phase = Place(&pod)["status"]["phase"].text();
  if (phase == "Succeeded" || phase == "Failed") return;
  const bool ends = Place(&pod)["metadata"]["deletionTimestamp"].present();
  found.push_back({PresenceKind::kManager, object_text("Pod", pod),
                   ends ? "is being ended; wait until it is gone" : "is Kueue's manager; end it"});
}

// Others may have policies of their own about Kueue's kinds, which are none of our business. Kueue
// has a path for each kind, in every installation: "/validate-kueue-x-k8s-io-v1beta2-workload".
bool is_kueues_configuration(const json::value& configuration) {
  const auto webhooks = Place(&configuration)["webhooks"].elements();
  const auto is_asked_about = [&](std::string_view kind) {
    return std::ranges::any_of(webhooks, [&](const Place& webhook) {
      const Place config = webhook["clientConfig"];
      const std::string_view url = config["url"].text();
      const std::string_view path = url.empty() ? config["service"]["path"].text() : url;
      return path.contains("-kueue-x-k8s-io-v1") && path.ends_with(kind);
    });
  };
  return is_asked_about("-workload") && is_asked_about("-clusterqueue");
}

void add_webhooks(const json::value& configuration, std::vector<KueuePresence>& found) {
  if (!is_kueues_configuration(configuration)) return;
  const Place document(&configuration);
  const std::string_view name = document["metadata"]["name"].text();
  const std::string_view kind = document["kind"].text();
  std::string resource(kind);
  std::ranges::transform(resource, resource.begin(), [](unsigned char c) { return tolower(c); });
  found.push_back(
      {PresenceKind::kWebhooks, object_text(kind, configuration),
       fmt::format("has {} webhooks of Kueue: while its manager is stopped they refuse new Jobs, "
                   "pods and queues; keep a copy, then: kubectl delete {} {}",
                   document["webhooks"].size(), resource, name)});
}

bool is_kueues_service(const json::value& service) {
  const Place spec = Place(&service)["spec"];
  // Those of CRDs call nobody; the API server makes them itself.
  return spec["group"].text().ends_with(core::names::kKueueGroup) && spec["service"].present();
}

void add_api_service(const json::value& service, std::vector<KueuePresence>& found) {
  if (!is_kueues_service(service)) return;
  found.push_back(
      {PresenceKind::kApiService, object_text("APIService", service),
       fmt::format("is answered by Kueue's manager: while that is stopped, no namespace can be "
                   "deleted; keep a copy, then: kubectl delete apiservice {}",
                   Place(&service)["metadata"]["name"].text())});
}

}  // namespace

json::value as_written(json::value document, std::string_view api_version, std::string_view kind) {
  document.as_object()["apiVersion"] = api_version;
  document.as_object()["kind"] = kind;
  document.as_object().erase("status");
  for (const std::string_view field :
       {"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"}) {
    erase_at(document, {"metadata", field});
  }
  return document;
}

std::vector<json::value> callers_of_kueue(const KueueDocuments& documents) {
  std::vector<json::value> callers;
  for (const json::value& each : documents.webhook_configurations) {
    if (!is_kueues_configuration(each)) continue;
    const std::string_view kind = Place(&each)["kind"].text();
    callers.push_back(as_written(each, "admissionregistration.k8s.io/v1", kind));
  }
  for (const json::value& each : documents.api_services) {
    if (!is_kueues_service(each)) continue;
    callers.push_back(as_written(each, "apiregistration.k8s.io/v1", "APIService"));
  }
  return callers;
}

Duration time_to_watch(const std::vector<json::value>& leases, Time now) {
  Duration longest{};
  for (const json::value& lease : leases) {
    if (holder_of(lease).empty()) continue;  // given up by a manager that was told to stop
    const auto renewed = parse_time(Place(&lease)["spec"]["renewTime"].text());
    const bool ran_out = !renewed || *renewed + lasts(lease) < now;
    longest = std::max(longest, ran_out ? std::min(kGlance, lasts(lease)) : lasts(lease));
  }
  return longest;
}

bool has_moved(const std::vector<json::value>& leases, const std::vector<json::value>& later) {
  return std::ranges::any_of(leases, [&](const json::value& lease) { return moved(lease, later); });
}

std::vector<KueuePresence> find_kueue(const KueueDocuments& documents) {
  std::vector<KueuePresence> found;
  for (const json::value& each : documents.deployments) add_deployment(each, found);
  for (const json::value& each : documents.pods) add_pod(each, found);
  for (const json::value& each : documents.leases) add_lease(each, documents.leases_later, found);
  for (const json::value& each : documents.webhook_configurations) add_webhooks(each, found);
  for (const json::value& each : documents.api_services) add_api_service(each, found);
  return found;
}

std::vector<KueuePresence> find_active_kueue(const KueueDocuments& documents) {
  std::vector<KueuePresence> found = find_kueue(documents);
  std::erase_if(found,
                [](const KueuePresence& each) { return each.kind == PresenceKind::kApiService; });
  return found;
}

}  // namespace phalanx::admission
