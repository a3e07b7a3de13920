#include "sim/embedded_cluster.h"

#include "sim/document.h"
#include "sim/testing.h"

namespace phalanx::sim {
namespace {

TEST(EmbeddedClusterTest, RunsAJobFromManifestToFinished) {
  EmbeddedCluster cluster;
  apply_all(cluster, queues_manifest());
  for (const std::string rack : {"r0", "r1"}) {
    for (const char* host : {"-h0", "-h1"}) {
      apply_all(cluster, node_manifest(rack + host, rack));
    }
  }
  apply_all(cluster,
            manifest(TestJob{
                .name = "train", .pods = 4, .amount = 2, .run_for = "60s", .resource = "cpu"}));
  ASSERT_TRUE(cluster.simulation().run_for(std::chrono::seconds(10)));
  const Listing pods = cluster.server().list(api::Kind::kPod);
  ASSERT_EQ(pods.items.size(), 4U);
  // By rank: 0 and 1 on the first host of the rack, 2 and 3 on the second.
  std::vector<std::string_view> nodes;
  for (const Stored& pod : pods.items) nodes.push_back(string_at(*pod, {"spec", "nodeName"}));
  EXPECT_EQ(nodes, (std::vector<std::string_view>{"r0-h0", "r0-h0", "r0-h1", "r0-h1"}));
  ASSERT_TRUE(cluster.simulation().run_for(std::chrono::seconds(100)));
  const Stored job = cluster.server().get({api::Kind::kJob, "ml", "train"});
  EXPECT_TRUE(condition_is_true(*job, "Complete"));
  const Listing workloads = cluster.server().list(api::Kind::kWorkload);
  ASSERT_EQ(workloads.items.size(), 1U);
  EXPECT_TRUE(condition_is_true(*workloads.items[0], "Finished"));
  const Stored queue = cluster.server().get({api::Kind::kClusterQueue, "", "team"});
  EXPECT_EQ(integer_at(*queue, {"status", "admittedWorkloads"}), 0);
}

std::string refusal(EmbeddedCluster& cluster, std::string_view text) {
  const auto stored = cluster.apply(parse_documents(text)->front().value);
  return stored ? "" : stored.error().message;
}

TEST(EmbeddedClusterTest, UnknownFieldsOfOlderVersionsAreRefused) {
  EmbeddedCluster cluster;
  constexpr std::string_view kOld = R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
)";
  EXPECT_EQ(refusal(cluster, std::string(kOld) + "spec: {cohrt: all}"),
            "ClusterQueue team: spec.cohrt: unknown field; did you mean `cohort`?");
  EXPECT_EQ(refusal(cluster, std::string(kOld) + "spec: {cohort: all}"), "");
  // Again, over what is stored in the newer version.
  EXPECT_EQ(refusal(cluster, std::string(kOld) + "spec: {cohort: some}"), "");
  const Stored queue = cluster.server().get({api::Kind::kClusterQueue, "", "team"});
  EXPECT_EQ(string_at(*queue, {"spec", "cohortName"}), "some");
}

}  // namespace
}  // namespace phalanx::sim
