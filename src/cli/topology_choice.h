// Which levels the domain tree has: those the user names, those of a Topology object, or else the
// well-known label keys that the nodes carry.
//
// Of the well-known keys, region and zone may come first; below them one provider's family of keys
// is used, never a mix, because keys of two families need not nest. A key is used if most nodes
// carry it or a Job of the input asks for it. Whatever was guessed is said in a remark.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/cluster_input.h"
#include "topology/domain_tree.h"

namespace phalanx::cli {

struct TopologyWish {
  std::string name;                 // --topology; empty: not given
  std::vector<std::string> levels;  // --levels; empty: not given
};

struct TopologyChoice {
  topology::TreeSpec spec;
  std::vector<std::string> remarks;  // for standard error
};

Result<TopologyChoice> choose_topology(const ClusterInput& input, const TopologyWish& wish);

}  // namespace phalanx::cli
