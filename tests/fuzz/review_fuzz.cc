// Any body must be refused or answered, at every path. What is answered must be JSON, a patch must
// fit the object that it is for, and an object that was defaulted once must not be changed again.
// What was converted must be converted back, and there again to the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/webhook.h"
#include "base/base64.h"
#include "base/json_patch.h"
#include "base/strict_json.h"
#include "document_mutator.h"
#include "jobs/batch_job.h"

namespace {

namespace admission = phalanx::admission;
namespace json = phalanx::json;

constexpr std::string_view kTexts[] = {"",
                                       "CREATE",
                                       "UPDATE",
                                       "DELETE",
                                       "status",
                                       "batch",
                                       "batch/v1",
                                       "Job",
                                       "Workload",
                                       "ClusterQueue",
                                       "Topology",
                                       "kueue.x-k8s.io",
                                       "v1",
                                       "v1beta1",
                                       "v1beta2",
                                       "kueue.x-k8s.io/v1beta1",
                                       "kueue.x-k8s.io/v1beta2",
                                       "9223372036854775808",
                                       "-1",
                                       "1e9",
                                       "default",
                                       "2026-01-01T00:00:00Z",
                                       "kubernetes.io/hostname",
                                       "spec",
                                       "/spec",
                                       "/status",
                                       "main",
                                       "phalanx.dev/conversion",
                                       "phalanx.dev/Conversion",
                                       R"({"of":"v1beta1","lost":[{"at":"/spec","was":{"a":1}}]})",
                                       R"({"of":"v1beta2","lost":[{"at":"/spec","was":{"a":1}}]})"};

void require(bool condition) {
  if (!condition) std::abort();
}

// The object as the patch of the response makes it.
json::value patched(json::value object, const json::value& response) {
  const json::value* patch = response.as_object().if_contains("patch");
  if (patch == nullptr) return object;
  require(response.at("patchType") == "JSONPatch");
  const auto text = phalanx::from_base64(patch->as_string());
  require(text.has_value());
  const auto operations = phalanx::parse_json(*text);
  require(operations.has_value() && !operations->as_array().empty());
  require(phalanx::apply_json_patch(object, *operations).has_value());
  return object;
}

json::value answer(const admission::Webhooks& webhooks, admission::WebhookRequest request) {
  static const phalanx::core::Adapters kAdapters = phalanx::jobs::all_adapters();
  const phalanx::core::State state;
  admission::JobContext context;
  if (const json::value* job = request.job()) {
    context = admission::job_context(state, admission::job_facts(*job), kAdapters);
  }
  context.default_queue_exists = true;
  const admission::HttpAnswer answered = webhooks.answer(std::move(request), context);
  require(answered.status == 200);
  auto document = phalanx::parse_strict_json(answered.body);
  require(document.has_value());
  return document->at("response");
}

// The objects in the version, if they could be converted.
std::optional<json::array> converted(const admission::Webhooks& webhooks,
                                     const admission::WebhookRequest& like, json::array objects,
                                     std::string_view version) {
  admission::WebhookRequest request = like;
  auto& conversion = std::get<admission::ConversionRequest>(request.content);
  conversion.objects = std::move(objects);
  conversion.version = version;
  const json::value response = answer(webhooks, std::move(request));
  if (response.at("result").at("status") != "Success") return std::nullopt;
  return response.at("convertedObjects").as_array();
}

// Notes that somebody made up, and values that no schema allows, are gone after a round: from then
// on nothing changes.
void convert_back(const admission::Webhooks& webhooks, const admission::WebhookRequest& request) {
  const auto& conversion = std::get<admission::ConversionRequest>(request.content);
  std::string version = conversion.version;
  auto objects = converted(webhooks, request, conversion.objects, version);
  if (!objects) return;
  std::vector<json::array> seen{*objects};
  for (int i = 0; i < 4; ++i) {
    version = version == "v1beta1" ? "v1beta2" : "v1beta1";
    objects = converted(webhooks, request, std::move(*objects), version);
    require(objects.has_value());
    seen.push_back(*objects);
  }
  require(seen[4] == seen[2]);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return phalanx::fuzz::mutate_document(data, size, max_size, seed, kTexts);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const admission::Webhooks kWebhooks;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const std::string_view path : admission::webhook_paths()) {
    auto request = kWebhooks.read(path, body);
    if (!request) {
      require(request.error().status == 400);
      require(phalanx::parse_strict_json(request.error().body).has_value());
      continue;
    }
    const json::value response = answer(kWebhooks, *request);
    auto* review = std::get_if<admission::Review>(&request->content);
    if (review == nullptr) convert_back(kWebhooks, *request);
    if (review == nullptr || !response.at("allowed").as_bool()) continue;
    require(response.at("uid").as_string() == review->uid);
    if (review->object.is_null()) continue;
    review->object = patched(review->object, response);
    require(!answer(kWebhooks, *request).as_object().contains("patch"));
  }
  return 0;
}
