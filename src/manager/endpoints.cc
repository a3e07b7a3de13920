#include "manager/endpoints.h"

#include <fmt/format.h>

#include "core/account_report.h"
#include "core/core.h"
#include "manager/log.h"
#include "manager/metrics.h"

namespace phalanx::manager {
namespace {

// API servers wait ten seconds by default; ours say five.
constexpr auto kAnswerTimeout = std::chrono::seconds(5);

serve::Response json_response(admission::HttpAnswer answer) {
  return {answer.status, "application/json", std::move(answer.body)};
}

serve::Response text_response(int status, std::string text) {
  serve::Response response;
  response.status = status;
  response.body = std::move(text);
  return response;
}

Result<std::unique_ptr<serve::Server>> listen_plainly(const std::string& address,
                                                      std::string_view option,
                                                      serve::Handler handler) {
  if (address.empty() || address == "0") return nullptr;  // Kueue's way to say none
  auto parsed = serve::parse_listen_address(address, 0);
  if (!parsed) return within(option, parsed.error());
  serve::ServerOptions options;
  options.address = *parsed;
  options.max_connections = 128;
  options.max_body_bytes = 4096;
  options.answer_timeout = kAnswerTimeout;
  auto server = serve::Server::start(options, std::nullopt, std::move(handler));
  if (!server) return within(option, server.error());
  return server;
}

}  // namespace

Endpoints::Endpoints(const kube::ClusterAccess& access, const ProcessSettings& settings,
                     const core::Adapters& adapters, ApiSide& api, Mailbox<Message>& decider)
    : settings_(settings),
      adapters_(adapters),
      api_(api),
      decider_(decider),
      certificates_(
          {.access = access,
           .folder = {.path = settings.webhook_cert_dir,
                      .names = webhook_names(settings.webhook_service, settings.lease_namespace)},
           .secret_namespace = settings.lease_namespace,
           .secret = settings.webhook_secret}) {}

Result<std::unique_ptr<Endpoints>> Endpoints::start(const kube::ClusterAccess& access,
                                                    const ProcessSettings& settings,
                                                    const core::Adapters& adapters, ApiSide& api,
                                                    Mailbox<Message>& decider) {
  std::unique_ptr<Endpoints> endpoints(new Endpoints(access, settings, adapters, api, decider));
  RETURN_IF_ERROR(endpoints->listen());
  endpoints->keep_certificates();
  return endpoints;
}

void Endpoints::keep_certificates() {
  certificates_.start(
      {.changed = [this](const serve::Identity& identity) { return serve_webhooks(identity); },
       .gave_up = [this](const Error& error) { decider_.put(Stop{error}); }});
}

Result<void> Endpoints::serve_webhooks(const serve::Identity& identity) {
  if (webhook_server_) return webhook_server_->set_identity(identity);
  serve::ServerOptions options;
  options.address = {settings_.webhook_host, static_cast<uint16_t>(settings_.webhook_port)};
  options.answer_timeout = kAnswerTimeout;
  auto webhook = serve::Server::start(
      options, identity, [this](const serve::Request& request, const serve::Reply& reply) {
        answer_webhook(request, reply);
      });
  if (!webhook) return within("--webhook-port", webhook.error());
  webhook_server_ = std::move(*webhook);
  decider_.put(Listening{});
  return {};
}

Result<void> Endpoints::listen() {
  ASSIGN_OR_RETURN(health_server_,
                   listen_plainly(settings_.health_address, "--health-address",
                                  [this](const serve::Request& request, const serve::Reply& reply) {
                                    answer_health(request, reply);
                                  }));
  ASSIGN_OR_RETURN(metrics_server_,
                   listen_plainly(settings_.metrics_address, "--metrics-address",
                                  [this](const serve::Request& request, const serve::Reply& reply) {
                                    answer_metrics(request, reply);
                                  }));
  return {};
}

void Endpoints::answer_webhook(const serve::Request& request, const serve::Reply& reply) {
  if (request.method != "POST") {
    return reply(json_response(admission::http_error(405, "webhooks are asked with POST")));
  }
  auto read = webhooks_.read(request.path, request.body);
  if (!read) return reply(json_response(std::move(read.error())));
  auto asked = std::make_shared<admission::WebhookRequest>(std::move(*read));
  if (asked->job() == nullptr) {
    return reply(json_response(webhooks_.answer(std::move(*asked), {})));
  }
  decider_.put(Question{[this, asked, reply](core::Core& core, bool ready) {
    if (!ready) {
      return reply(json_response(
          admission::http_error(503,
                                "phalanx has just started and does not know the queues yet; "
                                "try again in some seconds")));
    }
    const admission::JobContext context =
        admission::job_context(core.state(), *asked->job(), adapters_);
    reply(json_response(webhooks_.answer(std::move(*asked), context)));
  }});
}

void Endpoints::answer_health(const serve::Request& request, const serve::Reply& reply) {
  const bool ready_wanted = request.path == "/readyz";
  if (!ready_wanted && request.path != "/healthz") {
    return reply(text_response(404, "there are /healthz and /readyz\n"));
  }
  // A deciding thread that hangs answers nobody.
  decider_.put(Question{[reply, ready_wanted](core::Core&, bool ready) {
    const bool good = ready || !ready_wanted;
    reply(text_response(
        good ? 200 : 503,
        good ? "ok\n"
             : "the cluster is still being listed, or the webhooks wait for a certificate\n"));
  }});
}

void Endpoints::answer_metrics(const serve::Request& request, const serve::Reply& reply) {
  if (request.path == "/metrics") {
    api_.with_measures([reply](const ApiMeasures& measures, size_t unfinished) {
      serve::Response response;
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = render_metrics(measures, unfinished);
      reply(std::move(response));
    });
  } else if (request.path == "/debug/account") {
    decider_.put(Question{[reply](core::Core& core, bool) {
      reply({200, "application/json",
             json::serialize(core::account_of(core.state(), core.scheduler().nominations()))});
    }});
  } else {
    reply(text_response(404, "there are /metrics and /debug/account\n"));
  }
}

void Endpoints::stop() {
  certificates_.stop();
  for (const auto& server : {webhook_server_.get(), health_server_.get(), metrics_server_.get()}) {
    if (server != nullptr) server->stop();
  }
}

}  // namespace phalanx::manager
