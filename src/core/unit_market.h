// Where the pods of one workload could go, asked while its flavors are being chosen: the place of
// one unit after another, and the place of all of them if others went.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/state.h"
#include "placement/explanation.h"
#include "placement/units.h"
#include "quota/flavor_assignment.h"
#include "quota/victim_search.h"

namespace phalanx::core {

// Why a topology said no, by flavor.
using Explanations = std::map<std::string, std::shared_ptr<const placement::Explanation>>;

// Places units of a workload in flavors' trees. What it places is charged to the cluster, inside an
// Attempt of the caller.
class UnitPlacement {
 public:
  UnitPlacement(State& state, const placement::Workload& request, placement::Options options,
                std::set<std::string> delayed = {})
      : state_(state), request_(request), options_(options), delayed_(std::move(delayed)) {}

  // Whether pods of these flavors get their places later, and are not placed here.
  [[nodiscard]] bool is_delayed(const std::vector<const api::ResourceFlavor*>& flavors) const;

  using Placed = std::expected<std::vector<api::TopologyAssignment>, std::string>;
  // The first flavor is the one with the tree; the pods need the labels of all.
  Placed place(const std::vector<const api::ResourceFlavor*>& flavors,
               const std::vector<size_t>& unit, Explanations* explanations = nullptr);
  // Takes back what place() left last.
  void unplace();
  // The last units are taken back with the Attempt in which they were placed.
  void forget(size_t units) { charges_.resize(charges_.size() - units); }
  // Takes back all of it for the moment, until the Attempt is over.
  void lift_all();

  // What one unit asks of a tree, with the labels and tolerations of its flavors.
  [[nodiscard]] placement::Workload unit_request(
      const std::vector<const api::ResourceFlavor*>& flavors,
      const std::vector<size_t>& unit) const;
  [[nodiscard]] placement::Options unit_options(const placement::Workload& unit) const;
  [[nodiscard]] State& state() { return state_; }
  [[nodiscard]] const placement::Workload& request() const { return request_; }

 private:
  struct Charge {
    TreeId tree;
    uint32_t leaf = 0;
    topology::RequestVector requests;
    int64_t count = 0;
  };

  State& state_;
  const placement::Workload& request_;
  placement::Options options_;
  std::set<std::string> delayed_;             // flavors
  std::vector<std::vector<Charge>> charges_;  // of each unit that is placed
};

// The room of a workload whose flavors are chosen.
class WorkloadRoom : public quota::Room {
 public:
  WorkloadRoom(UnitPlacement& placement, const std::vector<quota::FlavorChoice>& choices);

  bool fits() override;
  [[nodiscard]] std::optional<quota::OneDomain> one_domain() override;
  std::vector<uint32_t> fitting_domains() override;
  bool fits_in(uint32_t domain) override;
  [[nodiscard]] std::span<const TreeId> trees() const override { return trees_; }

  // The places, put into the choices; whether there are any.
  bool place(std::vector<quota::FlavorChoice>& choices);

 private:
  struct PlacedUnit {
    std::vector<size_t> members;
    std::vector<const api::ResourceFlavor*> flavors;  // the one with the tree first
    TreeId tree;
  };

  bool place_all(std::vector<quota::FlavorChoice>* choices);
  [[nodiscard]] placement::Unit only_unit() const;

  UnitPlacement& placement_;
  std::vector<PlacedUnit> units_;
  std::vector<TreeId> trees_;
  bool known_ = true;  // all of its trees
  // Of a single unit.
  placement::Workload single_;
  placement::Members roles_;
  std::optional<placement::UnitPlacer::DomainQuestion> question_;  // if it must sit in one domain
};

}  // namespace phalanx::core
