// What the process serves: webhooks over HTTPS, health and metrics.
//
// Webhook paths take well-formed reviews and nothing else. What they have to know of the cluster
// they ask the deciding thread; an answer that does not come in time is a 503, which the API server
// shows to whoever created the object.
#pragma once

#include <memory>
#include <string>

#include "admission/webhook.h"
#include "base/mailbox.h"
#include "core/adapter.h"
#include "manager/api_side.h"
#include "manager/certificate_keeper.h"
#include "manager/settings.h"
#include "serve/server.h"

namespace phalanx::manager {

class Endpoints {
 public:
  // Health and metrics listen when it returns. The webhooks follow when they have a certificate,
  // which the decider is told (Listening); if they cannot, it is told to stop.
  static Result<std::unique_ptr<Endpoints>> start(const kube::ClusterAccess& access,
                                                  const ProcessSettings& settings,
                                                  const core::Adapters& adapters, ApiSide& api,
                                                  Mailbox<Message>& decider);

  // The leader sees to it that the API server trusts the webhooks.
  void lead(bool leads) { certificates_.lead(leads); }
  void stop();

 private:
  Endpoints(const kube::ClusterAccess& access, const ProcessSettings& settings,
            const core::Adapters& adapters, ApiSide& api, Mailbox<Message>& decider);

  Result<void> listen();
  void keep_certificates();
  // With this certificate, from now on.
  Result<void> serve_webhooks(const serve::Identity& identity);
  void answer_webhook(const serve::Request& request, const serve::Reply& reply);
  void answer_health(const serve::Request& request, const serve::Reply& reply);
  void answer_metrics(const serve::Request& request, const serve::Reply& reply);

  const ProcessSettings settings_;
  const core::Adapters& adapters_;
  ApiSide& api_;
  Mailbox<Message>& decider_;
  const admission::Webhooks webhooks_;
  std::unique_ptr<serve::Server> webhook_server_;
  std::unique_ptr<serve::Server> health_server_;
  std::unique_ptr<serve::Server> metrics_server_;
  CertificateKeeper certificates_;  // last: it hands what it renews to the server
};

}  // namespace phalanx::manager
