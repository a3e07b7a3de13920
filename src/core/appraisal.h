// Would a workload fit, where, and who would have to go for it?
//
// It is asked with the eyes of its place in the order: what is held for those behind it in its
// queue is not taken, what is held for anybody else is. Nothing is changed by asking.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/cluster_view.h"
#include "core/nominations.h"
#include "core/state.h"
#include "core/unit_market.h"
#include "quota/flavor_assignment.h"
#include "quota/victim_search.h"

namespace phalanx::core {

// What was found out about one workload.
struct Appraisal {
  std::vector<int32_t> counts;              // pods of each pod set; fewer than asked for if partial
  std::optional<quota::Assigned> assigned;  // it fits, or would if the victims went
  std::optional<quota::Refused> refused;    // it does not
  std::map<std::string, quota::VictimReason> victims;
  std::set<std::string> awaited;  // victims, and those that are leaving already
  std::optional<Time> free_at;    // of a reservation: when they must have ended
  Explanations explanations;      // of refusals by a topology, if asked for
  size_t steps = 0;               // of the choice of victims
  size_t candidates = 0;          // those that could be chosen
  bool exact = true;              // there is no better choice

  [[nodiscard]] bool fits() const { return assigned && assigned->fit == quota::Fit::kFits; }
};

struct Question {
  bool explain = false;
  bool may_preempt = true;
  // Not whom to preempt, but whose end to wait for: the place that is free soonest.
  bool reserve = false;
  Standing standing = {};
};

Appraisal appraise(State& state, const Nominations& nominations, const WorkloadState& workload,
                   const api::ClusterQueue& queue, const Question& question);

}  // namespace phalanx::core
