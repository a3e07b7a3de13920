#include "admission/kueue_admission.h"

#include "admission/testing.h"
#include "base/json_path.h"

namespace phalanx::admission {
namespace {

using testing::admission;
using testing::good_with;
using testing::problems_of;
using testing::yaml;

// What is stored of a document, as YAML without its header.
json::value stored(std::string_view kind, std::string_view patch) {
  auto admitted = admission().admit(kind, nullptr, good_with(kind, patch));
  EXPECT_TRUE(admitted.has_value()) << problems_of(admitted);
  return admitted ? *admitted : json::value();
}

TEST(KueueAdmission, CoversItsKinds) {
  EXPECT_TRUE(admission().covers(api::Kind::kWorkload));
  EXPECT_TRUE(admission().covers(api::Kind::kTopology));
  EXPECT_TRUE(admission().covers("Cohort"));
  EXPECT_TRUE(admission().covers("AdmissionCheck"));
  EXPECT_FALSE(admission().covers(api::Kind::kJob));
  EXPECT_FALSE(admission().covers("Job"));
}

TEST(KueueAdmission, DefaultsOfAClusterQueue) {
  EXPECT_EQ(stored("ClusterQueue", "spec: {resourceGroups: null, cohortName: null}"), yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: sample}
spec:
  namespaceSelector: {}
  flavorFungibility: {whenCanBorrow: MayStopSearch, whenCanPreempt: TryNextFlavor}
  preemption:
    borrowWithinCohort: {policy: Never}
    reclaimWithinCohort: Never
    withinClusterQueue: Never
  queueingStrategy: BestEffortFIFO
  stopPolicy: None
)"));
}

TEST(KueueAdmission, DefaultsOfAWorkload) {
  EXPECT_EQ(stored("Workload", "spec: {queueName: null, podSets: [{template: {}}]}"), yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: sample}
spec:
  active: true
  podSets: [{name: main, count: 1, template: {}}]
)"));
}

TEST(KueueAdmission, DefaultsOfAProvisioningRequestConfig) {
  const auto retry = [](std::string_view patch) {
    return json::serialize(
        stored("ProvisioningRequestConfig", patch).at("spec").at("retryStrategy"));
  };
  constexpr std::string_view kUsual =
      R"({"backoffBaseSeconds":60,"backoffLimitCount":3,"backoffMaxSeconds":1800})";
  EXPECT_EQ(retry(""), kUsual);
  EXPECT_EQ(retry("spec: {retryStrategy: {}}"), kUsual);
}

TEST(KueueAdmission, PodSpecsAndMetadataKeepEveryField) {
  const json::value document = stored("Workload",
                                      "{metadata: {labels: {a: b}, managedFields: [{manager: m}]}, "
                                      "spec: {queueName: null, podSets: "
                                      "[{template: {metadata: {labels: {c: d}, creationTimestamp: "
                                      "null}, spec: {containers: [{name: "
                                      "c, any: [1]}], some: {thing: 1}}}}]}}");
  EXPECT_EQ(document, yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: sample, labels: {a: b}, managedFields: [{manager: m}]}
spec:
  active: true
  podSets:
  - name: main
    count: 1
    template:
      metadata: {labels: {c: d}}
      spec: {containers: [{name: c, any: [1]}], some: {thing: 1}}
)"));
}

TEST(KueueAdmission, OlderDocumentsAreStoredInTheNewVersion) {
  json::value queue = good_with("ClusterQueue",
                                "{apiVersion: kueue.x-k8s.io/v1beta1, spec: {cohortName: null, "
                                "cohort: all, admissionChecks: [check], resourceGroups: null}}");
  const auto admitted = admission().admit("ClusterQueue", nullptr, queue, {.strict_fields = true});
  ASSERT_TRUE(admitted.has_value()) << problems_of(admitted);
  EXPECT_EQ(*admitted, stored("ClusterQueue", R"(
metadata:
  annotations:
    phalanx.dev/conversion: '{"of":"v1beta1","lost":[{"at":"/spec","was":{"admissionChecks":["check"],"admissionChecksStrategy":null}}]}'
spec:
  resourceGroups: null
  admissionChecksStrategy: {admissionChecks: [{name: check}]}
)"));
}

// An API server asks about v1beta2, whatever was written: the same has to be refused.
TEST(KueueAdmission, WhatMustNotBeWrittenInTheOlderVersion) {
  const auto problems = [](std::string_view kind, const json::value& older) {
    const json::value converted = admission().convert(kind, older, "v1beta2").value();
    const std::string told = problems_of(admission().admit(kind, nullptr, converted));
    EXPECT_EQ(told, problems_of(admission().admit(kind, nullptr, older)));
    // What is there already stays.
    EXPECT_EQ(problems_of(admission().admit(kind, &converted, converted)), "");
    return told;
  };
  EXPECT_EQ(problems("ClusterQueue",
                     good_with("ClusterQueue",
                               "{apiVersion: kueue.x-k8s.io/v1beta1, spec: {cohortName: null, "
                               "admissionChecks: [a], admissionChecksStrategy: {admissionChecks: "
                               "[{name: b}]}}}")),
            "spec.admissionChecks: excludes spec.admissionChecksStrategy; keep the strategy only");
  const std::string told = problems(
      "Workload",
      good_with("Workload",
                "{apiVersion: kueue.x-k8s.io/v1beta1, status: {admission: {clusterQueue: q, "
                "podSetAssignments: [{name: leader, topologyAssignment: {levels: [a, b], domains: "
                "[{values: [x], count: 1}]}}, {name: worker}]}}}"));
  EXPECT_TRUE(told.starts_with(
      "status.admission.podSetAssignments[0].topologyAssignment.domains[0].values"))
      << told;
}

// Notes can be written by anybody: what they say is admitted like anything else.
TEST(KueueAdmission, NotesAreValidated) {
  const auto with_note = [](std::string_view was) {
    return good_with("ClusterQueue",
                     "{apiVersion: kueue.x-k8s.io/v1beta1, spec: {cohortName: null}, metadata: "
                     "{annotations: {phalanx.dev/conversion: '{\"of\":\"v1beta2\",\"lost\":"
                     "[{\"at\":\"/spec\",\"was\":" +
                         std::string(was) + "}]}'}}}");
  };
  const auto policy = [&](std::string_view was) {
    const auto admitted = admission().admit("ClusterQueue", nullptr, with_note(was));
    EXPECT_TRUE(admitted.has_value()) << problems_of(admitted);
    const json::value* found =
        admitted ? find_at(*admitted, {"spec", "concurrentAdmissionPolicy"}) : nullptr;
    return found == nullptr ? "" : json::serialize(*found);
  };
  EXPECT_EQ(
      policy(R"({"concurrentAdmissionPolicy":{"migration":{"mode":"RetainFirstAdmission"}}})"),
      R"({"migration":{"mode":"RetainFirstAdmission"}})");
  EXPECT_EQ(policy(R"({"concurrentAdmissionPolicy":{"migration":{"mode":"Nonsense"}}})"), "");
  EXPECT_EQ(policy(R"({"queueingStrategy":"StrictFIFO"})"), "");
}

TEST(KueueAdmission, OlderDocumentsAreHeldToBothVersions) {
  const auto problems = [](std::string_view kind, std::string_view patch) {
    json::value document = good_with(kind, patch);
    document.get_object()["apiVersion"] = "kueue.x-k8s.io/v1beta1";
    return problems_of(admission().admit(kind, nullptr, document, {.strict_fields = true}));
  };
  EXPECT_EQ(problems("ClusterQueue", "spec: {resourceGroups: null}"),
            "spec.cohortName: unknown field; did you mean `cohort`?");
  EXPECT_EQ(
      problems("ClusterQueue", "spec: {cohortName: null, admissionScope: {admissionMode: Mine}}"),
      "spec.admissionScope.admissionMode: \"Mine\" is not supported; use "
      "UsageBasedAdmissionFairSharing or NoAdmissionFairSharing");
  EXPECT_EQ(problems("ClusterQueue",
                     "spec: {cohortName: null, admissionChecks: [a], admissionChecksStrategy: "
                     "{admissionChecks: [{name: a}]}}"),
            "spec.admissionChecks: excludes spec.admissionChecksStrategy; keep the strategy only");
}

TEST(KueueAdmission, UnknownFieldsAreDroppedOrRefused) {
  const json::value queue = good_with("ClusterQueue", "spec: {cohort: all, preemtion: {}}");
  EXPECT_EQ(problems_of(admission().admit(api::Kind::kClusterQueue, nullptr, queue,
                                          {.strict_fields = true})),
            "spec.cohort: unknown field; did you mean `cohortName`?\n"
            "spec.preemtion: unknown field; did you mean `preemption`?");
  EXPECT_EQ(admission().admit(api::Kind::kClusterQueue, nullptr, queue).value(),
            stored("ClusterQueue", ""));
}

TEST(KueueAdmission, AllProblemsAtOnceInWords) {
  const json::value queue = good_with("ClusterQueue", R"(
spec:
  queueingStrategy: FIFO
  cohortName: Team_A
  resourceGroups:
  - coveredResources: []
    flavors: [{name: f, resources: [{name: cpu}, {name: memory, nominalQuota: 3 Gi}]}]
)");
  EXPECT_EQ(
      problems_of(admission().admit("ClusterQueue", nullptr, queue)),
      "spec.cohortName: \"Team_A\" is not a DNS name; use lower case letters, digits, '-' and '.', "
      "with a letter or digit at both ends\n"
      "spec.queueingStrategy: \"FIFO\" is not supported; use StrictFIFO or BestEffortFIFO\n"
      "spec.resourceGroups[0].coveredResources: must have at least 1 item\n"
      "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: is required: amount that is "
      "available to the queue at any time, such as 8, 500m or 64Gi\n"
      "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota: \"3 Gi\" is not a quantity; "
      "write a number with an optional unit, such as 500m, 8, 1.5, 64Gi or 1e3");
  EXPECT_EQ(testing::problems_of_new("Topology", "spec: {levels: []}"),
            "spec.levels: must have at least 1 item");
}

TEST(KueueAdmission, ListsOfAStatusAreMaps) {
  EXPECT_EQ(
      testing::problems_of_new("Workload",
                               "spec: {podSets: [{name: a, template: {}}, {name: a, template: "
                               "{}}]}"),
      "spec.podSets[1]: name a stands twice in the list; remove one of them");
}

TEST(KueueAdmission, HeadersAreChecked) {
  const auto problems = [](const json::value& document) {
    return problems_of(admission().admit("Topology", nullptr, document));
  };
  EXPECT_EQ(problems(json::array()), "must be an object");
  EXPECT_EQ(problems(good_with("LocalQueue", "")), "kind: is \"LocalQueue\", but must be Topology");
  EXPECT_EQ(problems(good_with("Topology", "apiVersion: kueue.x-k8s.io/v1alpha1")),
            "apiVersion: \"kueue.x-k8s.io/v1alpha1\" is not supported; use kueue.x-k8s.io/v1beta2 "
            "or kueue.x-k8s.io/v1beta1");
}

TEST(KueueAdmission, ConvertsForReadersOfTheOlderVersion) {
  const json::value queue =
      stored("ClusterQueue",
             "spec: {resourceGroups: null, concurrentAdmissionPolicy: {migration: {mode: "
             "RetainFirstAdmission}}}");
  const auto older = admission().convert("ClusterQueue", queue, "v1beta1");
  ASSERT_TRUE(older.has_value()) << older.error().message;
  EXPECT_EQ(*older, yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: sample
  annotations:
    phalanx.dev/conversion: '{"of":"v1beta2","lost":[{"at":"/spec","was":{"concurrentAdmissionPolicy":{"migration":{"mode":"RetainFirstAdmission"}}}}]}'
spec:
  cohort: all
  namespaceSelector: {}
  flavorFungibility: {whenCanBorrow: MayStopSearch, whenCanPreempt: TryNextFlavor}
  preemption:
    borrowWithinCohort: {policy: Never}
    reclaimWithinCohort: Never
    withinClusterQueue: Never
  queueingStrategy: BestEffortFIFO
  stopPolicy: None
)"));
  EXPECT_EQ(admission().convert("ClusterQueue", queue, "v1").error().message,
            "ClusterQueue has no version \"v1\"; use v1beta2 or v1beta1");
}

// What was stored is stored again as it is: a controller that writes back what it read changes
// nothing.
TEST(KueueAdmission, AdmittingTwiceChangesNothing) {
  for (const std::string_view kind :
       {"Topology", "ResourceFlavor", "ClusterQueue", "Cohort", "LocalQueue",
        "WorkloadPriorityClass", "AdmissionCheck", "ProvisioningRequestConfig", "Workload"}) {
    const json::value once = stored(kind, "");
    const auto twice = admission().admit(kind, &once, once, {.strict_fields = true});
    ASSERT_TRUE(twice.has_value()) << problems_of(twice);
    EXPECT_EQ(json::serialize(*twice), json::serialize(once));
  }
}

}  // namespace
}  // namespace phalanx::admission
