#include "admission/rules.h"

#include "admission/testing.h"

namespace phalanx::admission {
namespace {

using testing::problems_of_change;
using testing::problems_of_new;

TEST(Rules, GoodDocumentsOfEveryKindPass) {
  for (const std::string_view kind :
       {"Topology", "ResourceFlavor", "ClusterQueue", "Cohort", "LocalQueue",
        "WorkloadPriorityClass", "AdmissionCheck", "ProvisioningRequestConfig", "Workload"}) {
    EXPECT_EQ(problems_of_new(kind, ""), "") << kind;
    EXPECT_EQ(problems_of_change(kind, "", ""), "") << kind;
    EXPECT_EQ(problems_of_change(kind, "", "", {.strict_fields = true}), "") << kind;
  }
}

TEST(TopologyRules, LevelsChangeOnlyAboveHosts) {
  constexpr std::string_view kHosts =
      "spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}";
  constexpr std::string_view kMoreHosts =
      "spec: {levels: [{nodeLabel: block}, {nodeLabel: rack}, {nodeLabel: "
      "kubernetes.io/hostname}]}";
  EXPECT_EQ(problems_of_change("Topology", kHosts, kMoreHosts), "");
  EXPECT_NE(problems_of_change("Topology", kHosts, ""), "");
  EXPECT_NE(problems_of_change("Topology", "", kHosts), "");
}

TEST(TopologyRules, LevelsAreLabelKeys) {
  EXPECT_EQ(problems_of_new("Topology", "spec: {levels: [{nodeLabel: rack}, {nodeLabel: a b}]}"),
            "spec.levels[1].nodeLabel: \"a b\" is not a label key; use up to 63 letters, digits, "
            "'-', '_' and '.', with an optional DNS name and '/' before them");
  EXPECT_EQ(problems_of_new("Topology", "spec: {levels: [{nodeLabel: ''}]}"),
            "spec.levels[0].nodeLabel: must not be empty");
}

TEST(ResourceFlavorRules, TopologyNameIsSetOnce) {
  EXPECT_EQ(problems_of_change("ResourceFlavor", "", "spec: {topologyName: t}"), "");
  EXPECT_EQ(problems_of_change("ResourceFlavor", "spec: {topologyName: t}",
                               "spec: {topologyName: t, nodeLabels: {pool: other}}"),
            "");
  EXPECT_EQ(problems_of_change("ResourceFlavor", "spec: {topologyName: t}", ""),
            "spec.topologyName: is t and cannot be changed or removed; create another "
            "ResourceFlavor instead");
}

TEST(ResourceFlavorRules, LabelsAndTaintsAreWellFormed) {
  EXPECT_EQ(problems_of_new("ResourceFlavor", "spec: {nodeLabels: {'a b': x}}"),
            "spec.nodeLabels[a b]: \"a b\" is not a label key; use up to 63 letters, digits, '-', "
            "'_' and '.', with an optional DNS name and '/' before them");
  EXPECT_EQ(problems_of_new("ResourceFlavor", "spec: {nodeLabels: {a: 'x y'}}"),
            "spec.nodeLabels[a]: \"x y\" is not a label value; use up to 63 letters, digits, '-', "
            "'_' and '.', with a letter or digit at both ends");
  EXPECT_EQ(problems_of_new("ResourceFlavor",
                            "spec: {nodeTaints: [{key: a, effect: NoSchedule}, {key: a, effect: "
                            "NoExecute}]}"),
            "");
  EXPECT_EQ(problems_of_new("ResourceFlavor",
                            "spec: {nodeTaints: [{key: a, effect: NoSchedule}, {key: a, value: b, "
                            "effect: NoSchedule}]}"),
            "spec.nodeTaints[1]: the key a has the effect NoSchedule twice; remove one of the "
            "taints");
  EXPECT_NE(problems_of_new("ResourceFlavor", "spec: {nodeTaints: [{key: '', effect: NoExecute}]}"),
            "");
  EXPECT_NE(problems_of_new("ResourceFlavor", "spec: {tolerations: [{key: 'a b'}]}"), "");
}

TEST(ResourceFlavorRules, GoodTolerations) {
  EXPECT_EQ(problems_of_new("ResourceFlavor",
                            "spec: {tolerations: [{operator: Exists}, {key: a}, {key: a, operator: "
                            "Equal, value: b, effect: NoExecute, tolerationSeconds: 5}]}"),
            "");
}

TEST(ClusterQueueRules, ResourcesAreInTheOrderOfCoveredResources) {
  EXPECT_EQ(problems_of_new("ClusterQueue",
                            "spec: {resourceGroups: [{coveredResources: [cpu, memory], flavors: "
                            "[{name: f, resources: [{name: memory, nominalQuota: 1}, {name: cpu, "
                            "nominalQuota: 1}]}]}]}"),
            "spec.resourceGroups[0].flavors[0].resources[0].name: is memory, but must be cpu: "
            "resources go in the order of coveredResources\n"
            "spec.resourceGroups[0].flavors[0].resources[1].name: is cpu, but must be memory: "
            "resources go in the order of coveredResources");
  EXPECT_EQ(
      problems_of_new("ClusterQueue",
                      "spec: {resourceGroups: [{coveredResources: ['c p'], flavors: [{name: "
                      "f, resources: [{name: 'c p', nominalQuota: 1}]}]}]}"),
      "spec.resourceGroups[0].coveredResources[0]: \"c p\" is not the name of a resource; use "
      "one such as cpu or nvidia.com/gpu");
}

TEST(ClusterQueueRules, FlavorsAndResourcesBelongToOneGroup) {
  EXPECT_EQ(problems_of_new("ClusterQueue",
                            "spec: {resourceGroups: ["
                            "{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, "
                            "nominalQuota: 1}]}]},"
                            "{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, "
                            "nominalQuota: 1}]}]}]}"),
            "spec.resourceGroups[1].coveredResources[0]: the resource cpu is already in "
            "spec.resourceGroups[0].coveredResources[0]; keep one of them\n"
            "spec.resourceGroups[1].flavors[0].name: the flavor f is already in "
            "spec.resourceGroups[0].flavors[0].name; keep one of them");
}

TEST(ClusterQueueRules, AtMost64CoveredResources) {
  json::array covered;
  json::array quotas;
  for (int i = 0; i < 65; ++i) {
    covered.push_back(json::value("r" + std::to_string(i)));
    quotas.push_back(json::object{{"name", covered.back()}, {"nominalQuota", 1}});
  }
  json::value queue = testing::good("ClusterQueue");
  queue.get_object()["spec"].get_object()["resourceGroups"] = json::array{
      json::object{{"coveredResources", covered},
                   {"flavors", json::array{json::object{{"name", "f"}, {"resources", quotas}}}}}};
  EXPECT_EQ(testing::problems_of(testing::admission().admit("ClusterQueue", nullptr, queue)),
            "spec.resourceGroups[0].coveredResources: has 65 items, but at most 64 are allowed\n"
            "spec.resourceGroups[0].flavors[0].resources: has 65 items, but at most 64 are "
            "allowed");
}

// The problems of a queue with one flavor of cpu, its quota given as YAML.
std::string problems_of_quota(std::string_view kind, std::string_view parent,
                              std::string_view quota) {
  return problems_of_new(
      kind,
      "spec: {" + std::string(parent) +
          ", resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: "
          "cpu, " +
          std::string(quota) + "}]}]}]}");
}
constexpr std::string_view kFirstQuota = "spec.resourceGroups[0].flavors[0].resources[0].";

TEST(ClusterQueueRules, LimitsAreWithinTheQuotaAndTheCohort) {
  const std::string quota(kFirstQuota);
  const std::string_view in_cohort = "cohortName: c";
  EXPECT_EQ(problems_of_quota("ClusterQueue", in_cohort,
                              "nominalQuota: 1, lendingLimit: 1000m, borrowingLimit: 5"),
            "");
  EXPECT_EQ(problems_of_quota("ClusterQueue", in_cohort, "nominalQuota: 1, lendingLimit: 1001m"),
            quota + "lendingLimit: is 1001m, but no more than the nominalQuota of 1 can be lent");
  EXPECT_EQ(
      problems_of_quota("ClusterQueue", "cohortName: null", "nominalQuota: 1, lendingLimit: 1"),
      quota +
          "lendingLimit: needs a cohort to lend to; name one in spec.cohortName, or "
          "remove the limit");
  for (const std::string_view field : {"nominalQuota: -1", "nominalQuota: 1, lendingLimit: -1",
                                       "nominalQuota: 1, borrowingLimit: '-1'"}) {
    const std::string problems = problems_of_quota("ClusterQueue", in_cohort, field);
    EXPECT_TRUE(problems.contains("\"-1\" is not a quantity of cpu: it is negative")) << problems;
  }
}

TEST(ClusterQueueRules, QuotasFit64Bits) {
  const std::string quota(kFirstQuota);
  EXPECT_EQ(problems_of_quota("ClusterQueue", "cohortName: c", "nominalQuota: '1e30'"),
            quota +
                "nominalQuota: \"1e30\" is too large; the largest amount of cpu is "
                "9223372036854775807m");
  EXPECT_EQ(problems_of_quota("ClusterQueue", "cohortName: c", "nominalQuota: 9223372036854775"),
            "");
}

TEST(CohortRules, MembersQuotaMayBeLentToo) {
  EXPECT_EQ(problems_of_quota("Cohort", "parentName: c", "nominalQuota: 1, lendingLimit: 5"), "");
  EXPECT_EQ(problems_of_quota("Cohort", "parentName: null", "nominalQuota: 1, borrowingLimit: 5"),
            std::string(kFirstQuota) +
                "borrowingLimit: needs a cohort to borrow from; name one in spec.parentName, or "
                "remove the limit");
}

TEST(QueueRules, WeightsAreNotNegative) {
  for (const std::string_view kind : {"ClusterQueue", "Cohort", "LocalQueue"}) {
    EXPECT_EQ(problems_of_new(kind, "spec: {fairSharing: {weight: 500m}}"), "") << kind;
    const std::string problems = problems_of_new(kind, "spec: {fairSharing: {weight: -1}}");
    EXPECT_TRUE(problems.starts_with("spec.fairSharing.weight: \"-1\" is not a quantity")) << kind;
  }
}

TEST(ClusterQueueRules, GoodPreferencesAndPreemption) {
  EXPECT_EQ(problems_of_new("ClusterQueue",
                            "spec: {flavorFungibility: {preference: BorrowingOverPreemption, "
                            "whenCanBorrow: TryNextFlavor}, preemption: {reclaimWithinCohort: Any, "
                            "borrowWithinCohort: {policy: LowerPriority}}}"),
            "");
}

TEST(ClusterQueueRules, NamespaceSelector) {
  const auto problems = [](std::string_view requirement) {
    return problems_of_new("ClusterQueue", "spec: {namespaceSelector: {matchExpressions: [" +
                                               std::string(requirement) + "]}}");
  };
  const std::string place = "spec.namespaceSelector.matchExpressions[0].";
  EXPECT_EQ(problems("{key: a, operator: In, values: [b]}, {key: a, operator: Exists}"), "");
  EXPECT_EQ(problems("{key: a, operator: Like}"),
            place + "operator: \"Like\" is not supported; use In, NotIn, Exists or DoesNotExist");
  EXPECT_EQ(problems("{key: a, operator: NotIn}"),
            place + "values: must have at least 1 item for the operator NotIn");
  EXPECT_EQ(problems("{key: a, operator: DoesNotExist, values: [b]}"),
            place + "values: must be empty for the operator DoesNotExist; remove it");
  EXPECT_TRUE(
      problems("{key: 'a b', operator: Exists}").starts_with(place + "key: \"a b\" is not"));
  EXPECT_TRUE(problems("{key: a, operator: In, values: ['a b']}").starts_with(place + "values[0]"));
  EXPECT_NE(problems_of_new("ClusterQueue", "spec: {namespaceSelector: {matchLabels: {a: 'b c'}}}"),
            "");
}

TEST(QueueRules, ImmutableNamesMayBeSetLater) {
  EXPECT_EQ(problems_of_change("LocalQueue", "spec: {clusterQueue: null, stopPolicy: Hold}", ""),
            "");
}

TEST(WorkloadPriorityClassRules, ValueMayChange) {
  EXPECT_EQ(problems_of_change("WorkloadPriorityClass", "", "value: 20"), "");
}

TEST(Rules, StatusWritesAreNotHeldUpBySpec) {
  ProblemList problems;
  const json::value queue = testing::good_with("ClusterQueue", "spec: {fairSharing: {weight: -1}}");
  check_rules("ClusterQueue", {Place(nullptr), Place(&queue), true}, problems);
  EXPECT_TRUE(problems.empty());
  check_rules("ClusterQueue", {Place(nullptr), Place(&queue), false}, problems);
  EXPECT_FALSE(problems.empty());
}

// Rules are asked only about documents that their schema accepts, but none may crash on others.
TEST(Rules, SurviveAnyDocument) {
  for (const std::string_view text :
       {"{}", "[]", "{spec: 1}",
        "{spec: {levels: 1, podSets: [1, {count: x}], resourceGroups: [[]]}}",
        "{spec: {nodeLabels: [], tolerations: {}, namespaceSelector: []}, status: []}",
        R"({spec: {podSets: [{template: [], topologyRequest: [1]}]}, status: {conditions: {},
            admission: {podSetAssignments: [1, {topologyAssignment: {slices: [1, {}]}}]}}})"}) {
    const json::value document = testing::yaml(text);
    for (const std::string_view kind : {"Topology", "ResourceFlavor", "ClusterQueue", "Cohort",
                                        "LocalQueue", "AdmissionCheck", "Workload", "Unknown"}) {
      ProblemList problems;
      check_rules(kind, {Place(nullptr), Place(&document), false}, problems);
      check_rules(kind, {Place(&document), Place(&document), true}, problems);
    }
  }
}

TEST(ProvisioningRequestConfigRules, IsHeldToItsSchema) {
  const auto problems = [](std::string_view spec) {
    return problems_of_new("ProvisioningRequestConfig", "spec: " + std::string(spec));
  };
  EXPECT_EQ(problems("{parameters: {ValidUntilSeconds: '60'}}"), "");
  EXPECT_EQ(problems("{provisioningClassName: null}"),
            "spec.provisioningClassName: is required: class of the requests; it says what the "
            "autoscaler does with them");
  EXPECT_TRUE(problems("{provisioningClassName: Queued}").contains("\"Queued\""));
  EXPECT_TRUE(problems("{podSetMergePolicy: All}").contains("\"All\" is not supported"));
  EXPECT_TRUE(problems("{managedResources: [cpu, cpu]}").contains("spec.managedResources"));
  EXPECT_TRUE(problems("{podSetUpdates: {nodeSelector: [{key: pool}]}}")
                  .contains("valueFromProvisioningClassDetail: is required"));
  EXPECT_TRUE(problems("{podSetUpdates: {nodeSelector: "
                       "[{key: a, valueFromProvisioningClassDetail: b}, "
                       "{key: a, valueFromProvisioningClassDetail: c}]}}")
                  .contains("spec.podSetUpdates.nodeSelector"));
  EXPECT_TRUE(
      problems("{podSetUpdates: {nodeSelector: [{key: a b, valueFromProvisioningClassDetail: c}]}}")
          .contains("\"a b\" is not a label key"));
  EXPECT_EQ(
      problems_of_change("ProvisioningRequestConfig", "", "spec: {provisioningClassName: other}"),
      "");
}

}  // namespace
}  // namespace phalanx::admission
