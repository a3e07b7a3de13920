#include "manager/scrape.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/file.h"
#include "manager/scrape_testing.h"

namespace phalanx::manager {
namespace {

class ScrapeTest : public ScrapeFixture {
 protected:
  ScrapeTest() {
    tell("{apiVersion: v1, kind: Namespace, metadata: {name: ml}}");
    tell("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: gpu}}");
    tell("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: root}}");
    tell(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: team}, spec: "
        "{parentName: root}}");
    tell(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: all}, spec: "
        "{cohortName: team, namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu, "
        "nvidia.com/gpu], flavors: [{name: gpu, resources: [{name: cpu, nominalQuota: 1500m, "
        "borrowingLimit: 1, lendingLimit: 500m}, {name: nvidia.com/gpu, nominalQuota: 8}]}]}]}}");
    tell(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: main, namespace: "
        "ml}, spec: {clusterQueue: all}}");
    step({core::Synced{}});
  }
  void tell_workload(const std::string& name, const std::string& cpu, const std::string& status) {
    tell("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: " + name +
         ", namespace: ml, creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {queueName: main, "
         "podSets: [{name: main, count: 2, template: {spec: {containers: [{name: c, image: i, "
         "resources: {requests: {cpu: " +
         cpu + "}}}]}}}]}, status: {" + status + "}}");
  }
  static std::string admission(const std::string& cpu) {
    return "admission: {clusterQueue: all, podSetAssignments: [{name: main, count: 2, flavors: "
           "{cpu: gpu}, resourceUsage: {cpu: " +
           cpu +
           "}}]}, conditions: [{type: QuotaReserved, status: 'True', lastTransitionTime: "
           "'2026-01-01T00:00:00Z', reason: A, message: m}, {type: Admitted, status: 'True', "
           "lastTransitionTime: '2026-01-01T00:00:00Z', reason: A, message: m}]";
  }
};

TEST_F(ScrapeTest, QueuesShowWhatTheyHaveAndWhoWaits) {
  tell_workload("runs", "500m", admission("1"));
  tell_workload("waits", "100", "");
  const std::string queue = R"({cluster_queue="all",)";
  const std::string quota =
      R"({cluster_queue="all",cohort="team",flavor="gpu",replica_role="leader",resource=)";
  const std::string local = R"(name="main",namespace="ml",replica_role="leader")";
  expect({
      {"kueue_pending_workloads" + queue + R"(replica_role="leader",status="inadmissible"})", "1"},
      {"kueue_pending_workloads" + queue + R"(replica_role="leader",status="active"})", "0"},
      {"kueue_admitted_active_workloads" + queue + R"(replica_role="leader"})", "1"},
      {"kueue_reserving_active_workloads" + queue + R"(replica_role="leader"})", "1"},
      {"kueue_cluster_queue_status" + queue + R"(replica_role="leader",status="active"})", "1"},
      {"kueue_cluster_queue_nominal_quota" + quota + R"("cpu"})", "1.5"},
      {"kueue_cluster_queue_nominal_quota" + quota + R"("nvidia.com/gpu"})", "8"},
      {"kueue_cluster_queue_borrowing_limit" + quota + R"("cpu"})", "1"},
      {"kueue_cluster_queue_lending_limit" + quota + R"("cpu"})", "0.5"},
      {"kueue_cluster_queue_resource_usage" + quota + R"("cpu"})", "1"},
      {"kueue_cluster_queue_resource_reservation" + quota + R"("cpu"})", "1"},
      {"kueue_cluster_queue_resource_pending" + queue + R"(replica_role="leader",resource="cpu"})",
       "200"},
      {"kueue_local_queue_pending_workloads{" + local + R"(,status="active"})", "1"},
      {"kueue_local_queue_status{active=\"True\"," + local + "}", "1"},
      {R"(kueue_local_queue_resource_usage{flavor="gpu",)" + local + R"(,resource="cpu"})", "1"},
      {R"(kueue_cohort_info{cohort="team",parent_cohort="root",replica_role="leader",)"
       R"(root_cohort="root"})",
       "1"},
      {R"(kueue_cohort_subtree_quota{cohort="root",flavor="gpu",replica_role="leader",)"
       R"(resource="nvidia.com/gpu"})",
       "8"},
      {R"(kueue_cohort_subtree_admitted_active_workloads{cohort="root",replica_role="leader"})",
       "1"},
      {R"(phalanx_objects{resource="workloads"})", "2"},
      {"phalanx_leader", "1"},
  });
}

TEST_F(ScrapeTest, AQueueThatIsGoneIsNotShown) {
  step({core::ObjectDeleted{{api::Kind::kLocalQueue, "ml", "main"}}});
  for (const auto& [name, value] : series()) EXPECT_FALSE(name.contains("local_queue")) << name;
}

// Labels come from users: what is in them must not become another line.
TEST_F(ScrapeTest, LabelsAreEscaped) {
  meters_.decisions.add({{"decision", "a\"b\\c\nd"}});
  EXPECT_TRUE(series().contains(R"(phalanx_decisions_total{decision="a\"b\\c\nd"})"));
}

std::set<std::string> names_in(const std::string& page) {
  std::set<std::string> names;
  for (size_t at = page.find("\n| `"); at != std::string::npos; at = page.find("\n| `", at + 1)) {
    const size_t begin = at + 4;
    const size_t end = page.find('`', begin);
    const std::string name = page.substr(begin, end - begin);
    // Not the conditions of alerts.
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos) {
      names.insert(name);
    }
  }
  return names;
}

// The page lists every metric, and none that there is not.
TEST_F(ScrapeTest, ThePageListsAllThereIs) {
  const char* source = std::getenv("PHALANX_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  const auto page = read_file(std::string(source) + "/docs/reference/metrics.md");
  ASSERT_TRUE(page) << page.error().message;
  std::set<std::string> known = names_in(*page);
  EXPECT_GT(known.size(), 60U);
  std::set<std::string> there;
  there.insert(meters_.registry.names.begin(), meters_.registry.names.end());
  tell_workload("runs", "500m", admission("1"));
  tell_workload("waits", "100", "");
  const std::string text =
      render_metrics(meters_, core_, {.ready = true, .role = Role::kLeader},
                     {.api = {.unfinished_writes = 0, .blind = {{api::Kind::kPod, Duration(0)}}},
                      .webhooks = {},
                      .certificate_expires = now_});
  for (size_t at = text.find("# TYPE "); at != std::string::npos;
       at = text.find("# TYPE ", at + 1)) {
    const size_t begin = at + 7;
    there.insert(text.substr(begin, text.find(' ', begin) - begin));
  }
  // Shown only where queues share by weights or recent usage.
  for (const char* conditional :
       {"kueue_cluster_queue_weighted_share", "kueue_cohort_weighted_share",
        "kueue_local_queue_admission_fair_sharing_usage"}) {
    EXPECT_TRUE(known.contains(conditional)) << conditional;
    there.insert(conditional);
  }
  EXPECT_EQ(known, there);
}

}  // namespace
}  // namespace phalanx::manager
