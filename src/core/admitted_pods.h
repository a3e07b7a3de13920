// What an admission gives to the pods of a workload beyond what their templates say.
#pragma once

#include <string>
#include <vector>

#include "api/workload.h"
#include "placement/pod_set.h"

namespace phalanx::core {

// Flavors, count and places of a pod set; nullptr if the admission does not name it. The workload
// must have its quota reserved.
const api::PodSetAssignment* assignment_of(const api::Workload& workload,
                                           const std::string& pod_set);

// What its admission checks add to the pods, in their order.
std::vector<const api::PodSetUpdate*> updates_of(const api::Workload& workload,
                                                 const std::string& pod_set);
// Of these what decides where the pods may go.
void add_updates(const api::Workload& workload, placement::PodSet& pod_set);

}  // namespace phalanx::core
