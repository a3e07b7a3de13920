#include "core/second_pass.h"

#include <algorithm>

#include "core/admitted_pods.h"
#include "core/names.h"
#include "core/provisioning.h"
#include "core/unit_market.h"
#include "core/workload_status.h"
#include "placement/units.h"

namespace phalanx::core {
namespace {

// How long it stays away for which no nodes had to be made.
constexpr Duration kWithoutPlaces = std::chrono::seconds(60);

const api::PodSetAssignment* admission_of(const WorkloadState& workload, size_t index) {
  return assignment_of(workload.object, workload.object.pod_sets[index].name);
}

// The pods as they were admitted, with what the checks add.
placement::Workload request_of(const WorkloadState& workload) {
  placement::Workload request = workload.request;
  for (size_t i = 0; i < request.pod_sets.size(); ++i) {
    placement::PodSet& pod_set = request.pod_sets[i];
    const api::PodSetAssignment* admission = admission_of(workload, i);
    if (admission != nullptr && admission->count) pod_set.count = *admission->count;
    add_updates(workload.object, pod_set);
  }
  return request;
}

// The flavors of a unit, the one with a topology first; empty: it has none.
std::vector<const api::ResourceFlavor*> flavors_of_unit(const State& state,
                                                        const WorkloadState& workload,
                                                        const std::vector<size_t>& unit) {
  std::vector<const api::ResourceFlavor*> flavors;
  for (const size_t index : unit) {
    const api::PodSetAssignment* admission = admission_of(workload, index);
    if (admission == nullptr || !admission->delayed_topology.value_or(false)) continue;
    for (const auto& [resource, name] : admission->flavors) {
      const api::ResourceFlavor* flavor = state.flavor(name);
      if (flavor == nullptr || std::ranges::find(flavors, flavor) != flavors.end()) continue;
      if (flavor->topology_name.empty()) {
        flavors.push_back(flavor);
      } else {
        flavors.insert(flavors.begin(), flavor);
      }
    }
  }
  return flavors;
}

}  // namespace

std::expected<Places, std::string> place_delayed(State& state, const WorkloadState& workload) {
  const placement::Workload request = request_of(workload);
  Places places = workload.assignments;
  // Trees are rebuilt now, if they must be: an open attempt forbids it.
  for (const auto& [name, flavor] : state.flavors) {
    if (const auto tree = state.account.tree_of(name)) state.account.cluster().tree(*tree);
  }
  UnitPlacement placement(state, request, state.configuration.placement);
  const topology::Attempt attempt(state.account.cluster());
  for (const placement::Members& unit : placement::units_of(request, {})) {
    const auto flavors = flavors_of_unit(state, workload, unit.all);
    if (flavors.empty()) continue;
    auto placed = placement.place(flavors, unit.all);
    if (!placed) return std::unexpected(placed.error());
    for (size_t i = 0; i < unit.all.size(); ++i) places[unit.all[i]] = std::move((*placed)[i]);
  }
  return places;
}

Write first_failure_write(const State& state, const WorkloadState& workload) {
  StatusChange change(state, workload);
  change.remove(names::kSecondPassFailed);  // one that is there has a time that cannot be true
  change.set(
      names::kSecondPassFailed, true, names::kTopologyPlacementFailed,
      "All admission checks are ready, but there is no room for its pods yet; its Events say "
      "what is lacking");
  return change.write();
}

Write forget_failure_write(const State& state, const WorkloadState& workload) {
  StatusChange change(state, workload);
  change.remove(names::kSecondPassFailed);
  return change.write();
}

Write surrender_write(const State& state, const WorkloadState& workload,
                      const std::string& message) {
  const std::vector<api::AdmissionCheckStatus> checks = checks_without_places(state, workload);
  StatusChange change(state, workload);
  change.set_checks(checks);
  std::optional<int32_t> wait;
  for (const api::AdmissionCheckStatus& check : checks) {
    // What follows from that is the same as if the check had said so by itself.
    if (check.state == api::CheckState::kRejected) return change.write();
    if (check.state == api::CheckState::kRetry) {
      wait = std::max(wait.value_or(0), check.requeue_after_seconds.value_or(0));
    }
  }
  const Duration away = wait ? std::chrono::seconds(*wait) : kWithoutPlaces;
  const int32_t count = workload.object.requeue ? workload.object.requeue->count : 0;
  change.evict(names::kTopologyPlacementFailed, message);
  change.set_requeue(api::RequeueState{count, state.now + away});
  return change.write();
}

}  // namespace phalanx::core
