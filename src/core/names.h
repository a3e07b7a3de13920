// Names that clients match on: labels, annotations, gates, condition types and reasons of
// kueue.x-k8s.io. They are the same as Kueue's where the meaning is the same.
#pragma once

#include <string_view>

namespace phalanx::core::names {

using Name = std::string_view;

inline constexpr Name kQueueLabel = "kueue.x-k8s.io/queue-name";
inline constexpr Name kPriorityClassLabel = "kueue.x-k8s.io/priority-class";
inline constexpr Name kMaximumExecutionLabel = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr Name kJobUidLabel = "kueue.x-k8s.io/job-uid";
inline constexpr Name kPodSetLabel = "kueue.x-k8s.io/podset";
inline constexpr Name kWorkloadAnnotation = "kueue.x-k8s.io/workload";
inline constexpr Name kMinParallelismAnnotation = "kueue.x-k8s.io/job-min-parallelism";
inline constexpr Name kCompletionsEqualParallelismAnnotation =
    "kueue.x-k8s.io/job-completions-equal-parallelism";
inline constexpr Name kTopologyGate = "kueue.x-k8s.io/topology";
inline constexpr Name kInUseFinalizer = "kueue.x-k8s.io/resource-in-use";
inline constexpr Name kDefaultLocalQueue = "default";
inline constexpr Name kDefaultPodSet = "main";
inline constexpr Name kJobIndexLabel = "batch.kubernetes.io/job-completion-index";
inline constexpr Name kKueueGroup = "kueue.x-k8s.io";
inline constexpr Name kMultiKueueController = "kueue.x-k8s.io/multikueue";

// Conditions of a Workload.
inline constexpr Name kQuotaReserved = "QuotaReserved";
inline constexpr Name kAdmitted = "Admitted";
inline constexpr Name kEvicted = "Evicted";
inline constexpr Name kPreempted = "Preempted";  // also the reason of an eviction
inline constexpr Name kRequeued = "Requeued";
inline constexpr Name kFinished = "Finished";
// Condition of a ClusterQueue and of a LocalQueue.
inline constexpr Name kActive = "Active";

// Reasons.
inline constexpr Name kPending = "Pending";
inline constexpr Name kInadmissible = "Inadmissible";
inline constexpr Name kNoReservation = "NoReservation";
inline constexpr Name kWaitingForQuota = "WaitingForQuota";
inline constexpr Name kExceedsMaxQuota = "ExceedsMaxQuota";
inline constexpr Name kNoMatchingFlavor = "NoMatchingFlavor";
inline constexpr Name kTopologyPlacementFailed = "TopologyPlacementFailed";
inline constexpr Name kWaitingForPreemptedWorkloads = "WaitingForPreemptedWorkloads";
inline constexpr Name kInClusterQueue = "InClusterQueue";
inline constexpr Name kInCohortReclamation = "InCohortReclamation";
inline constexpr Name kInCohortReclaimWhileBorrowing = "InCohortReclaimWhileBorrowing";
inline constexpr Name kInCohortFairSharing = "InCohortFairSharing";
inline constexpr Name kCohortCycle = "CohortCycle";
inline constexpr Name kMisconfigured = "Misconfigured";
inline constexpr Name kSuspended = "Suspended";
inline constexpr Name kDeactivated = "Deactivated";
inline constexpr Name kReactivated = "Reactivated";
inline constexpr Name kClusterQueueStopped = "ClusterQueueStopped";
inline constexpr Name kClusterQueueRestarted = "ClusterQueueRestarted";
inline constexpr Name kLocalQueueStopped = "LocalQueueStopped";
inline constexpr Name kLocalQueueRestarted = "LocalQueueRestarted";
inline constexpr Name kSucceeded = "Succeeded";
inline constexpr Name kFailed = "Failed";
inline constexpr Name kOwnerNotFound = "OwnerNotFound";

}  // namespace phalanx::core::names
