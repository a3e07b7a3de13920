// The ProvisioningRequestConfig that an AdmissionCheck of kueue.x-k8s.io/provisioning-request
// names: without it nobody knows how to ask.
#pragma once

#include <string>

#include "core/state.h"
#include "core/verdict.h"

namespace phalanx::core {

struct ConfigOfCheck {
  const api::ProvisioningRequestConfig* config = nullptr;  // nullptr: the check cannot be used
  std::string_view reason = {};                            // why not, for a condition
  std::string message = {};                                // why not, for people
};
ConfigOfCheck config_of(const State& state, const api::AdmissionCheck& check);

// Whether an AdmissionCheck of this controller can be used, in its condition Active.
Verdict reconcile_admission_check(const State& state, const std::string& name);

}  // namespace phalanx::core
