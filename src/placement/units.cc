#include "placement/units.h"

#include <fmt/format.h>

#include <map>

#include "placement/assignment.h"

namespace phalanx::placement {

namespace {

// Who leads: the second pod set, unless it has more pods. At one pod each a resize goes by what
// they had before, so that workers shrunk to one stay the workers.
void assign_roles(const Workload& workload, const Options& options, Members& unit) {
  if (unit.all.size() != 2) return;
  const PodSet& first = workload.pod_sets[unit.all[0]];
  const PodSet& second = workload.pod_sets[unit.all[1]];
  bool swap = second.count > first.count;
  if (options.elastic_resize && second.count == first.count && first.previous && second.previous) {
    swap = pods_in(*second.previous) > pods_in(*first.previous);
  }
  unit.workers = unit.all[swap ? 1 : 0];
  unit.leader = unit.all[swap ? 0 : 1];
}

}  // namespace

std::vector<Members> units_of(const Workload& workload, const Options& options) {
  std::vector<Members> units;
  std::map<std::string, size_t> unit_of_group;
  for (size_t index = 0; index < workload.pod_sets.size(); ++index) {
    const auto& topology = workload.pod_sets[index].topology;
    if (topology && topology->group_name) {
      const auto [entry, is_new] = unit_of_group.emplace(*topology->group_name, units.size());
      if (!is_new) {
        units[entry->second].all.push_back(index);
        continue;
      }
    }
    units.push_back({index, std::nullopt, {index}});
  }
  for (Members& unit : units) assign_roles(workload, options, unit);
  return units;
}

std::optional<std::string> malformed(const Workload& workload, const Members& unit) {
  if (unit.all.size() > 2) {
    return fmt::format("the pod set group has {} pod sets; it takes two, a leader and its workers",
                       unit.all.size());
  }
  if (unit.leader && workload.pod_sets[*unit.leader].count != 1) {
    return fmt::format(
        "the leader pod set \"{}\" has {} pods; of the two pod sets of a group one must have "
        "exactly one pod",
        workload.pod_sets[*unit.leader].name, workload.pod_sets[*unit.leader].count);
  }
  return std::nullopt;
}

std::vector<PodSetResult> empty_results(const Workload& workload) {
  std::vector<PodSetResult> results;
  for (const PodSet& pod_set : workload.pod_sets) {
    results.push_back({pod_set.name, std::nullopt, std::nullopt, nullptr});
  }
  return results;
}

}  // namespace phalanx::placement
