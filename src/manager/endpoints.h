// What the process serves: webhooks over HTTPS, health and metrics.
//
// Health is open to everybody and says no more than ok. Metrics and the account are for those whom
// the API server knows and lets (kube/access_review.h), over HTTPS with the certificate of the
// webhooks: a bearer token must not cross a network in the clear.
//
// Webhook paths take well-formed reviews and nothing else (manager/webhook_handler.h); an answer
// that does not come in time is a 503, which the API server shows to whoever created the object.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/mailbox.h"
#include "core/adapter.h"
#include "manager/api_side.h"
#include "manager/certificate_keeper.h"
#include "manager/meters.h"
#include "manager/settings.h"
#include "manager/webhook_handler.h"
#include "serve/server.h"

namespace phalanx::manager {

class Endpoints {
 public:
  // Health listens when it returns. Webhooks and metrics follow when they have a certificate, which
  // the decider is told (Listening); if they cannot, it is told to stop.
  static Result<std::unique_ptr<Endpoints>> start(const kube::ClusterAccess& access,
                                                  const ProcessSettings& settings,
                                                  const core::Adapters& adapters, ApiSide& api,
                                                  Meters& meters, Mailbox<Message>& decider);

  // The leader sees to it that the API server trusts the webhooks.
  void lead(bool leads) { certificates_.lead(leads); }
  // Nobody converts objects that are stored in an older version, so that they cannot be listed, and
  // nobody becomes ready who could. Conversion needs to know nothing of the cluster: from here on
  // this replica counts as ready, so that a Service leads to it, and is trusted without leading.
  // About Jobs it answers 503 until it knows the queues; nobody else could answer them either.
  void convert_now();
  // Webhooks are answered as before, but clients are sent elsewhere.
  void drain();
  // Whether it counts as ready, to convert, before it knows the cluster.
  [[nodiscard]] bool converts_early() const { return converts_early_; }
  // Of those who call webhooks.
  [[nodiscard]] serve::ServerCounters webhook_traffic() const;
  void stop();

 private:
  Endpoints(const kube::ClusterAccess& access, const ProcessSettings& settings,
            const core::Adapters& adapters, ApiSide& api, Meters& meters,
            Mailbox<Message>& decider);

  Result<void> serve_health();
  void keep_certificates();
  // With this certificate, from now on.
  Result<void> use_identity(const serve::Identity& identity);
  Result<void> serve_webhooks(const serve::Identity& identity);
  Result<void> serve_metrics(const serve::Identity& identity);
  // Replies the same, and counts it.
  [[nodiscard]] serve::Reply counted(std::string path, const serve::Reply& reply);
  void answer_health(const serve::Request& request, const serve::Reply& reply);
  void answer_metrics(const serve::Request& request, const serve::Reply& reply);
  void scrape(const serve::Reply& reply);
  void show_account(const serve::Reply& reply);

  const ProcessSettings settings_;
  ApiSide& api_;
  Meters& meters_;
  Mailbox<Message>& decider_;
  WebhookHandler webhooks_;
  std::atomic<Time> certificate_expires_ = Time{};
  std::atomic<bool> converts_early_ = false;
  std::atomic<bool> serves_webhooks_ = false;
  std::unique_ptr<serve::Server> webhook_server_;  // for other threads only if serves_webhooks_
  std::unique_ptr<serve::Server> health_server_;
  std::unique_ptr<serve::Server> metrics_server_;
  CertificateKeeper certificates_;  // last: it hands what it renews to the server
};

}  // namespace phalanx::manager
