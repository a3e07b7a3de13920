#include "core/admitted_pods.h"

#include <algorithm>

namespace phalanx::core {

const api::PodSetAssignment* assignment_of(const api::Workload& workload,
                                           const std::string& pod_set) {
  const auto found =
      std::ranges::find(*workload.admission, pod_set, &api::PodSetAssignment::pod_set);
  return found == workload.admission->end() ? nullptr : &*found;
}

std::vector<const api::PodSetUpdate*> updates_of(const api::Workload& workload,
                                                 const std::string& pod_set) {
  std::vector<const api::PodSetUpdate*> updates;
  for (const api::AdmissionCheckStatus& check : workload.admission_checks) {
    for (const api::PodSetUpdate& update : check.updates) {
      if (update.pod_set == pod_set) updates.push_back(&update);
    }
  }
  return updates;
}

void add_updates(const api::Workload& workload, placement::PodSet& pod_set) {
  for (const api::PodSetUpdate* update : updates_of(workload, pod_set.name)) {
    for (const auto& [key, value] : update->node_selector) pod_set.node_selector[key] = value;
    pod_set.tolerations.insert(pod_set.tolerations.end(), update->tolerations.begin(),
                               update->tolerations.end());
  }
}

}  // namespace phalanx::core
