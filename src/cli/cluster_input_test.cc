#include "cli/cluster_input.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace phalanx::cli {
namespace {

constexpr std::string_view kWorkloadHead = R"(apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: w, namespace: ml}
spec:
  podSets:
  - name: main
    count: 3
    template: {spec: {containers: [{resources: {requests: {cpu: 2}}}]}}
status:
  admission:
    podSetAssignments:
    - name: main
)";

std::string error_of(std::string_view text) {
  const auto input = parse_cluster_input(text, "f.yaml");
  return input ? "" : input.error().message;
}

TEST(ClusterInputTest, SortsDocumentsByKind) {
  const auto input = parse_cluster_input(R"(
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: a}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: rack}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {template: {spec: {containers: [{name: c}]}}}
---
apiVersion: phalanx.dev/v1alpha1
kind: Gang
metadata: {name: g, namespace: ml}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: other}
---
apiVersion: v1
kind: Secret
)",
                                         "f.yaml");
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->nodes.size(), 1U);
  EXPECT_EQ(input->pods.size(), 1U);
  EXPECT_EQ(input->topologies.size(), 1U);
  EXPECT_EQ(input->jobs.size(), 1U);
  ASSERT_EQ(input->gangs.size(), 1U);
  EXPECT_EQ(input->gangs[0].origin, "f.yaml: line 20: Gang ml/g");
  EXPECT_EQ(skipped_remark(*input),
            "skipped 2 objects that placement does not read: 1 Job, 1 Secret");
}

TEST(ClusterInputTest, UnwrapsListsAndTypedLists) {
  const auto input = parse_cluster_input(
      R"({"apiVersion":"v1","kind":"List","items":[
           {"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"a"}},
                                                         {"metadata":{"name":"b"}}]},
           {"apiVersion":"v1","kind":"PodList","items":null},
           {"apiVersion":"v1","kind":"Node","metadata":{"name":"c"}}]})",
      "f.json");
  ASSERT_TRUE(input) << input.error().message;
  ASSERT_EQ(input->nodes.size(), 3U);
  EXPECT_EQ(input->nodes[2].name, "c");
  EXPECT_EQ(skipped_remark(*input), "");
}

TEST(ClusterInputTest, DecodesBothFormsOfAnAssignment) {
  for (
      const std::string_view form : {
          R"(      topologyAssignment: {levels: [h], domains: [{values: [n1], count: 3}]})",
          R"(      topologyAssignment: {levels: [h], slices: [{domainCount: 1, podCounts: {universal: 3}, valuesPerLevel: [{universal: n1}]}]})",
      }) {
    const auto input =
        parse_cluster_input(std::string(kWorkloadHead) + std::string(form), "f.yaml");
    ASSERT_TRUE(input) << input.error().message;
    ASSERT_EQ(input->workloads.size(), 1U);
    ASSERT_EQ(input->workloads[0].booked.size(), 1U);
    const BookedPodSet& booked = input->workloads[0].booked[0];
    EXPECT_EQ(booked.requests.at("cpu"), 2000);
    EXPECT_EQ(booked.assignment.domains, (std::vector<api::DomainAssignment>{{{"n1"}, 3}}));
  }
}

TEST(ClusterInputTest, DoesNotReadTheAssignmentOfAFinishedWorkload) {
  const auto input = parse_cluster_input(std::string(kWorkloadHead) +
                                             "      topologyAssignment: {broken: true}\n"
                                             "  conditions: [{type: Finished, status: 'True'}]",
                                         "f.yaml");
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_TRUE(input->workloads.at(0).booked.empty());
}

TEST(ClusterInputTest, ErrorsNamePlaceObjectAndField) {
  EXPECT_EQ(error_of("---\napiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {a: 1}}\n"),
            "f.yaml: line 2: Node n: metadata.labels.a: must be a string");
  EXPECT_TRUE(error_of(R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1",
      "kind":"Pod","metadata":{"name":"p","namespace":"a"},"spec":{"overhead":{"cpu":"x"}}}]})")
                  .starts_with("f.yaml: line 1: items[0]: Pod a/p: spec.overhead[cpu]: \"x\""));
  EXPECT_TRUE(error_of("hello").starts_with("f.yaml: line 1: every document must be"));
  EXPECT_TRUE(error_of("metadata: {}").starts_with("f.yaml: line 1: kind: is required"));
  EXPECT_TRUE(error_of("kind: Node").starts_with("f.yaml: line 1: Node: apiVersion: is required"));
  EXPECT_TRUE(error_of("a: b: c").starts_with("f.yaml: line 1, column"));
  EXPECT_EQ(error_of("{apiVersion: v1, kind: Node, metadata: {name: ''}}\n---\n"),
            "f.yaml: line 1: Node: metadata.name: is required");
  EXPECT_TRUE(
      error_of(std::string(kWorkloadHead) + "      topologyAssignment: {levels: []}")
          .starts_with("f.yaml: line 1: Workload ml/w: status.admission.podSetAssignments[0]."));
}

TEST(ClusterInputTest, AnObjectMayStandOnlyOnce) {
  const std::string node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n";
  EXPECT_EQ(error_of(node + "---\n" + node),
            "f.yaml: line 5: Node n: stands twice in the input, first at f.yaml: line 1: Node n; "
            "remove one of them");
  // The same topology for two schedulers is one topology; Jobs without a name get different ones.
  const auto input = parse_cluster_input(R"(
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: t}, spec: {levels: [{nodeLabel: a}]}}
---
{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: t}, spec: {levels: [{nodeLabel: a}]}}
---
{apiVersion: batch/v1, kind: Job, metadata: {generateName: j-}, spec: {template: {spec: {containers: [{}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {generateName: j-}, spec: {template: {spec: {containers: [{}]}}}}
)",
                                         "f.yaml");
  ASSERT_TRUE(input) << input.error().message;
  EXPECT_EQ(input->topologies.size(), 1U);
  ASSERT_EQ(input->jobs.size(), 2U);
  EXPECT_EQ(full_name(input->jobs[0]), "default/j-1");
  EXPECT_EQ(full_name(input->jobs[1]), "default/j-2");
}

TEST(ClusterInputTest, ReadsFoldersInNameOrder) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "phalanx-cluster-input-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "below.yaml");
  const auto ignore = [](const std::string&) {};
  EXPECT_FALSE(read_cluster_input({folder.string()}, ignore));
  std::ofstream(folder / "b.yml") << "{apiVersion: v1, kind: Node, metadata: {name: b}}\n---\n";
  std::ofstream(folder / "a.json")
      << R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}})";
  std::ofstream(folder / "notes.txt") << "not for us";
  const auto input = read_cluster_input({folder.string()}, ignore);
  ASSERT_TRUE(input) << input.error().message;
  ASSERT_EQ(input->nodes.size(), 2U);
  EXPECT_EQ(input->nodes[0].name, "a");
  EXPECT_EQ(input->nodes[1].name, "b");
  EXPECT_FALSE(read_cluster_input({(folder / "missing.yaml").string()}, ignore));
  EXPECT_FALSE(read_cluster_input({"-", "-"}, ignore));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace phalanx::cli
