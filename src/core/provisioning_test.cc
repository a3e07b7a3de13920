#include "core/provisioning.h"

#include "core/names.h"
#include "core/provisioning_names.h"
#include "core/provisioning_testing.h"

namespace phalanx::core {
namespace {

constexpr std::string_view kCreateTemplate = "create PodTemplate ml/ppt-train-check-1-main";
constexpr std::string_view kCreateRequest = "create ProvisioningRequest ml/train-check-1";
constexpr std::string_view kDeleteRequest = "delete ProvisioningRequest ml/train-check-1";
constexpr std::string_view kDeleteTemplate = "delete PodTemplate ml/ppt-train-check-1-main";
constexpr std::string_view kWaits = "Pending: Waits for ProvisioningRequest train-check-1";

class ProvisioningTest : public ProvisioningFixture {
 protected:
  // The Workload as it is once its check was written.
  void write_check() {
    const Verdict verdict = reconcile_provisioning(core_.state(), std::string(kWorkload));
    ASSERT_TRUE(verdict.write);
    ASSERT_EQ(verdict.write->key.kind, api::Kind::kWorkload);
    ASSERT_TRUE(verdict.write->status);
    apply_merge_patch(workload_, verdict.write->body);
    tell_document(workload_);
  }
  static WorkloadText with_check(std::string check) {
    WorkloadText text;
    text.check = std::move(check);
    return text;
  }
  static WorkloadText with_condition(std::string_view type, std::string check = "state: Pending") {
    WorkloadText text = with_check(std::move(check));
    text.conditions = condition(type);
    return text;
  }
};

TEST_F(ProvisioningTest, ChecksOfOthersAreLeftAlone) {
  tell(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: check}, "
      "spec: {controllerName: example.com/budget}}");
  EXPECT_EQ(step_text(), "");
}

TEST_F(ProvisioningTest, TemplatesComeBeforeTheRequest) {
  EXPECT_EQ(step_text(), kCreateTemplate);
  const ProvisioningStep first = step();
  EXPECT_EQ(first.write->owner, (api::ObjectKey{api::Kind::kWorkload, "ml", "train"}));
  json::value document = first.write->body;
  tell_document(document);
  EXPECT_EQ(step_text(), kCreateRequest);
  create_all();
  EXPECT_EQ(step_text(), kWaits);
  write_check();
  EXPECT_EQ(step_text(), "");
}

TEST_F(ProvisioningTest, NothingIsAskedForWithoutAReservation) {
  WorkloadText text;
  text.reserved = "False";
  tell_workload(text);
  EXPECT_EQ(step_text(), "");
  for (const char* type : {"Finished", "Evicted"}) {
    tell_workload(with_condition(type));
    EXPECT_EQ(step_text(), "") << type;
  }
  text = WorkloadText();
  text.spec = ", active: false";
  tell_workload(text);
  EXPECT_EQ(step_text(), "");
  text = WorkloadText();
  text.metadata = ", deletionTimestamp: '2026-01-31T09:00:00Z'";
  tell_workload(text);
  EXPECT_EQ(step_text(), "");
}

TEST_F(ProvisioningTest, NoConfigIsSaid) {
  tell_deleted({api::Kind::kProvisioningRequestConfig, "", "config"});
  EXPECT_EQ(step_text(),
            "Pending: AdmissionCheck check: ProvisioningRequestConfig config does not exist; "
            "create it");
}

TEST_F(ProvisioningTest, NothingToProvisionIsReady) {
  tell_config("managedResources: [example.com/tpu]");
  EXPECT_EQ(step_text(),
            "Ready: No pod set requests a resource that ProvisioningRequestConfig config manages: "
            "nothing has to be provisioned");
  EXPECT_TRUE(step().checks.front().updates.empty());
}

TEST_F(ProvisioningTest, ARequestThatIsNotNeededAnyMoreGoesBeforeTheCheckIsReady) {
  create_all();
  write_check();
  tell_config("managedResources: [example.com/tpu]");
  EXPECT_EQ(step_text(), kDeleteRequest);
  json::value request = made_.back();
  request.at("metadata").as_object()["deletionTimestamp"] = "2026-01-31T09:00:00Z";
  tell_document(request);
  EXPECT_EQ(step_text(),
            "Pending: Waits until an earlier ProvisioningRequest ml/train-check-1 is gone");
  tell_deleted({api::Kind::kProvisioningRequest, "ml", "train-check-1"});
  EXPECT_EQ(step_text(), kDeleteTemplate);
  tell_deleted({api::Kind::kPodTemplate, "ml", "ppt-train-check-1-main"});
  EXPECT_TRUE(step_text().starts_with("Ready: No pod set requests")) << step_text();
}

TEST_F(ProvisioningTest, TheAutoscalersWordsArePassedOn) {
  create_all();
  answer(says("Accepted", "in the queue") + "," + says("Provisioned", "no room yet", "False", 5));
  EXPECT_EQ(step_text(), "Pending: no room yet");
  answer(says("Provisioned", "no room yet", "False") + "," + says("Accepted", "in the queue"));
  EXPECT_EQ(step_text(), "Pending: in the queue");
}

TEST_F(ProvisioningTest, WhatIsProvisionedIsReady) {
  tell_config(
      "podSetUpdates: {nodeSelector: [{key: pool, valueFromProvisioningClassDetail: NodePool}]}");
  create_all();
  answer(says("Provisioned", "there you are"));
  EXPECT_EQ(step_text(),
            "Pending: ProvisioningRequest train-check-1 is provisioned, but its "
            "status.provisioningClassDetails has no NodePool, which the pods are to select nodes "
            "by");
  answer(says("Provisioned", "there you are"), "NodePool: p7");
  EXPECT_EQ(step_text(), "Ready: there you are");
  const ProvisioningStep next = step();
  const api::AdmissionCheckStatus& check = next.checks.front();
  EXPECT_EQ(check.changed, now_);
  EXPECT_FALSE(check.requeue_after_seconds);
  ASSERT_EQ(check.updates.size(), 1U);
  EXPECT_EQ(check.updates.front().pod_set, "main");
  EXPECT_EQ(check.updates.front().annotations,
            (std::map<std::string, std::string>{
                {"autoscaling.x-k8s.io/consume-provisioning-request", "train-check-1"},
                {"autoscaling.x-k8s.io/provisioning-class-name", "queued"}}));
  EXPECT_EQ(check.updates.front().node_selector,
            (std::map<std::string, std::string>{{"pool", "p7"}}));
  write_check();
  EXPECT_EQ(step_text(), "");
}

TEST_F(ProvisioningTest, AFailureIsTriedAgainUnderAnotherName) {
  create_all();
  answer(says("Failed", "out of stock"));
  EXPECT_EQ(step_text(), "Retry: out of stock");
  EXPECT_EQ(step().checks.front().requeue_after_seconds, 60);
  write_check();
  EXPECT_EQ(step_text(), "") << "until the workload has left";
  tell_workload(with_check("state: Pending, retryCount: 1"));
  EXPECT_EQ(step_text(), "create PodTemplate ml/ppt-train-check-2-main");
}

TEST_F(ProvisioningTest, RetriesWaitLongerEachTimeAndEnd) {
  const auto outcome = [&](int retries) {
    tell_workload(with_check(fmt::format("state: Pending, retryCount: {}", retries)));
    create_all();
    answer(says("Failed", "no"));
    const ProvisioningStep next = step();
    const api::AdmissionCheckStatus& check = next.checks.front();
    return fmt::format("{} after {}", step_text(), check.requeue_after_seconds.value_or(-1));
  };
  tell_config(
      "retryStrategy: {backoffBaseSeconds: 50, backoffLimitCount: 4, backoffMaxSeconds: 180}");
  EXPECT_EQ(outcome(0), "Retry: no after 50");
  EXPECT_EQ(outcome(1), "Retry: no after 100");
  EXPECT_EQ(outcome(2), "Retry: no after 180");
  EXPECT_EQ(outcome(3), "Retry: no after 180");
  EXPECT_EQ(outcome(4), "Rejected: no after -1");
  EXPECT_EQ(step().checks.front().retries, 4);
}

TEST_F(ProvisioningTest, ABookingThatExpiresBeforeAdmissionIsAFailure) {
  create_all();
  answer(says("Provisioned", "yes") + "," + says("BookingExpired", "too late"));
  EXPECT_EQ(step_text(), "Retry: too late");
  tell_workload(with_check("state: Ready"));
  EXPECT_EQ(step_text(), "Retry: too late");
  tell_workload(with_condition("Admitted", "state: Ready"));
  EXPECT_EQ(step_text(), "");
}

TEST_F(ProvisioningTest, RevokedCapacityRejectsWhatWasAdmitted) {
  create_all();
  answer(says("Provisioned", "yes") + "," + says("CapacityRevoked", "maintenance"));
  EXPECT_EQ(step_text(), "Retry: maintenance");
  tell_workload(with_condition("Admitted", "state: Ready"));
  EXPECT_EQ(step_text(), "Rejected: maintenance");
  tell_workload(with_condition("Admitted", "state: Rejected"));
  EXPECT_EQ(step_text(), "");
}

TEST_F(ProvisioningTest, ARequestForSomethingElseIsMadeAnew) {
  create_all();
  tell_config("parameters: {a: b}");
  EXPECT_EQ(step_text(), kDeleteRequest);
  tell_deleted({api::Kind::kProvisioningRequest, "ml", "train-check-1"});
  EXPECT_EQ(step_text(), kCreateRequest);
  create_all();
  WorkloadText fewer;
  fewer.assignments =
      "{name: main, flavors: {cpu: spot, gpu: spot}, resourceUsage: {cpu: 2, gpu: 2}, count: 2}";
  tell_workload(fewer);
  EXPECT_EQ(step_text(), kDeleteRequest);
}

TEST_F(ProvisioningTest, APodTemplateOfAnotherFlavorIsMadeAnew) {
  create_all();
  tell(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: spot}, spec: "
      "{nodeLabels: {pool: other}}}");
  EXPECT_EQ(step_text(), kDeleteRequest);
  tell_deleted({api::Kind::kProvisioningRequest, "ml", "train-check-1"});
  EXPECT_EQ(step_text(), kDeleteTemplate);
  tell_deleted({api::Kind::kPodTemplate, "ml", "ppt-train-check-1-main"});
  EXPECT_EQ(step_text(), kCreateTemplate);
}

TEST_F(ProvisioningTest, ARequestOfAnEarlierReservationIsMadeAnew) {
  create_all();
  answer(says("Provisioned", "yes"));
  WorkloadText text;
  text.reserved_at = "2026-01-31T09:00:00Z";
  tell_workload(text);
  EXPECT_EQ(step_text(), kDeleteRequest);
}

TEST_F(ProvisioningTest, WithoutAReservationAllOfItGoes) {
  create_all();
  for (const bool finished : {true, false}) {
    WorkloadText text;
    if (finished) text.conditions = condition("Finished");
    if (!finished) text.reserved = "False";
    tell_workload(text);
    EXPECT_EQ(step_text(), kDeleteRequest);
  }
  tell_deleted({api::Kind::kProvisioningRequest, "ml", "train-check-1"});
  EXPECT_EQ(step_text(), kDeleteTemplate);
  tell_deleted({api::Kind::kPodTemplate, "ml", "ppt-train-check-1-main"});
  EXPECT_EQ(step_text(), "");
  EXPECT_TRUE(core_.state().requests_of_workload.empty());
  EXPECT_TRUE(core_.state().templates_of_workload.empty());
}

TEST_F(ProvisioningTest, WhatIsGoingIsWaitedFor) {
  create_all();
  json::value& request = made_.back();
  request.at("metadata").as_object()["deletionTimestamp"] = "2026-01-31T09:00:00Z";
  tell_document(request);
  EXPECT_EQ(step_text(),
            "Pending: Waits until an earlier ProvisioningRequest ml/train-check-1 is gone");
}

// The owner is a Workload of this name and uid, or nobody.
std::string request_of(std::string_view name, std::string_view owner, std::string_view uid) {
  return fmt::format(
      "{{apiVersion: autoscaling.x-k8s.io/v1, kind: ProvisioningRequest, metadata: {{name: {}, "
      "namespace: ml, ownerReferences: [{}]}}, spec: {{provisioningClassName: queued, podSets: "
      "[{{podTemplateRef: {{name: t}}, count: 1}}]}}}}",
      name,
      owner.empty() ? ""
                    : fmt::format("{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, name: {}, "
                                  "uid: {}, controller: true}}",
                                  owner, uid));
}

TEST_F(ProvisioningTest, ANameThatAnotherHasIsToldApart) {
  const std::string own = told_apart("train-check-1", "train/check/1");
  tell(request_of("train-check-1", "train-check", "w2"));
  EXPECT_EQ(step_text(), fmt::format("create PodTemplate ml/ppt-{}-main", own));
  create_all();
  EXPECT_EQ(step_text(), "Pending: Waits for ProvisioningRequest " + own);
  // It keeps its name when the other's is free.
  tell_deleted({api::Kind::kProvisioningRequest, "ml", "train-check-1"});
  EXPECT_EQ(step_text(), "Pending: Waits for ProvisioningRequest " + own);
  answer(says("Provisioned", "yes"));
  const ProvisioningStep ready = step();
  EXPECT_EQ(ready.checks.front().updates.front().annotations.at(
                std::string(names::kConsumeRequestAnnotation)),
            own);
}

// The pods of a check that is ready use the request that its updates name.
TEST_F(ProvisioningTest, TheRequestInUseIsTheOneThatThePodsName) {
  create_all();
  const std::string check =
      "state: Ready, podSetUpdates: [{name: main, annotations: "
      "{autoscaling.x-k8s.io/consume-provisioning-request: other}}]";
  tell(request_of("other", "train", "w1"));
  tell_workload(with_check(check));
  EXPECT_EQ(step_text(), kDeleteRequest);  // the one that would have been made
  made_.push_back(parse_documents(request_of("other", "train", "w1")).value().front().value);
  answer(says("CapacityRevoked", "gone"));
  EXPECT_EQ(step_text(), "Retry: gone");
  tell_workload(with_condition("Admitted", check));
  EXPECT_EQ(step_text(), "Rejected: gone");
}

TEST_F(ProvisioningTest, APodTemplateOfAnotherIsToldApart) {
  tell(
      "{apiVersion: v1, kind: PodTemplate, metadata: {name: ppt-train-check-1-main, namespace: "
      "ml}}");
  EXPECT_TRUE(core_.state().pod_templates.empty());
  const std::string own = told_apart("ppt-train-check-1-main", "train/check/1/main");
  EXPECT_EQ(step_text(), "create PodTemplate ml/" + own);
  create_all();
  EXPECT_EQ(made_.back().at("spec").at("podSets").at(0).at("podTemplateRef").at("name"),
            json::value(own));
  tell_deleted({api::Kind::kPodTemplate, "ml", "ppt-train-check-1-main"});
  EXPECT_EQ(step_text(), kWaits);
  // Both names taken is somebody's intent.
  tell(
      "{apiVersion: v1, kind: PodTemplate, metadata: {name: ppt-train-check-1-main, namespace: "
      "ml, uid: t9}}");
  tell("{apiVersion: v1, kind: PodTemplate, metadata: {name: " + own +
       ", namespace: ml, uid: t9}}");
  EXPECT_EQ(step_text(), "Pending: PodTemplate ml/" + own +
                             " is there already and does not belong to this Workload; delete it, "
                             "so that it can be made");
}

// ppt-train-check-1-2-main: of the check "check", and of the second attempt of "check-1".
TEST_F(ProvisioningTest, TwoChecksOfOneWorkloadDoNotShareAPodTemplate) {
  tell(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: check-1}, spec: "
      "{controllerName: kueue.x-k8s.io/provisioning-request, parameters: {apiGroup: "
      "kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: config}}}");
  WorkloadText text = with_check(
      "state: Pending}\n  - {name: check-1, message: '', lastTransitionTime: "
      "'2026-01-31T08:00:00Z', state: Pending, retryCount: 1");
  text.pod_sets = pod_set("main", 1, "cpu: 1") + "," + pod_set("2-main", 1, "cpu: 2");
  text.assignments = "{name: main, flavors: {cpu: spot}}, {name: 2-main, flavors: {cpu: spot}}";
  tell_workload(text);
  create_all();
  write_check();
  create_all();
  std::set<std::string> made_names;
  for (const json::value& made : made_) {
    made_names.emplace(made.at("metadata").at("name").as_string());
  }
  EXPECT_EQ(made_names,
            (std::set<std::string>{"ppt-train-check-1-2-2-main", "ppt-train-check-1-2-main",
                                   told_apart("ppt-train-check-1-2-main", "train/check-1/2/main"),
                                   "ppt-train-check-1-main", "train-check-1", "train-check-1-2"}));
  EXPECT_EQ(made_.size(), made_names.size());
  write_check();
  EXPECT_EQ(step_text(), "");
}

// It goes with that Workload; the name is Kueue's to look for.
TEST_F(ProvisioningTest, AnObjectOfAnEarlierWorkloadOfTheSameNameIsWaitedFor) {
  tell(request_of("train-check-1", "train", "w0"));
  EXPECT_EQ(step_text(),
            "Pending: Waits until an earlier ProvisioningRequest ml/train-check-1 is gone");
  tell_deleted({api::Kind::kProvisioningRequest, "ml", "train-check-1"});
  tell(
      "{apiVersion: v1, kind: PodTemplate, metadata: {name: ppt-train-check-1-main, namespace: "
      "ml, labels: {kueue.x-k8s.io/managed: 'true'}, ownerReferences: [{apiVersion: "
      "autoscaling.x-k8s.io/v1, kind: ProvisioningRequest, name: train-check-1, uid: gone}]}}");
  EXPECT_EQ(step_text(),
            "Pending: Waits until an earlier PodTemplate ml/ppt-train-check-1-main is gone");
}

// What Kueue made of the same Workload is gone on with.
TEST_F(ProvisioningTest, RequestsOfKueueAreTakenOver) {
  tell(R"(
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata:
  name: train-check-1
  namespace: ml
  uid: r1
  ownerReferences:
  - {apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, name: train, uid: w1, controller: true}
spec:
  provisioningClassName: queued
  podSets: [{podTemplateRef: {name: ppt-train-check-1-main}, count: 4}]
)");
  tell(R"(
apiVersion: v1
kind: PodTemplate
metadata:
  name: ppt-train-check-1-main
  namespace: ml
  labels: {kueue.x-k8s.io/managed: "true"}
  ownerReferences:
  - {apiVersion: autoscaling.x-k8s.io/v1, kind: ProvisioningRequest, name: train-check-1, uid: r1}
)");
  EXPECT_EQ(step_text(), kWaits);
}

TEST_F(ProvisioningTest, APodTemplateThatSomebodyDeletedIsMadeAgain) {
  create_all();
  tell_deleted({api::Kind::kPodTemplate, "ml", "ppt-train-check-1-main"});
  EXPECT_EQ(step_text(), kCreateTemplate);
}

TEST_F(ProvisioningTest, TooManyParametersAreSaid) {
  std::string parameters;
  for (int i = 0; i < 101; ++i) parameters += fmt::format("p{}: x,", i);
  tell_config("parameters: {" + parameters + "}");
  EXPECT_TRUE(step_text().starts_with("Pending: There are 101 parameters")) << step_text();
}

TEST_F(ProvisioningTest, ALongParameterIsSaid) {
  std::string in_two_bytes_each;
  for (int i = 0; i < 255; ++i) in_two_bytes_each += "\xC3\xBC";
  tell_config("parameters: {a: " + in_two_bytes_each + "}");
  EXPECT_EQ(step_text(), kCreateTemplate);
  WorkloadText text;
  text.annotations = "provreq.kueue.x-k8s.io/a: " + std::string(256, 'x');
  tell_workload(text);
  EXPECT_EQ(step_text(),
            "Pending: The parameter a has 256 characters, but one of a ProvisioningRequest has at "
            "most 255; shorten it in ProvisioningRequestConfig config or in the annotation "
            "provreq.kueue.x-k8s.io/a");
}

}  // namespace
}  // namespace phalanx::core
