// How the core is set up: the part of the configuration that decides.
//
// Read from a file of ours (apiVersion config.phalanx.dev/v1, kind Configuration), in which an
// unknown field is an error, or from Kueue's (config.kueue.x-k8s.io), of which the parts that we
// have are understood and the rest is named in a warning. Both spell the fields alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/label_selector.h"
#include "api/resources.h"
#include "base/error.h"
#include "base/json.h"
#include "base/time.h"
#include "placement/pod_set.h"

namespace phalanx::core {

// Quota counts another resource than pods ask for.
struct ResourceTransformation {
  std::string input;
  bool retain = true;            // the input counts, too
  std::string multiply_by;       // empty: by nothing
  api::ResourceAmounts outputs;  // for each whole unit of the input

  bool operator==(const ResourceTransformation&) const = default;
};

// What quota counts. The nodes' account is not changed by it.
struct QuotaResources {
  std::vector<std::string> excluded_prefixes;
  std::vector<ResourceTransformation> transformations;
  bool ignore_undeclared = false;  // what no resource group covers is not counted

  bool operator==(const QuotaResources&) const = default;
};

enum class FairPreemptionStrategy : uint8_t { kLessThanOrEqualToFinalShare, kLessThanInitialShare };

struct FairSharing {
  std::vector<FairPreemptionStrategy> strategies{
      FairPreemptionStrategy::kLessThanOrEqualToFinalShare,
      FairPreemptionStrategy::kLessThanInitialShare};

  bool operator==(const FairSharing&) const = default;
};

struct AdmissionFairSharing {
  Duration half_life{};  // 0: what was used is forgotten at once
  Duration sampling_interval = std::chrono::minutes(5);
  std::map<std::string, double> resource_weights;  // 1 where nothing is said

  bool operator==(const AdmissionFairSharing&) const = default;
};

// Whose pods must be ready before anybody else is admitted.
enum class BlockScope : uint8_t {
  kNobody,
  kCluster,       // everybody's
  kClusterQueue,  // those of its own ClusterQueue
  kFlavor,        // those that use a flavor which it would use
};

// All or nothing in time: who is admitted has to get its pods ready, and keep them so.
struct WaitForPodsReady {
  Duration timeout = std::chrono::minutes(5);     // from admission until all are ready
  std::optional<Duration> recovery_timeout = {};  // until they are again; nullopt: for ever
  BlockScope blocks = BlockScope::kNobody;
  bool back_by_creation = false;                // whoever is sent back stands where it stood
  std::optional<int32_t> limit = {};            // how often it is sent back; nullopt: for ever
  Duration backoff = std::chrono::seconds(60);  // the first one; each is twice the one before
  Duration longest_backoff = std::chrono::seconds(3600);

  bool operator==(const WaitForPodsReady&) const = default;
};

// When a place on a node is given up for another one.
struct NodeReplacement {
  bool enabled = true;             // gate TASFailedNodeReplacement
  bool fail_fast = true;           // gate ...FailFast: tried once, then it is evicted
  bool on_pod_termination = true;  // gate TASReplaceNodeOnPodTermination
  bool after_fixed_time = false;   // gate TASReplaceNodeDueToNotReadyOverFixedTime
  bool on_taints = true;           // gate TASReplaceNodeOnNodeTaints

  bool operator==(const NodeReplacement&) const = default;
};

struct Configuration {
  // Jobs without a queue name are suspended too, and wait until they get one.
  bool manage_jobs_without_queue_name = false;
  // Where that holds. Namespaces of the system are never managed without a queue name.
  std::optional<api::LabelSelector> managed_jobs_namespace_selector;
  bool reclaimable_pods = true;           // gate ReclaimablePods
  bool topology_aware_scheduling = true;  // gate TopologyAwareScheduling
  bool priority_boost = false;            // gate PriorityBoost
  QuotaResources resources;
  std::optional<FairSharing> fair_sharing;  // nullopt: off
  std::optional<AdmissionFairSharing> admission_fair_sharing;
  // The first of a BestEffortFIFO queue that waited so long gets a place held. nullopt: nobody.
  std::optional<Duration> head_reservation_after;
  std::optional<WaitForPodsReady> wait_for_pods_ready;  // nullopt: off
  NodeReplacement node_replacement;
  placement::Options placement;  // gates TASProfileMixed, TASBalancedPlacement, ...

  bool operator==(const Configuration&) const = default;
};

struct ConfigurationFile {
  Configuration configuration;
  std::vector<std::string> warnings;
};

// `text` is YAML or JSON; `name` stands for it in errors.
Result<ConfigurationFile> parse_configuration(std::string_view text, const std::string& name);

// "A=true,B=false" on top of what the configuration says. Unknown gates are errors that name the
// nearest known one; gates of Kueue that change nothing here are warnings.
Result<std::vector<std::string>> apply_feature_gates(std::string_view gates,
                                                     Configuration& configuration);

}  // namespace phalanx::core
