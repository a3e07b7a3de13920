// Decides who is admitted now: quota, then placement, for every workload that could go ahead.
//
// There is no fixed period. A pass looks at the heads of all queues in one order (priority, waiting
// time, name; those that must borrow last, by their share if sharing is to be fair) and goes on
// until nobody else can be admitted: each admission is assumed at once, so the next decision sees
// it and nobody is placed on what is already taken. A StrictFIFO queue stops at its first "no", a
// BestEffortFIFO queue goes on with the next shape. Who fits only if others go gets a place held,
// and they are evicted.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/appraisal.h"
#include "core/journal.h"
#include "core/nominations.h"
#include "core/outbox.h"
#include "core/pending_queue.h"
#include "core/preemption.h"
#include "core/probe.h"
#include "core/recent_usage.h"
#include "core/replacement.h"
#include "core/state.h"
#include "core/workload_status.h"

namespace phalanx::core {

class Scheduler {
 public:
  Scheduler(State& state, Outbox& outbox, Journal& journal)
      : state_(state),
        outbox_(outbox),
        journal_(journal),
        nominations_(state),
        recent_usages_(state) {}

  void set_probe(Probe* probe) { probe_ = probe; }

  // Brings a workload into its queue, or takes it out, as its object says.
  void update(const std::string& workload);
  void forget(const std::string& workload);

  // Admits what can be admitted. Returns whether anything was decided.
  bool pass();

  // Something changed that may turn any "no": queues, flavors, topologies, labels, taints.
  void configuration_changed() { ++configuration_; }
  // Its pods may have become ready, or no longer be: others may be waiting for that.
  void follow_readiness(const std::string& workload);
  // It may have lost nodes, or be waiting for its first places.
  void follow_places(const std::string& workload);
  // Its admission is known to be written, or not to be: what it holds is what its object says.
  void forget_assumption(const std::string& workload) { assumed_.erase(workload); }
  // The API server does not accept what was to be made of it: as a victim it cannot be moved.
  void write_refused(const std::string& workload);
  // What it was to be told was not written.
  void tell_again(const std::string& workload) {
    if (queue_of_.contains(workload)) to_tell_.insert(workload);
  }

  // Would it fit now, and if not, why? Changes nothing.
  Appraisal appraise(const WorkloadState& workload, const api::ClusterQueue& queue, bool explain);
  // The same, but nobody is asked to go: much cheaper where many could be.
  bool fits_now(const WorkloadState& workload, const api::ClusterQueue& queue);

  [[nodiscard]] const PendingQueue* queue(const std::string& cluster_queue) const;
  // Workloads that wait in a queue, parked ones included.
  [[nodiscard]] int64_t pending_in_cluster_queue(const std::string& name) const;
  [[nodiscard]] int64_t pending_in_local_queue(const std::string& full_name) const;
  [[nodiscard]] bool assumed(const std::string& workload) const {
    return assumed_.contains(workload);
  }
  [[nodiscard]] uint64_t decisions() const { return decisions_; }
  [[nodiscard]] uint64_t preemptions() const { return preemptions_; }
  [[nodiscard]] uint64_t replacements() const { return replacements_; }
  [[nodiscard]] const Nominations& nominations() const { return nominations_; }
  [[nodiscard]] const RecentUsages& recent_usages() const { return recent_usages_; }
  // When there is something to decide although nothing happens.
  [[nodiscard]] std::optional<Time> wake_at() const;
  // The weight of its recent usage may be another one.
  void local_queue_changed(const std::string& full_name);
  // What the workload holds may have changed, or whether others may count on it: it is over, or
  // evicted, or about to be.
  void follow_holding(const std::string& workload);
  // Queues that somebody came into or left since the last call: their counts are others now.
  std::set<api::ObjectKey> take_touched() { return std::exchange(touched_, {}); }

 private:
  enum class Step : uint8_t {
    kLater,    // a write of it is under way
    kBorrows,  // it would have to borrow, and others come before it
    kDecided,
  };
  // The first of a queue that would have to borrow.
  struct Borrower {
    std::string cluster_queue;
    quota::Amounts wanted;
  };
  using Borrowers = std::map<PendingEntry, Borrower>;

  struct NoReplacement {
    No no;
    std::vector<std::string> lost;  // the nodes that it was about
  };

  // Somebody whose pods have to be ready before it may take what it wants; nullptr: nobody's have.
  [[nodiscard]] const std::string* blocker_of(const WorkloadState& workload,
                                              const quota::Reservation& wanted) const;
  [[nodiscard]] bool blocks(const std::string& unready, const std::string& cluster_queue,
                            const quota::Usage& usage) const;
  [[nodiscard]] Time unready_since(const std::string& name) const;
  No no_while_blocked(const std::string& cluster_queue);
  void block(const WorkloadState& workload, const api::ClusterQueue& queue,
             const std::string& blocker);
  // Gives workloads that have lost nodes other places, or evicts them. Returns whether it did.
  bool replace_nodes();
  bool replace_nodes_of(const std::string& workload);
  void move(const WorkloadState& workload, const std::vector<std::string>& lost,
            const Places& places);
  bool find_no_place(const WorkloadState& workload, const std::vector<std::string>& lost,
                     const std::string& why);
  void evict(const WorkloadState& workload, std::string_view reason, const std::string& message);
  [[nodiscard]] PendingEntry entry_of(const WorkloadState& workload) const;
  [[nodiscard]] std::set<PendingEntry> in_turn(const std::set<std::string>& workloads) const;
  // Admits those whose checks are ready; who had to wait for nodes gets its places now. Returns
  // whether it did.
  bool complete_admissions();
  bool complete_admission_of(const std::string& workload);
  // There are none for it now: it is tried again, or gives up. Returns whether anything is written.
  bool miss_places(const WorkloadState& workload, const std::string& why);
  No no_until_room(const WorkloadState& workload);
  // Books a place that is about to be written.
  void assume(const WorkloadState& workload, const Places& places);

  Step decide(const std::string& cluster_queue, const PendingEntry& entry, Borrowers* borrowers);
  [[nodiscard]] Borrowers::iterator next_borrower(Borrowers& borrowers);
  void admit(const WorkloadState& workload, const api::ClusterQueue& queue,
             const Appraisal& appraisal);
  void nominate(const WorkloadState& workload, const api::ClusterQueue& queue,
                const Appraisal& appraisal);
  void wait(const WorkloadState& workload, const api::ClusterQueue& queue, const Nomination& held,
            const Appraisal& appraisal);
  void refuse(const WorkloadState& workload, const api::ClusterQueue& cluster_queue,
              const quota::Refused& refused);
  void park(const WorkloadState& workload, const api::ClusterQueue& cluster_queue, No no,
            std::string_view what, json::object details = {});
  No no_for(const WorkloadState& workload, const api::ClusterQueue& queue,
            const quota::Refused& refused);
  [[nodiscard]] Standing standing_of(const WorkloadState& workload,
                                     const api::ClusterQueue& queue) const;
  // Those behind it in its queue that places are held for.
  [[nodiscard]] std::vector<std::string> held_behind(const std::string& workload,
                                                     const std::string& cluster_queue) const;
  // Somebody has taken a place: those behind him may have to look for another.
  void drop_broken(const std::vector<std::string>& behind);
  // Places that are held for these are no longer.
  void give_up(const std::vector<std::string>& places);
  // Victims that could not be told to go at once may no longer have to: whoever they are to go for
  // is asked once more.
  void reconsider_untold();
  [[nodiscard]] bool can_be_told(const std::string& victim) const;
  // Evicts the victims that are not on their way out yet.
  bool evict_victims();
  bool evict_victim(const std::string& victim, quota::VictimReason reason,
                    const std::string& preemptor);
  // Holds places for those that have waited for too long.
  void reserve_for_heads();
  void reserve_for(const WorkloadState& workload, const api::ClusterQueue& queue);
  // When the first of the queue has waited for too long; nullopt if it may wait for ever.
  [[nodiscard]] std::optional<Time> patience_of(const std::string& cluster_queue) const;
  void follow_recent_usage();
  // Of a workload that could preempt, if it were not for this.
  [[nodiscard]] std::optional<Restraint> restraint(const WorkloadState& workload,
                                                   const api::ClusterQueue& queue) const;
  void queue_up(const WorkloadState& workload, const api::ClusterQueue& queue);
  [[nodiscard]] bool may_have_changed(const No& no, const std::string& cluster_queue);
  void tell(const std::vector<std::string>& workloads);
  [[nodiscard]] uint64_t configuration_now();
  void touch(const std::string& cluster_queue, const std::string& local_queue);

  State& state_;
  Outbox& outbox_;
  Journal& journal_;
  Probe* probe_ = nullptr;
  Nominations nominations_;
  RecentUsages recent_usages_;
  std::map<std::string, PendingQueue> queues_;         // by ClusterQueue
  std::map<std::string, std::string> queue_of_;        // by workload
  std::map<std::string, std::string> local_queue_of_;  // by workload
  std::map<std::string, int64_t> pending_in_local_queue_;
  std::set<std::string> assumed_;  // admitted by us, the write is on its way
  std::set<api::ObjectKey> touched_;
  std::set<std::string> to_tell_;           // parked, and busy when they should have been told
  std::map<std::string, Time> restrained_;  // refused while they were, and until when they are
  std::set<std::string> unready_;           // admitted, and their pods are not (yet) ready
  uint64_t readiness_ = 0;                  // grows when somebody leaves these
  std::set<std::string> to_replace_;        // they have lost nodes
  std::map<std::string, std::string> told_blockers_;  // by who waits for them
  std::set<std::string> to_admit_;          // they have their quota, and their checks are ready
  std::map<std::string, No> inadmissible_;  // of these: until something changes
  std::map<std::string, NoReplacement> irreplaceable_;  // likewise
  uint64_t configuration_ = 0;
  uint64_t decisions_ = 0;
  uint64_t preemptions_ = 0;
  uint64_t replacements_ = 0;
};

}  // namespace phalanx::core
