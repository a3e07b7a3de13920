// The pods of a pod set as an autoscaler is to see them. It simulates pods straight from a
// PodTemplate, which no API server completes as it completes a pod: what a pod would be given on
// its way, and what quota has counted, must stand in the template.
//
// These are the node selector and tolerations of its flavors, requests where there are only limits
// or defaults of the namespace, and the overhead of its RuntimeClass. What belongs to the start of
// pods, our scheduling gate and the annotations of an earlier request, is left out. All other
// fields are kept, known or not.
#pragma once

#include <string>

#include "core/state.h"

namespace phalanx::core {

// `assignment`: of the pod set; nullptr if it has none.
json::value template_for_autoscaler(const State& state, const std::string& namespace_,
                                    const api::WorkloadPodSet& pod_set,
                                    const api::PodSetAssignment* assignment);

}  // namespace phalanx::core
