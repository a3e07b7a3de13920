#include "admission/testing.h"

namespace phalanx::admission {
namespace {

using testing::problems_of_change;
using testing::problems_of_new;

constexpr std::string_view kCondition =
    "reason: R, message: '', lastTransitionTime: '2026-01-31T08:00:00Z'";

std::string conditions(std::string_view type, std::string_view status = "True") {
  return "conditions: [{type: " + std::string(type) + ", status: '" + std::string(status) + "', " +
         std::string(kCondition) + "}]";
}

// A patch of one pod set.
std::string one_pod_set(std::string_view fields) {
  return "spec: {podSets: [{name: main, count: 8, template: {spec: {containers: [{name: c}]}}, " +
         std::string(fields) + "}]}";
}

TEST(WorkloadRules, OnlyOnePodSetMayShrink) {
  EXPECT_EQ(problems_of_new("Workload",
                            "spec: {podSets: [{name: a, count: 4, minCount: 2, template: {}}, "
                            "{name: b, count: 4, template: {}}]}"),
            "");
  EXPECT_EQ(problems_of_new("Workload",
                            "spec: {podSets: [{name: a, count: 4, minCount: 2, template: {}}, "
                            "{name: b, count: 4, minCount: 4, template: {}}]}"),
            "spec.podSets[1].minCount: only one pod set may have a minCount, and spec.podSets[0] "
            "has one; remove one of them");
}

TEST(WorkloadRules, PodTemplatesCanBeRead) {
  EXPECT_EQ(problems_of_new("Workload", "spec: {podSets: [{template: {}}]}"), "");
  EXPECT_NE(problems_of_new("Workload", "spec: {podSets: [{template: {spec: {}}}]}"), "");
  const std::string problems = problems_of_new(
      "Workload",
      "spec: {podSets: [{template: {spec: {containers: [{name: c, resources: {requests: {cpu: "
      "lots}}}]}}}]}");
  EXPECT_TRUE(
      problems.starts_with("spec.podSets[0].template.spec.containers[0].resources.requests"))
      << problems;
}

TEST(WorkloadRules, TopologyRequest) {
  const auto problems = [](std::string_view request) {
    return problems_of_new("Workload",
                           one_pod_set("topologyRequest: {" + std::string(request) + "}"));
  };
  const std::string place = "spec.podSets[0].topologyRequest";
  EXPECT_EQ(problems("required: rack, podSetSliceRequiredTopology: host, podSetSliceSize: 4"), "");
  EXPECT_EQ(problems("required: rack, preferred: block"),
            place + ": required, preferred and unconstrained exclude one another; keep one");
  EXPECT_EQ(problems("podSetSliceRequiredTopology: rack"),
            place + ".podSetSliceSize: is required beside podSetSliceRequiredTopology");
  EXPECT_EQ(problems("podSetSliceSize: 2"),
            place + ".podSetSliceRequiredTopology: is required beside podSetSliceSize");
  EXPECT_EQ(problems("podSetSliceRequiredTopology: rack, podSetSliceSize: 0"),
            place + ".podSetSliceSize: is 0, but must be at least 1");
  const std::string layers = "podsetSliceRequiredTopologyConstraints: ";
  EXPECT_EQ(problems(layers + "[{topology: block, size: 8}, {topology: rack, size: 4}]"), "");
  EXPECT_EQ(problems(layers + "[{topology: block, size: 8}, {topology: rack, size: 3}]"),
            place +
                ".podsetSliceRequiredTopologyConstraints[1].size: is 3, but the size of the "
                "layer above it, 8, must be a multiple of it");
  EXPECT_EQ(problems(layers + "[{topology: rack, size: 4}, {topology: rack, size: 4}]"),
            place +
                ".podsetSliceRequiredTopologyConstraints[1].topology: names the level rack "
                "twice; remove one of them");
  EXPECT_EQ(problems(layers + "[{topology: rack, size: 4}], podSetSliceRequiredTopology: rack, "
                              "podSetSliceSize: 4"),
            place +
                ": the multi-layer slice constraints and the single slice topology and size "
                "exclude one another; keep one form");
}

TEST(WorkloadRules, TopologyAnnotationsCountWhereThereIsNoRequest) {
  constexpr std::string_view kAnnotated =
      "template: {metadata: {annotations: {kueue.x-k8s.io/podset-slice-required-topology: rack}}}";
  EXPECT_EQ(problems_of_new("Workload", "spec: {podSets: [{" + std::string(kAnnotated) + "}]}"),
            "spec.podSets[0].template.metadata.annotations[kueue.x-k8s.io/"
            "podset-slice-required-topology]: needs kueue.x-k8s.io/podset-slice-size beside it");
  EXPECT_EQ(problems_of_new("Workload",
                            "spec: {podSets: [{topologyRequest: "
                            "{podSetSliceRequiredTopology: rack, podSetSliceSize: 2}, " +
                                std::string(kAnnotated) + "}]}"),
            "");
}

TEST(WorkloadRules, PodSetsOfAGroupAskForTheSame) {
  const auto problems = [](std::string_view first, std::string_view second) {
    const auto pod_set = [](std::string_view name, std::string_view request) {
      return "{name: " + std::string(name) + ", template: {}, topologyRequest: {" +
             std::string(request) + "}}";
    };
    return problems_of_new(
        "Workload", "spec: {podSets: [" + pod_set("a", first) + ", " + pod_set("b", second) + "]}");
  };
  EXPECT_EQ(problems("podSetGroupName: g, required: rack", "podSetGroupName: g, required: rack"),
            "");
  EXPECT_EQ(problems("podSetGroupName: g, required: rack", "podSetGroupName: h, required: block"),
            "");
  EXPECT_EQ(problems("podSetGroupName: g, required: rack", "podSetGroupName: g, preferred: rack"),
            "spec.podSets[1].topologyRequest: asks for another level than "
            "spec.podSets[0].topologyRequest, which is in the same group g; ask for the same");
  EXPECT_EQ(problems("podSetGroupName: g", "required: rack"),
            "spec.podSets[0].topologyRequest: is in the group g, so it needs a required or "
            "preferred level");
}

TEST(WorkloadRules, PodSetsAndQueueAreFixedWhileQuotaIsReserved) {
  const std::string reserved = "status: {" + conditions("QuotaReserved") + "}\n";
  const std::string freed = "status: {" + conditions("QuotaReserved", "False") + "}\n";
  const std::string changed = one_pod_set("minCount: 2") + "\n";
  EXPECT_EQ(problems_of_change("Workload", reserved, reserved), "");
  EXPECT_EQ(problems_of_change("Workload", freed, freed + changed), "");
  EXPECT_EQ(problems_of_change("Workload", reserved, reserved + changed),
            "spec.podSets: cannot be changed while quota is reserved");
  EXPECT_EQ(problems_of_change("Workload", freed, freed + "spec: {queueName: other}"), "");
  EXPECT_EQ(problems_of_change("Workload", reserved, reserved + "spec: {queueName: null}"),
            "spec.queueName: cannot be changed while quota is reserved; set active to false first");
  EXPECT_EQ(problems_of_change("Workload", reserved, reserved + "spec: {active: false}"), "");
}

TEST(WorkloadRules, WorkloadPriorityMayChangeWhileQuotaIsReserved) {
  const std::string reserved = "status: {" + conditions("QuotaReserved") + "}\n";
  const auto with_class = [&](std::string_view name, int priority) {
    return reserved + "spec: {priority: " + std::to_string(priority) +
           ", priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: " +
           std::string(name) + "}}";
  };
  EXPECT_EQ(problems_of_change("Workload", with_class("a", 1), with_class("b", 2)), "");
}

TEST(WorkloadRules, RuntimeMayChangeUntilAdmitted) {
  const std::string reserved = "status: {" + conditions("QuotaReserved") + "}\n";
  EXPECT_EQ(
      problems_of_change("Workload", reserved, reserved + "spec: {maximumExecutionTimeSeconds: 5}"),
      "");
}

// A status with the two pod sets of the sample assigned.
std::string admitted_status(std::string_view leader, std::string_view worker,
                            std::string_view queue = "q") {
  return "status: {" + conditions("QuotaReserved") +
         ", admission: {clusterQueue: " + std::string(queue) +
         ", podSetAssignments: [{name: leader, count: 1" + std::string(leader) +
         "}, {name: worker, count: 4" + std::string(worker) + "}]}}\n";
}

TEST(WorkloadStatusRules, AssignmentsBelongToPodSets) {
  EXPECT_EQ(problems_of_new("Workload", admitted_status("", ", resourceUsage: {cpu: 2}")), "");
  EXPECT_EQ(problems_of_new("Workload", admitted_status("", ", resourceUsage: {memory: 6}")),
            "status.admission.podSetAssignments[1].resourceUsage[memory]: is 6, but must be a "
            "multiple of the count of 4: all pods of a set ask for the same");
  EXPECT_EQ(problems_of_new("Workload", "status: {" + conditions("QuotaReserved") +
                                            ", admission: {clusterQueue: q, podSetAssignments: "
                                            "[{name: leader}, {name: other}]}}"),
            "status.admission.podSetAssignments[1].name: \"other\" is none of spec.podSets");
}

TEST(WorkloadStatusRules, AdmissionIsReplacedOnlyAfterItWasRemoved) {
  const AdmitOptions status{.status = true};
  const std::string before = admitted_status("", ", flavors: {cpu: spot}, resourceUsage: {cpu: 4}");
  const auto change_to = [&](const std::string& after) {
    return problems_of_change("Workload", before, after, status);
  };
  EXPECT_EQ(change_to(admitted_status("",
                                      ", flavors: {cpu: spot}, resourceUsage: {cpu: 4000m}, "
                                      "topologyAssignment: {levels: [host], slices: "
                                      "[{domainCount: 1, valuesPerLevel: [{universal: n}], "
                                      "podCounts: {universal: 4}}]}")),
            "");
  EXPECT_EQ(change_to("status: {" + conditions("QuotaReserved", "False") + "}"), "");
  EXPECT_EQ(change_to(admitted_status("", ", flavors: {cpu: spot}, resourceUsage: {cpu: 4}", "r")),
            "status.admission.clusterQueue: cannot be changed; remove status.admission first");
  EXPECT_EQ(change_to(admitted_status("", ", flavors: {cpu: other}, resourceUsage: {cpu: 8}")),
            "status.admission.podSetAssignments[1].flavors: cannot be changed; remove "
            "status.admission first\n"
            "status.admission.podSetAssignments[1].resourceUsage: cannot be changed; remove "
            "status.admission first");
  EXPECT_EQ(change_to("status: {admission: {clusterQueue: q, podSetAssignments: [{name: leader, "
                      "count: 1}]}}"),
            "status.admission.podSetAssignments: cannot be changed; remove status.admission first");
}

TEST(WorkloadStatusRules, ReclaimablePods) {
  const AdmitOptions status{.status = true};
  const auto reclaimed = [](std::string_view type, std::string_view pods) {
    return "status: {" + conditions(type) + ", reclaimablePods: [" + std::string(pods) + "]}";
  };
  EXPECT_EQ(problems_of_new("Workload", reclaimed("Evicted", "{name: worker, count: 4}")), "");
  EXPECT_EQ(problems_of_new("Workload", reclaimed("Evicted", "{name: worker, count: 5}")),
            "status.reclaimablePods[0].count: is 5, but the pod set has only 4 pods");
  EXPECT_EQ(problems_of_new("Workload", reclaimed("Evicted", "{name: other, count: 0}")),
            "status.reclaimablePods[0].name: \"other\" is none of spec.podSets");
  const std::string two = reclaimed("QuotaReserved", "{name: worker, count: 2}");
  EXPECT_EQ(problems_of_change("Workload", two,
                               reclaimed("QuotaReserved", "{name: worker, count: 3}"), status),
            "");
  EXPECT_EQ(problems_of_change("Workload", two,
                               reclaimed("QuotaReserved", "{name: worker, count: 1}"), status),
            "status.reclaimablePods[0].count: cannot fall below 2 while quota is reserved");
  EXPECT_EQ(problems_of_change("Workload", two, reclaimed("QuotaReserved", ""), status),
            "status.reclaimablePods: the entry of worker cannot be removed while quota is "
            "reserved");
  EXPECT_EQ(problems_of_change("Workload", two, reclaimed("Evicted", ""), status), "");
}

TEST(WorkloadStatusRules, UpdatesOfAdmissionChecks) {
  const auto problems = [](std::string_view updates) {
    return problems_of_new("Workload",
                           "status: {admissionChecks: [{name: c, state: Ready, message: '', "
                           "lastTransitionTime: '2026-01-31T08:00:00Z', podSetUpdates: [" +
                               std::string(updates) + "]}]}");
  };
  const std::string place = "status.admissionChecks[0].podSetUpdates";
  EXPECT_EQ(problems(""), "");
  EXPECT_EQ(problems("{name: leader}, {name: worker, nodeSelector: {a: b}}"), "");
  EXPECT_EQ(problems("{name: leader}"),
            place + ": has 1 item, but must have 2, one for each of spec.podSets, or none");
  EXPECT_EQ(problems("{name: leader}, {name: other}"),
            place + "[1].name: \"other\" is none of spec.podSets");
  EXPECT_NE(problems("{name: leader}, {name: worker, labels: {a: 'b c'}}"), "");
  EXPECT_NE(problems("{name: leader}, {name: worker, nodeSelector: {'a b': c}}"), "");
}

TEST(WorkloadStatusRules, ClusterNameMayBeSetAndRemoved) {
  const AdmitOptions status{.status = true};
  EXPECT_EQ(problems_of_change("Workload", "status: {nominatedClusterNames: [a, b]}",
                               "status: {clusterName: a}", status),
            "");
  EXPECT_EQ(problems_of_change("Workload", "status: {clusterName: a}", "", status), "");
}

}  // namespace
}  // namespace phalanx::admission
