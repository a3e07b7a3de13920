// The admission check of kueue.x-k8s.io/provisioning-request: before a workload that has its quota
// is admitted, an autoscaler is asked for the nodes. KEP-2724, "Support for ProvisioningRequests".
//
// For each such check of the Workload there is one ProvisioningRequest at a time, with the
// PodTemplates that it names; its conditions become the state of the check in
// status.admissionChecks:
//
//   Provisioned              Ready, with what the pods need to use what was provided
//   Failed, BookingExpired,
//   CapacityRevoked          Retry, with a longer wait each time, and in the end Rejected
//   CapacityRevoked, admitted Rejected: the nodes under its pods go away
//   anything else            Pending, in the words of the autoscaler
//
// What a Retry and a Rejected do to the workload is not decided here. The number of retries in the
// check counts the attempts that are over (core/admission_checks.h); the next has another name.
//
// Everything is derived from objects, so that it goes on where it was after a crash: a request that
// does not say what would be written now is deleted, and made anew once it is gone. Requests and
// PodTemplates of a Workload that holds no quota any more, and of earlier attempts, are deleted.
//
// What an API server refuses to create is said in the check. It is tried again when another
// document would be written, and after a minute, two, four, up to an hour: what stood in its way (a
// quota of objects, a policy) may be gone, and nobody tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/state.h"
#include "core/verdict.h"

namespace phalanx::core {

// Whether objects of the kind are made to ask an autoscaler. Refused ones are tried again at a pace
// of their own.
inline bool is_for_autoscalers(api::Kind kind) {
  return kind == api::Kind::kPodTemplate || kind == api::Kind::kProvisioningRequest;
}

// The next thing to do for a workload: at most one of both.
struct ProvisioningStep {
  std::optional<Write> write = {};  // of a PodTemplate or a ProvisioningRequest
  // status.admissionChecks as it is to be, whole; empty: as it is.
  std::vector<api::AdmissionCheckStatus> checks = {};
  std::string_view what = {};  // for the journal, as is `why`
  std::string why = {};
  std::optional<Time> wake_at = {};  // when something that was refused is to be tried again
};
ProvisioningStep next_provisioning(const State& state, const WorkloadState& workload);

// The step as a write: checks become one patch of the Workload's status.
Verdict provisioning_verdict(const WorkloadState& workload, ProvisioningStep step);

// For a workload whose pods found no places on the nodes that were provided:
// status.admissionChecks as it is to be. The attempts count as failed.
std::vector<api::AdmissionCheckStatus> checks_without_places(const State& state,
                                                             const WorkloadState& workload);

// Both in one. It may be asked of every Workload; one without checks costs next to nothing.
Verdict reconcile_provisioning(const State& state, const std::string& workload);

}  // namespace phalanx::core
