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
inline constexpr Name kProvisioningController = "kueue.x-k8s.io/provisioning-request";
inline constexpr Name kManagedLabel = "kueue.x-k8s.io/managed";
// Of Workloads and jobs: parameters of the ProvisioningRequests that are made for them.
inline constexpr Name kProvisioningParameterPrefix = "provreq.kueue.x-k8s.io/";
// By these an autoscaler knows which pods use what it provided.
inline constexpr Name kConsumeRequestAnnotation =
    "autoscaling.x-k8s.io/consume-provisioning-request";
inline constexpr Name kProvisioningClassAnnotation = "autoscaling.x-k8s.io/provisioning-class-name";
// Ours, on what is made for an autoscaler: what a PodTemplate was made of, and of which reservation
// a ProvisioningRequest is.
inline constexpr Name kTemplateFingerprintAnnotation = "phalanx.dev/template-fingerprint";
inline constexpr Name kReservationAnnotation = "phalanx.dev/reservation";

// Conditions of a Workload.
inline constexpr Name kQuotaReserved = "QuotaReserved";
inline constexpr Name kAdmitted = "Admitted";
inline constexpr Name kEvicted = "Evicted";
inline constexpr Name kPreempted = "Preempted";  // also the reason of an eviction
inline constexpr Name kRequeued = "Requeued";
inline constexpr Name kFinished = "Finished";
inline constexpr Name kPodsReady = "PodsReady";
inline constexpr Name kDeactivationTarget = "DeactivationTarget";
// Ours: its quota is there and its checks are ready, but places for its pods have been sought in
// vain since then.
inline constexpr Name kSecondPassFailed = "phalanx.dev/SecondPassFailed";
// Condition of a ClusterQueue, of a LocalQueue and of an AdmissionCheck.
inline constexpr Name kActive = "Active";
// Conditions of a ProvisioningRequest, beside Failed.
inline constexpr Name kProvisioned = "Provisioned";
inline constexpr Name kBookingExpired = "BookingExpired";
inline constexpr Name kCapacityRevoked = "CapacityRevoked";

// Condition of a pod that was ended because it can never run, and its reason.
inline constexpr Name kTerminatedByKueue = "TerminatedByKueue";
inline constexpr Name kUnschedulableOnAssignedNode = "UnschedulableOnAssignedNode";

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
inline constexpr Name kWaitForStart = "WaitForStart";
inline constexpr Name kStarted = "Started";
inline constexpr Name kWaitForRecovery = "WaitForRecovery";
inline constexpr Name kRecovered = "Recovered";
inline constexpr Name kWaitingForPodsReady = "WaitingForPodsReady";
inline constexpr Name kPodsReadyTimeout = "PodsReadyTimeout";
inline constexpr Name kBackoffFinished = "BackoffFinished";
inline constexpr Name kRequeuingLimitExceeded = "RequeuingLimitExceeded";
inline constexpr Name kMaximumExecutionTimeExceeded = "MaximumExecutionTimeExceeded";
inline constexpr Name kNodeFailures = "NodeFailures";
inline constexpr Name kAdmissionCheck = "AdmissionCheck";
inline constexpr Name kUnsatisfiedAdmissionChecks = "UnsatisfiedAdmissionChecks";
inline constexpr Name kPendingDelayedTopologyRequests = "PendingDelayedTopologyRequests";
inline constexpr Name kSucceeded = "Succeeded";
inline constexpr Name kFailed = "Failed";
inline constexpr Name kOwnerNotFound = "OwnerNotFound";
// Why an AdmissionCheck is not active.
inline constexpr Name kParametersMissing = "ParametersMissing";
inline constexpr Name kParametersUnsupported = "ParametersUnsupported";
inline constexpr Name kParametersNotFound = "ParametersNotFound";

}  // namespace phalanx::core::names
