// Whether a queue admits, by what its admission checks are, and that it is asked again when they
// change.
#include <gtest/gtest.h>

#include "base/json_patch.h"
#include "base/yaml.h"
#include "core/core.h"

namespace phalanx::core {
namespace {

class ActivityTest : public testing::Test {
 protected:
  // The document as an API server would tell of it.
  std::vector<Event> changed(json::value& document) {
    json::object& metadata = document.at("metadata").as_object();
    metadata["uid"] = metadata["name"];
    metadata["resourceVersion"] = std::to_string(++version_);
    metadata["generation"] = version_;
    auto object = decode_object(document, adapters_);
    EXPECT_TRUE(object) << object.error().message;
    std::vector<Event> events;
    events.emplace_back(ObjectChanged{std::move(*object)});
    return events;
  }

  Output tell(std::string_view yaml) {
    json::value document = parse_documents(yaml).value().front().value;
    return core_.step(now_, changed(document));
  }

  void tell_queue(std::string_view flavor_spec) {
    core_.step(now_, {Synced{}});
    tell(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: tree}, "
        "spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}}");
    tell(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: gpu}, spec: " +
        std::string(flavor_spec) + "}");
    tell(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  admissionChecksStrategy: {admissionChecks: [{name: check}]}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: gpu, resources: [{name: cpu, nominalQuota: 8}]}]
)");
  }

  Output tell_check(const std::string& controller, const std::string& more = "") {
    return tell(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, "
        "metadata: {name: check}, spec: {controllerName: " +
        controller + "}" + more + "}");
  }

  Activity activity() {
    return activity_of(core_.state(), core_.state().cluster_queues.at("team"));
  }

  Adapters adapters_;
  Core core_{Configuration(), adapters_};
  Time now_{std::chrono::hours(1)};
  int64_t version_ = 0;
};

TEST_F(ActivityTest, ACheckThatIsNotThereIsMissed) {
  tell_queue("{}");
  EXPECT_EQ(activity().reason, "AdmissionCheckNotFound");
  EXPECT_EQ(activity().message,
            "Can't admit new workloads: references missing AdmissionCheck(s): check.");
}

TEST_F(ActivityTest, ACheckHasToBeActive) {
  tell_queue("{nodeLabels: {pool: gpu}, topologyName: tree}");
  tell_check("example.com/budget");
  EXPECT_EQ(activity().reason, "AdmissionCheckInactive");
  EXPECT_EQ(activity().message,
            "Can't admit new workloads: references inactive AdmissionCheck(s): check.");
  tell_check("example.com/budget",
             ", status: {conditions: [{type: Active, status: 'True', reason: Ready}]}");
  EXPECT_TRUE(activity().active) << activity().message;
}

TEST_F(ActivityTest, MultiKueueAndATopologyDoNotGoTogether) {
  tell_queue("{nodeLabels: {pool: gpu}, topologyName: tree}");
  tell_check("kueue.x-k8s.io/multikueue");
  EXPECT_EQ(activity().reason, "MultiKueueWithTopology");
  EXPECT_TRUE(activity().message.contains("AdmissionCheck \"check\"")) << activity().message;
  EXPECT_TRUE(activity().message.contains("ResourceFlavor \"gpu\"")) << activity().message;
}

TEST_F(ActivityTest, MultiKueueWithoutATopologyIsACheckLikeOthers) {
  tell_queue("{}");
  tell_check("kueue.x-k8s.io/multikueue");
  EXPECT_EQ(activity().reason, "AdmissionCheckInactive");
}

// The reason that the queue's status gives after an event: it is written only if the queue was
// looked at again.
TEST_F(ActivityTest, AChangeOfACheckAsksTheQueuesAgain) {
  core_.step(now_, {Synced{}});
  json::value queue = parse_documents(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team, finalizers: [kueue.x-k8s.io/resource-in-use]}
spec: {cohortName: all, admissionChecksStrategy: {admissionChecks: [{name: check}]}}
)")
                          .value()
                          .front()
                          .value;
  // Carries out the one write that there is and says what its reason is; "" if there is none.
  const auto written = [&](const Output& output) -> std::string {
    for (const Write& write : output.writes) {
      if (write.key.kind != api::Kind::kClusterQueue) continue;
      apply_merge_patch(queue, write.body);
      std::vector<Event> events = changed(queue);
      events.emplace_back(WriteFinished{write.id, WriteOutcome::kDone, ""});
      core_.step(now_, std::move(events));
      const json::value& condition = queue.at("status").at("conditions").as_array().front();
      return std::string(condition.at("reason").as_string());
    }
    return "";
  };
  EXPECT_EQ(written(core_.step(now_, changed(queue))), "AdmissionCheckNotFound");
  EXPECT_EQ(written(tell_check("example.com/budget")), "AdmissionCheckInactive");
  EXPECT_EQ(written(core_.step(now_, {ObjectDeleted{{api::Kind::kAdmissionCheck, "", "check"}}})),
            "AdmissionCheckNotFound");
}

TEST_F(ActivityTest, CohortsAndRuntimeClassesAreKept) {
  tell(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: all}, "
      "spec: {parentName: root}}");
  tell(
      "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: vm}, handler: kata, "
      "overhead: {podFixed: {cpu: 250m}}}");
  EXPECT_EQ(core_.state().cohorts.at("all").parent, "root");
  EXPECT_EQ(core_.state().runtime_classes.at("vm").overhead.at("cpu"), 250);
  core_.step(now_, {ObjectDeleted{{api::Kind::kCohort, "", "all"}},
                    ObjectDeleted{{api::Kind::kRuntimeClass, "", "vm"}}});
  EXPECT_TRUE(core_.state().cohorts.empty());
  EXPECT_TRUE(core_.state().runtime_classes.empty());
}

}  // namespace
}  // namespace phalanx::core
