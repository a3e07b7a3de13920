// A batch/v1 Job and its pods, read for the Job controller: what was asked for, and which pods
// there are, by what they mean for the Job. Pure: nothing here writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/index_set.h"
#include "sim/informer.h"

namespace phalanx::sim {

inline constexpr std::string_view kJobTrackingFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kCompletionIndexKey = "batch.kubernetes.io/job-completion-index";

struct JobView {
  api::ObjectKey key;
  Stored document;
  std::string uid;
  int64_t parallelism = 1;
  std::optional<int64_t> completions;  // nullopt: one success ends it
  bool indexed = false;
  int64_t backoff_limit = 6;
  bool suspended = false;
  bool deleting = false;
  bool replaces_failed_only = false;  // podReplacementPolicy: Failed
  bool restarts_in_place = false;     // restartPolicy of the template: OnFailure
  bool ours = true;                   // managedBy is absent or names this controller
  bool finished = false;              // condition Complete or Failed
  std::optional<Time> start_time;
  std::optional<int64_t> active_deadline_seconds;
  std::optional<int64_t> ttl_seconds_after_finished;
};

JobView view_job(const api::ObjectKey& key, const Stored& document);

struct JobPod {
  api::ObjectKey key;
  Stored document;
  std::string uid;
  std::optional<int64_t> index;
  bool tracked = false;      // has the finalizer: not counted for good yet
  bool succeeded = false;    // phase
  bool failed = false;       // counts as a failure, see view_pod
  bool active = false;       // neither ended nor being deleted
  bool terminating = false;  // being deleted, not ended
  bool ready = false;
  Time finished_at;  // when it ended or was deleted
};

// A pod that is being deleted counts as failed at once, unless the Job replaces failed pods only:
// it might never reach a phase that says so.
JobPod view_pod(const api::ObjectKey& key, const Stored& document, const JobView& job, Time now);

// The pods to give up first when there are too many: second pods of an index and indexes beyond the
// completions, then those that have come least far, then the highest index and the youngest.
struct RemovalOrder {
  std::vector<const JobPod*> pods;  // all that are active
  int64_t surplus = 0;              // how many of the first are of no use to the Job
};
RemovalOrder removal_order(const JobView& job, const std::vector<JobPod>& pods);

// A new pod from the Job's template; `index` for Indexed ones.
json::value new_pod(const JobView& job, std::optional<int64_t> index);

}  // namespace phalanx::sim
