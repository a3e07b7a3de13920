#include "sim/sample_jobs.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/document.h"
#include "sim/embedded_cluster.h"

namespace phalanx::sim {
namespace {

NodePlan plan_of(std::string_view description) {
  auto plan = parse_node_plan(description);
  EXPECT_TRUE(plan);
  return plan ? *plan : NodePlan{};
}

std::string stream(std::string_view nodes, uint64_t seed, int count) {
  SampleJobs jobs(plan_of(nodes), seed);
  std::string text;
  for (int i = 0; i < count; ++i) {
    const SampleJobs::Arrival arrival = jobs.next();
    text += std::to_string(arrival.after.count()) + json::serialize(arrival.job) + "\n";
  }
  return text;
}

constexpr std::string_view kCluster = "2 blocks x 4 racks x 8 hosts, 8 nvidia.com/gpu";

TEST(SampleJobsTest, TheSeedDecidesEverything) {
  EXPECT_EQ(stream(kCluster, 1, 50), stream(kCluster, 1, 50));
  EXPECT_NE(stream(kCluster, 1, 50), stream(kCluster, 2, 50));
}

TEST(SampleJobsTest, CompetesForWhatIsSpecial) {
  EXPECT_EQ(SampleJobs(plan_of(kCluster), 1).resource(), "nvidia.com/gpu");
  EXPECT_EQ(SampleJobs(plan_of("3 hosts"), 1).resource(), "cpu");
}

TEST(SampleJobsTest, AsksForTopologiesInEveryWay) {
  const std::string text = stream(kCluster, 1, 200);
  for (const std::string_view annotation :
       {"podset-required-topology", "podset-preferred-topology", "podset-unconstrained-topology",
        "podset-slice-required-topology"}) {
    EXPECT_NE(text.find(annotation), std::string::npos) << annotation;
  }
}

TEST(SampleJobsTest, FillsTheClusterAtOnceAndThenComesMoreSlowly) {
  SampleJobs jobs(plan_of(kCluster), 1);
  int at_once = 0;
  while (jobs.next().after == Duration(0)) ++at_once;
  EXPECT_GT(at_once, 2);
  Duration passed{};
  for (int i = 0; i < 100; ++i) passed += jobs.next().after;
  EXPECT_GT(passed, std::chrono::hours(1));
}

// Whatever levels a cluster has, the API server takes what is made for it, and jobs get in.
TEST(SampleJobsTest, EveryClusterTakesItsSample) {
  for (const std::string_view nodes :
       {"2 blocks x 4 racks x 8 hosts, 8 nvidia.com/gpu", "3 racks x 4 hosts", "6 hosts",
        "1 block x 1 rack x 1 host, 1 nvidia.com/gpu", "2 hosts, 0 nvidia.com/gpu, 15Pi memory"}) {
    EmbeddedCluster cluster;
    const NodePlan plan = plan_of(nodes);
    SampleJobs jobs(plan, 7);
    for (size_t i = 0; i < plan.count(); ++i) ASSERT_TRUE(cluster.apply(plan.node(i)));
    for (json::value& document : jobs.setup()) {
      const auto stored = cluster.apply(std::move(document));
      ASSERT_TRUE(stored) << stored.error().message;
    }
    for (int i = 0; i < 30; ++i) {
      const auto stored = cluster.apply(jobs.next().job);
      ASSERT_TRUE(stored) << stored.error().message;
    }
    ASSERT_TRUE(cluster.simulation().run_for(std::chrono::minutes(1)));
    size_t admitted = 0;
    for (const Stored& workload : cluster.server().list(api::Kind::kWorkload).items) {
      admitted += condition_is_true(*workload, "Admitted") ? 1 : 0;
    }
    EXPECT_GT(admitted, 0U) << nodes;
  }
}

}  // namespace
}  // namespace phalanx::sim
