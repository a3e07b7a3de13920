// Runs of a small cluster from files, and what they answer. For tests only.
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
#include "sim/testing.h"

namespace phalanx::cli {

using sim::manifest;
using sim::TestJob;

// Two racks of two hosts of four GPUs, and a queue for all of them: 16 in all.
inline constexpr std::string_view kTestNodes = "2 racks x 2 hosts, 4 nvidia.com/gpu";

// More queues for them: two of one cohort, mine and yours, each with 8 GPUs.
inline std::string two_queues(const std::string& preemption = "") {
  std::string text;
  for (const char* name : {"mine", "yours"}) {
    text += fmt::format(R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {0}}}
spec:
  cohortName: all
  namespaceSelector: {{}}
  preemption: {{{1}}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{{name: tas, resources: [{{name: nvidia.com/gpu, nominalQuota: 8}}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {0}, namespace: ml}}
spec: {{clusterQueue: {0}}}
)",
                        name, preemption);
  }
  return text;
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
    std::vector<std::string> arguments{
        command,
        "-f",
        file("queues.yaml", sim::queues_manifest({"nvidia.com/gpu", 16})),
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
