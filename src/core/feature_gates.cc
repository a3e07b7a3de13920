#include "core/feature_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/spelling.h"

namespace phalanx::core {
namespace {

struct Gate {
  std::string_view name;
  bool fallback;                                         // what holds if nobody says anything
  void (*apply)(Configuration& configuration, bool on);  // nullptr: changes nothing here
};

// Kueue's gates by their names. Those without a function are about parts that are not here, or
// about choices of an implementation that this one makes differently.
constexpr std::array kGates{
    Gate{"TopologyAwareScheduling", true,
         [](Configuration& c, bool on) { c.topology_aware_scheduling = on; }},
    Gate{"TASProfileMixed", true,
         [](Configuration& c, bool on) {
           c.placement.profile = on ? placement::Profile::kMixed : placement::Profile::kBestFit;
         }},
    Gate{"TASBalancedPlacement", false,
         [](Configuration& c, bool on) { c.placement.balanced = on; }},
    Gate{"TASRespectNodeAffinityPreferred", false,
         [](Configuration& c, bool on) { c.placement.preferred_node_affinity = on; }},
    Gate{"SkipReassignmentForPodOwnedWorkloads", true,
         [](Configuration& c, bool on) { c.placement.keep_single_pod_owner_assignment = on; }},
    Gate{"ReclaimablePods", true, [](Configuration& c, bool on) { c.reclaimable_pods = on; }},
    Gate{"TASFailedNodeReplacement", true,
         [](Configuration& c, bool on) { c.node_replacement.enabled = on; }},
    Gate{"TASFailedNodeReplacementFailFast", true,
         [](Configuration& c, bool on) { c.node_replacement.fail_fast = on; }},
    Gate{"TASReplaceNodeOnPodTermination", true,
         [](Configuration& c, bool on) { c.node_replacement.on_pod_termination = on; }},
    Gate{"TASReplaceNodeDueToNotReadyOverFixedTime", false,
         [](Configuration& c, bool on) { c.node_replacement.after_fixed_time = on; }},
    Gate{"TASReplaceNodeOnNodeTaints", true,
         [](Configuration& c, bool on) { c.node_replacement.on_taints = on; }},
    Gate{"DisableWaitForPodsReady", false,
         [](Configuration& c, bool on) {
           if (on) c.wait_for_pods_ready.reset();
         }},
    Gate{"TASRecomputeAssignmentWithinSchedulingCycle", true, nullptr},
    Gate{"FlavorFungibility", true, nullptr},
    Gate{"VisibilityOnDemand", true, nullptr},
    Gate{"PrioritySortingWithinCohort", true, nullptr},
    Gate{"LocalQueueMetrics", true, nullptr},
    Gate{"AdmissionFairSharing", true, nullptr},
    Gate{"ElasticJobsViaWorkloadSlices", true, nullptr},
    Gate{"ElasticJobsViaWorkloadSlicesWithTAS", false, nullptr},
    Gate{"TASAssignmentsEncodingByHostnamePrefix", true, nullptr},
    Gate{"WorkloadRequestUseMergePatch", false, nullptr},
    Gate{"FailureRecoveryPolicy", false, nullptr},
    Gate{"TASMultiLayerTopology", true, nullptr},
    Gate{"SchedulingEquivalenceHashing", true, nullptr},
    Gate{"PriorityBoost", false, [](Configuration& c, bool on) { c.priority_boost = on; }},
    Gate{"FastQuotaReleaseInPodIntegration", false, nullptr},
    Gate{"ConcurrentAdmission", false, nullptr},
    Gate{"TASHandleOverlappingFlavors", true, nullptr},
    Gate{"TASCacheNodeMatchResults", true, nullptr},
    Gate{"TASCachingRemainingResources", true, nullptr},
    Gate{"TASCacheTopologyTree", true, nullptr},
    Gate{"TASValidateWorkloadSliceSize", true, nullptr},
};

}  // namespace

std::vector<std::string_view> feature_gate_names() {
  std::vector<std::string_view> names;
  for (const Gate& gate : kGates) names.push_back(gate.name);
  return names;
}

Result<std::string> set_feature_gate(std::string_view name, bool on, Configuration& configuration) {
  const auto found = std::ranges::find(kGates, name, &Gate::name);
  if (found == kGates.end()) {
    return fail(fmt::format("there is no feature gate \"{}\"{}", name,
                            suggestion(name, feature_gate_names())));
  }
  if (found->apply != nullptr) {
    found->apply(configuration, on);
    return "";
  }
  if (on == found->fallback) return "";
  return fmt::format("feature gate {}={} changes nothing here", name, on);
}

}  // namespace phalanx::core
