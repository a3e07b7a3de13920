// Gang trees in `phalanx place`: read, placed after the Jobs, and reported.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/cluster_input.h"
#include "placement/gang.h"
#include "topology/cluster.h"

namespace phalanx::cli {

struct GangOutcome {
  placement::Gang gang;
  placement::GangResult result;
};

// The gangs of the input; the error names file, gang and field.
Result<std::vector<placement::Gang>> read_gangs(const ClusterInput& input);

// What all pods of a gang ask for together.
api::ResourceAmounts requests_of(const placement::GangGroup& group);

// Places a gang and books what it got. `topologies` by name, the one to use by default first.
Result<GangOutcome> place_and_book(topology::Cluster& cluster,
                                   const std::vector<std::pair<std::string, TreeId>>& topologies,
                                   const placement::Gang& gang);

// The paragraph about one gang.
std::string gang_text(const GangOutcome& outcome, bool color, bool full_explanation);
json::value gang_json(const GangOutcome& outcome);

}  // namespace phalanx::cli
