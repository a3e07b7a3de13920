// The part of the history that lies before the run: what a loaded cluster says of itself.
#include <fmt/format.h>

#include "api/workload.h"
#include "cli/simulate_history.h"
#include "cli/simulate_placement.h"
#include "core/names.h"
#include "sim/document.h"

namespace phalanx::cli {
namespace {

using sim::find_condition;

Time time_of(const json::object* condition, Time otherwise) {
  if (condition == nullptr) return otherwise;
  return parse_time(string_field(*condition, "lastTransitionTime")).value_or(otherwise);
}

}  // namespace

// Pods come last: they are counted for workloads that are known.
void History::look_back() {
  const std::vector<sim::Change> changes = informer_.poll();
  for (const sim::Change& change : changes) {
    if (change.key.kind == api::Kind::kNode) observe_node(change);
    if (change.key.kind == api::Kind::kWorkload) restore(change);
  }
  for (const sim::Change& change : changes) {
    if (change.key.kind == api::Kind::kPod) observe_pod(change);
  }
  (void)pods_.take_changed();
  for (auto& [key, entry] : workloads_) {
    WorkloadRecord& record = entry.record;
    record.running = pods_.running(record.workload);
    if (record.phase != WorkloadPhase::kAdmitted || record.running < record.needed) continue;
    record.phase = WorkloadPhase::kRunning;
    entry.whole = true;
  }
}

// As far as its conditions tell; of evictions they tell the last one only.
void History::restore(const sim::Change& change) {
  const json::value& workload = *change.after;
  Entry& entry = add_entry(change);
  entry.restored = true;
  WorkloadRecord& record = entry.record;
  record.submitted =
      parse_time(string_at(workload, {"metadata", "creationTimestamp"})).value_or(start_);
  record.since = record.submitted;
  record.needed -= done_pods(workload);
  const json::object* admitted = find_condition(workload, core::names::kAdmitted);
  if (sim::condition_is_true(workload, core::names::kAdmitted) &&
      !sim::condition_is_true(workload, core::names::kEvicted)) {
    enter(record, WorkloadPhase::kAdmitted, time_of(admitted, start_));
    record.cluster_queue = string_at(workload, {"status", "admission", "clusterQueue"});
  }
  if (sim::condition_is_true(workload, core::names::kFinished)) {
    const json::object* finished = find_condition(workload, core::names::kFinished);
    const bool failed = string_field(*finished, "reason") == core::names::kFailed;
    enter(record, failed ? WorkloadPhase::kFailed : WorkloadPhase::kFinished,
          time_of(finished, start_));
    record.message = string_field(*finished, "message");
  }
  if (const json::object* reserved = find_condition(workload, core::names::kQuotaReserved);
      record.phase == WorkloadPhase::kWaiting && reserved != nullptr) {
    record.reason = string_field(*reserved, "reason");
    record.message = string_field(*reserved, "message");
  }
}

// Only now does the core know the topologies that the assignments are about.
void History::place_restored() {
  int64_t count = 0;
  for (auto& [key, entry] : workloads_) {
    if (!entry.restored) continue;
    ++count;
    const sim::Stored document =
        informer_.find(core::key_of(api::Kind::kWorkload, entry.record.workload));
    if (document == nullptr || !entry.record.placement.empty()) continue;
    DecodeStatus status;
    entry.record.placement = placement_summary(
        cluster_.core().state(), api::read_workload(JsonReader(document.get(), "", status)));
  }
  if (count == 0) return;
  tell("loaded", fmt::format("{} workload{}", count, count == 1 ? "" : "s"),
       count == 1 ? "is there" : "are there");
}

}  // namespace phalanx::cli
