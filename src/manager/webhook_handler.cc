#include "manager/webhook_handler.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/core.h"
#include "manager/log.h"

namespace phalanx::manager {
namespace {

// The part of one review in what waits.
class WaitingBytes {
 public:
  WaitingBytes(std::shared_ptr<std::atomic<size_t>> total, size_t bytes)
      : total_(std::move(total)), bytes_(bytes), all_(*total_ += bytes_) {}
  ~WaitingBytes() { *total_ -= bytes_; }
  WaitingBytes(const WaitingBytes&) = delete;
  WaitingBytes& operator=(const WaitingBytes&) = delete;

  [[nodiscard]] bool too_many() const { return all_ > WebhookHandler::kMostWaitingBytes; }

 private:
  std::shared_ptr<std::atomic<size_t>> total_;
  size_t bytes_;
  size_t all_;  // with this one
};

// A review that waits for what only the deciding thread knows.
struct WaitingReview {
  admission::WebhookRequest request;
  WaitingBytes bytes;
};

serve::Response json_response(admission::HttpAnswer answer) {
  return {answer.status, "application/json", std::move(answer.body)};
}

serve::Response refusal(int status, std::string_view message) {
  return json_response(admission::http_error(status, message));
}

admission::HttpAnswer converted(const admission::Webhooks& webhooks, std::string_view body) {
  auto request = webhooks.read(admission::kConvertPath, body);
  return request ? webhooks.answer(std::move(*request), {}) : std::move(request.error());
}

}  // namespace

WebhookHandler::WebhookHandler(const core::Adapters& adapters, Mailbox<Message>& decider)
    : adapters_(adapters), decider_(decider), converter_([this] { convert(); }) {}

WebhookHandler::~WebhookHandler() {
  over_ = true;
  conversions_.close();
}

void WebhookHandler::answer(serve::Request request, const serve::Reply& reply) {
  if (request.method != "POST") return reply(refusal(405, "webhooks are asked with POST"));
  if (request.path == admission::kConvertPath) return convert_later(std::move(request.body), reply);
  review(request, reply);
}

void WebhookHandler::convert_later(std::string body, const serve::Reply& reply) {
  const size_t bytes = body.size();
  if (conversion_bytes_ + bytes > kMostConversionBytes) {
    return reply(refusal(503, "too much waits to be converted; try again in some seconds"));
  }
  conversion_bytes_ += bytes;
  conversions_.put({std::move(body), reply, std::chrono::steady_clock::now()});
}

void WebhookHandler::convert() {
  while (!over_) {
    for (Conversion& conversion : conversions_.take(std::chrono::hours(1))) {
      const bool waits = std::chrono::steady_clock::now() < conversion.since + kPatience;
      if (waits && !over_) {
        try {
          conversion.reply(json_response(converted(webhooks_, conversion.body)));
        } catch (const std::exception& failure) {  // no memory for it; dropping the reply says so
          log_error(fmt::format("a conversion of {} bytes failed: {}", conversion.body.size(),
                                failure.what()));
        }
      }
      conversion_bytes_ -= conversion.body.size();
      conversion = {};  // before the next one
    }
  }
}

void WebhookHandler::review(const serve::Request& request, const serve::Reply& reply) {
  auto read = webhooks_.read(request.path, request.body);
  if (!read) return reply(json_response(std::move(read.error())));
  const json::value* job = read->job();
  if (job == nullptr) return reply(json_response(webhooks_.answer(std::move(*read), {})));
  admission::JobFacts facts = admission::job_facts(*job);
  const size_t bytes = request.body.size() + read->document_bytes();
  std::shared_ptr<WaitingReview> waiting(
      new WaitingReview{std::move(*read), WaitingBytes(waiting_bytes_, bytes)});
  if (waiting->bytes.too_many()) {
    return reply(refusal(503, "too much waits for an answer already; try again in some seconds"));
  }
  // The review moves on with the answer: the deciding thread must not be the last to have it, and
  // so the one that frees it.
  decider_.put(Question{[this, waiting = std::move(waiting), facts = std::move(facts), reply](
                            core::Core& core, const Standing& standing) mutable {
    std::optional<admission::JobContext> context;
    if (standing.ready) context = admission::job_context(core.state(), facts, adapters_);
    serve::Response response;
    response.status = context ? 200 : 503;
    response.complete = [this, waiting = std::move(waiting), context](serve::Response& made) {
      made = context ? json_response(webhooks_.answer(std::move(waiting->request), *context))
                     : refusal(503,
                               "phalanx has just started and does not know the queues yet; "
                               "try again in some seconds");
    };
    reply(std::move(response));
  }});
}

}  // namespace phalanx::manager
