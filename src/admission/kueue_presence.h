// What of Kueue acts in a cluster: managers that decide, webhooks that are asked, API services that
// are called. Two who decide about the same Workloads undo each other's work, and a webhook whose
// manager is gone refuses every Job; so both have to be out of the way before Phalanx is installed.
//
// Judged from documents as an API server shows them. Kueue's parts are known by what they are, not
// by the names of an installation: its Deployment by the labels that its manifests and its chart
// give it, its webhooks by the paths at which they are asked.
//
// Pure and deterministic; linear in the documents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace phalanx::admission {

// By which Kueue's replicas elect their leader, unless its configuration names another.
inline constexpr std::string_view kKueueLease = "c1f6bfd2.kueue.x-k8s.io";
// Of its Deployment and of that one's pods.
inline constexpr std::string_view kKueueManagerSelector =
    "app.kubernetes.io/name=kueue,control-plane=controller-manager";

struct KueueDocuments {
  std::vector<json::value> leases;  // of that name, in whatever namespace
  // The same later on, if somebody held one: when one has moved, or the longest of them has run
  // out. Who holds a lease renews it; nobody's clock has to be right to see that.
  std::vector<json::value> leases_later;
  std::vector<json::value> deployments;             // by that selector
  std::vector<json::value> pods;                    // by that selector
  std::vector<json::value> webhook_configurations;  // of both kinds, all of them
  std::vector<json::value> api_services;            // all of them
};

enum class PresenceKind : uint8_t { kManager, kWebhooks, kApiService };

struct KueuePresence {
  PresenceKind kind = PresenceKind::kManager;
  std::string object;  // "Deployment kueue-system/kueue-controller-manager"
  std::string text;    // what it does there, and what to do about it

  bool operator==(const KueuePresence&) const = default;
};

// In the order in which they have to go.
std::vector<KueuePresence> find_kueue(const KueueDocuments& documents);

// The same for what must be gone before somebody else decides: all but API services.
std::vector<KueuePresence> find_active_kueue(const KueueDocuments& documents);

// Webhook configurations and API services that call Kueue's manager: without what the API server
// adds to a document, so that they can be created again.
std::vector<json::value> callers_of_kueue(const KueueDocuments& documents);
// A document as somebody could have written it.
json::value as_written(json::value document, std::string_view api_version, std::string_view kind);

// How long to look at the leases before nobody can be behind them: 0 if nobody holds one, a few
// seconds for those that have run out by this clock.
Duration time_to_watch(const std::vector<json::value>& leases, Time now);
// Whether one of them was renewed meanwhile.
bool has_moved(const std::vector<json::value>& leases, const std::vector<json::value>& later);

}  // namespace phalanx::admission
