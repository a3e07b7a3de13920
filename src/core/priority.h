// The priority of a job: its WorkloadPriorityClass, else the PriorityClass of its pods, else the
// default of the cluster, else 0.
#pragma once

#include <cstdint>
#include <optional>

#include "api/workload.h"
#include "core/object.h"
#include "core/state.h"

namespace phalanx::core {

struct Priority {
  int32_t value = 0;
  std::optional<api::PriorityClassRef> reference;
};

// A class that does not exist (yet) counts as 0, and nothing refers to it: anybody may write any
// name. Workloads wait until it is there (queue_problem), and those that have their quota keep what
// they were admitted with.
Priority priority_of(const State& state, const Job& job);

// Puts the fields `priority` and `priorityClassRef` of a Workload's spec.
void put_priority(const Priority& priority, json::object& spec);

}  // namespace phalanx::core
