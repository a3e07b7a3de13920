#include "api/workload.h"

#include <gtest/gtest.h>

namespace phalanx::api {
namespace {

Workload read(std::string_view status_fields) {
  const std::string text = R"({"metadata":{"name":"w","namespace":"ml",
      "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"train"},
                         {"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"x"}]},
    "spec":{"podSets":[{"count":2,"template":{"spec":{"containers":[
      {"resources":{"requests":{"cpu":"3"}}}]}}}]},
    "status":{)" + std::string(status_fields) +
                           "}}";
  const json::value document = parse_json(text).value();
  DecodeStatus status;
  Workload workload = read_workload(JsonReader(&document, "", status));
  EXPECT_TRUE(status.ok()) << status.error()->message;
  return workload;
}

constexpr std::string_view kAdmission =
    R"("admission":{"podSetAssignments":[{"topologyAssignment":{"levels":["h"]}},{"name":"b"}]})";

std::string conditions(std::string_view list) {
  return std::string(kAdmission) + R"(,"conditions":[)" + std::string(list) + "]";
}

TEST(WorkloadTest, ReadsPodSetsOwnersAndAdmission) {
  const Workload workload = read(kAdmission);
  EXPECT_EQ(workload.owner_jobs, std::vector<std::string>{"train"});
  ASSERT_NE(workload.find_pod_set("main"), nullptr);
  EXPECT_EQ(workload.find_pod_set("main")->pod_template.spec.requests.at("cpu"), 3000);
  EXPECT_EQ(workload.find_pod_set("other"), nullptr);
  ASSERT_TRUE(workload.admission);
  ASSERT_EQ(workload.admission->size(), 2U);
  EXPECT_EQ(workload.admission->at(0).pod_set, "main");
  EXPECT_TRUE(workload.admission->at(0).topology_assignment);
  EXPECT_EQ(workload.admission->at(0).path,
            "status.admission.podSetAssignments[0].topologyAssignment");
  EXPECT_FALSE(workload.admission->at(1).topology_assignment);
}

TEST(WorkloadTest, HoldsCapacityFromReservationToFinish) {
  EXPECT_FALSE(read("").holds_capacity());
  EXPECT_TRUE(read(kAdmission).holds_capacity());
  EXPECT_TRUE(read(conditions(R"({"type":"QuotaReserved","status":"True"},
                                 {"type":"Admitted","status":"False"})"))
                  .holds_capacity());
  EXPECT_FALSE(read(conditions(R"({"type":"QuotaReserved","status":"False"})")).holds_capacity());
  EXPECT_FALSE(read(conditions(R"({"type":"Admitted","status":"True"},
                                  {"type":"Finished","status":"True"})"))
                   .holds_capacity());
}

// With a boost and with more fields of the spec and of the pod set.
Workload read_with(std::string_view boost, std::string_view spec, std::string_view pod_set,
                   std::string* problem = nullptr) {
  const std::string text = R"({"metadata":{"name":"w","namespace":"ml","annotations":{
      "kueue.x-k8s.io/priority-boost":")" +
                           std::string(boost) + R"("}},"spec":{)" + std::string(spec) +
                           R"("podSets":[{"count":4,)" + std::string(pod_set) +
                           R"("template":{"spec":{"containers":[{"name":"c"}]}}}]}})";
  const json::value document = parse_json(text).value();
  DecodeStatus status;
  Workload workload = read_workload(JsonReader(&document, "", status));
  if (problem != nullptr) *problem = status.ok() ? "" : status.error()->message;
  return workload;
}

TEST(WorkloadTest, ReadsWhatQueueingAsksFor) {
  const Workload plain = read("");
  EXPECT_FALSE(plain.pod_sets[0].min_count);
  EXPECT_FALSE(plain.maximum_execution_seconds);
  EXPECT_EQ(plain.priority_boost, 0);
  const Workload full = read_with("-7", R"("maximumExecutionTimeSeconds":60,)", R"("minCount":2,)");
  EXPECT_EQ(full.pod_sets[0].min_count, 2);
  EXPECT_EQ(full.maximum_execution_seconds, 60);
  EXPECT_EQ(full.priority_boost, -7);
}

TEST(WorkloadTest, ABoostThatIsNoNumberCountsForNothing) {
  for (const char* boost : {"", "high", "1.5", "3x", " 3", "99999999999"}) {
    EXPECT_EQ(read_with(boost, "", "").priority_boost, 0) << boost;
  }
}

TEST(WorkloadTest, NamesTheFieldThatIsWrong) {
  std::string problem;
  read_with("0", "", R"("minCount":5,)", &problem);
  EXPECT_EQ(problem, "spec.podSets[0].minCount: is 5, but there are only 4 pods");
  read_with("0", "", R"("minCount":0,)", &problem);
  EXPECT_TRUE(problem.starts_with("spec.podSets[0].minCount: ")) << problem;
  read_with("0", R"("maximumExecutionTimeSeconds":0,)", "", &problem);
  EXPECT_TRUE(problem.starts_with("spec.maximumExecutionTimeSeconds: ")) << problem;
}

}  // namespace
}  // namespace phalanx::api
