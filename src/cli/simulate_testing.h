// Manifests of a small cluster, and files of them. For tests only.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/command.h"
#include "cli/testing.h"

namespace phalanx::cli {

// One queue with 16 GPUs over nodes made by --nodes.
inline constexpr std::string_view kTestQueues = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: default}
spec:
  levels:
  - nodeLabel: cloud.provider.com/topology-rack
  - nodeLabel: kubernetes.io/hostname
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: tas}
spec: {nodeLabels: {cloud.provider.com/node-group: tas}, topologyName: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: tas, resources: [{name: nvidia.com/gpu, nominalQuota: 16}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: ml}
spec: {clusterQueue: team}
)";

// Two racks of two hosts of four GPUs: 16 in all.
inline constexpr std::string_view kTestNodes = "2 racks x 2 hosts, 4 nvidia.com/gpu";

struct TestJob {
  std::string name;
  int pods = 1;
  int gpus = 4;  // of each pod
  std::string run_for = "10m";
  std::string annotations{};  // of the Job, as "key: value, ..."
  std::string topology =
      "kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack";
  std::string labels = "kueue.x-k8s.io/queue-name: main";
};

inline std::string manifest(const TestJob& job) {
  const std::string pods = std::to_string(job.pods);
  return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: " + job.name +
         ", namespace: ml, labels: {" + job.labels + "}, annotations: {" + job.annotations +
         "}}\nspec:\n  parallelism: " + pods + "\n  completions: " + pods +
         "\n  completionMode: Indexed\n  backoffLimit: 0\n  template:\n    metadata: {annotations: "
         "{phalanx.dev/run-for: " +
         job.run_for + ", " + job.topology +
         "}}\n    spec:\n      restartPolicy: Never\n      containers: [{name: c, image: i, "
         "resources: {requests: {nvidia.com/gpu: " +
         std::to_string(job.gpus) + "}, limits: {nvidia.com/gpu: " + std::to_string(job.gpus) +
         "}}}]\n";
}

class SimulateFixture : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        (std::string(testing::UnitTest::GetInstance()->current_test_info()->test_suite_name()) +
         testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, std::string_view content) const {
    std::ofstream(folder_ / name) << content;
    return (folder_ / name).string();
  }

  // The command on the small cluster with further manifests.
  Ran run(const std::string& command, const std::string& manifests,
          std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{command,
                                       "-f",
                                       file("queues.yaml", kTestQueues),
                                       "-f",
                                       file("jobs.yaml", manifests),
                                       "--nodes",
                                       std::string(kTestNodes)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_phalanx(arguments);
  }

  std::filesystem::path folder_;
};

inline void expect_parts(const std::string& text, const std::vector<std::string_view>& parts) {
  for (const std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "lacks: " << part << "\n" << text;
  }
}

class SimulateTest : public SimulateFixture {
 protected:
  [[nodiscard]] Ran simulate(const std::string& manifests,
                             std::vector<std::string> more = {}) const {
    return run("simulate", manifests, std::move(more));
  }
  [[nodiscard]] json::value simulate_json(const std::string& manifests,
                                          std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"-o", "json"});
    const Ran ran = simulate(manifests, std::move(more));
    EXPECT_EQ(ran.code, kDone) << ran.err;
    auto document = parse_json(ran.out);
    EXPECT_TRUE(document) << ran.out;
    return document ? *document : json::value();
  }
};

// "0s submitted ml/a; ..." of the events about an object.
inline std::string events_of(const json::value& document, std::string_view object) {
  std::string text;
  for (const json::value& event : document.at("events").as_array()) {
    if (event.at("object").as_string() != object) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ",
                        std::string_view(event.at("at").as_string()),
                        std::string_view(event.at("what").as_string()));
  }
  return text;
}

inline json::value workload(const json::value& document, std::string_view name) {
  for (const json::value& record : document.at("workloads").as_array()) {
    if (record.at("name").as_string() == name) return record;
  }
  ADD_FAILURE() << "no workload " << name;
  return {};
}

}  // namespace phalanx::cli
