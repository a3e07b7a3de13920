// Decides who is admitted now: quota, then placement, for every workload that could go ahead.
//
// There is no fixed period. A pass looks at the heads of all queues in one order (priority, waiting
// time, name) and goes on until nobody else can be admitted: each admission is assumed at once, so
// the next decision sees it and nobody is placed on what is already taken. A StrictFIFO queue stops
// at its first "no", a BestEffortFIFO queue goes on with the next shape.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/journal.h"
#include "core/outbox.h"
#include "core/pending_queue.h"
#include "core/state.h"
#include "core/workload_status.h"
#include "placement/explanation.h"

namespace phalanx::core {

// What was found out about one workload, for people who ask.
struct Appraisal {
  std::optional<std::vector<quota::FlavorChoice>> choices;  // it fits
  std::optional<quota::Refused> refused;                    // it does not
  // Of each refusal by a topology that was explained, by flavor.
  std::map<std::string, std::shared_ptr<const placement::Explanation>> explanations;
};

class Scheduler {
 public:
  Scheduler(State& state, Outbox& outbox, Journal& journal)
      : state_(state), outbox_(outbox), journal_(journal) {}

  // Brings a workload into its queue, or takes it out, as its object says.
  void update(const std::string& workload);
  void forget(const std::string& workload);

  // Admits what can be admitted. Returns whether anything was decided.
  bool pass();

  // Something changed that may turn any "no": queues, flavors, topologies, labels, taints.
  void configuration_changed() { ++configuration_; }
  // Its admission is known to be written, or not to be: what it holds is what its object says.
  void forget_assumption(const std::string& workload) { assumed_.erase(workload); }
  // What it was to be told was not written.
  void tell_again(const std::string& workload) {
    if (queue_of_.contains(workload)) to_tell_.insert(workload);
  }

  // Would it fit now, and if not, why? Changes nothing.
  Appraisal appraise(const WorkloadState& workload, const api::ClusterQueue& queue, bool explain);

  [[nodiscard]] const PendingQueue* queue(const std::string& cluster_queue) const;
  // Workloads that wait in a queue, parked ones included.
  [[nodiscard]] int64_t pending_in_cluster_queue(const std::string& name) const;
  [[nodiscard]] int64_t pending_in_local_queue(const std::string& full_name) const;
  [[nodiscard]] bool assumed(const std::string& workload) const {
    return assumed_.contains(workload);
  }
  [[nodiscard]] uint64_t decisions() const { return decisions_; }
  // Queues that somebody came into or left since the last call: their counts are others now.
  std::set<api::ObjectKey> take_touched() { return std::exchange(touched_, {}); }

 private:
  // Whether the queue may go on with its next workload.
  bool decide(const std::string& cluster_queue, const std::string& workload);
  void admit(const WorkloadState& workload, const api::ClusterQueue& queue,
             const std::vector<quota::FlavorChoice>& choices);
  void refuse(PendingQueue& queue, const WorkloadState& workload,
              const api::ClusterQueue& cluster_queue, const quota::Refused& refused);
  No no_for(const WorkloadState& workload, const api::ClusterQueue& queue,
            const quota::Refused& refused);
  [[nodiscard]] bool may_have_changed(const No& no, const std::string& cluster_queue);
  void tell(const std::vector<std::string>& workloads);
  [[nodiscard]] uint64_t configuration_now();
  void touch(const std::string& cluster_queue, const std::string& local_queue);

  State& state_;
  Outbox& outbox_;
  Journal& journal_;
  std::map<std::string, PendingQueue> queues_;         // by ClusterQueue
  std::map<std::string, std::string> queue_of_;        // by workload
  std::map<std::string, std::string> local_queue_of_;  // by workload
  std::map<std::string, int64_t> pending_in_local_queue_;
  std::set<std::string> assumed_;  // admitted by us, the write is on its way
  std::set<api::ObjectKey> touched_;
  std::set<std::string> to_tell_;  // parked, and busy when they should have been told
  uint64_t configuration_ = 0;
  uint64_t decisions_ = 0;
};

}  // namespace phalanx::core
