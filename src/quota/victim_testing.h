// Tiny clusters full of workloads and one that wants in, for tests of the choice of victims.
//
// A VictimCase is plain data, made by hand or from a seed. A VictimBed is what VictimSearch works
// on: a real cluster, the placement engine, both books. A VictimBruteForce knows neither the search
// nor its rules: it takes the sentences of docs/reference/queueing.md, "Preemption" and "Fair
// sharing", and tries every set.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/node.h"
#include "placement/placer.h"
#include "placement/testing.h"
#include "quota/testing.h"
#include "quota/victim_search.h"
#include "topology/cluster.h"

namespace phalanx::quota::testing {

// The preemptor's flavor, whose nodes are those of the cluster; others may use them by another.
inline constexpr const char* kFlavor = "racks";
inline constexpr const char* kOtherFlavor = "spare";

struct TinyHolder {
  std::string name;
  std::string queue;
  int32_t priority = 0;
  int created = 0;   // seconds
  int reserved = 0;  // seconds
  std::string flavor = kFlavor;
  api::ResourceAmounts per_pod;
  std::map<std::string, int64_t> pods;  // by host
  int64_t pods_elsewhere = 0;           // that count for quota alone
};

struct VictimCase {
  Queues queues;
  Cohorts cohorts;
  std::vector<api::Node> nodes;
  std::vector<TinyHolder> holders;
  std::map<std::string, Usage> promised;  // by queue, beside what the holders have
  // The preemptor.
  std::string queue;
  int32_t priority = 0;
  int created = 0;
  api::Preemption policy;
  std::vector<placement::PodSet> pod_sets;
};

// How sets are judged.
struct Court {
  Judgement judgement = Judgement::kReclaim;
  std::vector<FairStrategy> strategies;
};

// A node "<rack>-<number>" with labels block, rack and hostname.
api::Node tiny_node(const std::string& block, const std::string& rack, int number,
                    const api::ResourceAmounts& allocatable);
VictimCase random_victim_case(uint64_t seed);
std::string text_of(const VictimCase& tiny);

Usage usage_of(const TinyHolder& holder);
Usage wanted_by(const VictimCase& tiny);
TreeId load_nodes(const VictimCase& tiny, topology::Cluster& cluster);
void load_usage(const TinyHolder& holder, TreeId tree, topology::Cluster& cluster);

// Where pod sets are placed, one after another.
class PlacerRoom : public Room {
 public:
  PlacerRoom(topology::Cluster& cluster, TreeId tree, const std::vector<placement::PodSet>& pods);

  bool fits() override;
  std::optional<OneDomain> one_domain() override;
  std::vector<uint32_t> fitting_domains() override;
  bool fits_in(uint32_t domain) override;
  [[nodiscard]] std::span<const TreeId> trees() const override { return {&tree_, 1}; }

 private:
  [[nodiscard]] placement::Unit unit() const;

  topology::Cluster& cluster_;
  TreeId tree_;
  placement::Workload workload_;
  placement::Options options_;
  placement::Placer placer_;
  std::optional<placement::UnitPlacer::DomainQuestion> question_;
};

// What stands in the way of the preemptor.
struct Obstacles {
  bool quota = false;
  bool room = false;
  std::vector<FlavorResource> contested;
};
Obstacles obstacles_of(const VictimCase& tiny);

class VictimBed {
 public:
  explicit VictimBed(const VictimCase& tiny);

  std::optional<Victims> find(const Court& court, size_t steps = SearchLimits().steps);
  // What is free on every leaf and what both books say, to be compared.
  std::string state();
  [[nodiscard]] size_t steps() const { return steps_; }
  // Of victims, in their order.
  [[nodiscard]] std::vector<std::string> names(const Victims& victims) const;

 private:
  QuotaTree tree_;
  topology::Cluster cluster_;
  TreeId topology_;
  std::optional<PlacerRoom> room_;
  Preemptor preemptor_;
  std::vector<Holder> holders_;
  size_t steps_ = 0;
};

// Sets of holders are bits.
class VictimBruteForce {
 public:
  VictimBruteForce(const VictimCase& tiny, const Court& court);

  // Allowed, with quota and room afterwards.
  bool will_do(uint32_t set);
  // The best one that will do; 0 if the preemptor fits as things are.
  std::optional<uint32_t> best();
  [[nodiscard]] int32_t highest_priority(uint32_t set) const;
  // Whether more room never makes the pods harder to place, for sets of those who may be asked at
  // all. Pod sets that are placed one after another do not promise it.
  bool room_is_monotone();
  // Whether the rules would let all go who have at most that priority, so that no order in which
  // they are asked can be wrong.
  bool all_may_go(int32_t priority);

 private:
  [[nodiscard]] bool may_be_asked(const TinyHolder& holder) const;
  [[nodiscard]] bool borrows(const std::string& member, const TinyHolder& holder) const;
  bool rules_hold(uint32_t set);
  bool found_borrowing(uint32_t set);
  bool side_of_preemptor_allows(const TinyHolder& victim);
  bool quota_suffices();
  bool has_room(uint32_t set);
  [[nodiscard]] std::vector<size_t> ranks(uint32_t set) const;
  [[nodiscard]] std::vector<size_t> members(uint32_t set) const;
  [[nodiscard]] bool other(const TinyHolder& holder) const { return holder.queue != tiny_.queue; }

  const VictimCase& tiny_;
  Court court_;
  Obstacles obstacles_;
  Usage wanted_;
  SlowTree initial_;
  SlowTree slow_;
  topology::Cluster cluster_;
  TreeId topology_;
  std::optional<PlacerRoom> room_;
  uint32_t taken_out_ = 0;     // of the cluster
  std::vector<size_t> rank_;   // by holder, the youngest first
  std::vector<int8_t> known_;  // by set: -1 unknown
  std::vector<int8_t> fitting_;
  uint32_t candidates_ = 0;
};

}  // namespace phalanx::quota::testing
