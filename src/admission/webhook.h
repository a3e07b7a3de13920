// The webhooks of Phalanx as pure functions: the body of a web request in, the answer out. No
// sockets, no threads, no clock; src/serve carries the bytes.
//
// A request is answered in three steps, because what is known of the cluster belongs to the thread
// that decides, and parsing and answering do not:
//
//   auto request = webhooks.read(path, body);        // any thread; or the error to send back
//   JobContext context;
//   if (const json::value* job = request->job()) {
//     const JobFacts facts = job_facts(*job);
//     context = job_context(state, facts, adapters);  // on the thread that has the state
//   }
//   send(webhooks.answer(std::move(*request), context));          // any thread
//
// - Only a well-formed request for the kinds of its path is acted on. Anything else is answered
//   with an HTTP error whose body is a Status with a sentence, as API servers show it to people.
// - No answer has a side effect, so that a dry run is like any other request.
// - The same request gets the same answer, and an object that was defaulted once is not changed
//   again, so that reinvocation does no harm.
//
// Cost: linear in the body, whose size is bounded by path. Implements KEP-2724, "Validation".
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "admission/job_admission.h"
#include "admission/kueue_admission.h"
#include "admission/review.h"

namespace phalanx::admission {

// By which an API server reaches us. The webhook configurations of deploy/webhooks.yaml and the
// CRDs name exactly these paths.
inline constexpr std::string_view kMutateJobPath = "/mutate-batch-v1-job";
inline constexpr std::string_view kValidateJobPath = "/validate-batch-v1-job";
inline constexpr std::string_view kMutateKueuePath = "/mutate-kueue-x-k8s-io";
inline constexpr std::string_view kValidateKueuePath = "/validate-kueue-x-k8s-io";
// Asked about Jobs that somebody starts, and about the status of Workloads that somebody writes,
// who may not admit.
inline constexpr std::string_view kKeepSuspendedPath = "/keep-batch-v1-job-suspended";
inline constexpr std::string_view kKeepStatusPath = "/keep-kueue-x-k8s-io-workload-status";
inline constexpr std::string_view kConvertPath = "/convert";

struct Webhook;  // what is known of a path

std::span<const std::string_view> webhook_paths();
// The longest body that is worth reading; 0 if the path is not ours. Here and below a path may have
// a query behind it, as API servers send it.
size_t most_body_bytes(std::string_view path);

// Always JSON.
struct HttpAnswer {
  int status = 200;
  std::string body;
};

struct WebhookRequest {
  const Webhook* webhook = nullptr;
  std::variant<Review, ConversionRequest> content;

  // The Job that job_context() has to be asked about before this can be answered; nullptr if the
  // answer does not depend on it.
  [[nodiscard]] const json::value* job() const;
  // About how much memory its documents take.
  [[nodiscard]] size_t document_bytes() const;
};

// Immutable, so it may be shared.
class Webhooks {
 public:
  [[nodiscard]] std::expected<WebhookRequest, HttpAnswer> read(std::string_view path,
                                                               std::string_view body) const;
  [[nodiscard]] HttpAnswer answer(WebhookRequest request, const JobContext& job_context) const;

 private:
  [[nodiscard]] Result<void> check_kind(const Webhook& webhook, const Review& review) const;

  KueueAdmission kueue_;
};

// An answer that is no review: 404, 503, ...
HttpAnswer http_error(int status, std::string_view message);

}  // namespace phalanx::admission
