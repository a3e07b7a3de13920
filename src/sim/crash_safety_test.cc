// The core is thrown away and built anew before and after every single write, and the cluster ends
// as if nothing had happened. All truth is in the API server.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/yaml.h"
#include "sim/document.h"
#include "sim/embedded_cluster.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kSetup = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: default}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gpu}
spec: {nodeLabels: {pool: gpu}, topologyName: default, tolerations: [{key: gpu, operator: Exists}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: gpu, resources: [{name: cpu, nominalQuota: 16}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: ml}
spec: {clusterQueue: team}
)";

json::value job(const std::string& name, int parallelism, int completions, bool indexed,
                const std::string& run_for) {
  const std::string text =
      fmt::format(R"(
apiVersion: batch/v1
kind: Job
metadata: {{name: {}, namespace: ml, labels: {{kueue.x-k8s.io/queue-name: main}}}}
spec:
  parallelism: {}
  completions: {}
  completionMode: {}
  template:
    metadata:
      annotations: {{kueue.x-k8s.io/podset-required-topology: rack, phalanx.dev/run-for: {}}}
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: "2"}}}}}}]
)",
                  name, parallelism, completions, indexed ? "Indexed" : "NonIndexed", run_for);
  return parse_documents(text).value().front().value;
}

void add_nodes(EmbeddedCluster& cluster) {
  for (const std::string name : {"a1", "a2", "b1", "b2"}) {
    json::object labels{
        {"pool", "gpu"}, {"rack", name.substr(0, 1)}, {"kubernetes.io/hostname", name}};
    ASSERT_TRUE(cluster.apply(json::object{
        {"apiVersion", "v1"},
        {"kind", "Node"},
        {"metadata", json::object{{"name", name}, {"labels", std::move(labels)}}},
        {"status", json::object{{"allocatable", json::object{{"cpu", "4"}, {"pods", "10"}}}}}}));
  }
}

// What a user would call the state of the cluster: without names and versions that chance decides.
std::string summary(const ApiServer& server) {
  std::string text;
  for (const Stored& job_object : server.list(api::Kind::kJob).items) {
    text += fmt::format("job {} {}\n", string_at(*job_object, {"metadata", "name"}),
                        json::serialize(*find_at(*job_object, {"spec"})));
  }
  // Which pod of a Job without ranks is which is up to chance.
  std::map<std::string, std::multiset<std::string>> pods;
  for (const Stored& pod : server.list(api::Kind::kPod).items) {
    const std::string owner(string_at(*pod, {"metadata", "labels", "job-name"}));
    const std::string rank(
        string_at(*pod, {"metadata", "labels", "batch.kubernetes.io/job-completion-index"}));
    pods[owner + "/" + rank].insert(fmt::format("{}:{}", string_at(*pod, {"spec", "nodeName"}),
                                                string_at(*pod, {"status", "phase"})));
  }
  for (const auto& [name, where] : pods) {
    text += fmt::format("pods {} {}\n", name, fmt::join(where, " "));
  }
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
  uint64_t writes = 0;
};

Run run(const Story& story, uint64_t at, WriteFate fate) {
  EmbeddedOptions options;
  options.host.fate = [at, fate](const core::Write&, uint64_t number) {
    return number == at ? fate : WriteFate::kProceed;
  };
  EmbeddedCluster cluster(options);
  for (const Document& document : parse_documents(kSetup).value()) {
    EXPECT_TRUE(cluster.apply(document.value));
  }
  add_nodes(cluster);
  story(cluster);
  return {summary(cluster.server()), cluster.host().writes()};
}

void survives_everywhere(const Story& story) {
  const Run calm = run(story, UINT64_MAX, WriteFate::kProceed);
  ASSERT_GT(calm.writes, 5U);
  for (uint64_t at = 0; at < calm.writes; ++at) {
    for (const WriteFate fate : {WriteFate::kCrashBefore, WriteFate::kCrashAfter}) {
      const Run crashed = run(story, at, fate);
      ASSERT_EQ(crashed.state, calm.state)
          << "write " << at << (fate == WriteFate::kCrashBefore ? ", before" : ", after");
    }
  }
}

TEST(CrashSafetyTest, GangsThatWaitForOneAnother) {
  survives_everywhere([](EmbeddedCluster& cluster) {
    for (const char* name : {"one", "two", "three"}) {
      ASSERT_TRUE(cluster.apply(job(name, 4, 4, true, "30s")));
    }
    run_for(cluster, 20);
    run_for(cluster, 200);
  });
}

TEST(CrashSafetyTest, AQueueThatIsDrainedAndOpenedAgain) {
  survives_everywhere([](EmbeddedCluster& cluster) {
    ASSERT_TRUE(cluster.apply(job("train", 4, 4, true, "60s")));
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
    ASSERT_TRUE(cluster.apply(job("gone", 2, 2, true, "100s")));
    ASSERT_TRUE(cluster.apply(job("many", 3, 7, false, "10s")));
    run_for(cluster, 15);
    ASSERT_TRUE(cluster.server().remove({api::Kind::kJob, "ml", "gone"}));
    run_for(cluster, 100);
  });
}

}  // namespace
}  // namespace phalanx::sim
