// Everything that an installation of Phalanx puts into a cluster, as documents in an order in which
// they can be applied one after another: deploy/*.yaml and deploy/crds, filled in.
//
// - What is not chosen is as the files say.
// - Every place that names the namespace names the one that was chosen.
// - With a webhook URL no document refers to the Service any more.
//
// Pure and deterministic; some milliseconds, mostly for reading the CRDs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace phalanx::admission {

// Names in deploy/ that the program itself goes by.
inline constexpr std::string_view kSystemNamespace = "phalanx-system";
inline constexpr std::string_view kServiceAccount = "phalanx";
inline constexpr std::string_view kWebhookService = "phalanx-webhook";
inline constexpr std::string_view kMetricsService = "phalanx-metrics";
inline constexpr std::string_view kMetricsReader = "phalanx-metrics-reader";
inline constexpr int kWebhookPort = 9443;
inline constexpr int kMetricsPort = 8443;
inline constexpr int kHealthPort = 8081;
inline constexpr std::string_view kLease = "phalanx-manager";
inline constexpr std::string_view kCertificatesSecret = "phalanx-webhook-certificates";
// Of the mutating and of the validating one alike.
inline constexpr std::string_view kWebhookConfiguration = "phalanx";

struct InstallationOptions {
  std::string namespace_{kSystemNamespace};
  std::string image;  // of the manager; empty: as in deploy/manager.yaml
  std::optional<int> replicas;
  // Where API servers reach the webhooks, such as "https://127.0.0.1:9443"; empty: through the
  // Service.
  std::string webhook_url;
  // PEM: by whom the certificate of the webhooks is signed. Empty: the manager fills it in.
  std::string ca_bundle;
  // Deployment, disruption budget, configuration and the Service of the metrics. nullopt: unless
  // there is a webhook URL, which means that the manager runs elsewhere. The Service of the
  // webhooks is made with them, and whenever webhooks go through it.
  std::optional<bool> with_deployment;
};

// An error names the option and what to do.
Result<std::vector<json::value>> render_installation(const InstallationOptions& options);

// Names of the CRDs whose conversion goes through our webhook: where a caBundle belongs.
std::vector<std::string> converted_crds();

}  // namespace phalanx::admission
