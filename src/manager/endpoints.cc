#include "manager/endpoints.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/account_report.h"
#include "core/core.h"
#include "manager/log.h"
#include "manager/scrape.h"

namespace phalanx::manager {
namespace {

constexpr auto kAnswerTimeout = WebhookHandler::kPatience;
// Of a body that is sent to a path that there is not.
constexpr size_t kMostBytesElsewhere = size_t{1} << 20;

serve::Response text_response(int status, std::string text) {
  serve::Response response;
  response.status = status;
  response.body = std::move(text);
  return response;
}

// Whoever asks here is small and few.
Result<std::unique_ptr<serve::Server>> listen_at(const std::string& address,
                                                 std::string_view option,
                                                 const std::optional<serve::Identity>& identity,
                                                 serve::Handler handler) {
  if (address.empty() || address == "0") return nullptr;  // Kueue's way to say none
  auto parsed = serve::parse_listen_address(address, 0);
  if (!parsed) return within(option, parsed.error());
  serve::ServerOptions options;
  options.address = *parsed;
  options.max_connections = 128;
  options.max_body_bytes = 4096;
  options.answer_timeout = kAnswerTimeout;
  auto server = serve::Server::start(options, identity, std::move(handler));
  if (!server) return within(option, server.error());
  return server;
}

serve::Response refusal(const kube::AccessVerdict& verdict) {
  switch (verdict.answer) {
    case kube::AccessAnswer::kUnknown: {
      serve::Response response = text_response(401, verdict.message + "\n");
      response.headers.push_back({"WWW-Authenticate", "Bearer"});
      return response;
    }
    case kube::AccessAnswer::kForbidden:
      return text_response(403, verdict.message + "\n");
    default:
      return text_response(503, verdict.message + "\n");
  }
}

// As Kubernetes calls what a method does.
std::string verb_of(std::string method) {
  for (char& letter : method) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return method;
}

serve::RotationPolicy rotation_of(const ProcessSettings& settings) {
  return {.certificate_lifetime = settings.certificate_validity,
          .authority_lifetime = settings.authority_validity};
}

// Replicas look at their certificates some times within an overlap, so that all know of a new
// authority before it signs anything.
Duration look_interval(const serve::RotationPolicy& rotation, Duration usual) {
  return std::min(usual, serve::effective_overlap(rotation) / 5);
}

}  // namespace

Endpoints::Endpoints(const kube::ClusterAccess& access, const ProcessSettings& settings,
                     const core::Adapters& adapters, ApiSide& api, Meters& meters,
                     Mailbox<Message>& decider)
    : settings_(settings),
      api_(api),
      meters_(meters),
      decider_(decider),
      webhooks_(adapters, decider),
      certificates_(
          {.access = access,
           .folder = {.path = settings.webhook_cert_dir,
                      .names = webhook_names(settings.webhook_service, settings.lease_namespace),
                      .rotation = rotation_of(settings)},
           .secret_namespace = settings.lease_namespace,
           .secret = settings.webhook_secret,
           .only_reads = !settings.keeps_certificates,
           .interval = look_interval(rotation_of(settings), std::chrono::seconds(10)),
           .trust_interval = look_interval(rotation_of(settings), std::chrono::minutes(1))}) {}

Result<std::unique_ptr<Endpoints>> Endpoints::start(const kube::ClusterAccess& access,
                                                    const ProcessSettings& settings,
                                                    const core::Adapters& adapters, ApiSide& api,
                                                    Meters& meters, Mailbox<Message>& decider) {
  std::unique_ptr<Endpoints> endpoints(
      new Endpoints(access, settings, adapters, api, meters, decider));
  RETURN_IF_ERROR(endpoints->serve_health());
  endpoints->keep_certificates();
  return endpoints;
}

void Endpoints::keep_certificates() {
  certificates_.start(
      {.changed = [this](const serve::Identity& identity) { return use_identity(identity); },
       .gave_up = [this](const Error& error) { decider_.put(Stop{error}); }});
}

Result<void> Endpoints::use_identity(const serve::Identity& identity) {
  if (const auto shown = serve::inspect(identity.certificate_pem)) {
    certificate_expires_ = shown->not_after;
  }
  RETURN_IF_ERROR(serve_metrics(identity));
  return serve_webhooks(identity);
}

Result<void> Endpoints::serve_webhooks(const serve::Identity& identity) {
  if (webhook_server_) return webhook_server_->set_identity(identity);
  serve::ServerOptions options;
  options.address = {settings_.webhook_host, static_cast<uint16_t>(settings_.webhook_port)};
  options.answer_timeout = kAnswerTimeout;
  options.max_body_bytes = admission::most_body_bytes(admission::kConvertPath);
  options.most_body_bytes = [](std::string_view path) {
    const size_t most = admission::most_body_bytes(path);
    return most > 0 ? most : kMostBytesElsewhere;
  };
  auto webhook = serve::Server::start(
      options, identity, [this](serve::Request request, const serve::Reply& reply) {
        // Only paths that there are become labels.
        const bool known = admission::most_body_bytes(request.path) > 0;
        const serve::Reply answer = counted(known ? request.path : "other", reply);
        webhooks_.answer(std::move(request), answer);
      });
  if (!webhook) return within("--webhook-port", webhook.error());
  webhook_server_ = std::move(*webhook);
  serves_webhooks_ = true;
  decider_.put(Listening{});
  return {};
}

Result<void> Endpoints::serve_metrics(const serve::Identity& identity) {
  if (metrics_server_) return metrics_server_->set_identity(identity);
  ASSIGN_OR_RETURN(metrics_server_,
                   listen_at(settings_.metrics_address, "--metrics-address", identity,
                             [this](const serve::Request& request, const serve::Reply& reply) {
                               answer_metrics(request, reply);
                             }));
  return {};
}

Result<void> Endpoints::serve_health() {
  ASSIGN_OR_RETURN(health_server_,
                   listen_at(settings_.health_address, "--health-address", std::nullopt,
                             [this](const serve::Request& request, const serve::Reply& reply) {
                               answer_health(request, reply);
                             }));
  return {};
}

serve::Reply Endpoints::counted(std::string path, const serve::Reply& reply) {
  const kube::Instant begun = kube::MonotonicClock::now();
  return [this, path = std::move(path), begun, reply](serve::Response response) {
    meters_.requests.add({{"path", path}, {"code", std::to_string(response.status)}});
    meters_.request_seconds.add({{"path", path}}, kube::MonotonicClock::now() - begun);
    reply(std::move(response));
  };
}

void Endpoints::convert_now() {
  if (!converts_early_.exchange(true)) {
    log_warning(
        "nobody converts what is stored in an older version: this replica counts as ready for "
        "that, before it knows the cluster");
  }
  certificates_.spread();
}

void Endpoints::answer_health(const serve::Request& request, const serve::Reply& reply) {
  const bool ready_wanted = request.path == "/readyz";
  if (!ready_wanted && request.path != "/healthz") {
    return reply(text_response(404, "there are /healthz and /readyz\n"));
  }
  // A deciding thread that hangs answers nobody.
  decider_.put(Question{[this, reply, ready_wanted](core::Core&, const Standing& standing) {
    const bool good = standing.ready || !ready_wanted || (converts_early_ && serves_webhooks_);
    reply(text_response(
        good ? 200 : 503,
        good ? "ok\n"
             : "the cluster is still being listed, or the webhooks wait for a certificate\n"));
  }});
}

void Endpoints::answer_metrics(const serve::Request& request, const serve::Reply& reply) {
  const bool known = request.path == "/metrics" || request.path == "/debug/account";
  const serve::Reply answer = counted(known ? request.path : "other", reply);
  // Who may not come in is not told what there is.
  kube::AccessQuestion question{kube::bearer_token(request.header("Authorization")),
                                verb_of(request.method), request.path};
  api_.review_access(std::move(question),
                     [this, answer, path = request.path,
                      method = request.method](const kube::AccessVerdict& verdict) {
                       if (verdict.answer != kube::AccessAnswer::kAllowed)
                         return answer(refusal(verdict));
                       if (method != "GET")
                         return answer(text_response(405, "this is read with GET\n"));
                       if (path == "/metrics") return scrape(answer);
                       if (path == "/debug/account") return show_account(answer);
                       answer(text_response(404, "there are /metrics and /debug/account\n"));
                     });
}

void Endpoints::scrape(const serve::Reply& reply) {
  api_.with_gauges([this, reply](ApiGauges gauges) {
    auto context = std::make_shared<ScrapeContext>();
    context->api = std::move(gauges);
    if (const Time expires = certificate_expires_; expires != Time{}) {
      context->certificate_expires = expires;
    }
    context->webhooks = webhook_traffic();
    decider_.put(Question{[this, reply, context](core::Core& core, const Standing& standing) {
      serve::Response response;
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = render_metrics(meters_, core, standing, *context);
      reply(std::move(response));
    }});
  });
}

void Endpoints::show_account(const serve::Reply& reply) {
  decider_.put(Question{[reply](core::Core& core, const Standing&) {
    reply({200, "application/json",
           json::serialize(core::account_of(core.state(), core.scheduler().nominations()))});
  }});
}

void Endpoints::drain() {
  certificates_.stop();  // who makes the server
  if (webhook_server_) webhook_server_->drain();
}

// Another thread makes the server, and says so when it is there.
serve::ServerCounters Endpoints::webhook_traffic() const {
  return serves_webhooks_ ? webhook_server_->counters() : serve::ServerCounters();
}

void Endpoints::stop() {
  certificates_.stop();
  for (const auto& server : {webhook_server_.get(), health_server_.get(), metrics_server_.get()}) {
    if (server != nullptr) server->stop();
  }
}

}  // namespace phalanx::manager
