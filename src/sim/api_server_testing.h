// What the tests of the API server share: a server on a clock, and objects written as YAML.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/check.h"
#include "base/yaml.h"
#include "sim/api_server.h"
#include "sim/document.h"

namespace phalanx::sim {

inline json::value from_yaml(std::string_view text) {
  // The marker keeps a text in flow style from being taken for JSON.
  auto documents = parse_documents("---\n" + std::string(text));
  CHECK(documents.has_value() && documents->size() == 1);
  return std::move(documents->front().value);
}

// 2026-01-31T08:00:00.250Z
inline Time test_start() {
  return *parse_time("2026-01-31T08:00:00.250Z");
}

inline testing::AssertionResult contains(const std::string& text, std::string_view part) {
  if (text.contains(part)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not contain \"" << part << "\"";
}

class ApiServerTest : public testing::Test {
 protected:
  // Creates the object; the test fails if it is refused.
  Stored make(std::string_view text) { return make_document(from_yaml(text)); }
  Stored make_document(json::value document) {
    auto created = server_.create(std::move(document));
    EXPECT_TRUE(created) << created.error().message;
    return created.value_or(std::make_shared<const json::value>());
  }
  // "409 Conflict: message", or "" if it was done.
  template <typename T>
  static std::string refusal(const ApiResult<T>& result) {
    if (result) return "";
    return std::to_string(result.error().code) + " " + result.error().reason + ": " +
           result.error().message;
  }
  std::string create_refusal(std::string_view text) {
    return refusal(server_.create(from_yaml(text)));
  }
  ApiResult<Stored> merge(const api::ObjectKey& key, std::string_view text,
                          const WriteOptions& options = {}) {
    return server_.patch(key, PatchType::kMerge, from_yaml(text), options);
  }
  // Writes status; the test fails if it is refused.
  Stored set_status(const api::ObjectKey& key, std::string_view text) {
    auto done = merge(key, text, {.status = true});
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(std::make_shared<const json::value>());
  }
  void advance(std::chrono::seconds seconds) { clock_.advance_to(clock_.now() + seconds); }

  static api::ObjectKey pod_key(const std::string& name) {
    return {api::Kind::kPod, "default", name};
  }
  static api::ObjectKey job_key(const std::string& name) {
    return {api::Kind::kJob, "default", name};
  }
  static api::ObjectKey node_key(const std::string& name) { return {api::Kind::kNode, "", name}; }

  static constexpr std::string_view kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: main, image: busybox}]
)";

  Clock clock_{test_start()};
  ApiServer server_{clock_, 1};
};

}  // namespace phalanx::sim
