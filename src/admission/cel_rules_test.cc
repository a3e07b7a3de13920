// Every CEL rule of deploy/crds has its counterpart in C++: for each there is a document here that
// breaks it, and one rule without such a document fails the last test.
#include <algorithm>
#include <vector>

#include "admission/deploy_files.h"
#include "admission/document.h"
#include "admission/testing.h"

namespace phalanx::admission {
namespace {

using testing::problems_of_change;
using testing::problems_of_new;

struct BrokenRule {
  std::string_view kind;
  std::string_view rule;    // a part of the CEL text
  std::string_view before;  // patches of the good document, "new": there is none
  std::string_view after;
  std::string_view problem;
};

constexpr std::string_view kNew = "new";
constexpr std::string_view kReserved =
    "status: {conditions: [{type: QuotaReserved, status: 'True', reason: R, message: '', "
    "lastTransitionTime: '2026-01-31T08:00:00Z'}]}\n";
constexpr std::string_view kAdmitted =
    "status: {conditions: [{type: Admitted, status: 'True', reason: R, message: '', "
    "lastTransitionTime: '2026-01-31T08:00:00Z'}]}\n";

const std::vector<BrokenRule>& node_rules() {
  static const std::vector<BrokenRule> kRules = {
      {"Topology", "self == oldSelf ||", "", "spec: {levels: [{nodeLabel: rack}]}",
       "spec.levels: can be changed only while kubernetes.io/hostname is the lowest level, before "
       "and after; create another Topology instead"},
      {"Topology", "size(self.filter(j, j == i)) > 1", kNew,
       "spec: {levels: [{nodeLabel: rack}, {nodeLabel: rack}]}",
       "spec.levels: names the level rack twice; remove one of them"},
      {"Topology", "size(self.filter(i, i.nodeLabel ==", kNew,
       "spec: {levels: [{nodeLabel: kubernetes.io/hostname}, {nodeLabel: rack}]}",
       "spec.levels: names kubernetes.io/hostname before other levels; a host is the finest level, "
       "put it last"},
      {"ResourceFlavor", "self.nodeLabels.size() >= 1", kNew,
       "spec: {topologyName: t, nodeLabels: null}",
       "spec.nodeLabels: must have at least 1 entry beside a topologyName, so that the nodes of "
       "the "
       "flavor are known"},
      {"ResourceFlavor", "self.spec.topologyName == oldSelf.spec.topologyName",
       "spec: {topologyName: t}", "spec: {topologyName: other}",
       "spec.topologyName: is t and cannot be changed or removed; create another ResourceFlavor "
       "instead"},
      {"ResourceFlavor", "self.all(x, x.effect in", kNew,
       "spec: {nodeTaints: [{key: a, effect: Never}]}",
       "spec.nodeTaints[0].effect: \"Never\" is not supported; use NoSchedule, PreferNoSchedule or "
       "NoExecute"},
      {"ResourceFlavor", "!has(x.key) ?", kNew, "spec: {tolerations: [{value: a}]}",
       "spec.tolerations[0]: has no key, so it needs the operator Exists; name a key or set the "
       "operator"},
      {"ResourceFlavor", "has(x.tolerationSeconds) ?", kNew,
       "spec: {tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 5}]}",
       "spec.tolerations[0].tolerationSeconds: needs the effect NoExecute; set it, or remove "
       "tolerationSeconds"},
      {"ResourceFlavor", "x.operator in ['Equal', 'Exists']", kNew,
       "spec: {tolerations: [{key: a, operator: Like}]}",
       "spec.tolerations[0].operator: \"Like\" is not supported; use Equal or Exists"},
      {"ResourceFlavor", "x.operator == 'Exists' ? !has(x.value)", kNew,
       "spec: {tolerations: [{key: a, operator: Exists, value: b}]}",
       "spec.tolerations[0].value: does not go with the operator Exists, which accepts every "
       "value; "
       "remove it"},
      {"ResourceFlavor", "!has(x.effect) ||", kNew,
       "spec: {tolerations: [{key: a, effect: Never}]}",
       "spec.tolerations[0].effect: \"Never\" is not supported; use NoSchedule, PreferNoSchedule "
       "or "
       "NoExecute, or leave it out for all of them"},
  };
  return kRules;
}

const std::vector<BrokenRule>& queue_rules() {
  static const std::vector<BrokenRule> kRules = {
      {"ClusterQueue", "!has(r.borrowingLimit)", kNew,
       "spec: {cohortName: null, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, "
       "resources: [{name: cpu, nominalQuota: 1, borrowingLimit: 1}]}]}]}",
       "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: needs a cohort to borrow "
       "from; name one in spec.cohortName, or remove the limit"},
      {"ClusterQueue", "!has(self.preference)", kNew,
       "spec: {flavorFungibility: {preference: BorrowingOverPreemption}}",
       "spec.flavorFungibility.whenCanBorrow: must be TryNextFlavor beside a preference: only "
       "flavors that were all tried can be compared"},
      {"ClusterQueue", "self.reclaimWithinCohort == 'Never'", kNew,
       "spec: {preemption: {borrowWithinCohort: {policy: LowerPriority}}}",
       "spec.preemption.borrowWithinCohort.policy: is LowerPriority, but reclaimWithinCohort is "
       "Never; set that to LowerPriority or Any, or this to Never"},
      {"ClusterQueue", "size(x.resources) == size(self.coveredResources)", kNew,
       "spec: {resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: f, resources: "
       "[{name: cpu, nominalQuota: 1}]}]}]}",
       "spec.resourceGroups[0].flavors[0].resources: has 1 item, but must have 2, one for each of "
       "coveredResources"},
      {"Cohort", "size(x.resources) == size(self.coveredResources)", kNew,
       "spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: "
       "cpu, nominalQuota: 1}, {name: memory, nominalQuota: 1}]}]}]}",
       "spec.resourceGroups[0].flavors[0].resources: has 2 items, but must have 1, one for each of "
       "coveredResources"},
      {"LocalQueue", "self == oldSelf", "", "spec: {clusterQueue: other}",
       "spec.clusterQueue: is team-a and cannot be changed; create another LocalQueue instead"},
      {"AdmissionCheck", "self == oldSelf", "", "spec: {controllerName: other}",
       "spec.controllerName: is example.com/check and cannot be changed; create another "
       "AdmissionCheck instead"},
  };
  return kRules;
}

// Of a workload. Where it says so, quota is reserved before and after.
struct BrokenWorkloadRule {
  std::string_view rule;
  std::string_view conditions;  // before and after
  std::string_view before;      // kNew: there is none
  std::string_view after;
  std::string_view problem;
};

constexpr std::string_view kClassA =
    "spec: {priority: 1, priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, "
    "name: a}}\n";
constexpr std::string_view kPodClassA =
    "spec: {priority: 1, priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: "
    "a}}\n";

// A patch with one assignment whose topologyAssignment is `levels: [block, rack]` and this slice.
#define ASSIGNED(slice)                                                                 \
  "status: {admission: {clusterQueue: q, podSetAssignments: [{name: leader, count: 1, " \
  "topologyAssignment: {levels: [block, rack], slices: [" slice "]}}]}}\n"

const std::vector<BrokenWorkloadRule>& workload_spec_rules() {
  static const std::vector<BrokenWorkloadRule> kRules = {
      {"(!has(oldSelf.spec.priorityClassRef) && !has(self.spec.priorityClassRef))", kReserved, "",
       kClassA, "spec.priorityClassRef: cannot be added while quota is reserved"},
      {"(!has(oldSelf.spec.priorityClassRef) && !has(self.spec.priorityClassRef))", kReserved,
       kClassA, "", "spec.priorityClassRef: cannot be removed while quota is reserved"},
      {"oldSelf.spec.priorityClassRef.group == self.spec.priorityClassRef.group", kReserved,
       kPodClassA, kClassA,
       "spec.priorityClassRef.group: cannot be changed while quota is reserved\n"
       "spec.priorityClassRef.kind: cannot be changed while quota is reserved"},
      {"oldSelf.spec.priorityClassRef.kind == self.spec.priorityClassRef.kind", kReserved,
       kPodClassA, kClassA,
       "spec.priorityClassRef.group: cannot be changed while quota is reserved\n"
       "spec.priorityClassRef.kind: cannot be changed while quota is reserved"},
      {"oldSelf.spec.priorityClassRef.name == self.spec.priorityClassRef.name", kReserved,
       kPodClassA,
       "spec: {priority: 1, priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, "
       "name: "
       "b}}\n",
       "spec.priorityClassRef.name: cannot be changed while quota is reserved; use a "
       "WorkloadPriorityClass to change priorities"},
      {"oldSelf.spec.queueName == self.spec.queueName", kReserved, "", "spec: {queueName: other}",
       "spec.queueName: cannot be changed while quota is reserved; set active to false first"},
      {"oldSelf.spec.maximumExecutionTimeSeconds", kAdmitted, "",
       "spec: {maximumExecutionTimeSeconds: 5}",
       "spec.maximumExecutionTimeSeconds: cannot be changed while the workload is admitted"},
      {"!has(self.priorityClassRef) || has(self.priority)", "", kNew,
       "spec: {priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: a}}",
       "spec.priority: is required beside a priorityClassRef"},
      {"has(self.minCount) ? self.minCount <= self.count", "", kNew,
       "spec: {podSets: [{count: 2, minCount: 3, template: {}}]}",
       "spec.podSets[0].minCount: is 3, but must be at most the count of 2"},
      {"(self.group == 'scheduling.k8s.io')", "", kNew,
       "spec: {priority: 1, priorityClassRef: {group: scheduling.k8s.io, kind: "
       "WorkloadPriorityClass, name: a}}",
       "spec.priorityClassRef.kind: must be PriorityClass for the group scheduling.k8s.io"},
      {"(self.group == 'kueue.x-k8s.io')", "", kNew,
       "spec: {priority: 1, priorityClassRef: {group: kueue.x-k8s.io, kind: PriorityClass, name: "
       "a}}",
       "spec.priorityClassRef.kind: must be WorkloadPriorityClass for the group kueue.x-k8s.io"},
  };
  return kRules;
}

const std::vector<BrokenWorkloadRule>& workload_status_rules() {
  static const std::vector<BrokenWorkloadRule> kRules = {
      {"size(self.spec.podSets) == size(self.status.admission.podSetAssignments)", kReserved, "",
       "status: {admission: {clusterQueue: q, podSetAssignments: [{name: leader, count: 1}]}}",
       "status.admission.podSetAssignments: has 1 item, but must have 2, one for each of "
       "spec.podSets"},
      {"oldSelf.clusterName == self.clusterName", "", "status: {clusterName: a}",
       "status: {clusterName: b}",
       "status.clusterName: is a and cannot be changed; remove it first"},
      {"self.nominatedClusterNames", "", kNew,
       "status: {clusterName: a, nominatedClusterNames: [a]}",
       "status.nominatedClusterNames: must be empty once clusterName is set"},
      {"self.slices.all(x, size(x.valuesPerLevel) == size(self.levels))", "", kNew,
       ASSIGNED("{domainCount: 1, podCounts: {universal: 1}, valuesPerLevel: [{universal: b}]}"),
       "status.admission.podSetAssignments[0].topologyAssignment.slices[0].valuesPerLevel: has 1 "
       "item, but must have 2, one for each of levels"},
      {"size(self.podCounts.individual) == self.domainCount", "", kNew,
       ASSIGNED(
           "{domainCount: 1, podCounts: {individual: [1, 1]}, valuesPerLevel: [{universal: b}, "
           "{universal: r}]}"),
       "status.admission.podSetAssignments[0].topologyAssignment.slices[0].podCounts.individual: "
       "has 2 items, but must have 1, the domainCount"},
      {"size(x.individual.roots) == self.domainCount", "", kNew,
       ASSIGNED("{domainCount: 2, podCounts: {universal: 1}, valuesPerLevel: [{universal: b}, "
                "{individual: {prefix: r, roots: ['1']}}]}"),
       "status.admission.podSetAssignments[0].topologyAssignment.slices[0].valuesPerLevel[1]."
       "individual.roots: has 1 item, but must have 2, the domainCount"},
      {"[has(self.universal),has(self.individual)]", "", kNew,
       ASSIGNED(
           "{domainCount: 1, podCounts: {}, valuesPerLevel: [{universal: b}, {universal: r}]}"),
       "status.admission.podSetAssignments[0].topologyAssignment.slices[0].podCounts: set exactly "
       "one of universal and individual"},
      {"has(self.universal) != has(self.individual)", "", kNew,
       ASSIGNED("{domainCount: 1, podCounts: {universal: 1}, valuesPerLevel: [{universal: b}, "
                "{universal: r, individual: {roots: [r]}}]}"),
       "status.admission.podSetAssignments[0].topologyAssignment.slices[0].valuesPerLevel[1]: set "
       "exactly one of universal and individual"},
      {"!has(x.key) ?", "", kNew,
       "spec: {podSets: [{template: {}}]}\n"
       "status: {admissionChecks: [{name: c, state: Ready, message: '', lastTransitionTime: "
       "'2026-01-31T08:00:00Z', podSetUpdates: [{name: main, tolerations: [{value: a}]}]}]}",
       "status.admissionChecks[0].podSetUpdates[0].tolerations[0]: has no key, so it needs the "
       "operator Exists; name a key or set the operator"},
  };
  return kRules;
}
#undef ASSIGNED

TEST(CelRules, AreEnforced) {
  for (const auto& rules : {node_rules(), queue_rules()}) {
    for (const BrokenRule& broken : rules) {
      EXPECT_EQ(broken.before == kNew
                    ? problems_of_new(broken.kind, broken.after)
                    : problems_of_change(broken.kind, broken.before, broken.after),
                broken.problem)
          << broken.kind << ": " << broken.rule;
    }
  }
}

// Both patches of a workload: the conditions, and what differs.
json::value workload(std::string_view conditions, std::string_view patch) {
  json::value document = testing::good_with("Workload", patch);
  if (!conditions.empty()) testing::merge(document, testing::yaml(conditions));
  return document;
}

std::string problems_of_workload(const BrokenWorkloadRule& broken, bool status) {
  const KueueAdmission& admission = testing::admission();
  const json::value after = workload(broken.conditions, broken.after);
  if (broken.before == kNew) {
    return testing::problems_of(admission.admit("Workload", nullptr, after, {.status = status}));
  }
  const auto before =
      admission.admit("Workload", nullptr, workload(broken.conditions, broken.before));
  EXPECT_TRUE(before.has_value()) << testing::problems_of(before);
  return testing::problems_of(admission.admit("Workload", &*before, after, {.status = status}));
}

TEST(CelRules, OfWorkloadsAreEnforced) {
  for (const BrokenWorkloadRule& broken : workload_spec_rules()) {
    EXPECT_EQ(problems_of_workload(broken, false), broken.problem) << broken.rule;
  }
  for (const BrokenWorkloadRule& broken : workload_status_rules()) {
    EXPECT_EQ(problems_of_workload(broken, true), broken.problem) << broken.rule;
  }
}

void collect_rules(const Place& schema, std::vector<std::string_view>& rules) {
  for (const Place& rule : schema["x-kubernetes-validations"].elements()) {
    rules.push_back(rule["rule"].text());
  }
  for (const auto& [name, property] : schema["properties"].entries()) {
    collect_rules(property, rules);
  }
  if (schema["items"].present()) collect_rules(schema["items"], rules);
}

TEST(CelRules, EachHasADocumentThatBreaksIt) {
  for (const EmbeddedFile& crd : crds()) {
    const json::value document = testing::yaml(crd.text());
    const Place spec = Place(&document)["spec"];
    const std::string_view kind = spec["names"]["kind"].text();
    std::vector<std::string_view> rules;
    collect_rules(spec["versions"].elements().front()["schema"]["openAPIV3Schema"], rules);
    for (const std::string_view rule : rules) {
      const auto breaks = [&](const auto& broken) { return rule.contains(broken.rule); };
      // Rules of tolerations are the same wherever there are tolerations.
      const auto breaks_here = [&](const BrokenRule& broken) {
        return (broken.kind == kind || rule.starts_with("self.all(x, ")) && breaks(broken);
      };
      const bool known =
          std::ranges::any_of(node_rules(), breaks_here) ||
          std::ranges::any_of(queue_rules(), breaks_here) ||
          (kind == "Workload" && (std::ranges::any_of(workload_spec_rules(), breaks) ||
                                  std::ranges::any_of(workload_status_rules(), breaks)));
      EXPECT_TRUE(known) << kind << ": " << rule;
    }
  }
}

}  // namespace
}  // namespace phalanx::admission
