// Puts the objects of an input into a Cluster: nodes, then what takes of them.
//
// A pod counts if it is bound to a node and neither Succeeded nor Failed. A workload counts while
// it holds capacity, by its assignment; the pods of such a pod set are not counted again. What
// cannot be counted exactly is said in a remark.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/cluster_input.h"
#include "topology/cluster.h"

namespace phalanx::cli {

struct Bookings {
  std::map<std::string, int64_t> running_pods;  // of Jobs ("namespace/name"), on nodes
  std::vector<std::string> remarks;             // for standard error
};

// The tree over all nodes of the input, nothing taken yet.
Result<TreeId> put_nodes(topology::Cluster& cluster, const ClusterInput& input,
                         const topology::TreeSpec& spec);

// Books pods and, unless they are to be left out, admitted workloads with their pods.
enum class Admitted : uint8_t { kBooked, kLeftOut };
Bookings book_usage(topology::Cluster& cluster, TreeId tree, const ClusterInput& input,
                    Admitted admitted);

}  // namespace phalanx::cli
