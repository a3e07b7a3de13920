// Expectations about where pods are.
#pragma once

#include "sim/scenario_expectation.h"

namespace phalanx::sim {

// placed: namespace/job, with any of
//   at: {0: node, "train-1-*": node}    by rank, or by the pod's name; names every pod
//   on: {node: 2}                       how many pods are on which node; names every pod
//   within: {label: value}              all on nodes with these labels
//   same: label or [labels]             all on nodes that agree in these labels
// Pods that have ended do not count.
Result<Expectation> read_placed(const json::object& document);

// The pods that are bound to a node and have not ended fit its allocatable, on every node.
Result<void> check_no_overcommit(const Backend& backend);

}  // namespace phalanx::sim
