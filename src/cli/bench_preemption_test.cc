// The benchmarks of preemption: what they print, and that their clusters are what they say.
#include <set>

#include "base/json.h"
#include "cli/bench_cluster.h"
#include "cli/bench_full_cluster.h"
#include "cli/command.h"
#include "cli/testing.h"
#include "jobs/batch_job.h"

namespace phalanx::cli {
namespace {

std::set<std::string> fields_of(const json::value& object) {
  std::set<std::string> fields;
  for (const auto& field : object.as_object()) fields.insert(std::string(field.key()));
  return fields;
}

TEST(BenchPreemption, PrintsOneArrayOfDecisions) {
  const Ran ran =
      run_phalanx({"bench", "preemption", "--nodes", "64,128", "--repeat", "2", "--json"});
  ASSERT_EQ(ran.code, kDone) << ran.err;
  const json::value measured = parse_json(ran.out).value();
  ASSERT_EQ(measured.as_array().size(), 8);
  for (const json::value& row : measured.as_array()) {
    EXPECT_EQ(fields_of(row),
              (std::set<std::string>{"nodes", "layout", "request", "candidates", "victims",
                                     "highest_priority", "steps", "exact", "repeated", "p50_ms",
                                     "p99_ms", "p99_cpu_ms", "result_sha256", "cycle_ms"}));
    EXPECT_EQ(row.at("candidates").as_int64(), row.at("nodes").as_int64() * 8);
    EXPECT_EQ(row.at("repeated").as_int64(), 2);
    // Every pod is a workload of its own here: a gang of whole nodes needs eight for each of its.
    const bool rack = row.at("request").as_string() == "required-rack-16x8gpu";
    EXPECT_EQ(row.at("victims").as_int64(), rack ? 128 : 512);
  }
  EXPECT_EQ(measured.at(0).at("layout").as_string(), "packed");
  EXPECT_EQ(measured.at(7).at("layout").as_string(), "scattered");
  EXPECT_EQ(measured.at(7).at("nodes").as_int64(), 128);
}

TEST(BenchPreemption, NamesWhatIsWrong) {
  for (const char* nodes : {"63", "1000,12", "200001", "many"}) {
    const Ran ran = run_phalanx({"bench", "preemption", "--nodes", nodes, "--json"});
    EXPECT_EQ(ran.code, kBadInput) << nodes;
    EXPECT_NE(ran.err.find("--nodes"), std::string::npos) << ran.err;
    EXPECT_FALSE(parse_json(ran.out).value().at("error").as_string().empty());
  }
  const Ran repeat = run_phalanx({"bench", "preemption", "--repeat", "-1"});
  EXPECT_EQ(repeat.code, kBadInput);
  EXPECT_NE(repeat.err.find("--repeat"), std::string::npos) << repeat.err;
}

// Not one GPU is free, and no two workloads are of one age.
TEST(BenchPreemption, TheClusterIsFull) {
  const core::Adapters adapters = jobs::all_adapters();
  for (const FullLayout layout : {FullLayout::kPacked, FullLayout::kScattered}) {
    core::Core core({}, adapters);
    const FullCluster full{1300, layout};
    EXPECT_EQ(full.workloads(), 10'000);
    fill_core(core, full, adapters, [](uint32_t, uint32_t) {});
    core::State& state = core.state();
    topology::Cluster& cluster = state.account.cluster();
    const topology::DomainTree& tree = cluster.tree(state.account.tree_of("gpu").value());
    ASSERT_EQ(tree.leaf_count(), 1300);
    for (const int64_t free : tree.free(cluster.find_resource("nvidia.com/gpu"))) {
      ASSERT_EQ(free, 0);
    }
    for (const int64_t free : tree.free(cluster.find_resource("cpu"))) ASSERT_EQ(free, 64'000);
    EXPECT_EQ(state.ledger.bookings().size(), 10'000);
    std::set<Time> ages;
    std::set<int32_t> priorities;
    for (const auto& [name, workload] : state.workloads) {
      ages.insert(workload.object.meta.created);
      priorities.insert(workload.priority);
    }
    EXPECT_EQ(ages.size(), 10'000);
    EXPECT_EQ(priorities, (std::set<int32_t>{0, 100, 200, 300}));
  }
}

TEST(BenchAdmission, CohortsReportWhatPreemptionCosts) {
  const Ran ran = run_phalanx(
      {"bench", "admission", "--preset", "cohorts", "--nodes", "64", "--percent", "4", "--json"});
  ASSERT_EQ(ran.code, kDone) << ran.err;
  const json::value report = parse_json(ran.out).value();
  EXPECT_EQ(report.at("workloads").as_int64(), 30 * (14 + 4 + 2));
  EXPECT_GT(report.at("preemptions").at("InClusterQueue").as_int64(), 0);
  EXPECT_GT(report.at("lost_cpu_s").as_double(), 0);
  EXPECT_LT(report.at("lost_share").as_double(), 1);
  EXPECT_LE(report.at("quota_utilisation").as_double(), 1);
  for (const char* size : {"small", "medium", "large"}) {
    const json::value& first = report.at("time_to_admission_s").at(size);
    const json::value& last = report.at("time_to_last_admission_s").at(size);
    EXPECT_LE(first.at("mean").as_double(), last.at("mean").as_double()) << size;
    EXPECT_LE(first.at("max").as_double(), last.at("max").as_double()) << size;
  }
}

TEST(BenchAdmission, WithoutCohortsNobodyIsPreempted) {
  const Ran ran = run_phalanx({"bench", "admission", "--nodes", "64", "--percent", "4", "--json"});
  ASSERT_EQ(ran.code, kDone) << ran.err;
  const json::value report = parse_json(ran.out).value();
  EXPECT_EQ(report.at("workloads").as_int64(), 30 * (14 + 4 + 2));
  EXPECT_FALSE(report.as_object().contains("preemptions"));
  const Ran unknown = run_phalanx({"bench", "admission", "--preset", "plenty"});
  EXPECT_EQ(unknown.code, kBadInput);
  EXPECT_EQ(unknown.err,
            "phalanx: bench admission: --preset: \"plenty\" is not quota, nodes or cohorts\n");
}

}  // namespace
}  // namespace phalanx::cli
