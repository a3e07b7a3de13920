// What the tests of provisioning share: a core that is told of a Workload with an admission check,
// and of what an autoscaler would see and say. Included by tests only.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_patch.h"
#include "base/yaml.h"
#include "core/core.h"
#include "core/provisioning.h"
#include "core/provisioning_plan.h"

namespace phalanx::core {

class ProvisioningFixture : public testing::Test {
 protected:
  static constexpr std::string_view kWorkload = "ml/train";

  ProvisioningFixture() {
    tell(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: spot}, spec: "
        "{nodeLabels: {pool: spot}, tolerations: [{key: spot, operator: Exists}]}}");
    tell_check("{apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: config}");
    tell_config("");
    tell_workload();
  }

  // The document as an API server would tell of it.
  Event changed(json::value& document, bool status_only = false) {
    json::object& metadata = document.at("metadata").as_object();
    if (!metadata.contains("uid"))
      metadata["uid"] = "uid-" + std::string(metadata["name"].as_string());
    metadata["resourceVersion"] = std::to_string(++version_);
    if (!status_only) metadata["generation"] = version_;
    auto object = decode_object(document, adapters_);
    EXPECT_TRUE(object) << object.error().message;
    if (auto* unreadable = std::get_if<Unreadable>(&object->body)) {
      ADD_FAILURE() << object->key.text() << ": " << unreadable->problem;
    }
    return ObjectChanged{std::move(*object)};
  }
  Output tell(std::string_view yaml) {
    json::value document = parse_documents(yaml).value().front().value;
    return tell_document(document);
  }
  Output tell_document(json::value& document) {
    std::vector<Event> events;
    events.push_back(changed(document));
    return core_.step(now_, std::move(events));
  }
  Output tell_deleted(const api::ObjectKey& key) {
    std::vector<Event> events;
    events.emplace_back(ObjectDeleted{key});
    return core_.step(now_, std::move(events));
  }

  Output tell_check(std::string_view parameters, std::string_view status = "{}") {
    return tell(fmt::format(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {{name: check}}, "
        "spec: {{controllerName: kueue.x-k8s.io/provisioning-request, parameters: {}}}, status: "
        "{}}}",
        parameters, status));
  }
  Output tell_config(std::string_view fields) {
    return tell(fmt::format(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ProvisioningRequestConfig, metadata: {{name: "
        "config}}, spec: {{provisioningClassName: queued, {}}}}}",
        fields));
  }

  static std::string pod_set(std::string_view name, int count, std::string_view requests,
                             std::string_view more = "") {
    return fmt::format(
        "{{name: {}, count: {}, template: {{metadata: {{labels: {{app: x}}}}, spec: {{containers: "
        "[{{name: c, image: i, resources: {{requests: {{{}}}}}}}]{}{}}}}}}}",
        name, count, requests, more.empty() ? "" : ", ", more);
  }
  // Everything of the Workload that tests change.
  struct WorkloadText {
    std::string annotations = {};
    std::string pod_sets = pod_set("main", 4, "cpu: 1, gpu: 1");
    std::string assignments =
        "{name: main, flavors: {cpu: spot, gpu: spot}, resourceUsage: {cpu: 4, gpu: 4}, count: 4}";
    std::string check = "state: Pending";
    std::string reserved = "True";
    std::string reserved_at = "2026-01-31T08:00:00Z";
    std::string conditions = {};  // others
    std::string metadata = {};    // more
    std::string spec = {};        // more
  };
  Output tell_workload(const WorkloadText& text) {
    workload_ = parse_documents(fmt::format(
                                    R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{name: train, namespace: ml, uid: w1, annotations: {{{}}}{}}}
spec: {{queueName: main, podSets: [{}]{}}}
status:
  admission: {{clusterQueue: team, podSetAssignments: [{}]}}
  conditions:
  - {{type: QuotaReserved, status: "{}", reason: R, message: "", lastTransitionTime: "{}"}}
{}
  admissionChecks:
  - {{name: check, message: "", lastTransitionTime: "2026-01-31T08:00:00Z", {}}}
)",
                                    text.annotations, text.metadata, text.pod_sets, text.spec,
                                    text.assignments, text.reserved, text.reserved_at,
                                    text.conditions, text.check))
                    .value()
                    .front()
                    .value;
    return tell_document(workload_);
  }
  Output tell_workload() { return tell_workload(WorkloadText()); }
  static std::string condition(std::string_view type) {
    return fmt::format(
        "  - {{type: {}, status: \"True\", reason: R, message: m, lastTransitionTime: "
        "\"2026-01-31T08:00:00Z\"}}",
        type);
  }

  [[nodiscard]] ProvisioningStep step() const {
    return next_provisioning(core_.state(), *core_.state().workload(std::string(kWorkload)));
  }
  // "create PodTemplate ml/x", "delete ...", "check Ready: message", or "".
  [[nodiscard]] std::string step_text() const {
    const ProvisioningStep next = step();
    if (next.write) {
      return (next.write->verb == Verb::kCreate ? "create " : "delete ") + next.write->key.text();
    }
    if (next.checks.empty()) return "";
    static const std::map<api::CheckState, std::string> kStates{
        {api::CheckState::kPending, "Pending"},
        {api::CheckState::kReady, "Ready"},
        {api::CheckState::kRetry, "Retry"},
        {api::CheckState::kRejected, "Rejected"}};
    return kStates.at(next.checks.front().state) + ": " + next.checks.front().message;
  }

  // Carries out what the next step creates, until it is something else.
  void create_all() {
    for (ProvisioningStep next = step(); next.write && next.write->verb == Verb::kCreate;
         next = step()) {
      made_.push_back(next.write->body);
      tell_document(made_.back());
    }
  }
  // What the autoscaler says about the request that was made last.
  void answer(std::string_view conditions, std::string_view details = "") {
    json::value& request = made_.back();
    request.as_object()["status"] =
        parse_documents(fmt::format("{{conditions: [{}], provisioningClassDetails: {{{}}}}}",
                                    conditions, details))
            .value()
            .front()
            .value;
    tell_document(request);
  }
  static std::string says(std::string_view type, std::string_view message,
                          std::string_view status = "True", int second = 0) {
    return fmt::format(
        "{{type: {}, status: \"{}\", reason: R, message: \"{}\", lastTransitionTime: "
        "\"2026-01-31T08:00:{:02}Z\"}}",
        type, status, message, second);
  }

  Adapters adapters_;
  Core core_{Configuration(), adapters_};
  Time now_{std::chrono::hours(1)};
  int64_t version_ = 0;
  json::value workload_;
  std::vector<json::value> made_;
};

}  // namespace phalanx::core
