// What workloads have on the nodes, laid out for taking it away and putting it back again and
// again.
//
// All leaves stand in one list, those of a workload next to each other and in the order of the
// tree, so that what it has in a domain is one range of the list. Where many workloads go at once,
// what they have on each leaf is added up first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/cluster.h"

namespace phalanx::quota {

class VictimLeaves {
 public:
  // Of the list.
  struct Range {
    size_t begin = 0;
    size_t end = 0;

    [[nodiscard]] size_t size() const { return end - begin; }
  };
  struct Leaf {
    uint32_t leaf = 0;
    uint32_t kind = 0;
    int64_t count = 0;  // pods
  };
  // Pods that ask for the same, in one tree.
  struct Kind {
    TreeId tree;
    topology::RequestVector requests;
  };

  explicit VictimLeaves(topology::Cluster& cluster) : cluster_(cluster) {}

  void clear();
  // What a workload has in these trees. Holds until usage changes.
  Range look_up(std::span<const TreeId> trees, const std::string& workload);
  [[nodiscard]] std::span<const Leaf> in(Range range) const {
    return std::span(leaves_).subspan(range.begin, range.size());
  }
  // Of what was looked up in one tree: the part in a domain.
  [[nodiscard]] Range within(Range range, topology::DomainRange domain) const;
  // So much of a resource each pod of a kind has, by kind.
  [[nodiscard]] std::vector<int64_t> amounts(ResourceId resource) const;

  // Takes it away with the sign -1, puts it back with +1. An Attempt must be open, and all must be
  // back before it ends.
  void move(Range range, int sign);
  void move_all(std::span<const Range> ranges, int sign);

 private:
  [[nodiscard]] uint32_t kind_of(const topology::LeafUsage& usage);

  topology::Cluster& cluster_;
  std::vector<Leaf> leaves_;
  std::vector<Kind> kinds_;
  std::vector<topology::LeafUsage> found_;      // of one workload
  std::vector<std::vector<int64_t>> together_;  // by kind, leaf: pods; all 0 between calls
};

}  // namespace phalanx::quota
