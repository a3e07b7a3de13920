// Places that are held for workloads that wait: who preempts waits until its victims are gone, and
// the first of a queue may wait for others to end (docs/reference/queueing.md).
//
// What is held is the place and the quota that the workload was found to fit into. Whoever it waits
// for still uses part of that; on the nodes only the rest is booked, so nothing is counted twice,
// and as they go more is. In the quota tree it is promised, and what the victims hold is not.
//
// Nothing of this is written down: after a restart the victims are still seen to be leaving, and
// the same place is found once more.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/pending_queue.h"
#include "core/state.h"
#include "quota/flavor_assignment.h"
#include "quota/victim_rules.h"

namespace phalanx::core {

struct Nomination {
  std::string cluster_queue;
  Holding place;                                       // what it will hold
  std::map<std::string, quota::VictimReason> victims;  // who has yet to go for it
  std::set<std::string> awaited;                       // who is still there, victims or not
  std::string message;                                 // what it waits for, in words
  // Of a place that is held for somebody who waits for others to end: when they should have.
  std::optional<Time> free_at = {};
  bool reservation = false;  // of that kind
};

class Nominations {
 public:
  explicit Nominations(State& state) : state_(state) {}

  void put(const std::string& workload, Nomination nomination);
  void drop(const std::string& workload);
  // nullptr if nothing is held for it.
  [[nodiscard]] const Nomination* find(const std::string& workload) const;
  [[nodiscard]] const std::map<std::string, Nomination>& all() const { return nominations_; }
  [[nodiscard]] bool is_victim(const std::string& workload) const {
    return victims_.contains(workload);
  }

  // A workload may hold something else than before. Then, for all of these: holds for everybody
  // what those that it waits for have left.
  void note_changed(const std::string& workload) {
    if (!nominations_.empty()) changed_.insert(workload);
  }
  // Returns for whom.
  std::vector<std::string> follow();
  // Drops what is held for these, where somebody before them has taken part of the place. Returns
  // whose it was.
  std::vector<std::string> drop_broken(const std::vector<std::string>& workloads);
  // The same for places on nodes that no longer take pods, and for those who wait for somebody that
  // nobody asks to go any more.
  std::vector<std::string> drop_vain();

  // By this name the rest of a place is booked on the nodes.
  static std::string booked_as(const std::string& workload);

 private:
  void book(const std::string& workload, const Nomination& nomination);
  // It is no longer a victim of one nomination.
  void release(const std::string& victim);
  [[nodiscard]] bool lost(const Nomination& nomination) const;
  [[nodiscard]] bool broken(const std::string& workload, const Nomination& nomination) const;

  State& state_;
  std::map<std::string, Nomination> nominations_;  // by workload
  std::map<std::string, int> victims_;             // of how many nominations
  std::set<std::string> changed_;                  // since the last follow()
  std::set<std::string> in_vain_;                  // who waits for somebody that stays
};

}  // namespace phalanx::core
