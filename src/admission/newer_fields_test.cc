// Fields that this program does not know, of CRDs that are newer than it is.
#include "admission/conversion.h"
#include "admission/lossless_conversion.h"
#include "admission/testing.h"
#include "base/json_path.h"

namespace phalanx::admission {
namespace {

using testing::admission;
using testing::good_with;
using testing::yaml;

json::value converted(std::string_view kind, json::value document, std::string_view version) {
  return admission().convert(kind, std::move(document), version).value();
}

TEST(NewerFields, WhatNeitherVersionIsKnownToHaveStays) {
  json::value workload = good_with("Workload", R"(
spec: {newer: {a: [1]}, preemptionGates: [{name: g}]}
status:
  newer: 7
  admission:
    clusterQueue: q
    podSetAssignments:
    - {name: leader}
    - name: worker
      newer: x
      topologyAssignment: {levels: [host], slices: [{domainCount: 1, valuesPerLevel: [{universal: a}], podCounts: {universal: 4}}]}
)");
  workload.at("spec").at("podSets").at(1).as_object()["newer"] = true;
  const json::value older = converted("Workload", workload, kOlderVersion);
  EXPECT_EQ(older.at("spec").at("newer"), yaml("{a: [1]}"));
  EXPECT_EQ(older.at("spec").at("podSets").at(1).at("newer"), true);
  EXPECT_EQ(older.at("status").at("newer"), 7);
  EXPECT_EQ(older.at("status").at("admission").at("podSetAssignments").at(1).at("newer"), "x");
  EXPECT_EQ(converted("Workload", older, kStoredVersion), workload);
}

// An API server has pruned what its own version does not have, and so nobody has judged it.
TEST(NewerFields, WhatTheOtherVersionHasIsDropped) {
  json::value queue = good_with("ClusterQueue", "spec: {newer: 1, other: 2}");
  queue.as_object()["apiVersion"] = "kueue.x-k8s.io/v1beta1";
  json::object& spec = queue.at("spec").as_object();
  spec["concurrentAdmissionPolicy"] = yaml("{migration: {mode: RetainFirstAdmission}}");
  spec["cohortName"] = "smuggled";
  const json::value stored = converted("ClusterQueue", queue, kStoredVersion);
  EXPECT_EQ(stored.at("spec").at("newer"), 1);
  EXPECT_EQ(stored.at("spec").at("other"), 2);
  EXPECT_EQ(find_at(stored, {"spec", "concurrentAdmissionPolicy"}), nullptr);
  EXPECT_EQ(find_at(stored, {"spec", "cohortName"}), nullptr);
}

TEST(NewerFields, TheyAreNeitherNotedNorTakenFromNotes) {
  json::value queue = good_with("ClusterQueue", "spec: {newer: 1}");
  EXPECT_EQ(find_at(converted("ClusterQueue", queue, kOlderVersion), {"metadata", "annotations"}),
            nullptr);
  ensure_object(queue, {"metadata", "annotations"})[kConversionAnnotation] =
      R"({"of":"v1beta1","lost":[{"at":"/spec","was":{"another":1}}]})";
  const json::value older = converted("ClusterQueue", queue, kOlderVersion);
  EXPECT_EQ(find_at(older, {"spec", "another"}), nullptr);
  EXPECT_EQ(older.at("spec").at("newer"), 1);
}

TEST(NewerFields, MoreThanAReleaseAddsAreDropped) {
  json::value queue = good_with("ClusterQueue", "");
  for (int i = 0; i < 100'000; ++i) {
    queue.at("spec").as_object()["newer-" + std::to_string(i)] = i;
  }
  EXPECT_EQ(converted("ClusterQueue", queue, kOlderVersion),
            converted("ClusterQueue", good_with("ClusterQueue", ""), kOlderVersion));
}

}  // namespace
}  // namespace phalanx::admission
