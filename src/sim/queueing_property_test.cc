// Random worlds, random Jobs and random mishaps: what docs/reference/queueing.md promises holds
// after every single step, and everybody who can run has run in the end.
//
// PHALANX_WORLDS=N runs N worlds instead of the usual ones, PHALANX_FIRST_WORLD=S begins with
// another seed; with PHALANX_SHOW_WORLD=1 the journal is shown.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "sim/api_server_testing.h"
#include "sim/queueing_laws_testing.h"
#include "sim/random_world_testing.h"
#include "sim/script_backend.h"
#include "sim/testing.h"

namespace phalanx::sim {
namespace {

using std::chrono::seconds;

constexpr uint64_t kWorlds = 160;
constexpr int kEvents = 30;

uint64_t number_from(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

class Story {
 public:
  explicit Story(uint64_t seed) : world_(seed), faults_(seed + 1) {
    edits_ = world_.chance(50);
    crashes_ = world_.chance(40);
    EmbeddedOptions options;
    options.seed = seed + 1;
    options.host.configuration = world_.configuration();
    options.host.on_journal = [this](const std::string& line) {
      journal_ += line + "\n";
      laws_->hear(line);
    };
    options.host.fate = [this](const core::Write&, uint64_t) { return next_fate(); };
    backend_ = std::make_unique<EmbeddedBackend>(std::move(options));
    auto laws = std::make_unique<QueueingLaws>(server(), world_.configuration());
    laws_ = laws.get();
    cluster().simulation().add("laws", std::move(laws));
  }

  // The first thing that went wrong; empty: nothing did.
  std::string run() {
    apply_all(cluster(), world_.manifests());
    if (auto problem = pass(seconds(0)); !problem.empty()) return problem;
    for (int i = 0; i < kEvents; ++i) {
      happen();
      laws_->look();
      if (auto problem = pass(seconds(world_.random().between(0, 12))); !problem.empty()) {
        return problem;
      }
    }
    crashes_ = false;
    open_everything();
    if (world_.long_jobs()) {
      if (auto problem = comes_to_rest(); !problem.empty()) return problem;
    }
    return everybody_runs();
  }

  [[nodiscard]] const std::string& journal() const { return journal_; }
  [[nodiscard]] const std::string& manifests() const { return world_.manifests(); }
  [[nodiscard]] const QueueingLaws& laws() const { return *laws_; }

 private:
  EmbeddedCluster& cluster() { return backend_->cluster(); }
  ApiServer& server() { return cluster().server(); }

  WriteFate next_fate() {
    if (!crashes_ || faults_.below(60) != 0) return WriteFate::kProceed;
    const WriteFate fates[] = {WriteFate::kCrashBefore, WriteFate::kCrashAfter,
                               WriteFate::kLoseRace, WriteFate::kRefuse};
    return fates[faults_.below(std::size(fates))];
  }

  std::string pass(Duration duration) {
    if (const auto ran = backend_->pass(duration); !ran) return ran.error().message;
    if (const auto settled = cluster().simulation().settle(); !settled) {
      return settled.error().message;
    }
    if (!laws_->broken().empty()) return laws_->broken().front();
    // Places that are held are booked, too, and stand in no object.
    if (!cluster().core().scheduler().nominations().all().empty()) return "";
    const auto account = backend_->check_account();
    return account ? "" : account.error().message;
  }

  void happen() {
    const uint64_t what = world_.random().below(100);
    if (what < 65) {
      apply_all(cluster(), world_.job());
    } else if (what < 72) {
      restart();
    } else if (what < 78) {
      if (const auto job = any(api::Kind::kJob)) (void)server().remove(*job);
    } else if (what < 84) {
      if (const auto workload = any(api::Kind::kWorkload)) {
        change(*workload, fmt::format("{{spec: {{active: {}}}}}", world_.chance(50)));
      }
    } else if (what < 92) {
      const auto queue = any(world_.chance(60) ? api::Kind::kClusterQueue : api::Kind::kLocalQueue);
      const std::vector<std::string> policies{"None", "None", "Hold", "HoldAndDrain"};
      change(*queue, fmt::format("{{spec: {{stopPolicy: {}}}}}", world_.pick(policies)));
    } else if (what < 96) {
      change_node();
    } else if (edits_) {
      edit_quota();
    }
  }

  // One joins, or one takes no more pods, or does so again.
  void change_node() {
    if (world_.chance(30)) return apply_all(cluster(), world_.node());
    change(*any(api::Kind::kNode),
           fmt::format("{{spec: {{unschedulable: {}}}}}", world_.chance(70)));
  }

  std::optional<api::ObjectKey> any(api::Kind kind) {
    const auto all = server().list(kind).items;
    if (all.empty()) return std::nullopt;
    return key_of(kind, *all[world_.random().below(all.size())]);
  }

  void change(const api::ObjectKey& key, const std::string& patch) {
    const auto changed = server().patch(key, PatchType::kMerge, from_yaml(patch));
    EXPECT_TRUE(changed) << changed.error().message;
  }

  void edit_quota() {
    const auto key = any(api::Kind::kClusterQueue);
    const bool shares = !string_at(*server().get(*key), {"spec", "cohortName"}).empty();
    std::string flavors;
    for (const std::string& flavor : world_.flavors()) {
      flavors += fmt::format("{}{{name: {}, resources: [{{name: cpu, {}}}]}}",
                             flavors.empty() ? "" : ", ", flavor, world_.quota(16, shares));
    }
    change(*key, fmt::format("{{spec: {{resourceGroups: [{{coveredResources: [cpu], flavors: [{}]"
                             "}}]}}}}",
                             flavors));
  }

  // Nobody who had to wait a moment ago gets something because the core was thrown away.
  void restart() {
    const bool held = !cluster().core().scheduler().nominations().all().empty();
    const int admissions = laws_->admissions();
    const auto preemptions = laws_->preemptions();
    cluster().host().restart();
    const bool crashes = std::exchange(crashes_, false);
    const auto settled = cluster().simulation().settle();
    EXPECT_TRUE(settled) << settled.error().message;
    crashes_ = crashes;
    if (held) return;
    EXPECT_EQ(laws_->admissions(), admissions) << "a restart admits somebody " << now();
    EXPECT_EQ(laws_->preemptions(), preemptions) << "a restart preempts somebody " << now();
  }

  std::string now() { return format_time(cluster().now()); }

  void open_everything() {
    for (const api::Kind kind : {api::Kind::kClusterQueue, api::Kind::kLocalQueue}) {
      for (const Stored& queue : server().list(kind).items) {
        change(key_of(kind, *queue), "{spec: {stopPolicy: None}}");
      }
    }
    for (const Stored& node : server().list(api::Kind::kNode).items) {
      change(key_of(api::Kind::kNode, *node), "{spec: {unschedulable: false}}");
    }
    for (const Stored& workload : server().list(api::Kind::kWorkload).items) {
      change(key_of(api::Kind::kWorkload, *workload), "{spec: {active: true}}");
    }
  }

  // With nobody coming and nothing ending, preemption ends, too, or slows down: who was preempted
  // is restrained for 10, 20, 40, 80, 160, 320 s, ...
  std::string comes_to_rest() {
    const auto before = laws_->preemptions();
    if (auto problem = pass(std::chrono::minutes(3)); !problem.empty()) return problem;
    for (const auto& [name, times] : laws_->preemptions()) {
      const auto known = before.find(name);
      const int more = times - (known == before.end() ? 0 : known->second);
      if (more > 8) return fmt::format("{} was preempted {} times in a world at rest", name, more);
    }
    const auto after = laws_->preemptions();
    if (auto problem = pass(std::chrono::minutes(10)); !problem.empty()) return problem;
    for (const auto& [name, times] : laws_->preemptions()) {
      const auto known = after.find(name);
      const int more = times - (known == after.end() ? 0 : known->second);
      if (more > 4) return fmt::format("{} is preempted on and on in a world at rest", name);
    }
    return "";
  }

  std::string everybody_runs() {
    // The longest that all of them could take one after another, and be preempted once each.
    const Duration enough = std::chrono::hours(world_.long_jobs() ? 50 : 3);
    const Time end = cluster().now() + enough;
    std::string waiting = who_should_run();
    while (!waiting.empty() && cluster().now() < end) {
      if (auto problem = pass(enough / 10); !problem.empty()) return problem;
      waiting = who_should_run();
    }
    return waiting.empty() ? "" : waiting + " could run, but has not";
  }

  // One that could, but has not; empty if there is none.
  std::string who_should_run() {
    std::map<std::string, const api::Workload*> blocked;  // strict queues, by who can never run
    std::vector<const api::Workload*> able;
    for (const auto& [name, workload] : laws_->seen().workloads) {
      const SeenJob* job = laws_->seen().job_of(workload);
      if (workload.finished || job == nullptr || job->complete) continue;
      const std::string queue = laws_->seen().queue_of(workload);
      const bool strict =
          laws_->seen().cluster_queues.at(queue).strategy == api::QueueingStrategy::kStrictFifo;
      if (can_run(workload)) {
        able.push_back(&workload);
      } else if (strict) {
        const api::Workload*& first = blocked[queue];
        if (first == nullptr || QueueingLaws::comes_before(workload, *first)) first = &workload;
      }
    }
    for (const api::Workload* workload : able) {
      const auto found = blocked.find(laws_->seen().queue_of(*workload));
      const bool behind =
          found != blocked.end() && (laws_->ordered_by_usage(found->first) ||
                                     QueueingLaws::comes_before(*found->second, *workload));
      if (!behind) return workload->name;
    }
    return "";
  }

  // In an empty cluster.
  bool can_run(const api::Workload& workload) {
    const SeenQuota quota = laws_->seen().quota();
    const std::string queue = "q:" + laws_->seen().queue_of(workload);
    const api::WorkloadPodSet& pods = workload.pod_sets.at(0);
    for (const auto& [name, flavor] : laws_->seen().flavors) {
      if (!laws_->may_use(workload, pods, name)) continue;
      const int64_t count = pods.min_count.value_or(pods.count);
      if (quota.maximum(queue, name) < count * SeenCluster::per_pod(pods)) continue;
      if (flavor.topology_name.empty() || has_room(pods, count, flavor)) return true;
    }
    return false;
  }

  bool has_room(const api::WorkloadPodSet& pods, int64_t count, const api::ResourceFlavor& flavor) {
    std::map<std::string, std::string> wanted = flavor.node_labels;
    for (const auto& [key, value] : pods.pod_template.spec.node_selector) {
      if (!wanted.emplace(key, value).second && wanted.at(key) != value) return false;
    }
    std::map<std::string, int64_t> room;  // by domain
    for (const auto& [name, node] : laws_->seen().nodes) {
      const bool fits = std::ranges::all_of(wanted, [&](const auto& label) {
        return node.labels.contains(label.first) && node.labels.at(label.first) == label.second;
      });
      if (!fits || !node.labels.contains("rack")) continue;
      const bool required = pods.topology && pods.topology->required;
      room[required ? node.labels.at(*pods.topology->required) : ""] +=
          node.cpu / SeenCluster::per_pod(pods);
    }
    return std::ranges::any_of(room, [&](const auto& entry) { return entry.second >= count; });
  }

  RandomWorld world_;
  Random faults_;
  bool edits_ = false;
  bool crashes_ = false;
  std::string journal_;
  std::unique_ptr<EmbeddedBackend> backend_;
  QueueingLaws* laws_ = nullptr;  // owned by the simulation
};

// What went wrong in it; empty: nothing did.
std::string outcome_of(Story& story) {
  try {
    return story.run();
  } catch (const Restless& restless) {
    return restless.what();
  }
}

TEST(QueueingPropertyTest, WhatTheReferencePromisesHoldsInRandomWorlds) {
  const uint64_t first = number_from("PHALANX_FIRST_WORLD", 1);
  const uint64_t worlds = number_from("PHALANX_WORLDS", kWorlds);
  int admissions = 0;
  int preemptions = 0;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    SCOPED_TRACE(fmt::format("PHALANX_FIRST_WORLD={} PHALANX_WORLDS=1", seed));
    Story story(seed);
    const std::string problem = outcome_of(story);
    EXPECT_EQ(problem, "");
    admissions += story.laws().admissions();
    for (const auto& [name, times] : story.laws().preemptions()) preemptions += times;
    if (number_from("PHALANX_SHOW_WORLD", 0) != 0) {
      std::cout << story.manifests() << story.journal();
    }
    if (seed % 10 != 0) continue;
    Story again(seed);
    EXPECT_EQ(outcome_of(again), problem);
    EXPECT_EQ(again.journal(), story.journal());
  }
  std::cout << fmt::format("{} worlds, {} admissions, {} preemptions\n", worlds, admissions,
                           preemptions);
}

}  // namespace
}  // namespace phalanx::sim
