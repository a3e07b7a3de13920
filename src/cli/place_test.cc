// `phalanx place` as a user runs it: arguments in, output and exit code out.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/yaml.h"
#include "cli/command.h"
#include "cli/testing.h"

namespace phalanx::cli {
namespace {

class PlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* source = std::getenv("PHALANX_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
    if (source != nullptr) examples_ = std::filesystem::path(source) / "examples";
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Ran run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "place");
    return run_phalanx(arguments);
  }

  [[nodiscard]] std::string example(const std::string& name) const {
    return (examples_ / (name + ".yaml")).string();
  }

  std::string file(const std::string& name, std::string_view content) {
    std::ofstream(folder_ / name) << content;
    return (folder_ / name).string();
  }

  // "host count, host count" of a Job's pod set in a JSON answer.
  static std::string placed(const json::value& answer, size_t job) {
    std::string text;
    const json::value& pod_set = answer.at("jobs").at(job).at("podSets").at(0);
    for (const json::value& domain : pod_set.at("topologyAssignment").at("domains").as_array()) {
      if (!text.empty()) text += ", ";
      text += std::string(domain.at("values").as_array().back().as_string()) + " " +
              json::serialize(domain.at("count"));
    }
    return text;
  }

  std::filesystem::path examples_;
  std::filesystem::path folder_;
};

// Two hosts in one rack with 4 cores each.
constexpr std::string_view kNodes = R"(
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {rack: r1, kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: 4, pods: 10}, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {rack: r1, kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: 4, pods: 10}, conditions: [{type: Ready, status: "True"}]}}
---
)";

std::string job(const std::string& name, int pods, const std::string& more = "") {
  return "{apiVersion: batch/v1, kind: Job, metadata: {name: " + name +
         ", namespace: ml}, spec: {parallelism: " + std::to_string(pods) +
         ", template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}" + more +
         "}\n---\n";
}

TEST_F(PlaceTest, ExamplesGiveTheAnswersTheyAreThereFor) {
  if (examples_.empty()) GTEST_SKIP() << "PHALANX_SOURCE_DIR is not set; run through ctest";
  const auto answer = [&](const std::string& name, int code) {
    const Ran ran = run({"-f", example("cluster"), "-f", example(name), "-o", "json"});
    EXPECT_EQ(ran.code, code) << ran.err;
    return parse_json(ran.out).value();
  };
  EXPECT_EQ(placed(answer("train", kDone), 0),
            "gpu-1-2-1 1, gpu-1-2-2 1, gpu-1-2-3 1, gpu-1-2-4 1");
  EXPECT_EQ(placed(answer("preferred", kDone), 0),
            "gpu-2-3-1 1, gpu-2-3-2 1, gpu-2-3-3 1, gpu-2-4-2 1, gpu-2-4-3 1, gpu-2-4-4 1");
  EXPECT_EQ(placed(answer("slices", kDone), 0),
            "gpu-2-3-1 4, gpu-2-3-2 4, gpu-2-4-2 4, gpu-2-4-3 4");
  const json::value no = answer("does-not-fit", kExplainedNo);
  const json::value& pod_set = no.at("jobs").at(0).at("podSets").at(0);
  EXPECT_TRUE(pod_set.as_object().contains("failure"));
  EXPECT_TRUE(pod_set.as_object().contains("explanation"));
  EXPECT_EQ(no.at("topology").at("name"), "datacenter");
}

TEST_F(PlaceTest, JsonAndYamlSayTheSameAndOnlyThat) {
  if (examples_.empty()) GTEST_SKIP() << "PHALANX_SOURCE_DIR is not set; run through ctest";
  const std::vector<std::string> base{"-f", example("cluster"), example("train"),
                                      example("does-not-fit")};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments).out;
  };
  const auto as_json = parse_json(with({"-o", "json"}));
  ASSERT_TRUE(as_json) << as_json.error().message;
  EXPECT_EQ(with({"-o", "json"}), with({"--json"}));
  const auto as_yaml = parse_documents(with({"-o", "yaml"}));
  ASSERT_TRUE(as_yaml) << as_yaml.error().message;
  ASSERT_EQ(as_yaml->size(), 1U);
  EXPECT_EQ(as_yaml->front().value, *as_json);
}

TEST_F(PlaceTest, LaterJobsSeeEarlierOnesAndGoOnAfterANo) {
  const std::string input =
      file("a.yaml", std::string(kNodes) + job("one", 5) + job("two", 4) + job("three", 3));
  const Ran ran = run({"-f", input, "--json"});
  EXPECT_EQ(ran.code, kExplainedNo);
  const json::value answer = parse_json(ran.out).value();
  EXPECT_EQ(placed(answer, 0), "n1 4, n2 1");
  EXPECT_TRUE(answer.at("jobs").at(1).at("podSets").at(0).as_object().contains("failure"));
  EXPECT_EQ(placed(answer, 2), "n2 3");
}

TEST_F(PlaceTest, AWorkloadAndItsPodsCountOnce) {
  const std::string workload = R"(
{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: w, namespace: ml, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: old}]},
 spec: {podSets: [{name: main, count: 2, template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}}]},
 status: {admission: {clusterQueue: q, podSetAssignments: [{name: main, topologyAssignment: {levels: [kubernetes.io/hostname], domains: [{values: [n1], count: 2}]}}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: w-0, namespace: ml, annotations: {kueue.x-k8s.io/workload: w}}, spec: {nodeName: n1, containers: [{resources: {requests: {cpu: 1}}}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: done, namespace: ml}, spec: {nodeName: n1, containers: [{resources: {requests: {cpu: 4}}}]}, status: {phase: Failed}}
---
{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: ml}, spec: {nodeName: n2, containers: [{resources: {requests: {cpu: 1}}}]}, status: {phase: Running}}
---
)";
  const std::string input =
      file("a.yaml", std::string(kNodes) + workload + job("old", 1) + job("all", 5));
  const Ran ran = run({"-f", input, "--json"});
  EXPECT_EQ(ran.code, kDone) << ran.out;
  const json::value answer = parse_json(ran.out).value();
  EXPECT_EQ(answer.at("jobs").at(0).at("skipped"), "its Workload ml/w is admitted already");
  EXPECT_EQ(placed(answer, 1), "n1 2, n2 3");
  // By racks alone the same is left; without admitted workloads two more fit.
  const auto count = [&](std::vector<std::string> more, int pods) {
    const std::string one = file("b.yaml", std::string(kNodes) + workload + job("all", pods));
    more.insert(more.begin(), {"-f", one, "--json"});
    return run(more).code;
  };
  EXPECT_EQ(count({"--levels", "rack"}, 5), kDone);
  EXPECT_EQ(count({"--levels", "rack"}, 6), kExplainedNo);
  EXPECT_EQ(count({"--simulate-empty"}, 7), kDone);
  EXPECT_EQ(count({"--simulate-empty"}, 8), kExplainedNo);
}

TEST_F(PlaceTest, JobsThatNeedNoPlaceAreSkipped) {
  const std::string pod =
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ml, labels: "
      "{batch.kubernetes.io/job-name: busy}}, spec: {nodeName: n1}, status: {phase: "
      "Running}}\n---\n";
  const std::string input = file(
      "a.yaml", std::string(kNodes) + pod + job("busy", 1) + job("none", 0) +
                    job("done", 1, ", status: {conditions: [{type: Complete, status: 'True'}]}"));
  const Ran ran = run({"-f", input});
  EXPECT_EQ(ran.code, kDone);
  EXPECT_NE(ran.out.find("Job ml/busy: skipped, it has pods on nodes already (1)"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("Job ml/none: skipped, it asks for no pods"), std::string::npos);
  EXPECT_NE(ran.out.find("Job ml/done: skipped, it has finished"), std::string::npos);
}

TEST_F(PlaceTest, SaysWhichLevelsItGuessed) {
  const Ran ran = run({"-f", file("a.yaml", std::string(kNodes) + job("one", 1))});
  EXPECT_EQ(ran.code, kDone);
  EXPECT_NE(ran.err.find("levels from the node labels: kubernetes.io/hostname"), std::string::npos)
      << ran.err;
}

TEST_F(PlaceTest, BadInputIsExitCodeOneWithAReason) {
  const std::string nodes = file("nodes.yaml", kNodes);
  const std::string jobs = file("jobs.yaml", job("one", 1));
  const std::string gang = file(
      "gang.yaml", "{apiVersion: phalanx.dev/v1alpha1, kind: Gang, metadata: {name: g}}\n---\n");
  const auto error = [&](const std::vector<std::string>& arguments) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, kBadInput);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_NE(error({"-f", nodes}).find("no Job and no Gang in the input"), std::string::npos);
  EXPECT_NE(error({"-f", jobs}).find("no Node in the input"), std::string::npos);
  EXPECT_NE(error({"-f", nodes, jobs, "--levels", "x"}).find("no node carries the label x"),
            std::string::npos);
  EXPECT_NE(error({"-f", nodes, jobs, "--resource", "x"}).find("no node has any x"),
            std::string::npos);
  EXPECT_NE(error({"-f", nodes, jobs, "-o", "xml"}).find("xml"), std::string::npos);
  EXPECT_NE(error({"-f", nodes, jobs, gang}).find("spec: is required"), std::string::npos);
}

TEST_F(PlaceTest, GangsArePlacedAfterJobsAndExplained) {
  if (examples_.empty()) GTEST_SKIP() << "PHALANX_SOURCE_DIR is not set; run through ctest";
  const Ran ran =
      run({"-f", example("cluster"), "-f", example("train"), "-f", example("gang"), "--json"});
  ASSERT_EQ(ran.code, kDone) << ran.err;
  const json::value answer = parse_json(ran.out).value();
  const json::value& gang = answer.at("gangs").at(0);
  EXPECT_TRUE(gang.at("placed").as_bool());
  for (const json::value& pod_set : gang.at("podSets").as_array()) {
    int64_t rank = 0;
    for (const json::value& domain : pod_set.at("topologyAssignment").at("domains").as_array()) {
      EXPECT_EQ(domain.at("firstRank").as_int64(), rank);
      rank += domain.at("count").as_int64();
    }
    EXPECT_EQ(rank, pod_set.at("placed").as_int64());
  }
  // The Job took the only rack that is free entirely: the gang finds other nodes.
  EXPECT_EQ(ran.out.find("\"gpu-1-2-1\""), ran.out.rfind("\"gpu-1-2-1\""));

  const std::string huge = file("huge.yaml", R"(
apiVersion: phalanx.dev/v1alpha1
kind: Gang
metadata: {name: huge}
spec: {required: cloud.provider.com/topology-rack, pods: {count: 99, requests: {nvidia.com/gpu: 1}}}
)");
  const Ran no = run({"-f", example("cluster"), "-f", huge, "-o", "json"});
  EXPECT_EQ(no.code, kExplainedNo);
  const json::value refused = parse_json(no.out).value();
  EXPECT_TRUE(refused.at("gangs").at(0).at("proven").as_bool());
  EXPECT_TRUE(refused.at("gangs").at(0).as_object().contains("explanation"));
  const Ran text = run({"-f", example("cluster"), "-f", huge});
  EXPECT_NE(text.out.find("Gang huge: does not fit"), std::string::npos);
}

TEST_F(PlaceTest, BadGangsAreNamedByFileFieldAndReason) {
  const std::string node = file("node.yaml", R"({apiVersion: v1, kind: Node,
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, rack: r1}},
status: {allocatable: {pods: 10}, conditions: [{type: Ready, status: "True"}]}})");
  const auto error = [&](const std::string& spec) {
    const std::string gang = file("gang.yaml",
                                  "apiVersion: phalanx.dev/v1alpha1\nkind: Gang\n"
                                  "metadata: {name: g}\nspec: " +
                                      spec + "\n");
    const Ran ran = run({"-f", node, gang, "--levels", "rack,kubernetes.io/hostname"});
    EXPECT_EQ(ran.code, kBadInput) << spec;
    return ran.err;
  };
  EXPECT_NE(error("{required: row, pods: {count: 1}}").find("no level \"row\""), std::string::npos);
  EXPECT_NE(error("{pods: {count: -1}}").find("pods.count"), std::string::npos);
  EXPECT_NE(error("{pods: {count: 2, min: 3}}").find("pods.min is 3"), std::string::npos);
  EXPECT_NE(error("{pods: {count: 3, slices: [{topology: rack, size: 2}]}}")
                .find("do not divide into slices of 2"),
            std::string::npos);
  EXPECT_NE(error("{groups: []}").find("needs pods or groups"), std::string::npos);
  EXPECT_NE(error("{color: red, pods: {count: 1}}").find("unknown field"), std::string::npos);
  EXPECT_NE(error("{groups: [{name: a, pods: {}}, {name: a, pods: {}}]}").find("named \"a\""),
            std::string::npos);
  EXPECT_NE(error("{groups: [{name: a/b, pods: {}}]}").find("groups[0].name: contains a /"),
            std::string::npos);
}

// Two racks with one host and one GPU each.
constexpr std::string_view kTwoRacks = R"(
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {rack: r1, kubernetes.io/hostname: n1}}, status: {allocatable: {gpu: 1, pods: 10}, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {rack: r2, kubernetes.io/hostname: n2}}, status: {allocatable: {gpu: 1, pods: 10}, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: racks}, spec: {levels: [{nodeLabel: rack}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: hosts}, spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}}
)";

std::string gang_of(const std::string& name, const std::string& spec) {
  return "\n---\n{apiVersion: phalanx.dev/v1alpha1, kind: Gang, metadata: {name: " + name +
         "}, spec: " + spec + "}\n";
}

TEST_F(PlaceTest, GangsOfAnotherTopologySeeOneAnother) {
  std::string input(kTwoRacks);
  for (const char* name : {"a", "b", "c"}) {
    input += gang_of(name, "{topology: hosts, required: rack, pods: {requests: {gpu: 1}}}");
  }
  const Ran ran = run({"-f", file("all.yaml", input), "--topology", "racks", "--json"});
  EXPECT_EQ(ran.code, kExplainedNo) << ran.err;
  const json::value gangs = parse_json(ran.out).value().at("gangs");
  EXPECT_TRUE(gangs.at(0).at("placed").as_bool());
  EXPECT_TRUE(gangs.at(1).at("placed").as_bool());
  EXPECT_FALSE(gangs.at(2).at("placed").as_bool());
}

TEST_F(PlaceTest, AGangDoesNotMixHostsWithWholeRacks) {
  const std::string spec =
      "{groups: [{name: a, topology: racks, pods: {}}, {name: b, topology: hosts, pods: {}}]}";
  const Ran ran = run({"-f", file("all.yaml", std::string(kTwoRacks) + gang_of("g", spec)),
                       "--topology", "racks", "--json"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_NE(ran.err.find("Gang g: topology \"racks\" is used together with others"),
            std::string::npos)
      << ran.err;
  // Whoever asked for JSON gets the reason as such.
  EXPECT_NE(parse_json(ran.out).value().at("error").as_string().find("together with others"),
            std::string::npos);
}

TEST_F(PlaceTest, RunningPodsAreCountedWithCare) {
  const auto ran = [&](const std::string& running) {
    const std::string spec = "{pods: {count: 1, requests: {gpu: 1}, running: " + running + "}}";
    return run({"-f", file("all.yaml", std::string(kTwoRacks) + gang_of("g", spec)), "--topology",
                "hosts"});
  };
  EXPECT_NE(ran("{n1: 2147483647, n2: 2147483647}").err.find("more than a count holds"),
            std::string::npos);
  const Ran lost = ran("{gone: 1}");
  EXPECT_EQ(lost.code, kDone);
  EXPECT_NE(lost.err.find("running[gone]: no such node"), std::string::npos) << lost.err;
  EXPECT_NE(lost.out.find("1 of 1 placed"), std::string::npos) << lost.out;
}

TEST_F(PlaceTest, GrowthSaysWhereItWent) {
  const std::string spec = "{preferred: rack, pods: {count: 3, min: 1, requests: {gpu: 1}}}";
  const Ran ran = run(
      {"-f", file("all.yaml", std::string(kTwoRacks) + gang_of("g", spec)), "--topology", "hosts"});
  EXPECT_EQ(ran.code, kDone) << ran.err;
  EXPECT_NE(ran.out.find("whole gang: spread over several domains"), std::string::npos) << ran.out;
}

TEST_F(PlaceTest, OneJobMayAskToBeBalanced) {
  std::string nodes;
  for (const auto& [name, cpu] : {std::pair("n1", 6), std::pair("n2", 4)}) {
    nodes += fmt::format(
        "---\n{{apiVersion: v1, kind: Node, metadata: {{name: {0}, labels: {{block: b, rack: "
        "r-{0}, "
        "kubernetes.io/hostname: {0}}}}}, status: {{allocatable: {{cpu: {1}, pods: 10}}, "
        "conditions: [{{type: Ready, status: \"True\"}}]}}}}\n",
        name, cpu);
  }
  const auto answer = [&](const std::string& more) {
    const std::string job = fmt::format(
        "{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{parallelism: 8, "
        "completions: 8, template: {{metadata: {{annotations: "
        "{{kueue.x-k8s.io/podset-preferred-topology: rack{}}}}}, spec: {{containers: [{{name: c, "
        "resources: {{requests: {{cpu: 1}}}}}}]}}}}}}}}",
        more);
    const Ran ran = run({"-f", file("nodes.yaml", nodes), file("job.yaml", job), "--levels",
                         "block,rack,kubernetes.io/hostname", "--json"});
    EXPECT_EQ(ran.code, kDone) << ran.err;
    return placed(parse_json(ran.out).value(), 0);
  };
  EXPECT_EQ(answer(""), "n1 6, n2 2");
  EXPECT_EQ(answer(", phalanx.dev/placement: balanced"), "n1 4, n2 4");
}

TEST_F(PlaceTest, WhatNoClusterCouldPlaceIsBadInput) {
  const std::string job = file("job.yaml", R"(
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  parallelism: 5
  completions: 5
  template:
    metadata:
      annotations: {kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: "2"}
    spec: {containers: [{name: c}]}
)");
  const Ran ran = run({"-f", file("all.yaml", kTwoRacks), job, "--topology", "hosts"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_NE(ran.err.find("5 pods do not divide into slices of 2"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace phalanx::cli
