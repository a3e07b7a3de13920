// Counts what happens to Workloads and how long they wait, under Kueue's names
// (docs/reference/metrics.md): by comparing each Workload with what it was when last seen.
//
// What is counted is what the API server has, whoever wrote it, so that all replicas count the
// same. What was there before a process started is not counted by it. Things are told late and
// more than once (core/known_objects.h): it hears of what the core hears, in the same order, and
// takes in what the core takes in.
//
// For the deciding thread. Costs some hundred bytes for each Workload.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "api/workload.h"
#include "core/journal.h"
#include "core/known_objects.h"
#include "core/state.h"
#include "manager/meters.h"
#include "manager/role.h"

namespace phalanx::manager {

class WorkloadMeter {
 public:
  explicit WorkloadMeter(MeterRegistry& registry);

  // There is a new core, which takes in any version of anything.
  void begin_life();
  // It has been told everything there is.
  void all_listed();
  // Of Workloads only. `role` is that of this replica. `counts` is false while everything is listed
  // for the first time.
  void saw(const core::Object& object, const core::State& state, Role role, Time now, bool counts);
  void saw(const core::ObjectDeleted& deleted);
  void saw(const core::Listed& listed);
  // Takes the series of ClusterQueues, LocalQueues and Cohorts away that are no more. To be asked
  // now and then: their Workloads may go on and be counted for a while.
  void forget_gone_queues(const core::State& state);
  void decided(const core::DecisionTally& tally, Role role, std::chrono::microseconds step_took);

 private:
  // A counter and a duration are kept by ClusterQueue and by LocalQueue.
  struct Counted {
    Counted(MeterRegistry& registry, const std::string& name, const std::string& help);
    CounterFamily cluster_queue;
    CounterFamily local_queue;
  };
  struct Timed {
    Timed(MeterRegistry& registry, const std::string& name, const std::string& help);
    DurationFamily cluster_queue;
    DurationFamily local_queue;
  };
  // What was last seen of a Workload.
  struct Known {
    core::Known object;
    bool reserved = false;
    bool admitted = false;
    bool ready = false;
    bool finished = false;
    Time queued_since{};
    Time ready_since{};
    std::optional<Time> recovers_since;
    std::string cluster_queue;
    std::map<std::pair<std::string, std::string>, int32_t> evictions;

    // Whether nothing happened in between that is counted.
    [[nodiscard]] bool stands_like(const Known& other) const {
      return reserved == other.reserved && admitted == other.admitted && ready == other.ready &&
             finished == other.finished && evictions == other.evictions;
    }
  };
  // How one is named in labels.
  struct Place {
    Labels cluster_queue;
    Labels local_queue;
  };

  static Known known_of(const api::Workload& workload, core::Known object);
  Place place_of(const api::Workload& workload, const std::string& queue, Role role);
  void count_new(const api::Workload& workload, const core::State& state, Role role);
  void count_admission(const api::Workload& workload, const core::State& state, const Known& before,
                       const Known& after, const Place& place, Time now);
  void count_end(const api::Workload& workload, const Known& before, const Place& place, Time now);
  void count_evictions(const api::Workload& workload, const Known& before, const Known& after,
                       const Place& place, Time now);

  void remove_series(const std::function<bool(const Labels&)>& goes);

  std::map<std::string, Known> known_;
  // Those that there are series of.
  std::set<std::string> cluster_queues_;
  std::set<std::string> local_queues_;  // "namespace/name"
  std::set<std::string> cohorts_;
  Counted reserved_;
  Timed reserved_wait_;
  Counted admitted_;
  CounterFamily cohort_admitted_;
  Timed admission_wait_;
  Timed checks_wait_;
  Timed ready_wait_;
  Timed admitted_until_ready_;
  Counted evicted_;
  CounterFamily evicted_once_;
  CounterFamily preempted_;
  DurationFamily ready_to_evicted_;
  DurationFamily eviction_latency_;
  Counted finished_;
  Timed execution_;
  DurationFamily creation_latency_;
  Durations recovery_;
  CounterFamily attempts_;
  DurationFamily attempt_seconds_;
};

}  // namespace phalanx::manager
