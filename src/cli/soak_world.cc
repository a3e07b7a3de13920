#include "cli/soak_world.h"

#include <fmt/format.h>

#include "api/node.h"
#include "base/check.h"
#include "base/yaml.h"
#include "sim/node_generator.h"

namespace phalanx::cli {
namespace {

// GPUs of preempted and borrowed quota move between the teams; what the autoscaler may add is for
// research, whose pods take any such node, and for batch, whose pods take those made for them.
constexpr std::string_view kCommon = R"(apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: default}
spec:
  levels:
  - {nodeLabel: cloud.provider.com/topology-block}
  - {nodeLabel: cloud.provider.com/topology-rack}
  - {nodeLabel: kubernetes.io/hostname}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: tas}
spec: {nodeLabels: {cloud.provider.com/node-group: tas}, topologyName: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: scaled}
spec:
  nodeLabels: {cloud.provider.com/node-group: scaled}
  topologyName: default
  nodeTaints: [{key: soak.phalanx.dev/scaled, value: "yes", effect: NoSchedule}]
  tolerations: [{key: soak.phalanx.dev/scaled, operator: Exists, effect: NoSchedule}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: any-node}
spec:
  provisioningClassName: best-effort-atomic-scale-up.autoscaling.x-k8s.io
  managedResources: [nvidia.com/gpu]
  retryStrategy: {backoffBaseSeconds: 60, backoffLimitCount: 4, backoffMaxSeconds: 600}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: own-nodes}
spec:
  provisioningClassName: best-effort-atomic-scale-up.autoscaling.x-k8s.io
  managedResources: [nvidia.com/gpu]
  retryStrategy: {backoffBaseSeconds: 60, backoffLimitCount: 4, backoffMaxSeconds: 600}
  podSetUpdates:
    nodeSelector: [{key: soak.phalanx.dev/pool, valueFromProvisioningClassDetail: Pool}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: any-node}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: any-node}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: own-nodes}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: own-nodes}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: -100
)";

struct TeamRules {
  std::string_view strategy;
  std::string_view preemption;
  std::string_view check;  // empty: no quota of the flavor scaled
};

TeamRules rules_of(std::string_view team) {
  if (team == "research") {
    return {"BestEffortFIFO", "{withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}",
            "any-node"};
  }
  if (team == "product") {
    return {"StrictFIFO",
            "{withinClusterQueue: LowerOrNewerEqualPriority, reclaimWithinCohort: LowerPriority}",
            ""};
  }
  return {"BestEffortFIFO", "{withinClusterQueue: LowerPriority, reclaimWithinCohort: Never}",
          "own-nodes"};
}

std::string quota_text(std::string_view flavor, uint32_t hosts) {
  return fmt::format(
      "{{name: {}, resources: [{{name: cpu, nominalQuota: {}}}, {{name: {}, nominalQuota: {}}}]}}",
      flavor, hosts * kSoakCpusOfNode, kSoakGpu, hosts * kSoakGpusOfNode);
}

std::string team_text(const SoakPlan& plan, const SoakTeam& team) {
  const TeamRules rules = rules_of(team.name);
  std::string flavors = quota_text("tas", std::max(1U, plan.fixed_nodes() * team.percent / 100));
  std::string checks;
  if (!rules.check.empty()) {
    flavors += ", " + quota_text("scaled", std::max(1U, plan.scaled_nodes() / 2));
    checks = fmt::format(
        "  admissionChecksStrategy: {{admissionChecks: [{{name: {}, onFlavors: [scaled]}}]}}\n",
        rules.check);
  }
  return fmt::format(R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {0}}}
spec:
  cohortName: everybody
  namespaceSelector: {{}}
  queueingStrategy: {1}
  preemption: {2}
{3}  resourceGroups: [{{coveredResources: [cpu, {4}], flavors: [{5}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {6}, namespace: {0}}}
spec: {{clusterQueue: {0}}}
)",
                     team.name, rules.strategy, rules.preemption, checks, kSoakGpu, flavors,
                     kSoakLocalQueue);
}

sim::NodePlan node_plan(const SoakPlan& plan) {
  sim::NodePlan result;
  result.hosts = kSoakHostsOfRack;
  result.racks = kSoakRacksOfBlock;
  const uint32_t of_block = kSoakHostsOfRack * kSoakRacksOfBlock;
  result.blocks = (plan.fixed_nodes() + of_block - 1) / of_block;
  result.amounts = {{"cpu", std::to_string(kSoakCpusOfNode)},
                    {std::string(kSoakGpu), std::to_string(kSoakGpusOfNode)},
                    {"pods", "110"}};
  return result;
}

}  // namespace

std::vector<json::value> soak_queues(const SoakPlan& plan) {
  std::string text(kCommon);
  for (const SoakTeam& team : kSoakTeams) text += team_text(plan, team);
  const auto documents = parse_documents(text);
  CHECK(documents);
  std::vector<json::value> values;
  for (const Document& document : *documents) values.push_back(document.value);
  return values;
}

json::value soak_node(const SoakPlan& plan, uint32_t index) {
  CHECK(index < plan.fixed_nodes());
  return node_plan(plan).node(index);
}

json::value soak_scaled_node(const std::string& name, const std::string& block,
                             const std::string& rack) {
  const json::object amounts{{"cpu", std::to_string(kSoakCpusOfNode)},
                             {kSoakGpu, std::to_string(kSoakGpusOfNode)},
                             {"pods", "110"}};
  json::object labels{{sim::kNodeGroupLabel, kSoakScaledGroup},
                      {sim::kBlockLabel, block},
                      {sim::kRackLabel, rack},
                      {kSoakPoolLabel, block},
                      {api::kHostnameLabel, name}};
  json::object taint{{"key", kSoakScaledTaint}, {"value", "yes"}, {"effect", "NoSchedule"}};
  return json::object{{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", json::object{{"name", name}, {"labels", std::move(labels)}}},
                      {"spec", json::object{{"taints", json::array{std::move(taint)}}}},
                      {"status", json::object{{"capacity", amounts}, {"allocatable", amounts}}}};
}

core::Configuration soak_configuration() {
  auto file = core::parse_configuration(R"(apiVersion: config.phalanx.dev/v1
kind: Configuration
waitForPodsReady:
  timeout: 5m
  recoveryTimeout: 10m
  requeuingStrategy: {backoffBaseSeconds: 30, backoffMaxSeconds: 900, backoffLimitCount: 12}
)",
                                        "soak");
  CHECK(file);
  return std::move(file->configuration);
}

Time soak_start() {
  return Time(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1));
}

}  // namespace phalanx::cli
