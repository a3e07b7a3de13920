#include "cli/kueue_cluster.h"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <thread>

#include "admission/document.h"
#include "base/wall_clock.h"
#include "core/names.h"

namespace phalanx::cli {
namespace {

using admission::Place;
using Documents = std::vector<json::value>;

constexpr int kNotFound = 404;
constexpr auto kLeasePause = std::chrono::milliseconds(500);

constexpr api::Kind kJudgedKinds[] = {
    api::Kind::kTopology,     api::Kind::kResourceFlavor,
    api::Kind::kCohort,       api::Kind::kAdmissionCheck,
    api::Kind::kClusterQueue, api::Kind::kProvisioningRequestConfig,
    api::Kind::kLocalQueue,   api::Kind::kWorkloadPriorityClass,
    api::Kind::kWorkload,     api::Kind::kJob,
};

// All objects of a list; none if the API server does not have the kind.
Result<Documents> list(kube::ApiClient& client, const std::string& path) {
  auto answer = client.get(path);
  if (!answer && answer.error().code == kNotFound) return Documents();
  if (!answer) return fail(fmt::format("{} cannot be read: {}", path, answer.error().message));
  Documents documents;
  for (const Place& item : Place(&*answer)["items"].elements()) documents.push_back(*item.value());
  return documents;
}

Result<Documents> list_leases(kube::ApiClient& client) {
  return list(client, fmt::format("/apis/coordination.k8s.io/v1/leases?fieldSelector="
                                  "metadata.name%3D{}",
                                  admission::kKueueLease));
}

// Until somebody renews one, or nobody can be there who would.
Result<void> watch_leases(kube::ApiClient& client, admission::KueueDocuments& documents) {
  const Time now = wall_now();
  const Duration watched = admission::time_to_watch(documents.leases, now);
  if (watched == Duration(0)) return {};
  const auto deadline = std::chrono::steady_clock::now() + watched;
  while (!admission::has_moved(documents.leases, documents.leases_later) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kLeasePause);
    ASSIGN_OR_RETURN(documents.leases_later, list_leases(client));
  }
  return {};
}

// "a=b,c=d" as a query has it.
std::string selector_query() {
  std::string query = "?labelSelector=";
  for (const char c : admission::kKueueManagerSelector) {
    query += c == '=' ? "%3D" : c == ',' ? "%2C" : c == '/' ? "%2F" : std::string(1, c);
  }
  return query;
}

Result<void> read_objects(kube::ApiClient& client, admission::PreflightDocuments& documents) {
  for (const api::Kind kind : kJudgedKinds) {
    const api::KindInfo& about = api::info(kind);
    auto listed = client.list(kind);
    if (!listed && listed.error().code == kNotFound) continue;
    if (!listed) {
      return fail(fmt::format("{} cannot be listed: {}{}", about.plural, listed.error().message,
                              listed.error().nobody_converts()
                                  ? "; start Kueue again and ask before it is stopped"
                                  : ""));
    }
    documents.objects[std::string(about.name)] = std::move(*listed);
  }
  return {};
}

// Of kinds of kueue.x-k8s.io that Phalanx does not know, how many objects there are.
Result<void> count_others(kube::ApiClient& client, admission::PreflightDocuments& documents) {
  for (const json::value& crd : documents.crds) {
    const Place spec = Place(&crd)["spec"];
    const std::string plural(spec["names"]["plural"].text());
    if (documents.objects.contains(std::string(spec["names"]["kind"].text()))) continue;
    for (const Place& version : spec["versions"].elements()) {
      if (version["storage"].value() == nullptr || *version["storage"].value() != true) continue;
      ASSIGN_OR_RETURN(const Documents objects,
                       list(client, fmt::format("/apis/{}/{}/{}", spec["group"].text(),
                                                version["name"].text(), plural)));
      documents.other_objects[plural] = objects.size();
    }
  }
  return {};
}

}  // namespace

Result<admission::KueueDocuments> read_kueue(kube::ApiClient& client) {
  admission::KueueDocuments documents;
  ASSIGN_OR_RETURN(documents.leases, list_leases(client));
  ASSIGN_OR_RETURN(documents.deployments,
                   list(client, "/apis/apps/v1/deployments" + selector_query()));
  ASSIGN_OR_RETURN(documents.pods, list(client, "/api/v1/pods" + selector_query()));
  for (const std::string_view kind : {"Mutating", "Validating"}) {
    const std::string path =
        fmt::format("/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations",
                    kind == "Mutating" ? "mutating" : "validating");
    ASSIGN_OR_RETURN(Documents configurations, list(client, path));
    for (json::value& each : configurations) {
      each.as_object()["kind"] = fmt::format("{}WebhookConfiguration", kind);
      documents.webhook_configurations.push_back(std::move(each));
    }
  }
  ASSIGN_OR_RETURN(documents.api_services,
                   list(client, "/apis/apiregistration.k8s.io/v1/apiservices"));
  RETURN_IF_ERROR(watch_leases(client, documents));
  return documents;
}

Result<admission::PreflightDocuments> read_preflight(kube::ApiClient& client) {
  admission::PreflightDocuments documents;
  ASSIGN_OR_RETURN(documents.kueue, read_kueue(client));
  ASSIGN_OR_RETURN(const Documents crds,
                   list(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"));
  for (const json::value& crd : crds) {
    if (Place(&crd)["spec"]["group"].text() != core::names::kKueueGroup) continue;
    documents.crds.push_back(crd);
  }
  std::set<std::string> namespaces;
  for (const json::value& deployment : documents.kueue.deployments) {
    namespaces.emplace(Place(&deployment)["metadata"]["namespace"].text());
  }
  for (const std::string& name : namespaces) {
    ASSIGN_OR_RETURN(Documents found,
                     list(client, fmt::format("/api/v1/namespaces/{}/configmaps", name)));
    for (json::value& each : found) documents.config_maps.push_back(std::move(each));
  }
  ASSIGN_OR_RETURN(documents.managed_pods,
                   list(client, fmt::format("/api/v1/pods?labelSelector={}%3Dtrue",
                                            "kueue.x-k8s.io%2Fmanaged")));
  RETURN_IF_ERROR(read_objects(client, documents));
  RETURN_IF_ERROR(count_others(client, documents));
  return documents;
}

}  // namespace phalanx::cli
