// A cluster saved as a folder of YAML that people can read, compare and edit.
//
//   cluster.yaml     the time, the counter of versions, the state of the random numbers, and the
//                    names of the other files
//   nodes.yaml       all nodes, one document each; likewise for every other kind that has objects
//
// Saving writes a new folder beside the old one and exchanges them, so that whoever reads finds
// either the old cluster or the new one, whole. Loading gives exactly what was saved, and checks
// everything: a file may have been edited by hand. The history of events is not saved; readers of
// a loaded cluster list first.
#pragma once

#include <string>

#include "base/error.h"
#include "sim/cluster_state.h"

namespace phalanx::sim {

// An existing folder is replaced only if it holds a saved cluster or nothing.
Result<void> save_state(const ClusterState& state, const std::string& folder);

// Whether save_state can be expected to work, before there is anything to save.
Result<void> check_saveable(const std::string& folder);

// Errors name the file, the line on which the object begins, the object and the field.
Result<ClusterState> load_state(const std::string& folder);

}  // namespace phalanx::sim
