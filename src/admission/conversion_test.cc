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
  const auto converted = to_v1beta2(kind, document_of("v1beta1", kind, older));
  ASSERT_TRUE(converted.has_value()) << converted.error().message;
  EXPECT_EQ(*converted, document_of("v1beta2", kind, stored)) << to_yaml(*converted);
}

void expect_down(std::string_view kind, std::string_view stored, std::string_view older) {
  const auto converted = to_v1beta1(kind, document_of("v1beta2", kind, stored));
  ASSERT_TRUE(converted.has_value()) << converted.error().message;
  EXPECT_EQ(*converted, document_of("v1beta1", kind, older)) << to_yaml(*converted);
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
  EXPECT_EQ(to_v1beta2("ClusterQueue", queue).value(), queue);
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
  const auto both = to_v1beta2(
      "ClusterQueue",
      document_of("v1beta1", "ClusterQueue",
                  "spec: {admissionChecks: [a], admissionChecksStrategy: {admissionChecks: [{name: "
                  "b}]}}"));
  ASSERT_FALSE(both.has_value());
  EXPECT_EQ(both.error().message,
            "spec.admissionChecks: excludes spec.admissionChecksStrategy; keep the strategy only");
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
  const auto bad = to_v1beta2(
      "Workload", document_of("v1beta1", "Workload",
                              "status: {admission: {podSetAssignments: [{topologyAssignment: "
                              "{levels: [block, rack], domains: [{values: [b1], count: 4}]}}]}}"));
  ASSERT_FALSE(bad.has_value());
  EXPECT_TRUE(bad.error().message.starts_with(
      "status.admission.podSetAssignments[0].topologyAssignment.domains[0].values"))
      << bad.error().message;
}

TEST(Conversion, SurvivesAnyDocument) {
  for (const std::string_view rest :
       {"{}", "{spec: 1, status: 1}", "{spec: {priorityClassRef: 1, flavorFungibility: []}}",
        "{spec: {admissionChecks: {}, admissionChecksStrategy: []}}",
        "{status: {admission: {podSetAssignments: [1, {topologyAssignment: 1}]}}}"}) {
    for (const std::string_view kind : {"ClusterQueue", "Cohort", "LocalQueue", "Workload"}) {
      EXPECT_TRUE(to_v1beta2(kind, document_of("v1beta1", kind, rest)).has_value()) << rest;
      EXPECT_TRUE(to_v1beta1(kind, document_of("v1beta2", kind, rest)).has_value()) << rest;
    }
  }
}

}  // namespace
}  // namespace phalanx::admission
