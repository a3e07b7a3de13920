// Chooses the flavors that the pod sets of a workload take their resources from.
//
// For every unit (a pod set, or pod sets that must share a flavor) the flavors of each resource
// group are tried in the order of the ClusterQueue. A flavor will do if its taints are tolerated,
// the pods' selectors and affinity agree with its labels, it is a flavor of a topology exactly if
// the pods are to be placed by one, its quota suffices, and, with a topology, the pods can be
// placed. The first that will do is taken; every refusal is kept with its text.
//
// A unit that is placed by a topology takes all its resources from one flavor.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/queueing.h"
#include "api/topology_assignment.h"
#include "placement/pod_set.h"
#include "quota/ledger.h"

namespace phalanx::quota {

// Why a flavor was not taken; the order is that of hope, least first.
enum class Obstacle : uint8_t {
  kNoMatchingFlavor,  // this flavor never
  kExceedsQuota,      // not even if the queue were empty
  kWaitingForQuota,   // when others give quota back
  kTopology,          // when nodes have more room
};

struct Refusal {
  Obstacle obstacle = Obstacle::kNoMatchingFlavor;
  std::string flavor;  // empty: of the queue as a whole
  std::string text;

  bool operator==(const Refusal&) const = default;
};

struct FlavorChoice {
  std::map<std::string, std::string> flavors;  // by resource
  api::ResourceAmounts usage;                  // of all its pods, by resource
  std::optional<api::TopologyAssignment> topology;
  std::string topology_flavor;  // with a topology: the flavor it was placed in
};

struct Refused {
  size_t pod_set = 0;  // index of the first that found no flavor
  std::vector<Refusal> refusals;
  // Of pod sets that did find a flavor, but not the first: with that one, this one might fit.
  std::vector<Refusal> earlier = {};

  [[nodiscard]] Obstacle obstacle() const;  // the most hopeful
  // "couldn't assign flavors to pod set main: ..."
  [[nodiscard]] std::string text(const std::string& pod_set_name) const;
};

class FlavorAssigner {
 public:
  using FindFlavor = std::function<const api::ResourceFlavor*(const std::string&)>;
  // Places a unit (indices of pod sets) in a flavor's topology and leaves it charged, so that the
  // next unit sees it; or says why not.
  using Place = std::function<std::expected<std::vector<api::TopologyAssignment>, std::string>(
      const api::ResourceFlavor&, const std::vector<size_t>& unit)>;

  FlavorAssigner(const api::ClusterQueue& queue, const Usage& reserved, FindFlavor find_flavor,
                 Place place);

  // One choice for each pod set, in order.
  std::expected<std::vector<FlavorChoice>, Refused> assign(const placement::Workload& workload);

 private:
  struct GroupNeed {
    const api::ResourceGroup* group = nullptr;
    // By resource: what all pods of the unit need together.
    api::ResourceAmounts amounts;
  };

  std::optional<Refused> assign_unit(const placement::Workload& workload,
                                     const std::vector<size_t>& unit,
                                     std::vector<FlavorChoice>& choices);
  std::expected<std::vector<GroupNeed>, Refusal> group_needs(
      const std::vector<const placement::PodSet*>& members) const;
  [[nodiscard]] std::optional<Refusal> check_flavor(
      const api::FlavorQuotas& quotas, const GroupNeed& need,
      const std::vector<const placement::PodSet*>& members) const;
  [[nodiscard]] std::optional<Refusal> check_quota(const api::FlavorQuotas& quotas,
                                                   const GroupNeed& need) const;
  std::optional<Refusal> place(const std::string& flavor, const std::vector<size_t>& unit,
                               std::vector<FlavorChoice>& choices);
  void take(const std::string& flavor, const GroupNeed& need,
            const std::vector<const placement::PodSet*>& members, const std::vector<size_t>& unit,
            std::vector<FlavorChoice>& choices);
  [[nodiscard]] bool by_topology(const std::vector<const placement::PodSet*>& members) const;

  const api::ClusterQueue& queue_;
  const Usage& reserved_;
  FindFlavor find_flavor_;
  Place place_;
  bool only_topology_flavors_ = false;  // of the queue: the implicit default applies
  Usage assumed_;                       // by earlier units of the workload
  std::vector<Refusal> earlier_;        // of units that found a later flavor
};

}  // namespace phalanx::quota
