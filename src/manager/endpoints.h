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
#include "manager/settings.h"
#include "serve/certificate_folder.h"
#include "serve/server.h"

namespace phalanx::manager {

class Endpoints {
 public:
  // They listen when it returns.
  static Result<std::unique_ptr<Endpoints>> start(const ProcessSettings& settings,
                                                  const core::Adapters& adapters, ApiSide& api,
                                                  Mailbox<Message>& decider);

  // Renews certificates that run out.
  void refresh(Time now);
  void stop();

 private:
  Endpoints(const ProcessSettings& settings, const core::Adapters& adapters, ApiSide& api,
            Mailbox<Message>& decider);

  Result<void> listen(Time now);
  void answer_webhook(const serve::Request& request, const serve::Reply& reply);
  void answer_health(const serve::Request& request, const serve::Reply& reply);
  void answer_metrics(const serve::Request& request, const serve::Reply& reply);

  const ProcessSettings settings_;
  const core::Adapters& adapters_;
  ApiSide& api_;
  Mailbox<Message>& decider_;
  const admission::Webhooks webhooks_;
  serve::CertificateFolder certificates_;
  std::unique_ptr<serve::Server> webhook_server_;
  std::unique_ptr<serve::Server> health_server_;
  std::unique_ptr<serve::Server> metrics_server_;
};

}  // namespace phalanx::manager
