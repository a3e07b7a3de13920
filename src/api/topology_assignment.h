// Where the pods of one pod set go: a count for each domain of the lowest level. The wire forms
// v1beta1 and v1beta2 of kueue.x-k8s.io are in topology/assignment_encoding.h; this is what both
// mean (KEP-2724, "Topology assignment representation").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace phalanx::api {

struct DomainAssignment {
  std::vector<std::string> values;  // one for each of the assignment's levels
  int32_t count = 0;

  bool operator==(const DomainAssignment&) const = default;
};

struct TopologyAssignment {
  std::vector<std::string> levels;  // node label keys, coarsest first
  std::vector<DomainAssignment> domains;

  bool operator==(const TopologyAssignment&) const = default;
};

}  // namespace phalanx::api
