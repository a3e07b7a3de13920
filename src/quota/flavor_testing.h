// A queue, its cohort and a market for the tests of flavor assignment.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "quota/flavor_assignment.h"
#include "quota/testing.h"

namespace phalanx::quota::testing {

// Says what it was told to say, and counts what is left charged.
class ScriptedMarket : public FlavorMarket {
 public:
  [[nodiscard]] const api::ResourceFlavor* flavor(const std::string& name) const override {
    const auto found = flavors.find(name);
    return found == flavors.end() ? nullptr : &found->second;
  }
  std::expected<std::vector<api::TopologyAssignment>, std::string> place(
      const std::vector<const api::ResourceFlavor*>& tried,
      const std::vector<size_t>& unit) override {
    if (full.contains(tried.front()->meta.name)) return std::unexpected("no room");
    EXPECT_FALSE(tried.front()->topology_name.empty());
    placed_with.clear();
    for (const api::ResourceFlavor* each : tried) placed_with.push_back(each->meta.name);
    ++charged;
    return std::vector<api::TopologyAssignment>(unit.size(), {{"rack"}, {{{"r1"}, 1}}});
  }
  void unplace() override { --charged; }
  Prospect if_others_went(const std::vector<FlavorChoice>& choices) override {
    Fit worst = Fit::kFits;
    bool borrows = false;
    for (const FlavorChoice& choice : choices) {
      for (const auto& [resource, name] : choice.flavors) {
        const auto found = others.find(name);
        worst = std::min(worst, found == others.end() ? Fit::kNo : found->second);
        borrows |= borrowed.contains(name);
      }
    }
    return {worst, borrows};
  }

  std::map<std::string, api::ResourceFlavor> flavors;
  std::set<std::string> full;         // flavors whose topology has no room
  std::map<std::string, Fit> others;  // by flavor: if others went; those not listed never fit
  std::set<std::string> borrowed;     // flavors that the queue borrows even if others went
  std::vector<std::string> placed_with;
  int charged = 0;  // units that were placed and not taken back
};

class FlavorTest : public ::testing::Test {
 protected:
  FlavorTest() {
    queue_.meta.name = "team";
    queue_.cohort = "all";
    lender_.meta.name = "lender";
    lender_.cohort = "all";
  }

  api::ResourceFlavor& flavor(const std::string& name, const std::string& topology = "") {
    api::ResourceFlavor& added = market_.flavors[name];
    added.meta.name = name;
    added.node_labels["pool"] = name;
    added.topology_name = topology;
    return added;
  }

  // One resource group of cpu with these flavors and their quotas.
  void queue(const std::vector<std::pair<std::string, int64_t>>& quotas) {
    queue_.groups.push_back(group("cpu", quotas));
  }
  static api::ResourceGroup group(const std::string& resource,
                                  const std::vector<std::pair<std::string, int64_t>>& quotas) {
    api::ResourceGroup group{{resource}, {}};
    for (const auto& [name, nominal] : quotas) {
      group.flavors.push_back({name, {{resource, nominal}}});
    }
    return group;
  }

  static placement::PodSet pods(int32_t count, int64_t cpu, const std::string& name = "main") {
    placement::PodSet pod_set;
    pod_set.name = name;
    pod_set.count = count;
    pod_set.requests["cpu"] = cpu;
    return pod_set;
  }

  std::expected<Assigned, Refused> assign(const std::vector<placement::PodSet>& pod_sets) {
    QuotaTree tree;
    tree.set_members({{"team", queue_}, {"lender", lender_}}, {});
    for (const Book book : kBooks) {
      tree.add(tree.queue("team"), tree.amounts(reserved_), +1, book);
      tree.add(tree.queue("lender"), tree.amounts(lent_), +1, book);
    }
    market_.charged = 0;
    const placement::Workload workload{"ml/w", pod_sets, {}, false};
    std::vector<api::ResourceAmounts> per_pod;
    for (const placement::PodSet& pod_set : pod_sets) per_pod.push_back(pod_set.requests);
    FlavorAssigner assigner(queue_, tree, market_);
    return assigner.assign({&workload, &per_pod, ignore_undeclared_});
  }
  // The flavor of the first pod set's cpus; empty if there is none.
  std::string flavor_of(const std::vector<placement::PodSet>& pod_sets) {
    const auto assigned = assign(pod_sets);
    return assigned ? assigned->choices.front().flavors.at("cpu") : "";
  }
  std::string refusal(const std::vector<placement::PodSet>& pod_sets) {
    const auto result = assign(pod_sets);
    EXPECT_FALSE(result);
    return result ? "" : result.error().text("main");
  }

  api::ClusterQueue queue_;
  api::ClusterQueue lender_;
  Usage reserved_;  // by the queue
  Usage lent_;      // what the lender itself uses
  ScriptedMarket market_;
  bool ignore_undeclared_ = false;
};

}  // namespace phalanx::quota::testing
