// The Job controller of the embedded cluster: batch/v1 as Kubernetes does it.
//
// - pods are created for Jobs that are neither suspended nor finished, up to parallelism and the
//   completions that are left; surplus ones are deleted. Indexed Jobs get the lowest missing index
// - ended pods are counted exactly once (sim/job_tally.h)
// - a failed pod is replaced after a delay of 10 s that doubles with every failure since the last
//   success, up to 6 min; more failures than backoffLimit, or activeDeadlineSeconds, fail the Job
// - a Job that is decided (SuccessCriteriaMet, FailureTarget) becomes Complete or Failed when the
//   last of its pods has ended
// - suspending deletes the active pods without counting them; resuming sets startTime anew
// - pods that the API server refuses are tried again, after the same delays; an Event FailedCreate
//   says why
// - ttlSecondsAfterFinished deletes; pods whose Job is gone lose their finalizer
//
// Not here: backoffLimitPerIndex, podFailurePolicy and successPolicy.
//
// Cost: a change costs the pods of its Job; many changes at one moment cost that once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/component.h"
#include "sim/informer.h"
#include "sim/job_tally.h"
#include "sim/job_view.h"
#include "sim/timers.h"

namespace phalanx::sim {

inline constexpr std::string_view kFailedCreate = "FailedCreate";

class JobController : public Component {
 public:
  explicit JobController(ApiServer& server);

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override { return timers_.next(); }

 private:
  // What delays the next replacement. Kept in memory, as Kubernetes does; a controller that starts
  // reads it from the pods that are still there.
  struct Failures {
    int64_t since_success = 0;
    Time last;
  };
  // Of pods, by the API server.
  struct Refusal {
    int64_t tries = 0;  // in a row
    std::string message;
  };
  // One look at one Job.
  struct Pass {
    JobView job;
    std::vector<JobPod> pods;
    JobTally tally;
    json::object status;  // to be written
    int64_t active = 0;
    int64_t ready = 0;
    int64_t terminating = 0;
    Time now;
    std::optional<Time> wake;  // the next look

    void wake_by(Time time) {
      if (time > now && (!wake || time < *wake)) wake = time;
    }
  };

  void observe_job(const Change& change);
  // Adds the Job, or the pod itself if it has none.
  void observe_pod(const Change& change, std::set<api::ObjectKey>& affected);
  void release_orphan(const api::ObjectKey& key);

  void sync(const api::ObjectKey& key);
  void sync_finished(const JobView& job, const std::vector<JobPod>& pods);
  [[nodiscard]] std::vector<JobPod> pods_of(const JobView& job) const;
  const Failures& note_failures(const Pass& pass);
  void decide(Pass& pass);
  [[nodiscard]] static bool out_of_restarts(const Pass& pass);
  void stop(Pass& pass);
  void suspend(Pass& pass);
  void scale(Pass& pass);
  void create(Pass& pass, int64_t count);
  // Says so, once for each reason; returns when to try again.
  Duration report_refusal(const JobView& job, std::string message);
  void finish(Pass& pass);
  void write(Pass& pass);
  // Deletes an active pod; uncounted ones lose their finalizer first.
  void remove_pod(Pass& pass, const JobPod& pod, bool counted);

  ApiServer& server_;
  Informer informer_;
  Timers timers_;
  std::map<std::string, api::ObjectKey> job_by_uid_;
  std::map<std::string, std::set<api::ObjectKey>> pods_by_job_;  // by the Job's uid
  std::map<std::string, Failures> failures_;                     // by the Job's uid
  std::map<std::string, Refusal> refusals_;                      // by the Job's uid
};

}  // namespace phalanx::sim
