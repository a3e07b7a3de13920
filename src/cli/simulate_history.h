// What happened in an embedded cluster, as somebody sees it who watches the API server: events in
// order, a record of every workload, and how much was in use for how long.
//
// It is a component of the simulation, added after all others, and writes nothing. Times are those
// of the clock, to the millisecond; objects themselves are dated by the second.
//
// It also looks for what must never happen: a queue that admits beyond its quota, and a node that
// refuses a pod of ours because it is full.
//
// Cost: a change costs its object. What is in use is added up by differences.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/simulate_gauges.h"
#include "sim/embedded_cluster.h"
#include "sim/informer.h"
#include "sim/pod_resources.h"

namespace phalanx::cli {

struct HistoryEvent {
  Time at;
  std::string_view what;  // queued, waits, admitted, started, finished, evicted, deleted, node
  std::string object;     // "ml/train", "n7"
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
  // Counts the time up to now; before anybody reads the gauges.
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
    int64_t running = 0;  // pods
    int64_t done = 0;     // pods that have succeeded for good
  };

  void tell(std::string_view what, const std::string& object, std::string text);
  void observe_workload(const sim::Change& change);
  void enqueue(const sim::Change& change);
  void observe_phase(Entry& entry, const json::value& workload);
  void admit(Entry& entry, const json::value& workload);
  void finish(Entry& entry, const json::value& workload);
  void evict(Entry& entry, const std::string& message);
  void enter(WorkloadRecord& record, WorkloadPhase phase);
  void check_quota(const WorkloadRecord& record);
  void observe_pod(const sim::Change& change);
  void count_running(const json::value& pod, int sign);
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
  HistoryTotals totals_;
  Gauges gauges_;
  api::ResourceAmounts allocatable_;  // of all nodes that are Ready
  api::ResourceAmounts used_;         // by bound pods that have not ended
  std::vector<std::string> faults_;
};

}  // namespace phalanx::cli
