// What happened in an embedded cluster, as somebody sees it who watches the API server: events in
// order, a record of every workload, and how much was in use for how long.
//
// It is a component of the simulation, added after all others, and writes nothing. Times are those
// of the clock, to the millisecond; objects themselves are dated by the second.
//
// It also looks for what must never happen: a queue that admits beyond its quota, and a node that
// refuses a pod of ours because it is full.
//
// Workloads of a cluster that was loaded are known from the beginning, with the times that their
// conditions give; nothing is told of how they came there.
//
// Cost: a change costs its object. What is in use is added up by differences.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/simulate_gauges.h"
#include "cli/simulate_node_use.h"
#include "cli/simulate_pods.h"
#include "sim/embedded_cluster.h"
#include "sim/informer.h"
#include "sim/pod_resources.h"

namespace phalanx::cli {

struct HistoryEvent {
  Time at;
  // submitted, waits, set aside, admitted, started, stuck, lost, evicted, finished, failed,
  // deleted, node, loaded
  std::string_view what;
  std::string object;  // "ml/train", "n7"
  std::string text;
};

enum class WorkloadPhase : uint8_t { kWaiting, kAdmitted, kRunning, kFinished, kFailed, kDeleted };
std::string_view phase_name(WorkloadPhase phase);

struct WorkloadRecord {
  std::string name;      // of the Job it belongs to, or its own: "ml/train"
  std::string workload;  // "ml/job-train-1a2b3"
  std::string queue;     // LocalQueue
  std::string cluster_queue;
  int64_t pods = 0;
  int32_t priority = 0;
  Time submitted;
  WorkloadPhase phase = WorkloadPhase::kWaiting;
  Time since;             // when it began to wait, or to hold what it was given
  Duration waited{};      // without the present phase
  Duration ran{};         // likewise; counted from the admission
  std::string placement;  // the last one
  std::string reason;     // why it waits, in one word and in a sentence
  std::string message;
  int evictions = 0;
  int64_t needed = 0;   // pods that have to run: all that are not done for good
  int64_t running = 0;  // of those; kept up while it holds something
  std::string trouble;  // why it has fewer than it needs

  [[nodiscard]] bool over() const { return phase >= WorkloadPhase::kFinished; }
  [[nodiscard]] bool holds() const {
    return phase == WorkloadPhase::kAdmitted || phase == WorkloadPhase::kRunning;
  }
  [[nodiscard]] Duration waited_until(Time now) const;
  [[nodiscard]] Duration ran_until(Time now) const;
};

struct HistoryTotals {
  uint64_t submitted = 0;
  uint64_t admitted = 0;
  uint64_t finished = 0;  // succeeded
  uint64_t failed = 0;
  uint64_t evicted = 0;
  Duration waited{};  // of those that were admitted, before they were
};

struct HistoryOptions {
  // For runs without an end: the events that are kept, and whether workloads that are over are.
  size_t most_events = SIZE_MAX;
  bool keep_all_workloads = true;
};

class History : public sim::Component {
 public:
  History(sim::EmbeddedCluster& cluster, HistoryOptions options);

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override { return std::nullopt; }
  // Counts the time up to now and tells what is left to tell; before anybody reads it.
  void close();

  [[nodiscard]] Time start() const { return start_; }
  [[nodiscard]] const std::deque<HistoryEvent>& events() const { return events_; }
  // How many there were; the last ones are kept.
  [[nodiscard]] uint64_t event_count() const { return event_count_; }
  // In the order in which they were submitted.
  [[nodiscard]] std::vector<const WorkloadRecord*> workloads() const;
  [[nodiscard]] const WorkloadRecord* find(const std::string& workload) const;
  [[nodiscard]] const HistoryTotals& totals() const { return totals_; }
  [[nodiscard]] const Gauges& gauges() const { return gauges_; }
  // What must never happen, but did; empty: nothing.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

 private:
  struct Entry {
    uint64_t number = 0;
    WorkloadRecord record;
    bool whole = false;        // all pods ran, and none was lost since
    int64_t told_running = 0;  // when a loss was told
    bool restored = false;     // was there before the run began
  };

  void tell(std::string_view what, const std::string& object, std::string text);
  void tell_at(Time at, std::string_view what, const std::string& object, std::string text);
  void pass_time();
  void look_back();
  void restore(const sim::Change& change);
  void place_restored();
  Entry& add_entry(const sim::Change& change);
  void observe_workload(const sim::Change& change);
  void enqueue(const sim::Change& change);
  void observe_phase(Entry& entry, const json::value& workload);
  void observe_move(WorkloadRecord& record, const json::value& before, const json::value& after);
  void admit(Entry& entry, const json::value& workload);
  void finish(Entry& entry, const json::value& workload);
  void evict(Entry& entry, const std::string& message);
  static void enter(WorkloadRecord& record, WorkloadPhase phase, Time at);
  void check_quota(const WorkloadRecord& record);
  void observe_pod(const sim::Change& change);
  void observe_trouble(const sim::Change& change);
  void count_running();
  void tell_losses();
  void observe_node(const sim::Change& change);
  void observe_usage();

  sim::EmbeddedCluster& cluster_;
  HistoryOptions options_;
  sim::Informer informer_;
  Time start_;
  Time last_;  // up to which the gauges are counted
  bool first_ = true;
  std::deque<HistoryEvent> events_;
  uint64_t event_count_ = 0;
  std::map<std::string, Entry> workloads_;      // by full name and uid
  std::map<std::string, std::string> present_;  // key of the workload that has a name now
  uint64_t numbers_ = 0;
  RunningPods pods_;
  std::set<std::string> touched_;  // workloads whose pods changed at this moment
  HistoryTotals totals_;
  Gauges gauges_;
  NodeUse node_use_;
  std::vector<std::string> faults_;
};

}  // namespace phalanx::cli
