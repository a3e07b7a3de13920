// All actors together: the same run twice, with restarts at every moment, and with refused writes.
#include "sim/cluster_actors.h"

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "sim/cluster_testing.h"
#include "sim/job_view.h"

namespace phalanx::sim {
namespace {

class ClusterActorsTest : public ClusterTest {};

// All objects, as text.
std::string describe(const ApiServer& server) {
  std::string text;
  for (const api::KindInfo& about : api::all_kinds()) {
    for (const Stored& object : server.list(about.kind).items) {
      json::value copy = *object;
      // Versions tell how many writes there were, in whose order.
      erase_at(copy, {"metadata", "resourceVersion"});
      text += json::serialize(copy) + "\n";
    }
  }
  return text;
}

// One cluster with some life in it.
class Scenario : public ClusterTest {
 public:
  Scenario() {
    for (int i = 0; i < 3; ++i) add_node("n" + std::to_string(i), "cpu: 3");
    add_job("plain", "completions: 7, parallelism: 3", "phalanx.dev/run-for: 20s");
    add_job("indexed", "completionMode: Indexed, completions: 5, parallelism: 5",
            "phalanx.dev/run-for: 45s");
    add_job("failing", "completions: 2, parallelism: 2, backoffLimit: 2",
            "phalanx.dev/run-for: 15s, phalanx.dev/exit-code: '2'");
    add_job("short-lived", "completions: 3, parallelism: 3, ttlSecondsAfterFinished: 30");
  }
  void TestBody() override {}

  // What happens at this second from outside.
  void happen(int second) {
    note_failures();
    from_outside_ = true;
    const std::string down = "{metadata: {annotations: {phalanx.dev/kubelet: down}}}";
    const std::string up = "{metadata: {annotations: {phalanx.dev/kubelet: null}}}";
    if (second == 25) merge(node_key("n1"), down);
    if (second == 30) merge(job_key("plain"), "{spec: {suspend: true}}");
    if (second == 50) merge(job_key("plain"), "{spec: {suspend: false}}");
    if (second == 500) merge(node_key("n1"), up);
    from_outside_ = false;
  }

  // `on_restart` is told of every restart.
  void run(bool with_restarts, Duration step, const std::function<void()>& on_restart = [] {}) {
    for (int second = 0; second < 700; ++second) {
      happen(second);
      for (Duration at(0); at < std::chrono::seconds(1); at += step) {
        if (with_restarts) {
          restart();
          on_restart();
        }
        run_for(step);
      }
    }
  }

  // From now on writes are refused whenever `decide` says so, but not the test's own.
  template <typename Decide>
  void refuse_some(Decide decide) {
    server_.add_validating_hook(
        [this, decide](AdmissionRequest&) -> ApiResult<void> {
          if (from_outside_ || !refusing_ || !decide()) return {};
          return std::unexpected(ApiError{500, "InternalError", "bad luck; try again"});
        },
        true);
  }
  void refuse_none() { refusing_ = false; }
  void run_on(int64_t seconds) { run_for_seconds(seconds); }

  [[nodiscard]] std::string everything() const { return describe(server_); }

  // How the Jobs ended, and that each of their pods was counted once.
  void expect_outcome() {
    EXPECT_EQ(condition(job_key("plain"), "Complete"), "True");
    EXPECT_EQ(job_status("plain", "succeeded"), "7");
    EXPECT_EQ(condition(job_key("indexed"), "Complete"), "True");
    EXPECT_EQ(job_status("indexed", "completedIndexes"), "\"0-4\"");
    EXPECT_EQ(condition(job_key("failing"), "Failed", "reason"), "BackoffLimitExceeded");
    EXPECT_FALSE(exists(job_key("short-lived")));
    std::map<std::string, int> succeeded;
    for (const Stored& pod : pods()) {
      EXPECT_FALSE(has_finalizer(*pod, kJobTrackingFinalizer));
      EXPECT_FALSE(string_at(*pod, {"status", "reason"}).starts_with("OutOf"));
      if (string_at(*pod, {"status", "phase"}) == "Succeeded") {
        ++succeeded[controller_of(*pod)->name];
      }
    }
    EXPECT_EQ(succeeded["plain"], 7);
    EXPECT_EQ(succeeded["indexed"], 5);
    note_failures();
    EXPECT_GE(failed_["failing"].size(), 3U);
    for (const std::string name : {"plain", "indexed", "failing"}) {
      const size_t failed = failed_[name].size();
      EXPECT_EQ(job_status(name, "failed"), failed == 0 ? "" : std::to_string(failed)) << name;
      EXPECT_EQ(job_status(name, "uncountedTerminatedPods"), "{}") << name;
      EXPECT_EQ(job_status(name, "active"), "") << name;
      EXPECT_EQ(job_status(name, "terminating"), "0") << name;
    }
  }

 private:
  // Reads of the history which pods of which Job have failed while they were to be counted.
  void note_failures() {
    while (true) {
      const auto events = server_.read(cursor_);
      ASSERT_TRUE(events);
      if (events->empty()) return;
      for (const WatchEvent& event : *events) {
        if (event.type == WatchEventType::kBookmark) continue;
        const json::value& pod = *event.object;
        const std::string_view phase = string_at(pod, {"status", "phase"});
        if (!has_finalizer(pod, kJobTrackingFinalizer) || phase == "Succeeded") continue;
        if (phase == "Failed" || is_deleted(pod)) {
          failed_[controller_of(pod)->name].insert(std::string(uid_of(pod)));
        }
      }
    }
  }

  bool from_outside_ = false;
  bool refusing_ = true;
  WatchCursor cursor_{{api::Kind::kPod}, 0};
  std::map<std::string, std::set<std::string>> failed_;  // uids by the Job's name
};

TEST_F(ClusterActorsTest, TheSameRunGivesTheSameHistory) {
  Scenario first;
  first.run(false, std::chrono::seconds(1));
  Scenario second;
  second.run(false, std::chrono::milliseconds(250));
  first.expect_outcome();
  EXPECT_EQ(first.everything(), second.everything()) << "however finely time is driven";
}

TEST_F(ClusterActorsTest, RestartsAtEveryMomentChangeNothing) {
  Scenario steady;
  steady.run(false, std::chrono::seconds(1));
  Scenario restarted;
  restarted.run(true, std::chrono::milliseconds(500));
  restarted.expect_outcome();
  EXPECT_EQ(steady.everything(), restarted.everything());
}

TEST_F(ClusterActorsTest, ASavedClusterGoesOnWhereItWas) {
  add_node("n1", "cpu: 2");
  add_node("n2", "cpu: 2");
  add_job("train", "completionMode: Indexed, completions: 8, parallelism: 4",
          "phalanx.dev/run-for: 30s");
  run_for_seconds(20);
  merge(node_key("n1"), "{metadata: {annotations: {phalanx.dev/kubelet: down}}}");
  run_for_seconds(15);
  Simulation loaded(server_.state());
  add_cluster_actors(loaded);
  EXPECT_EQ(loaded.now(), simulation_.now());
  ASSERT_TRUE(loaded.run_for(std::chrono::seconds(1000)));
  run_for_seconds(1000);
  EXPECT_EQ(describe(loaded.server()), describe(server_));
  EXPECT_EQ(job_status("train", "completedIndexes"), "\"0-7\"");
}

// Refuses writes now and then, before they happen.
class RefusalTest : public testing::TestWithParam<int> {};

TEST_P(RefusalTest, WhatIsRefusedIsDoneLater) {
  Scenario scenario;
  Random random(static_cast<uint64_t>(GetParam()));
  scenario.refuse_some([&] { return random.below(4) == 0; });
  scenario.run(GetParam() % 2 == 0, std::chrono::seconds(1));
  scenario.refuse_none();
  scenario.run_on(2000);
  scenario.expect_outcome();
}

// All actors die between two writes, again and again, and are started anew a second later.
TEST_P(RefusalTest, ACrashBetweenAnyTwoWritesDoesNoHarm) {
  Scenario scenario;
  Random random(static_cast<uint64_t>(GetParam()));
  bool dead = false;
  scenario.refuse_some([&] {
    dead = dead || random.below(10) == 0;
    return dead;
  });
  scenario.run(true, std::chrono::seconds(1), [&] { dead = false; });
  scenario.refuse_none();
  scenario.run_on(2000);
  scenario.expect_outcome();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RefusalTest, testing::Range(1, 13));

}  // namespace
}  // namespace phalanx::sim
