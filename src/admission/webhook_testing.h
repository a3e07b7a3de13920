// Asks the webhooks as an API server does. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "admission/testing.h"
#include "admission/webhook.h"
#include "base/base64.h"

namespace phalanx::admission::testing {

inline const Webhooks& webhooks() {
  static const Webhooks kWebhooks;
  return kWebhooks;
}

inline json::value job(std::string_view patch) {
  json::value document = yaml(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml, labels: {kueue.x-k8s.io/queue-name: main}}
spec: {parallelism: 4, completions: 4, template: {spec: {containers: [{name: c}]}}}
)");
  if (!patch.empty()) merge(document, yaml(patch));
  return document;
}

struct Asked {
  std::string_view operation = "CREATE";
  json::value object = nullptr;
  json::value old_object = nullptr;
  std::string_view subresource = "";
};

inline std::string review_text(const Asked& asked) {
  const json::object& header =
      (asked.object.is_null() ? asked.old_object : asked.object).get_object();
  const std::string_view api_version = header.at("apiVersion").as_string();
  const size_t slash = api_version.find('/');
  const std::string_view group = api_version.substr(0, slash);
  const std::string_view version = api_version.substr(slash + 1);
  json::object request{
      {"uid", "u1"},
      {"kind", {{"group", group}, {"version", version}, {"kind", header.at("kind")}}},
      {"resource", {{"group", group}, {"version", version}, {"resource", "any"}}},
      {"operation", asked.operation},
      {"object", asked.object},
      {"oldObject", asked.old_object}};
  if (!asked.subresource.empty()) request["subResource"] = asked.subresource;
  return json::serialize(json::object{{"apiVersion", "admission.k8s.io/v1"},
                                      {"kind", "AdmissionReview"},
                                      {"request", std::move(request)}});
}

inline HttpAnswer answer(std::string_view path, std::string_view body,
                         const JobContext& context = {}) {
  auto request = webhooks().read(path, body);
  return request ? webhooks().answer(std::move(*request), context) : request.error();
}

// The response of an AdmissionReview.
inline json::value response(std::string_view path, const Asked& asked,
                            const JobContext& context = {}) {
  const HttpAnswer answered = answer(path, review_text(asked), context);
  EXPECT_EQ(answered.status, 200) << answered.body;
  json::value document = *parse_json(answered.body);
  EXPECT_EQ(document.at("response").at("uid"), "u1");
  return document.at("response");
}

// The message of a refusal; "" if it was allowed.
inline std::string refusal(std::string_view path, const Asked& asked,
                           const JobContext& context = {}) {
  const json::value answered = response(path, asked, context);
  if (answered.at("allowed").as_bool()) return "";
  EXPECT_EQ(answered.at("status").at("code"), 422);
  EXPECT_FALSE(answered.as_object().contains("patch"));
  return std::string(answered.at("status").at("message").as_string());
}

// The patch of an allowance as text; "" if there is none.
inline std::string patch_of(std::string_view path, const Asked& asked,
                            const JobContext& context = {}) {
  const json::value answered = response(path, asked, context);
  EXPECT_TRUE(answered.at("allowed").as_bool());
  if (!answered.as_object().contains("patch")) return "";
  EXPECT_EQ(answered.at("patchType"), "JSONPatch");
  return from_base64(answered.at("patch").as_string()).value();
}

}  // namespace phalanx::admission::testing
