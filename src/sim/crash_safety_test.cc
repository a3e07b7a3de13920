// Every single write goes wrong in every way: the core is thrown away and built anew before it and
// after it, the request or the reply is lost, somebody else changes the object first, the server
// refuses it once. The cluster ends as if nothing had happened. All truth is in the API server.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "sim/document.h"
#include "sim/script_backend.h"
#include "sim/testing.h"

namespace phalanx::sim {
namespace {

std::string job(const std::string& name, int pods, int completions, bool indexed,
                const std::string& run_for, const std::string& labels = "") {
  return manifest(TestJob{.name = name,
                          .pods = pods,
                          .amount = 2,
                          .run_for = run_for,
                          .labels = "kueue.x-k8s.io/queue-name: main" + labels,
                          .resource = "cpu",
                          .completions = completions,
                          .indexed = indexed});
}

// A crash takes no time, so everything ends in the same place. A write that is sent again comes
// later: another gang may have been first, in another rack.
std::string priority_class(const std::string& name, int value) {
  return fmt::format(R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {{name: {}}}
value: {}
)",
                     name, value);
}

std::string of_class(const std::string& name) {
  return ", kueue.x-k8s.io/priority-class: " + name;
}

// Both racks are full; whoever is urgent takes one from who is idle, who has the other back later.
void submit_urgent_after_idle(EmbeddedCluster& cluster, const std::function<void()>& wait) {
  apply_all(cluster, priority_class("idle", -10) + priority_class("urgent", 10));
  apply_all(cluster, job("idle", 4, 4, true, "100s", of_class("idle")));
  wait();
  apply_all(cluster, job("usual", 4, 4, true, "100s"));
  wait();
  apply_all(cluster, job("urgent", 4, 4, true, "60s", of_class("urgent")));
  wait();
}

enum class Detail : uint8_t { kPlaces, kRacksCounted };

// Which pod of a Job without ranks is which is up to chance.
std::string summary_of_pods(const ApiServer& server, Detail detail) {
  std::map<std::string, std::multiset<std::string>> pods;
  std::map<std::string, std::set<char>> racks;
  for (const Stored& pod : server.list(api::Kind::kPod).items) {
    const std::string owner(string_at(*pod, {"metadata", "labels", "job-name"}));
    const std::string rank(
        string_at(*pod, {"metadata", "labels", "batch.kubernetes.io/job-completion-index"}));
    const std::string node(string_at(*pod, {"spec", "nodeName"}));
    racks[owner].insert(node.empty() ? '-' : node.front());
    pods[owner + "/" + rank].insert(fmt::format("{}:{}", detail == Detail::kPlaces ? node : "",
                                                string_at(*pod, {"status", "phase"})));
  }
  std::string text;
  for (const auto& [name, where] : pods) {
    text += fmt::format("pods {} {}\n", name, fmt::join(where, " "));
  }
  for (const auto& [name, where] : racks) text += fmt::format("racks {} {}\n", name, where.size());
  return text;
}

// What a user would call the state of the cluster: without names and versions that chance decides.
std::string summary(const ApiServer& server, Detail detail) {
  std::string text;
  for (const Stored& job_object : server.list(api::Kind::kJob).items) {
    json::value spec = *find_at(*job_object, {"spec"});
    erase_at(spec, {"selector"});
    for (const char* label : {"controller-uid", "batch.kubernetes.io/controller-uid"}) {
      erase_at(spec, {"template", "metadata", "labels", label});
    }
    erase_at(spec, {"template", "metadata", "annotations", "kueue.x-k8s.io/workload"});
    text += fmt::format("job {} {}\n", string_at(*job_object, {"metadata", "name"}),
                        json::serialize(spec));
  }
  text += summary_of_pods(server, detail);
  for (const Stored& workload : server.list(api::Kind::kWorkload).items) {
    text += "workload";
    for (const char* type : {"QuotaReserved", "Admitted", "Evicted", "Requeued", "Finished"}) {
      const json::object* condition = find_condition(*workload, type);
      if (condition == nullptr) continue;
      text += fmt::format(" {}={}/{}", type, string_field(*condition, "status"),
                          string_field(*condition, "reason"));
    }
    text += "\n";
  }
  for (const api::Kind kind : {api::Kind::kClusterQueue, api::Kind::kLocalQueue}) {
    for (const Stored& queue : server.list(kind).items) {
      json::value status = *find_at(*queue, {"status"});
      erase_at(status, {"conditions"});
      text += json::serialize(status) + "\n";
    }
  }
  return text;
}

using Story = std::function<void(EmbeddedCluster&)>;

void run_for(EmbeddedCluster& cluster, int seconds) {
  const auto ran = cluster.simulation().run_for(std::chrono::seconds(seconds));
  ASSERT_TRUE(ran) << ran.error().message;
}

struct Run {
  std::string state;
  std::string state_without_places;
  uint64_t writes = 0;
};

using FatePlan = std::function<WriteFate(uint64_t number)>;

Run run(const Story& story, const FatePlan& plan, const core::Configuration& configuration) {
  EmbeddedOptions options;
  options.host.configuration = configuration;
  options.host.fate = [&](const core::Write&, uint64_t number) { return plan(number); };
  EmbeddedBackend backend(std::move(options));
  EmbeddedCluster& cluster = backend.cluster();
  apply_all(cluster, queues_manifest({"cpu", 16, "tolerations: [{key: gpu, operator: Exists}]",
                                      "withinClusterQueue: LowerPriority"}));
  for (const std::string name : {"a1", "a2", "b1", "b2"}) {
    apply_all(cluster, node_manifest(name, name.substr(0, 1)));
  }
  story(cluster);
  const auto account = backend.check_account();
  EXPECT_TRUE(account) << account.error().message;
  return {summary(cluster.server(), Detail::kPlaces),
          summary(cluster.server(), Detail::kRacksCounted), cluster.host().writes()};
}

const std::map<WriteFate, std::string_view> kFates{{WriteFate::kCrashBefore, "crash before"},
                                                   {WriteFate::kCrashAfter, "crash after"},
                                                   {WriteFate::kLoseRequest, "request lost"},
                                                   {WriteFate::kLoseReply, "reply lost"},
                                                   {WriteFate::kLoseRace, "race lost"}};
// By design a refusal may lead elsewhere: who may not be evicted is not waited for.
enum class Refusals : uint8_t { kMatterNot, kMatter };

void survives_everywhere(const Story& story, const core::Configuration& configuration = {},
                         Refusals refusals = Refusals::kMatterNot) {
  auto fates = kFates;
  if (refusals == Refusals::kMatterNot) fates[WriteFate::kRefuse] = "refused";
  const Run calm = run(story, [](uint64_t) { return WriteFate::kProceed; }, configuration);
  ASSERT_GT(calm.writes, 5U);
  for (uint64_t at = 0; at < calm.writes; ++at) {
    for (const auto& [fate, name] : fates) {
      const Run spoilt = run(
          story, [&](uint64_t number) { return number == at ? fate : WriteFate::kProceed; },
          configuration);
      ASSERT_EQ(spoilt.state_without_places, calm.state_without_places)
          << "write " << at << ", " << name;
      const bool delayed = fate == WriteFate::kLoseRequest || fate == WriteFate::kLoseReply ||
                           fate == WriteFate::kRefuse;
      if (!delayed) ASSERT_EQ(spoilt.state, calm.state) << "write " << at << ", " << name;
    }
  }
  // Much goes wrong at once, in another way for every seed. No refusals: after several of them it
  // would be minutes until all is well.
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const auto any_fate = [&](uint64_t) {
      const uint64_t draw = random.below(2 * kFates.size());
      return draw < kFates.size() ? std::next(kFates.begin(), static_cast<int>(draw))->first
                                  : WriteFate::kProceed;
    };
    const Run spoilt = run(story, any_fate, configuration);
    ASSERT_EQ(spoilt.state_without_places, calm.state_without_places) << "seed " << seed;
  }
}

TEST(CrashSafetyTest, GangsThatWaitForOneAnother) {
  survives_everywhere([](EmbeddedCluster& cluster) {
    for (const char* name : {"one", "two", "three"}) {
      apply_all(cluster, job(name, 4, 4, true, "30s"));
    }
    run_for(cluster, 20);
    run_for(cluster, 200);
  });
}

TEST(CrashSafetyTest, AGangThatPreempts) {
  survives_everywhere(
      [](EmbeddedCluster& cluster) {
        submit_urgent_after_idle(cluster, [&] { run_for(cluster, 15); });
        run_for(cluster, 400);
      },
      {}, Refusals::kMatter);
}

// Who may not be evicted is not waited for: its preemptor takes the next best, and only that.
TEST(CrashSafetyTest, AVictimThatTheServerDoesNotLetGo) {
  EmbeddedCluster cluster;
  apply_all(cluster, queues_manifest({"cpu", 16, "", "withinClusterQueue: LowerPriority"}));
  for (const std::string name : {"a1", "a2", "b1", "b2"}) {
    apply_all(cluster, node_manifest(name, name.substr(0, 1)));
  }
  int refused = 0;
  bool protect = true;
  cluster.server().add_validating_hook(
      [&](AdmissionRequest& request) -> ApiResult<void> {
        if (!protect || request.kind != api::Kind::kWorkload || request.object == nullptr ||
            !string_at(*request.object, {"metadata", "name"}).starts_with("job-idle-") ||
            !condition_is_true(*request.object, "Evicted")) {
          return {};
        }
        ++refused;
        return std::unexpected(ApiError{403, "Forbidden", "this one stays"});
      },
      true);
  submit_urgent_after_idle(cluster, [&] { run_for(cluster, 15); });
  const auto suspended = [&](const std::string& name) {
    const Stored found = cluster.server().get({api::Kind::kJob, "ml", name});
    return find_at(*found, {"spec", "suspend"})->as_bool();
  };
  EXPECT_GE(refused, 1);
  EXPECT_FALSE(suspended("idle"));
  EXPECT_TRUE(suspended("usual"));
  EXPECT_FALSE(suspended("urgent"));

  // Once the server has changed its mind, it goes like any other: without anybody touching it.
  protect = false;
  apply_all(cluster, job("late", 4, 4, true, "60s", of_class("urgent")));
  run_for(cluster, 30);
  EXPECT_TRUE(suspended("idle"));
  EXPECT_FALSE(suspended("late"));
}

TEST(CrashSafetyTest, AQueueThatIsDrainedAndOpenedAgain) {
  survives_everywhere([](EmbeddedCluster& cluster) {
    apply_all(cluster, job("train", 4, 4, true, "60s"));
    run_for(cluster, 10);
    const api::ObjectKey queue{api::Kind::kClusterQueue, "", "team"};
    const auto policy = [](const char* text) {
      return json::object{{"spec", json::object{{"stopPolicy", text}}}};
    };
    ASSERT_TRUE(cluster.server().patch(queue, PatchType::kMerge, policy("HoldAndDrain")));
    run_for(cluster, 10);
    ASSERT_TRUE(cluster.server().patch(queue, PatchType::kMerge, policy("None")));
    run_for(cluster, 20);
  });
}

TEST(CrashSafetyTest, AJobThatIsDeletedAndOneThatShrinks) {
  survives_everywhere([](EmbeddedCluster& cluster) {
    apply_all(cluster, job("gone", 2, 2, true, "100s"));
    apply_all(cluster, job("many", 3, 7, false, "10s"));
    run_for(cluster, 15);
    ASSERT_TRUE(cluster.server().remove({api::Kind::kJob, "ml", "gone"}));
    run_for(cluster, 100);
  });
}

TEST(CrashSafetyTest, ANodeThatIsLostUnderAGang) {
  survives_everywhere([](EmbeddedCluster& cluster) {
    apply_all(cluster, node_manifest("a3", "a"));
    apply_all(cluster, node_manifest("b3", "b"));
    apply_all(cluster, job("train", 4, 4, true, "30m"));
    run_for(cluster, 10);
    ASSERT_TRUE(cluster.server().remove({api::Kind::kNode, "", "a1"}));
    run_for(cluster, 200);
  });
}

// The pods that wait for a node which is closed are failed; there is no room in the rack for
// others, so all start over.
TEST(CrashSafetyTest, ANodeThatIsClosedBeforeTheGangIsThere) {
  survives_everywhere([](EmbeddedCluster& cluster) {
    apply_all(cluster, job("train", 4, 4, true, "30m"));
    const json::object taints{
        {"spec", json::object{{"taints", json::array{json::object{{"key", "broken"},
                                                                  {"effect", "NoSchedule"}}}}}}};
    ASSERT_TRUE(cluster.server().patch({api::Kind::kNode, "", "a1"}, PatchType::kMerge, taints));
    run_for(cluster, 200);
  });
}

// One of its nodes never starts a pod: it is sent back, and starts elsewhere. Meanwhile nobody else
// is admitted.
TEST(CrashSafetyTest, AGangThatIsNotReadyInTime) {
  core::Configuration configuration;
  configuration.wait_for_pods_ready.emplace();
  configuration.wait_for_pods_ready->timeout = std::chrono::seconds(20);
  configuration.wait_for_pods_ready->backoff = std::chrono::seconds(10);
  configuration.wait_for_pods_ready->limit = 2;
  configuration.wait_for_pods_ready->blocks = core::BlockScope::kCluster;
  survives_everywhere(
      [](EmbeddedCluster& cluster) {
        const json::object down{
            {"metadata",
             json::object{{"annotations", json::object{{kKubeletAnnotation, "down"}}}}}};
        ASSERT_TRUE(cluster.server().patch({api::Kind::kNode, "", "a1"}, PatchType::kMerge, down));
        apply_all(cluster, job("train", 4, 4, true, "30m"));
        run_for(cluster, 1);
        apply_all(cluster, job("other", 1, 1, false, "30m"));
        run_for(cluster, 300);
      },
      configuration);
}

// The autoscaler has made the nodes of all that it was asked for.
void provide_all(EmbeddedCluster& cluster) {
  for (const Stored& request : cluster.server().list(api::Kind::kProvisioningRequest).items) {
    const json::object provisioned{{"type", "Provisioned"},
                                   {"status", "True"},
                                   {"reason", "Made"},
                                   {"message", "made"},
                                   {"lastTransitionTime", "2026-01-01T00:00:20Z"}};
    ASSERT_TRUE(cluster.server().patch(
        key_of(api::Kind::kProvisioningRequest, *request), PatchType::kMerge,
        json::object{{"status", json::object{{"conditions", json::array{provisioned}}}}},
        {.status = true}));
  }
}

// Its nodes are made when its quota is reserved.
TEST(CrashSafetyTest, AGangThatWaitsForItsNodes) {
  survives_everywhere([](EmbeddedCluster& cluster) {
    apply_all(cluster, R"(apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: make-nodes}
spec: {provisioningClassName: atomic.example.com}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: nodes}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: make-nodes}
)");
    const json::object checks{
        {"spec", json::object{{"admissionChecksStrategy",
                               json::object{{"admissionChecks",
                                             json::array{json::object{{"name", "nodes"}}}}}}}}};
    ASSERT_TRUE(
        cluster.server().patch({api::Kind::kClusterQueue, "", "team"}, PatchType::kMerge, checks));
    apply_all(cluster, job("train", 6, 6, true, "30m"));
    run_for(cluster, 20);
    provide_all(cluster);
    run_for(cluster, 70);  // a request that was refused comes after a minute
    provide_all(cluster);
    run_for(cluster, 40);
    apply_all(cluster, node_manifest("a3", "a"));
    run_for(cluster, 60);
  });
}

}  // namespace
}  // namespace phalanx::sim
