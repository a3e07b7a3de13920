// Counting the pods of a Job that have ended, each exactly once, whatever happens in between.
//
// A pod keeps a finalizer until it is counted. Its uid is first written to
// status.uncountedTerminatedPods, then the finalizer is removed, and when it is gone the uid
// becomes one more in succeeded or failed. Whoever is interrupted between two of these steps finds
// in the API server where to go on. Successes of Indexed Jobs need no uid: the index itself cannot
// be counted twice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/job_view.h"

namespace phalanx::sim {

struct JobTally {
  IndexSet completed;     // of Indexed Jobs
  int64_t succeeded = 0;  // counted for good
  int64_t failed = 0;
  std::vector<std::string> uncounted_succeeded;  // uids of pods with the finalizer
  std::vector<std::string> uncounted_failed;
  std::vector<const JobPod*> newly_finished;  // not known to the status yet
  // Their finalizers can go once the tally is written.
  std::vector<const JobPod*> to_release;

  [[nodiscard]] int64_t all_succeeded() const {
    return succeeded + static_cast<int64_t>(uncounted_succeeded.size());
  }
  [[nodiscard]] int64_t all_failed() const {
    return failed + static_cast<int64_t>(uncounted_failed.size());
  }
  [[nodiscard]] bool complete() const {
    return uncounted_succeeded.empty() && uncounted_failed.empty() && to_release.empty();
  }
};

// Goes on from what the Job's status says. Points into `pods`.
JobTally tally_pods(const JobView& job, const std::vector<JobPod>& pods);
void write_tally(const JobView& job, const JobTally& tally, json::object& status);

// Sets a count of a status; 0 is left out, as Kubernetes prints it.
void set_count(json::object& status, std::string_view name, int64_t count);

}  // namespace phalanx::sim
