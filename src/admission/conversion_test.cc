#include "admission/conversion.h"

#include "admission/testing.h"

namespace phalanx::admission {
namespace {

using testing::yaml;

json::value document_of(std::string_view version, std::string_view kind, std::string_view rest) {
  json::value document =
      json::object{{"apiVersion", "kueue.x-k8s.io/" + std::string(version)}, {"kind", kind}};
  testing::merge(document, yaml(rest));
  return document;
}

// Converts and compares; both documents without their header.
void expect_up(std::string_view kind, std::string_view older, std::string_view stored) {
  const json::value converted =
      convert_plainly(kind, document_of("v1beta1", kind, older), kStoredVersion);
  EXPECT_EQ(converted, document_of("v1beta2", kind, stored)) << to_yaml(converted);
}

void expect_down(std::string_view kind, std::string_view stored, std::string_view older) {
  const json::value converted =
      convert_plainly(kind, document_of("v1beta2", kind, stored), kOlderVersion);
  EXPECT_EQ(converted, document_of("v1beta1", kind, older)) << to_yaml(converted);
}

std::string older_problems(std::string_view kind, std::string_view older) {
  return texts_of(problems_of_older(kind, document_of("v1beta1", kind, older)));
}

void expect_both(std::string_view kind, std::string_view older, std::string_view stored) {
  expect_up(kind, older, stored);
  expect_down(kind, stored, older);
}

TEST(Conversion, VersionOfADocument) {
  EXPECT_EQ(version_of(yaml("{apiVersion: kueue.x-k8s.io/v1beta1}")), "v1beta1");
  EXPECT_EQ(version_of(yaml("{apiVersion: v1}")), "");
  EXPECT_EQ(version_of(yaml("{apiVersion: 1}")), "");
  EXPECT_EQ(version_of(yaml("[]")), "");
}

TEST(Conversion, SameVersionIsLeftAlone) {
  const json::value queue = document_of("v1beta2", "ClusterQueue", "spec: {cohort: x}");
  EXPECT_EQ(convert_plainly("ClusterQueue", queue, kStoredVersion), queue);
}

TEST(Conversion, KindsThatAreTheSame) {
  expect_both("Topology", "spec: {levels: [{nodeLabel: rack}]}",
              "spec: {levels: [{nodeLabel: rack}]}");
  expect_both("ProvisioningRequestConfig", "spec: {provisioningClassName: c}",
              "spec: {provisioningClassName: c}");
  expect_both("ResourceFlavor", "spec: {topologyName: t}", "spec: {topologyName: t}");
  expect_both("WorkloadPriorityClass", "{value: 5}", "{value: 5}");
}

TEST(Conversion, UnknownFieldsStay) {
  expect_both("ClusterQueue", "{spec: {mine: 1}, other: 2}", "{spec: {mine: 1}, other: 2}");
}

TEST(Conversion, ClusterQueueNames) {
  expect_both("ClusterQueue", "spec: {cohort: all}", "spec: {cohortName: all}");
  expect_up("ClusterQueue",
            "spec: {flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: Preempt}}",
            "spec: {flavorFungibility: {whenCanBorrow: MayStopSearch, whenCanPreempt: "
            "MayStopSearch}}");
  expect_up("ClusterQueue", "spec: {flavorFungibility: {whenCanBorrow: TryNextFlavor}}",
            "spec: {flavorFungibility: {whenCanBorrow: TryNextFlavor}}");
  expect_up(
      "ClusterQueue",
      "status: {pendingWorkloads: 1, pendingWorkloadsStatus: {}, fairSharing: {weightedShare: "
      "1, admissionFairSharingStatus: {}}}",
      "status: {pendingWorkloads: 1, fairSharing: {weightedShare: 1}}");
}

TEST(Conversion, AdmissionChecksBecomeAStrategy) {
  expect_up("ClusterQueue", "spec: {admissionChecks: [a, b]}",
            "spec: {admissionChecksStrategy: {admissionChecks: [{name: a}, {name: b}]}}");
  expect_up("ClusterQueue",
            "spec: {admissionChecks: [], admissionChecksStrategy: {admissionChecks: [{name: a, "
            "onFlavors: [f]}]}}",
            "spec: {admissionChecksStrategy: {admissionChecks: [{name: a, onFlavors: [f]}]}}");
  expect_up("ClusterQueue", "spec: {admissionChecks: [], admissionChecksStrategy: {}}", "spec: {}");
}

TEST(Conversion, OfTwoListsOfAdmissionChecksTheNamesCount) {
  const std::string_view both =
      "spec: {admissionChecks: [a], admissionChecksStrategy: {admissionChecks: [{name: b}]}}";
  expect_up("ClusterQueue", both,
            "spec: {admissionChecksStrategy: {admissionChecks: [{name: a}]}}");
  EXPECT_EQ(older_problems("ClusterQueue", both),
            "spec.admissionChecks: excludes spec.admissionChecksStrategy; keep the strategy only");
  EXPECT_EQ(older_problems("ClusterQueue", "spec: {admissionChecks: [a]}"), "");
}

TEST(Conversion, Cohort) {
  expect_up("Cohort",
            "{spec: {parentName: p}, status: {fairSharing: {weightedShare: 1, "
            "admissionFairSharingStatus: {}}}}",
            "{spec: {parentName: p}, status: {fairSharing: {weightedShare: 1}}}");
}

TEST(Conversion, LocalQueueStatus) {
  expect_both("LocalQueue", "status: {flavorUsage: [{name: f, resources: []}]}",
              "status: {flavorsUsage: [{name: f, resources: []}]}");
  expect_up("LocalQueue", "status: {flavors: [{name: f}], pendingWorkloads: 1}",
            "status: {pendingWorkloads: 1}");
}

TEST(Conversion, AdmissionCheck) {
  expect_up("AdmissionCheck", "spec: {controllerName: c, retryDelayMinutes: 15}",
            "spec: {controllerName: c}");
  expect_down("AdmissionCheck", "spec: {controllerName: c}",
              "spec: {controllerName: c, retryDelayMinutes: 15}");
  expect_down("AdmissionCheck", "{}", "{}");
}

TEST(Conversion, WorkloadPriorityClass) {
  expect_both("Workload",
              "spec: {priority: 1, priorityClassName: a, priorityClassSource: "
              "kueue.x-k8s.io/workloadpriorityclass}",
              "spec: {priority: 1, priorityClassRef: {group: kueue.x-k8s.io, kind: "
              "WorkloadPriorityClass, name: a}}");
  expect_both("Workload",
              "spec: {priorityClassName: a, priorityClassSource: scheduling.k8s.io/priorityclass}",
              "spec: {priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: a}}");
  expect_up("Workload", "spec: {priority: 1, priorityClassSource: ''}", "spec: {priority: 1}");
  expect_up("Workload", "spec: {priority: 1, priorityClassName: a}", "spec: {priority: 1}");
  expect_down("Workload", "spec: {priority: 1}", "spec: {priority: 1, priorityClassSource: ''}");
  // References that could not come back.
  for (const std::string_view reference :
       {"{group: kueue.x-k8s.io, kind: PriorityClass, name: a}",
        "{group: example.com, kind: PriorityClass, name: a}",
        "{group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: ''}", "{}"}) {
    expect_down("Workload", "spec: {priorityClassRef: " + std::string(reference) + "}",
                "spec: {priorityClassSource: ''}");
  }
}

TEST(Conversion, WorkloadStatus) {
  expect_both("Workload", "status: {accumulatedPastExexcutionTimeSeconds: 5}",
              "status: {accumulatedPastExecutionTimeSeconds: 5}");
  expect_both("Workload",
              "status: {admission: {podSetAssignments: [{name: a}, {name: b, topologyAssignment: "
              "{levels: [block, rack], domains: [{values: [b1, r1], count: 4}, {values: [b1, r2], "
              "count: 2}]}}]}}",
              "status: {admission: {podSetAssignments: [{name: a}, {name: b, topologyAssignment: "
              "{levels: [block, rack], slices: [{domainCount: 2, valuesPerLevel: [{universal: b1}, "
              "{individual: {roots: [r1, r2]}}], podCounts: {individual: [4, 2]}}]}}]}}");
}

TEST(Conversion, MalformedAssignmentsAreLeftOut) {
  const std::string_view bad =
      "status: {admission: {podSetAssignments: [{name: a, topologyAssignment: "
      "{levels: [block, rack], domains: [{values: [b1], count: 4}]}}]}}";
  expect_up("Workload", bad, "status: {admission: {podSetAssignments: [{name: a}]}}");
  expect_down("Workload",
              "status: {admission: {podSetAssignments: [{name: a, topologyAssignment: "
              "{levels: [block], slices: [{domainCount: 2, valuesPerLevel: [{individual: {roots: "
              "[a]}}], podCounts: {universal: 1}}]}}]}}",
              "status: {admission: {podSetAssignments: [{name: a}]}}");
  const std::string problems = older_problems("Workload", bad);
  EXPECT_TRUE(problems.starts_with(
      "status.admission.podSetAssignments[0].topologyAssignment.domains[0].values"))
      << problems;
}

TEST(Conversion, SurvivesAnyDocument) {
  for (const std::string_view rest :
       {"{}", "{spec: 1, status: 1}", "{spec: {priorityClassRef: 1, flavorFungibility: []}}",
        "{spec: {admissionChecks: {}, admissionChecksStrategy: []}}",
        "{status: {admission: {podSetAssignments: [1, {topologyAssignment: 1}]}}}"}) {
    for (const std::string_view kind : {"ClusterQueue", "Cohort", "LocalQueue", "Workload"}) {
      for (const std::string_view version : {kStoredVersion, kOlderVersion}) {
        const std::string_view other = version == kStoredVersion ? kOlderVersion : kStoredVersion;
        const json::value document = document_of(other, kind, rest);
        EXPECT_EQ(version_of(convert_plainly(kind, document, version)), version) << rest;
        (void)problems_of_older(kind, document);
      }
    }
  }
}

}  // namespace
}  // namespace phalanx::admission
