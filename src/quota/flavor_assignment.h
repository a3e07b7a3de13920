// Chooses the flavors that the pod sets of a workload take their resources from.
//
// For every unit (a pod set, or pod sets that must share a flavor) the flavors of each resource
// group are tried in the order of the ClusterQueue (docs/reference/queueing.md, "Flavors"). A
// flavor may be out of the question: its taints, its labels, or a topology that it has and the pods
// did not ask for, or the other way round. Of the others the queue's fungibility says which one is
// taken: one that fits, one that fits if the queue borrows, or one where others must make room.
// Every refusal is kept with its text.
//
// Whether pods can be placed is asked with the last group of a unit, when all its flavors are
// known.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/queueing.h"
#include "api/topology_assignment.h"
#include "placement/pod_set.h"
#include "quota/quota_tree.h"

namespace phalanx::quota {

// Why a flavor was not taken; the order is that of hope, least first.
enum class Obstacle : uint8_t {
  kNoMatchingFlavor,  // this flavor never
  kExceedsQuota,      // not even if nobody used anything
  kWaitingForQuota,   // when others give quota back
  kTopology,          // when nodes have more room
};

struct Refusal {
  Obstacle obstacle = Obstacle::kNoMatchingFlavor;
  std::string flavor;  // empty: of the queue as a whole
  std::string text;

  bool operator==(const Refusal&) const = default;
};

// How a flavor answers, least wanted first.
enum class Fit : uint8_t {
  kNo,
  kPreempts,  // if workloads of the own queue (and perhaps of others) go
  kReclaims,  // if workloads of other queues go
  kFits,
};

struct FlavorChoice {
  std::map<std::string, std::string> flavors;  // by resource
  api::ResourceAmounts usage;                  // of all its pods, by resource
  std::optional<api::TopologyAssignment> topology;
  std::string topology_flavor;  // with a topology: the flavor in whose tree it is placed
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

// Flavors for every pod set, in order. If others must make room, nothing of the unit that needs it
// is placed, and `why` says what stands in the way.
struct Assigned {
  std::vector<FlavorChoice> choices;
  Fit fit = Fit::kFits;
  bool borrows = false;
  Refused why = {};
};

// What the assigner asks others.
class FlavorMarket {
 public:
  FlavorMarket() = default;
  virtual ~FlavorMarket() = default;
  FlavorMarket(const FlavorMarket&) = delete;
  FlavorMarket& operator=(const FlavorMarket&) = delete;

  // nullptr if there is none.
  [[nodiscard]] virtual const api::ResourceFlavor* flavor(const std::string& name) const = 0;
  // Places a unit (indices of pod sets) and leaves it charged, so that the next unit sees it; or
  // says why not. The first flavor is the one with the tree; pods need the labels of all.
  virtual std::expected<std::vector<api::TopologyAssignment>, std::string> place(
      const std::vector<const api::ResourceFlavor*>& flavors, const std::vector<size_t>& unit) = 0;
  // Takes back what the last place() left.
  virtual void unplace() = 0;
  // Would these choices, of this unit and all before it, fit if others went, and would the queue
  // borrow then?
  struct Prospect {
    Fit fit = Fit::kNo;
    bool borrows = false;
  };
  virtual Prospect if_others_went(const std::vector<FlavorChoice>& choices) = 0;
};

// What is asked of the queue: the pods as placement sees them, and what quota counts of each.
struct Demand {
  const placement::Workload* workload = nullptr;
  const std::vector<api::ResourceAmounts>* per_pod = nullptr;  // by pod set
  bool ignore_undeclared = false;  // what no resource group covers is not counted
};

class FlavorAssigner {
 public:
  FlavorAssigner(const api::ClusterQueue& queue, QuotaTree& tree, FlavorMarket& market);

  std::expected<Assigned, Refused> assign(const Demand& demand);

 private:
  struct GroupNeed {
    const api::ResourceGroup* group = nullptr;
    // By resource: what all pods of the unit need together.
    api::ResourceAmounts amounts;
  };
  struct Unit {
    std::vector<size_t> members;  // indices of pod sets
    bool placed = false;          // by a topology
    std::vector<GroupNeed> needs;
    std::vector<const api::ResourceFlavor*> flavors;  // one for each need that has one already
  };
  struct Answer {
    Fit fit = Fit::kNo;
    bool borrows = false;
    const api::ResourceFlavor* flavor = nullptr;
  };

  std::optional<Refused> assign_unit(const std::vector<size_t>& members);
  std::expected<std::vector<GroupNeed>, Refusal> group_needs(
      const std::vector<size_t>& members) const;
  [[nodiscard]] int64_t total_of(size_t pod_set, const std::string& resource) const;
  // Takes the flavor that the queue wants for the next need of the unit; or the refusals.
  std::optional<Refused> choose(Unit& unit);
  Answer ask(Unit& unit, const api::FlavorQuotas& quotas, std::vector<Refusal>& refusals);
  [[nodiscard]] bool stops_search(const Answer& answer) const;
  [[nodiscard]] bool is_better(const Answer& a, const Answer& b) const;
  [[nodiscard]] std::optional<Refusal> check_flavor(const Unit& unit,
                                                    const std::string& name) const;
  [[nodiscard]] std::optional<Refusal> check_topology(const Unit& unit,
                                                      const api::ResourceFlavor& flavor) const;
  // Whether quota is there, and whether the queue borrows then.
  std::optional<Refusal> check_quota(const std::string& flavor, const GroupNeed& need,
                                     bool& borrows);
  std::optional<Refusal> place(Unit& unit);
  void note(const Unit& unit, const GroupNeed& need, const api::ResourceFlavor& flavor, int sign);
  [[nodiscard]] bool by_topology(const std::vector<size_t>& members) const;
  [[nodiscard]] bool has_topology(const api::ResourceGroup& group) const;

  const api::ClusterQueue& queue_;
  QuotaTree& tree_;
  MemberId member_;
  FlavorMarket& market_;
  Demand demand_;
  bool only_topology_flavors_ = false;  // of the queue: the implicit default applies
  Assigned assigned_;
  Usage assumed_;                 // by earlier units of the workload
  std::vector<Refusal> earlier_;  // of units that found a later flavor
};

}  // namespace phalanx::quota
