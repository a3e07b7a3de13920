// The cluster as a workload sees it from its place in the order: what is held for those behind it
// in its queue is free, what is held for anybody else is not.
//
// Everything is as it was once the view is gone.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/nominations.h"
#include "core/state.h"

namespace phalanx::core {

// Takes a workload off the nodes, as far as these trees see it, in the open Attempt.
void lift(topology::Cluster& cluster, std::span<const TreeId> trees, const std::string& workload);

// What a workload may make of places that are held for others.
struct Standing {
  // Whether it comes before this one of its queue; none: before nobody.
  std::function<bool(const std::string&)> comes_before = {};
  // Whoever ends by then does not mind that a place is held for longer.
  std::optional<Time> ends_by = {};
  // It takes nothing that is held for those behind it, either.
  bool yields = false;
};

class ClusterView {
 public:
  ClusterView(State& state, const Nominations& nominations, const api::ClusterQueue& queue,
              const std::string& workload, const Standing& standing);
  ~ClusterView();
  ClusterView(const ClusterView&) = delete;
  ClusterView& operator=(const ClusterView&) = delete;

  // As it will be once those that are leaving have gone, and those that their places are held for
  // have come. Undone with the caller's Attempt.
  void look_ahead();
  // Takes a workload off the nodes, likewise.
  void lift(const std::string& workload);
  // Whether it can count on its going. Not if it has not been told yet, and would only go for
  // somebody whose place is not respected here: it might be allowed to stay.
  [[nodiscard]] bool leaves(const std::string& workload) const;

 private:
  void put(const std::vector<HeldPodSet>& pod_sets);
  void promise(const Nomination& nomination, int sign);
  [[nodiscard]] bool goes_for_nobody_else(const std::string& victim) const;
  void count_staying(int sign);

  State& state_;
  const Nominations& nominations_;
  std::vector<TreeId> trees_;  // of the queue's flavors
  topology::Attempt attempt_;
  std::vector<const Nomination*> ignored_;
  std::set<std::string> staying_;  // victims of these that may yet stay
};

}  // namespace phalanx::core
