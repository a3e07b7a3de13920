#include "core/provisioning_plan.h"

#include "core/provisioning_testing.h"

namespace phalanx::core {
namespace {

class ProvisioningPlanTest : public ProvisioningFixture {
 protected:
  [[nodiscard]] ProvisioningPlan plan() const {
    const State& state = core_.state();
    return plan_provisioning(state, *state.workload(std::string(kWorkload)),
                             state.provisioning_configs.at("config"), "check", 1);
  }
  // "name:count", and the pod sets behind it if there are several.
  [[nodiscard]] std::string pods() const {
    std::string text;
    for (const PlannedPods& entry : plan().pods) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", entry.template_name, entry.count);
      for (size_t i = 1; i < entry.pod_sets.size(); ++i) text += "+" + entry.pod_sets[i];
    }
    return text;
  }
  void tell_pod_sets(const std::vector<std::string>& pod_sets) {
    WorkloadText text;
    text.pod_sets.clear();
    for (const std::string& each : pod_sets) {
      text.pod_sets += (text.pod_sets.empty() ? "" : ", ") + each;
    }
    text.assignments = "{name: a, flavors: {cpu: spot}}, {name: b, flavors: {cpu: spot}}";
    tell_workload(text);
  }
};

TEST_F(ProvisioningPlanTest, PodSetsWithoutAManagedResourceAreLeftOut) {
  tell_pod_sets({pod_set("a", 1, "cpu: 1"), pod_set("b", 3, "cpu: 1, gpu: 2")});
  EXPECT_EQ(pods(), "ppt-train-check-1-a:1 ppt-train-check-1-b:3");
  tell_config("managedResources: [gpu, tpu]");
  EXPECT_EQ(pods(), "ppt-train-check-1-b:3");
  tell_pod_sets({pod_set("a", 1, "cpu: 1"), pod_set("b", 3, "cpu: 1, gpu: 0")});
  EXPECT_EQ(pods(), "");
}

TEST_F(ProvisioningPlanTest, TheCountIsWhatWasAdmitted) {
  WorkloadText text;
  text.assignments = "{name: main, flavors: {cpu: spot}, count: 3}";
  tell_workload(text);
  EXPECT_EQ(pods(), "ppt-train-check-1-main:3");
  text.assignments = "{name: main, flavors: {cpu: spot}}";
  tell_workload(text);
  EXPECT_EQ(pods(), "ppt-train-check-1-main:4");
  text.assignments = "{name: main, flavors: {cpu: spot}, count: 0}";
  tell_workload(text);
  EXPECT_EQ(pods(), "");
}

TEST_F(ProvisioningPlanTest, EqualTemplatesAreMergedIfTheConfigSaysSo) {
  tell_pod_sets({pod_set("a", 1, "cpu: 1"), pod_set("b", 3, "cpu: 1")});
  EXPECT_EQ(pods(), "ppt-train-check-1-a:1 ppt-train-check-1-b:3");
  tell_config("podSetMergePolicy: IdenticalPodTemplates");
  EXPECT_EQ(pods(), "ppt-train-check-1-a:4+b");
  tell_pod_sets({pod_set("a", 1, "cpu: 1"), pod_set("b", 3, "cpu: 1", "hostNetwork: true")});
  EXPECT_EQ(pods(), "ppt-train-check-1-a:1 ppt-train-check-1-b:3");
}

TEST_F(ProvisioningPlanTest, EqualRequirementsAreMergedIfTheConfigSaysSo) {
  tell_config("podSetMergePolicy: IdenticalWorkloadSchedulingRequirements");
  tell_pod_sets({pod_set("a", 1, "cpu: 1"), pod_set("b", 3, "cpu: 1", "hostNetwork: true")});
  EXPECT_EQ(pods(), "ppt-train-check-1-a:4+b");
  for (const char* other :
       {"nodeSelector: {a: b}", "tolerations: [{key: k, operator: Exists}]",
        "affinity: {podAffinity: {}}", "resourceClaims: [{name: x, resourceClaimName: y}]"}) {
    tell_pod_sets({pod_set("a", 1, "cpu: 1"), pod_set("b", 3, "cpu: 1", other)});
    EXPECT_EQ(pods(), "ppt-train-check-1-a:1 ppt-train-check-1-b:3") << other;
  }
  tell_pod_sets({pod_set("a", 1, "cpu: 1"), pod_set("b", 3, "cpu: 2")});
  EXPECT_EQ(pods(), "ppt-train-check-1-a:1 ppt-train-check-1-b:3");
}

// They would go to other nodes.
TEST_F(ProvisioningPlanTest, PodSetsOnDifferentFlavorsAreNotMerged) {
  tell_config("podSetMergePolicy: IdenticalPodTemplates");
  WorkloadText text;
  text.pod_sets = pod_set("a", 1, "cpu: 1") + ", " + pod_set("b", 3, "cpu: 1");
  text.assignments = "{name: a, flavors: {cpu: spot}}, {name: b, flavors: {cpu: other}}";
  tell_workload(text);
  EXPECT_EQ(pods(), "ppt-train-check-1-a:1 ppt-train-check-1-b:3");
}

TEST_F(ProvisioningPlanTest, ParametersOfTheJobComeLast) {
  tell_config("parameters: {a: config, b: config, c: config}");
  WorkloadText text;
  text.annotations =
      "provreq.kueue.x-k8s.io/b: workload, provreq.kueue.x-k8s.io/c: workload, other: x";
  text.metadata =
      ", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: j1, controller: true}]";
  tell_workload(text);
  Job job;
  job.meta.uid = "j1";
  job.meta.annotations = {{"provreq.kueue.x-k8s.io/c", "job"}};
  const api::ObjectKey key{api::Kind::kJob, "ml", "j"};
  core_.state().jobs[key] = job;
  core_.state().job_of_id[job_id(key.namespace_, "j1")] = key;
  EXPECT_EQ(plan().parameters,
            (std::map<std::string, std::string>{{"a", "config"}, {"b", "workload"}, {"c", "job"}}));
}

TEST_F(ProvisioningPlanTest, TheTemplateIsThatOfTheWorkloadOnItsFlavor) {
  WorkloadText text;
  text.pod_sets = pod_set("main", 4, "cpu: 1",
                          "nodeSelector: {a: b}, tolerations: [{key: own, operator: Exists}], "
                          "unknownField: kept");
  tell_workload(text);
  const WorkloadState& workload = *core_.state().workload(std::string(kWorkload));
  const json::value document = template_document(workload, plan().pods.front());
  const json::value wanted = parse_documents(R"(
apiVersion: v1
kind: PodTemplate
metadata:
  name: ppt-train-check-1-main
  namespace: ml
  labels: {kueue.x-k8s.io/managed: "true"}
  ownerReferences:
  - {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, name: train, uid: w1, controller: true}
template:
  metadata: {labels: {app: x}}
  spec:
    containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
    nodeSelector: {a: b, pool: spot}
    tolerations: [{key: own, operator: Exists}, {key: spot, operator: Exists}]
    unknownField: kept
)")
                                 .value()
                                 .front()
                                 .value;
  json::value without = document;
  without.at("metadata").as_object().erase("annotations");
  EXPECT_EQ(without, wanted) << json::serialize(document);
}

TEST_F(ProvisioningPlanTest, TheRequestNamesItsTemplates) {
  tell_config("parameters: {a: b}");
  const WorkloadState& workload = *core_.state().workload(std::string(kWorkload));
  json::value document = request_document(workload, plan());
  const json::value wanted = parse_documents(R"(
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata:
  name: train-check-1
  namespace: ml
  labels: {kueue.x-k8s.io/managed: "true"}
  annotations: {phalanx.dev/reservation: "2026-01-31T08:00:00Z"}
  ownerReferences:
  - {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, name: train, uid: w1, controller: true}
spec:
  provisioningClassName: queued
  parameters: {a: b}
  podSets: [{podTemplateRef: {name: ppt-train-check-1-main}, count: 4}]
)")
                                 .value()
                                 .front()
                                 .value;
  EXPECT_EQ(document, wanted) << json::serialize(document);
}

TEST_F(ProvisioningPlanTest, TemplatesAreKeptOnlyWhileACheckIsPending) {
  const auto document = [&](const std::string& check) {
    WorkloadText text;
    text.check = check;
    tell_workload(text);
    return core_.state().workload(std::string(kWorkload))->object.pod_sets.front().document;
  };
  EXPECT_TRUE(document("state: Pending").is_object());
  EXPECT_TRUE(document("state: Ready").is_null());
}

}  // namespace
}  // namespace phalanx::core
