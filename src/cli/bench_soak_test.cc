// Short soaks: nothing breaks, the same seed gives the same run, and a core that is tampered with
// is noticed.
#include <gtest/gtest.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/soak_core_laws.h"
#include "cli/soak_run.h"
#include "cli/testing.h"
#include "sim/testing.h"

namespace phalanx::cli {
namespace {

TEST(BenchSoak, NothingBreaksInShortSoaks) {
  for (const uint64_t seed : {1, 2, 3}) {
    Soak soak({.nodes = 60, .days = 1, .seed = seed});
    EXPECT_EQ(soak.run([](Duration) {}).value_or(""), "") << seed;
    const json::object report = soak.report();
    EXPECT_GT(report.at("jobs").at("finished").as_int64(), 20) << seed;
    EXPECT_GT(report.at("disturbances").as_object().size(), 5) << seed;
  }
}

TEST(BenchSoak, TheSameSeedGivesTheSameRun) {
  const auto run = [](uint64_t seed) {
    std::string journal;
    Soak soak({.nodes = 40, .days = 1, .seed = seed},
              [&](const std::string& line) { journal += line + "\n"; });
    EXPECT_EQ(soak.run([](Duration) {}).value_or(""), "");
    return std::pair(journal, json::serialize(soak.report()));
  };
  const auto once = run(7);
  EXPECT_EQ(once, run(7));
  EXPECT_NE(once.first, run(8).first);
}

TEST(BenchSoak, PrintsOneObject) {
  const Ran ran =
      run_phalanx({"bench", "soak", "--nodes", "20", "--days", "1", "--seed", "5", "-o", "json"});
  ASSERT_EQ(ran.code, kDone) << ran.err;
  const json::value report = parse_json(ran.out).value();
  EXPECT_EQ(report.at("journal_sha256").as_string().size(), 64);
  EXPECT_FALSE(report.as_object().contains("broken"));
  const json::object& jobs = report.at("jobs").as_object();
  int64_t ended = 0;
  for (const char* how : {"finished", "failed", "deleted", "ran_too_long"}) {
    ended += jobs.at(how).as_int64();
  }
  EXPECT_EQ(ended, jobs.at("submitted").as_int64());
  const Ran text = run_phalanx({"bench", "soak", "--nodes", "20", "--days", "1", "--seed", "5"});
  EXPECT_TRUE(text.out.contains(std::string(report.at("journal_sha256").as_string()))) << text.out;
}

TEST(BenchSoak, NamesWhatIsWrong) {
  const Ran few = run_phalanx({"bench", "soak", "--nodes", "3"});
  EXPECT_EQ(few.code, kBadInput);
  EXPECT_TRUE(few.err.contains("--nodes")) << few.err;
  const Ran journal = run_phalanx({"bench", "soak", "--journal", "/nowhere/journal"});
  EXPECT_EQ(journal.code, kBadInput);
  EXPECT_EQ(journal.err, "phalanx: bench soak: --journal: cannot write /nowhere/journal\n");
}

// One node; a has it, and b waits.
class TamperedCore : public testing::Test {
 protected:
  void SetUp() override {
    sim::apply_all(cluster_, sim::queues_manifest());
    sim::apply_all(cluster_, sim::node_manifest("n1", "r1"));
    sim::apply_all(cluster_, sim::manifest({.name = "a", .resource = "cpu"}));
    ASSERT_TRUE(cluster_.simulation().run_for(std::chrono::seconds(5)));
    sim::apply_all(cluster_, sim::manifest({.name = "b", .resource = "cpu"}));
    ASSERT_TRUE(cluster_.simulation().run_for(std::chrono::seconds(5)));
    for (const auto& [name, workload] : cluster_.core().state().workloads) {
      (workload.reserved() ? holder_ : waiter_) = name;
    }
    ASSERT_FALSE(holder_.empty() || waiter_.empty());
  }

  sim::EmbeddedCluster cluster_;
  std::string holder_;
  std::string waiter_;
};

TEST_F(TamperedCore, AnAccountThatForgotSomebodyIsNoticed) {
  EXPECT_TRUE(cluster_.check_account());
  cluster_.core().state().hold(holder_, std::nullopt);
  EXPECT_FALSE(cluster_.check_account());
}

TEST_F(TamperedCore, SomebodyWhoWaitsThoughItFitsIsNoticed) {
  EXPECT_EQ(check_heads(cluster_.core()).value_or(""), "");
  EXPECT_EQ(check_all_waiting(cluster_.core()).value_or(""), "");
  // The node is as good as empty, and nobody was told.
  core::State& state = cluster_.core().state();
  state.hold(holder_, std::nullopt);
  for (const std::string& pod : state.pods_of_workload.at(holder_)) state.account.remove_pod(pod);
  const std::string broken = check_heads(cluster_.core()).value_or("");
  EXPECT_TRUE(broken.starts_with("Workload " + waiter_ + " waits in ClusterQueue team though"))
      << broken;
  EXPECT_EQ(check_all_waiting(cluster_.core()).value_or(""), broken);
}

TEST_F(TamperedCore, SomebodyWhoIsInNoQueueIsNoticed) {
  cluster_.core().scheduler().forget(waiter_);
  EXPECT_EQ(check_heads(cluster_.core()).value_or(""), "");
  EXPECT_EQ(check_all_waiting(cluster_.core()).value_or(""),
            "Workload " + waiter_ + " waits, but is in no queue");
}

}  // namespace
}  // namespace phalanx::cli
