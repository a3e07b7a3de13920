// Manifests that are wrong, and what whoever wrote them is told: file, line, object, field, remedy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/simulate_testing.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kTopology =
    "kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack";

constexpr std::string_view kGoodJob = R"(apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: ml, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  parallelism: 4
  completions: 4
  completionMode: Indexed
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]
)";

// The good Job with every occurrence of a text replaced.
std::string job_with(std::string_view text, std::string_view other) {
  std::string job(kGoodJob);
  size_t at = job.find(text);
  EXPECT_NE(at, std::string::npos) << text;
  for (; at != std::string::npos; at = job.find(text, at + other.size())) {
    job.replace(at, text.size(), other);
  }
  return job;
}

std::string object(std::string_view api_version, std::string_view kind, std::string_view rest) {
  return fmt::format("apiVersion: {}\nkind: {}\nmetadata: {{name: x}}\n{}\n", api_version, kind,
                     rest);
}

struct BadJob {
  std::string_view good;
  std::string_view bad;
  std::string_view problem;
};
constexpr BadJob kBadJobs[] = {
    {"parallelism", "paralelism",
     "Job ml/a: spec.paralelism: unknown field; did you mean `parallelism`?"},
    {"parallelism: 4", "parallelism: \"4\"",
     "Job ml/a: spec.parallelism: must be a whole number, but is the text \"4\"; remove the "
     "quotes"},
    {"parallelism: 4", "parallelism: four",
     "Job ml/a: spec.parallelism: must be a whole number, but is the text \"four\""},
    {"parallelism: 4", "parallelism: [4]",
     "Job ml/a: spec.parallelism: must be a whole number, but is a list"},
    {"parallelism: 4", "parallelism: 4.5",
     "Job ml/a: spec.parallelism: must be a whole number, but is 4.5"},
    {"parallelism: 4", "parallelism: -4",
     "Job ml/a: spec.parallelism: is -4, but must be between 0 and 2147483647"},
    {"parallelism: 4", "parallelism: 10000000000",
     "Job ml/a: spec.parallelism: is 10000000000, but must be between -2147483648 and 2147483647"},
    {"completions: 4", "completions: null",
     "Job ml/a: spec.completions: is required when the completion mode is Indexed"},
    {"completions: 4", "completions: -1",
     "Job ml/a: spec.completions: is -1, but must be between 0 and 2147483647"},
    {"Indexed", "indexed",
     "Job ml/a: spec.completionMode: \"indexed\" is not NonIndexed or Indexed"},
    {"name: c, ", "", "Job ml/a: spec.template.spec.containers[0].name: is required"},
    {"name: c, ", "name: Main, ",
     "Job ml/a: spec.template.spec.containers[0].name: \"Main\" is no name; use lower-case "
     "letters, digits and \"-\", and begin and end with a letter or digit"},
    {"restartPolicy: Never", "restartPolicy: Always",
     "Job ml/a: spec.template.spec.restartPolicy: \"Always\" (which is the default) would never "
     "complete; use Never or OnFailure"},
    {"      restartPolicy: Never\n", "",
     "Job ml/a: spec.template.spec.restartPolicy: \"Always\" (which is the default) would never "
     "complete; use Never or OnFailure"},
    {kTopology, "phalanx.dev/run-for: 60",
     "Job ml/a: spec.template.metadata.annotations[phalanx.dev/run-for]: must be a string; put it "
     "in quotes"},
    {kTopology, "phalanx.dev/run-for: soon",
     "Job ml/a: spec.template.metadata.annotations[phalanx.dev/run-for]: \"soon\" is no duration; "
     "write it like 90s, 10m or 1h30m"},
    {kTopology, "phalanx.dev/exit-code: \"x\"",
     "Job ml/a: spec.template.metadata.annotations[phalanx.dev/exit-code]: \"x\" is no exit code; "
     "write 0 to 255"},
    {"annotations: {kueue",
     "annotations: {kueue.x-k8s.io/podset-slice-required-topology: kubernetes.io/hostname, "
     "kueue.x-k8s.io/podset-slice-size: \"3\", kueue",
     "Job ml/a: spec.template.metadata.annotations: the slice size 3 does not divide the 4 pods "
     "that run at a time; choose a size that does, or another parallelism"},
    {"annotations: {kueue",
     "annotations: {kueue.x-k8s.io/podset-slice-required-topology: kubernetes.io/hostname, "
     "kueue.x-k8s.io/podset-slice-size: \"x\", kueue",
     "Job ml/a: spec.template.metadata.annotations[kueue.x-k8s.io/podset-slice-size]: \"x\" is not "
     "a whole number of at least 1"},
    {"annotations: {kueue",
     "annotations: {kueue.x-k8s.io/podset-slice-required-topology: kubernetes.io/hostname, kueue",
     "Job ml/a: spec.template.metadata.annotations[kueue.x-k8s.io/podset-slice-required-topology]: "
     "needs kueue.x-k8s.io/podset-slice-size beside it"},
    {"annotations: {kueue",
     "annotations: {kueue.x-k8s.io/podset-preferred-topology: kubernetes.io/hostname, kueue",
     "Job ml/a: spec.template.metadata.annotations: required, preferred and unconstrained exclude "
     "one another; keep one"},
    {kTopology, "kueue.x-k8s.io/podset-required-topology: \"a b\"",
     "Job ml/a: spec.template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]: \"a "
     "b\" is no level; name the node label of one, such as cloud.provider.com/topology-rack"},
    {"queue-name: main", "queue-name: \"Main Queue\"",
     "Job ml/a: metadata.labels[kueue.x-k8s.io/queue-name]: \"Main Queue\" is no label value; use "
     "letters, digits, \"-\", \"_\" and \".\", and begin and end with a letter or digit"},
    {"queue-name: main", "queue-name: main, a: 5",
     "Job ml/a: metadata.labels[a]: must be a string, but is 5; put it in quotes"},
    {"queue-name: main", "queue-name: main, \"a b\": c",
     "Job ml/a: metadata.labels[a b]: \"a b\" is no key; use letters, digits, \"-\", \"_\" and "
     "\".\", begin and end with a letter or digit, with an optional prefix such as "
     "\"example.com/\""},
    {"labels: {kueue.x-k8s.io/queue-name: main}", "labels: [a]",
     "Job ml/a: metadata.labels: must be an object, but is a list"},
    {"name: a,", "name: Train_1,",
     "Job ml/Train_1: metadata.name: \"Train_1\" is no name; use lower-case letters, digits, \"-\" "
     "and \".\", and begin and end every part with a letter or digit"},
    {"name: a, ", "", "Job: metadata.name: is required, or metadata.generateName"},
    {"name: a,", "name: 5,", "Job: metadata.name: must be a string; put it in quotes"},
    {"namespace: ml", "namespace: \"My Team\"",
     "Job My Team/a: metadata.namespace: \"My Team\" is no name; use lower-case letters, digits "
     "and \"-\", and begin and end with a letter or digit"},
    {"namespace: ml", "namespace: 7",
     "Job a: metadata.namespace: must be a string; put it in quotes"},
    {"gpu: 1", "gpu: 1.5",
     "Job ml/a: spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]: \"1.5\" is "
     "not a whole number, but nvidia.com/gpu cannot be had in part; write 1 or 2"},
    {"gpu: 1", "gpu: -1",
     "Job ml/a: spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]: \"-1\" is not "
     "a quantity of nvidia.com/gpu: it is negative; write a number with an optional unit, such as "
     "500m, 8, 1.5, 64Gi or 1e3"},
    {"gpu: 1", "gpu: many",
     "Job ml/a: spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]: \"many\" is "
     "not a quantity of nvidia.com/gpu: it has no digits; write a number with an optional unit, "
     "such as 500m, 8, 1.5, 64Gi or 1e3"},
    {"gpu: 1", "gpu: 1e30",
     "Job ml/a: spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]: \"1e+30\" is "
     "too large; the largest amount of nvidia.com/gpu is 9223372036854775807"},
    {"requests: {nvidia.com/gpu: 1}", "requests: {nvidia.com/gpu: 2}",
     "Job ml/a: spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]: is 2, more "
     "than the limit of 1"},
    {"nvidia.com/gpu: 1", "memory: 64GB",
     "Job ml/a: spec.template.spec.containers[0].resources.requests[memory]: \"64GB\" is not a "
     "quantity of memory: unknown unit \"GB\"; write a number with an optional unit, such as 500m, "
     "8, 1.5, 64Gi or 1e3"},
    {"nvidia.com/gpu: 1", "gpu: 1",
     "Job ml/a: spec.template.spec.containers[0].resources.requests[gpu]: \"gpu\" is no resource "
     "of Kubernetes, and others have a domain, as in nvidia.com/gpu; did you mean `cpu`?"},
    {"completions: 4", "completions: 4\n  backoffLimit: -1",
     "Job ml/a: spec.backoffLimit: is -1, but must be between 0 and 2147483647"},
    {"completions: 4", "completions: 4\n  suspend: \"no\"",
     "Job ml/a: spec.suspend: must be true or false, but is the text \"no\""},
    {"completions: 4", "completions: 4\n  ttlSecondsAfterFinished: 1h",
     "Job ml/a: spec.ttlSecondsAfterFinished: must be a whole number, but is the text \"1h\""},
    {"labels: {", "annotations: {phalanx.dev/submit-at: later}, labels: {",
     "Job ml/a: metadata.annotations[phalanx.dev/submit-at]: \"later\" is no duration; write it "
     "like 90s, 10m or 1h30m"},
    {"batch/v1", "batch/v2",
     "Job ml/a: apiVersion: there is no Job in \"batch/v2\"; write batch/v1"},
    {"batch/v1", "v1", "Job ml/a: apiVersion: there is no Job in \"v1\"; write batch/v1"},
    {"batch/v1", "bach/v1", "Job ml/a: apiVersion: there is no Job in \"bach/v1\"; write batch/v1"},
    {"batch/v1", "1",
     "Job ml/a: apiVersion: must be a text; every document must be a Kubernetes object, as kubectl "
     "get -o yaml prints it"},
    {"kind: Job", "kind: job", "job ml/a: kind: there is no job in batch/v1; did you mean `Job`?"},
    {"kind: Job", "kind: Jobb",
     "Jobb ml/a: kind: there is no Jobb in batch/v1; did you mean `Job`?"},
};

struct BadObject {
  std::string_view api_version;
  std::string_view kind;
  std::string_view rest;
  std::string_view problem;
};
constexpr BadObject kBadObjects[] = {
    {"batch/v1", "Job", "spec: []", "Job x: spec: must be an object, but is a list"},
    {"batch/v1", "Job", "", "Job x: spec: is required and must be an object"},
    {"batch/v1", "Job", "spec: {parallelism: 1}",
     "Job x: spec.template: is required: the pods that the Job creates"},
    {"batch/v1", "Job", "spec: {template: {spec: }}", "Job x: spec.template.spec: is required"},
    {"batch/v1", "Job", "spec: {template: x}",
     "Job x: spec.template: must be an object, but is the text \"x\""},
    {"batch/v1", "Job", "spec: {template: {spec: {restartPolicy: Never, containers: []}}}",
     "Job x: spec.template.spec.containers: must hold at least one container"},
    {"batch/v1", "Job", "spec: {template: {spec: {restartPolicy: Never, containers: [null]}}}",
     "Job x: spec.template.spec.containers[0]: must be an object, but is null"},
    {"kueue.x-k8s.io/v1alpha1", "Topology", "spec: {levels: [{nodeLabel: a}]}",
     "Topology x: apiVersion: there is no Topology in \"kueue.x-k8s.io/v1alpha1\"; write "
     "kueue.x-k8s.io/v1beta2"},
    {"kueue.x-k8s.io/v1beta2", "Topology", "spec: {levels: []}",
     "Topology x: spec.levels: must have at least 1 item"},
    {"kueue.x-k8s.io/v1beta2", "Topology", "",
     "Topology x: spec: is required: the levels of the topology"},
    {"kueue.x-k8s.io/v1beta2", "Topology", "spec: {levels: [{nodeLabel: a}, {nodeLabel: a}]}",
     "Topology x: spec.levels: names the level a twice; remove one of them"},
    {"kueue.x-k8s.io/v1beta2", "Topology",
     "spec: {levels: [{nodeLabel: kubernetes.io/hostname}, {nodeLabel: a}]}",
     "Topology x: spec.levels: names kubernetes.io/hostname before other levels; a host is the "
     "finest level, put it last"},
    {"kueue.x-k8s.io/v1beta2", "Topology", "spec: {levels: [{nodeLabel: a b}]}",
     "Topology x: spec.levels[0].nodeLabel: \"a b\" is not a label key; use up to 63 letters, "
     "digits, '-', '_' and '.', with an optional DNS name and '/' before them"},
    {"kueue.x-k8s.io/v1beta2", "Topology", "spec: {levels: [{nodeLabel: \"\"}]}",
     "Topology x: spec.levels[0].nodeLabel: must not be empty"},
    {"kueue.x-k8s.io/v1beta2", "Topology", "spec: {levels: [a, b]}",
     "Topology x: spec.levels[0]: must be an object, but is the text \"a\"; spec.levels[1]: must "
     "be an object, but is the text \"b\""},
    {"kueue.x-k8s.io/v1beta2", "ResourceFlavor", "spec: {topologyName: default}",
     "ResourceFlavor x: spec.nodeLabels: must have at least 1 entry beside a topologyName, so that "
     "the nodes of the flavor are known"},
    {"kueue.x-k8s.io/v1beta2", "ResourceFlavor", "spec: {nodeLabels: {a: b c}}",
     "ResourceFlavor x: spec.nodeLabels[a]: \"b c\" is not a label value; use up to 63 letters, "
     "digits, '-', '_' and '.', with a letter or digit at both ends"},
    {"kueue.x-k8s.io/v1beta2", "ResourceFlavor", "spec: {nodeTaints: [{key: a, effect: Never}]}",
     "ResourceFlavor x: spec.nodeTaints[0].effect: \"Never\" is not supported; use NoSchedule, "
     "PreferNoSchedule or NoExecute"},
    {"kueue.x-k8s.io/v1beta1", "ClusterQueue", "spec: {cohortName: x}",
     "ClusterQueue x: spec.cohortName: unknown field; did you mean `cohort`?"},
    {"kueue.x-k8s.io/v1beta2", "ClusterQueue", "spec: {cohort: x}",
     "ClusterQueue x: spec.cohort: unknown field; did you mean `cohortName`?"},
    {"kueue.x-k8s.io/v1beta2", "ClusterQueue", "spec: {queueingStrategy: Fastest}",
     "ClusterQueue x: spec.queueingStrategy: \"Fastest\" is not supported; use StrictFIFO or "
     "BestEffortFIFO"},
    {"kueue.x-k8s.io/v1beta1", "ClusterQueue", "spec: {cohort: [x]}",
     "ClusterQueue x: spec.cohort: must be a string, but is a list"},
    {"kueue.x-k8s.io/v1beta2", "LocalQueue", "spec: {clusterQueue: Team A}",
     "LocalQueue x: spec.clusterQueue: \"Team A\" is not a DNS name; use lower case letters, "
     "digits, '-' and '.', with a letter or digit at both ends"},
    {"kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", "value: high",
     "WorkloadPriorityClass x: value: must be a whole number, but is the text \"high\""},
    {"kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", "",
     "WorkloadPriorityClass x: value: is required: priority of the workloads that name the class"},
    {"scheduling.k8s.io/v1", "PriorityClass", "", "PriorityClass x: value: is required"},
    {"scheduling.k8s.io/v1", "PriorityClass", "value: 3000000000",
     "PriorityClass x: value: is 3000000000, but must be between -2147483648 and 2147483647"},
    {"v1", "Node", "spec: {taints: [{key: a, effect: Sometimes}]}",
     "Node x: spec.taints[0].effect: \"Sometimes\" is not NoSchedule, PreferNoSchedule or "
     "NoExecute"},
    {"v1", "Node", "status: {capacity: {cpu: x}}",
     "Node x: status.capacity[cpu]: \"x\" is not a quantity of cpu: it has no digits; write a "
     "number with an optional unit, such as 500m, 8, 1.5, 64Gi or 1e3"},
    {"v1", "Node", "status: {conditions: [{type: Ready, status: Maybe}]}",
     "Node x: status.conditions[0].status: \"Maybe\" is not \"True\", \"False\" or \"Unknown\""},
    {"v1", "Namespace", "Spec: {}", "Namespace x: Spec: unknown field; did you mean `spec`?"},
    {"v1", "LimitRange", "spec: {limits: [{type: Thing}]}",
     "LimitRange x: spec.limits[0].type: \"Thing\" is not Container, Pod or PersistentVolumeClaim"},
    {"v1", "LimitRange", "spec: {limits: [{type: Container, min: {cpu: 2}, max: {cpu: 1}}]}",
     "LimitRange x: spec.limits[0].min[cpu]: is 2, more than max of 1; spec.limits[0].min[cpu]: is "
     "2, more than defaultRequest of 1"},
    {"kueue.x-k8s.io/v1beta2", "Workload", "spec: {podSets: []}",
     "Workload x: spec.podSets: must have at least 1 item"},
    {"v1", "Pod", "spec: {}", "Pod x: spec.containers: must hold at least one container"},
};

struct BadQuota {
  std::string_view quota;
  std::string_view problem;  // after the path of the quota
};
constexpr BadQuota kBadQuotas[] = {
    {"{name: cpu}",
     "nominalQuota: is required: amount that is available to the queue at any time, such as 8, "
     "500m or 64Gi"},
    {"{name: cpu, nominalQuota: \"1e30\"}",
     "nominalQuota: \"1e30\" is too large; the largest amount of cpu is 9223372036854775807m"},
    {"{name: cpu, nominalQuota: -1}",
     "nominalQuota: \"-1\" is not a quantity of cpu: it is negative; write a number with an "
     "optional unit, such as 500m, 8, 1.5, 64Gi or 1e3"},
    {"{name: cpu, nominalQuota: lots}",
     "nominalQuota: \"lots\" is not a quantity; write a number with an optional unit, such as "
     "500m, 8, 1.5, 64Gi or 1e3"},
    {"{name: cpu, nominalQuota: [1]}",
     "nominalQuota: must be a whole number or a string, but is a list"},
    {"{name: memory, nominalQuota: 1}",
     "name: is memory, but must be cpu: resources go in the order of coveredResources"},
    {"{name: cpu, nominalQuta: 1}", "nominalQuta: unknown field; did you mean `nominalQuota`?"},
};

struct BadText {
  std::string_view text;
  std::string_view problem;  // after the file
};
constexpr BadText kBadTexts[] = {
    {"", "holds no object; write one, or leave it out"},
    {"# nothing\n---\n", "holds no object; write one, or leave it out"},
    {std::string_view("a\0b", 3), "is no text; name files of YAML or JSON, gzipped or not"},
    {"apiVersion: batch/v1\nkind: Job\nspec: {}\n",
     "line 1: Job: metadata.name: is required, or metadata.generateName"},
    {"apiVersion: batch/v1\nkind: Job\nmetadata: []\n", "line 1: Job: metadata: must be an object"},
    {"hello\n", "line 1: every document must be a Kubernetes object, as kubectl get -o yaml"},
    {"- a\n- b\n", "line 1: every document must be a Kubernetes object"},
    {"apiVersion: v1\n", "line 1: kind: is required; every document must be a Kubernetes object"},
    {"apiVersion: v1\nkind: [Job]\n", "line 1: kind: must be a text; every document must be"},
    {"kind: Job\n", "line 1: Job: apiVersion: is required; every document must be"},
    {"apiVersion: v1\nkind: List\nitems: {a: b}\n", "line 1: List: items: must be a list"},
    {"apiVersion: v1\nkind: List\nitems: [5]\n", "line 1: items[0]: every document must be a"},
    {"kind: Job\nmetadata: {name: a\nspec:\n",
     "line 3, column 5: not valid YAML: end of map flow not found; check the indentation, the "
     "brackets and the quotes there"},
    {"kind: Job\nmetadata:\n\tname: a\n",
     "line 3, column 6: not valid YAML: illegal map value; indent with spaces, not with tabs"},
    {"{\"kind\": \"Job\", }", "line 1, column 17: "},
    {"kind: *x\n", "line 1, column 7: not valid YAML: the referenced anchor is not defined"},
    {"spec:\n  a: 1\n  a: 2\n", "line 3: the key \"a\" stands twice; remove one"},
};

class BadManifestsTest : public SimulateFixture {
 protected:
  // What is said about the text, after the name of its file.
  std::string problem_of(const std::string& text) const {
    const Ran ran = run("simulate", text);
    EXPECT_EQ(ran.code, kBadInput) << text << "\n" << ran.err;
    EXPECT_EQ(ran.out, "") << text;
    const std::string begin = "phalanx: " + (folder_ / "jobs.yaml").string() + ": ";
    EXPECT_TRUE(ran.err.starts_with(begin)) << ran.err;
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    EXPECT_FALSE(ran.err.contains(".: ")) << ran.err;
    return ran.err.substr(std::min(begin.size(), ran.err.size()));
  }
};

TEST_F(BadManifestsTest, Jobs) {
  for (const BadJob& job : kBadJobs) {
    const std::string problem = problem_of(job_with(job.good, job.bad));
    EXPECT_TRUE(problem.starts_with("line 1: " + std::string(job.problem))) << problem;
  }
}

TEST_F(BadManifestsTest, ObjectsOfOtherKinds) {
  for (const BadObject& bad : kBadObjects) {
    const std::string problem = problem_of(object(bad.api_version, bad.kind, bad.rest));
    EXPECT_TRUE(problem.starts_with("line 1: " + std::string(bad.problem))) << problem;
  }
}

TEST_F(BadManifestsTest, Quotas) {
  for (const BadQuota& bad : kBadQuotas) {
    const std::string problem = problem_of(object(
        "kueue.x-k8s.io/v1beta2", "ClusterQueue",
        "spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: "
        "tas, resources: [" +
            std::string(bad.quota) + "]}]}]}"));
    EXPECT_TRUE(problem.starts_with(
        "line 1: ClusterQueue x: spec.resourceGroups[0].flavors[0].resources[0]." +
        std::string(bad.problem)))
        << problem;
  }
}

TEST_F(BadManifestsTest, Texts) {
  for (const BadText& text : kBadTexts) {
    const std::string problem = problem_of(std::string(text.text));
    EXPECT_TRUE(problem.starts_with(text.problem)) << problem;
  }
}

TEST_F(BadManifestsTest, LongNamesAndLabels) {
  EXPECT_TRUE(problem_of(job_with("name: a,", "name: " + std::string(70, 'a') + ","))
                  .contains("metadata.name: is too long for a Job"));
  EXPECT_TRUE(
      problem_of(job_with("queue-name: main", "queue-name: main, a: " + std::string(64, 'x')))
          .contains("metadata.labels[a]: \"" + std::string(64, 'x') +
                    "\" is too long; use at most 63 characters"));
}

TEST_F(BadManifestsTest, MorePodsThanAJobMayHave) {
  std::string job = job_with(": 4", ": 2000000000");
  EXPECT_TRUE(problem_of(job).starts_with(
      "line 1: Job ml/a: spec.parallelism: must be at most 100000 when the completion mode is"));
}

TEST_F(BadManifestsTest, NestingAndAliasesHaveLimits) {
  EXPECT_EQ(problem_of("a: " + std::string(5000, '[') + std::string(5000, ']')),
            "line 1: nested deeper than 64 levels\n");
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char next = 'b'; next < 'k'; ++next) {
    const std::string before = std::string(" *") + static_cast<char>(next - 1);
    bomb += std::string(1, next) + ": &" + next + " [";
    for (int i = 0; i < 9; ++i) bomb += before + ",";
    bomb += "]\n";
  }
  EXPECT_EQ(problem_of(bomb), "line 1: aliases make too many values of it; write them out\n");
}

TEST_F(BadManifestsTest, OneOfSeveralIsNamedByItsLine) {
  std::string second = job_with("parallelism: 4", "parallelism: x");
  second.replace(second.find("name: a"), 7, "name: b");
  EXPECT_TRUE(problem_of(std::string(kGoodJob) + "---\n" + second)
                  .starts_with("line 14: Job ml/b: spec.parallelism: must be a whole number"));
}

TEST_F(BadManifestsTest, FilesAndFolders) {
  const auto problem_with = [&](const std::filesystem::path& path) {
    const Ran ran = run_phalanx({"simulate", "-f", path.string()});
    EXPECT_EQ(ran.code, kBadInput) << ran.err;
    return ran.err;
  };
  EXPECT_TRUE(problem_with(folder_ / "nowhere.yaml")
                  .contains("nowhere.yaml: there is no such file or folder; name one"));
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_TRUE(
      problem_with(folder_ / "empty")
          .contains("empty: the folder holds no .yaml, .yml or .json file; name the files"));
  std::filesystem::create_symlink(folder_ / "nowhere", folder_ / "empty" / "link.yaml");
  EXPECT_TRUE(problem_with(folder_ / "empty").contains("link.yaml: "));
}

TEST_F(BadManifestsTest, GoodOnesAreTakenAndOthersSkipped) {
  const Ran ran =
      run("simulate",
          std::string(kGoodJob) + "---\n" + object("batch.volcano.sh/v1alpha1", "Job", "") +
              "---\n" + object("v1", "Service", "") + "---\n" + object("v1", "Secret", "") +
              "---\n" + object("batch/v1", "CronJob", "") + "---\n" +
              object("kueue.x-k8s.io/v1beta1", "MultiKueueConfig", ""),
          {"--until", "1m"});
  EXPECT_EQ(ran.code, kDone) << ran.err;
  expect_parts(ran.err, {"has no kind batch.volcano.sh/v1alpha1 Job", "has no kind v1 Service",
                         "has no kind v1 Secret", "has no kind batch/v1 CronJob",
                         "has no kind kueue.x-k8s.io/v1beta1 MultiKueueConfig"});
}

}  // namespace
}  // namespace phalanx::cli
