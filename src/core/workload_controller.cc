#include "core/workload_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/adapter.h"
#include "core/admission_checks.h"
#include "core/injection.h"
#include "core/job_controller.h"
#include "core/names.h"
#include "core/node_health.h"
#include "core/outbox.h"
#include "core/pods_ready.h"
#include "core/workload_status.h"

namespace phalanx::core {
namespace {

struct Cause {
  std::string_view reason;
  std::string message;
  std::string underlying = {};
};

bool is_deactivation(std::string_view reason) {
  return reason.starts_with(names::kDeactivated);  // or DeactivatedDueTo...
}

class Life {
 public:
  Life(const State& state, const WorkloadState& workload)
      : state_(state), workload_(workload), object_(workload.object), key_(workload_key(object_)) {}

  Verdict step() {
    if (object_.meta.deleted || object_.finished) return let_go();
    if (state_.job_is_gone(workload_)) return finish_orphan();
    if (lacks_finalizer()) return with_finalizer();
    if (workload_.reserved()) return workload_.evicted() ? leave() : stay();
    if (!object_.active) return stay_away({names::kDeactivated, "The workload is deactivated"});
    if (const auto problem = queue_problem(state_, workload_)) return say(*problem);
    return requeue();
  }

 private:
  // It holds what it was given. The first that has something to say decides; who only has to be
  // asked again says when.
  Verdict stay() {
    if (const auto cause = must_leave()) return evict(*cause);
    for (const auto part :
         {&Life::deactivate, &Life::heed_checks, &Life::follow_checks, &Life::heed_contradiction,
          &Life::end_in_time, &Life::be_ready_in_time, &Life::report_health}) {
      if (auto verdict = (this->*part)()) return std::move(*verdict);
    }
    Verdict verdict;
    verdict.wake_at = wake_at_;
    return verdict;
  }

  // It is evicted, and keeps what it has until its pods have ended. What is said against it
  // meanwhile counts as it would have before.
  Verdict leave() {
    const api::Condition* evicted = api::find_condition(object_.conditions, names::kEvicted);
    if (!object_.active && !is_deactivation(evicted->reason)) return evict(deactivation());
    if (object_.active) {
      if (auto verdict = deactivate()) return std::move(*verdict);
      if (auto verdict = heed_rejection()) return std::move(*verdict);
    }
    return stopped() ? give_back(*evicted) : Verdict();
  }

  // Nothing of it is needed any more once its pods are gone.
  Verdict let_go() {
    if (!object_.meta.has_finalizer(names::kInUseFinalizer)) return {};
    if (object_.meta.deleted && is_the_jobs_own() && !stopped()) return {};
    if (state_.live_pods(workload_.request.name) > 0) return {};
    Verdict verdict;
    verdict.write = finalizer_patch(key_, object_.meta, false);
    return verdict;
  }

  Verdict with_finalizer() {
    Verdict verdict;
    verdict.write = finalizer_patch(key_, object_.meta, true);
    return verdict;
  }

  // Whether nothing runs of it: its pods are gone, and its job is suspended and as its user wrote
  // it (or gone). Until then the Workload is needed: only it knows what the user wrote.
  [[nodiscard]] bool stopped() const {
    if (state_.live_pods(workload_.request.name) > 0) return false;
    const Job* job = state_.job_of(workload_);
    if (job == nullptr || job->finished || job->meta.deleted) return true;
    return job->suspended && !needs_restoring(*job, object_) && job->active_pods == 0;
  }

  // A second Workload of the same job is not what the job runs by.
  [[nodiscard]] bool is_the_jobs_own() const {
    const auto job = state_.job_of_id.find(workload_.job_id());
    return job != state_.job_of_id.end() &&
           workload_of(state_, job->second, state_.jobs.at(job->second)) == &workload_;
  }

  // The user's pod templates are kept in it: it must not go before they are restored.
  [[nodiscard]] bool lacks_finalizer() const {
    return object_.meta.label(names::kJobUidLabel) != nullptr &&
           !object_.meta.has_finalizer(names::kInUseFinalizer);
  }

  // Its job left it behind. One that still names its owner is deleted with it.
  Verdict finish_orphan() {
    if (object_.meta.controller() != nullptr) return {};
    if (state_.live_pods(workload_.request.name) > 0) return {};
    StatusChange change(state_, workload_);
    change.set(names::kFinished, true, names::kOwnerNotFound, "The job it was made for is gone");
    return written(change, "finish", "its job is gone");
  }

  [[nodiscard]] std::optional<Cause> must_leave() const {
    if (!object_.active) return deactivation();
    const auto stopped = sent_away(state_, workload_);
    if (!stopped) return std::nullopt;
    return Cause{stopped->reason, std::string(stopped->message)};
  }

  [[nodiscard]] Cause deactivation() const {
    const api::Condition* target = deactivation_target();
    if (target == nullptr) return {names::kDeactivated, "The workload is deactivated"};
    return {names::kDeactivated, fmt::format("The workload is deactivated: {}", target->message),
            target->reason};
  }

  [[nodiscard]] const api::Condition* deactivation_target() const {
    const api::Condition* target =
        api::find_condition(object_.conditions, names::kDeactivationTarget);
    return target != nullptr && target->holds ? target : nullptr;
  }

  // It was decided before; whoever was killed in between finds it here.
  std::optional<Verdict> deactivate() {
    if (deactivation_target() == nullptr) return std::nullopt;
    Verdict verdict;
    verdict.write = merge_patch(key_, object_.meta, {{"spec", json::object{{"active", false}}}});
    verdict.decision = decision("deactivate", deactivation_target()->message);
    return verdict;
  }

  Verdict target_deactivation(std::string_view reason, const std::string& message) {
    StatusChange change(state_, workload_);
    change.set(names::kDeactivationTarget, true, reason, message);
    return written(change, "give-up", message);
  }

  std::optional<Verdict> heed_rejection() {
    const auto* rejected = find_check(object_, api::CheckState::kRejected);
    if (rejected == nullptr) return std::nullopt;
    return target_deactivation(
        names::kAdmissionCheck,
        fmt::format("AdmissionCheck {} is Rejected: {}", rejected->name, rejected->message));
  }

  // What a check says against it counts also when it runs.
  std::optional<Verdict> heed_checks() {
    if (auto verdict = heed_rejection()) return verdict;
    const auto* retry = find_check(object_, api::CheckState::kRetry);
    if (retry == nullptr) return std::nullopt;
    int32_t wait = 0;
    for (const api::AdmissionCheckStatus& check : object_.admission_checks) {
      if (check.state == api::CheckState::kRetry) {
        wait = std::max(wait, check.requeue_after_seconds.value_or(0));
      }
    }
    return evict({names::kAdmissionCheck, fmt::format("AdmissionCheck {} is to be tried again: {}",
                                                      retry->name, retry->message)},
                 stay_away_for(std::chrono::seconds(wait)));
  }

  // Its job could not be started as all of them want it. Only somebody who changes the job or the
  // checks can help.
  std::optional<Verdict> heed_contradiction() {
    if (workload_.admitted()) return std::nullopt;
    const auto contradiction = contradiction_of_checks(state_, workload_);
    if (!contradiction) return std::nullopt;
    return target_deactivation(names::kAdmissionCheck, *contradiction);
  }

  [[nodiscard]] std::optional<api::RequeueState> stay_away_for(Duration duration) const {
    if (duration == Duration{}) return std::nullopt;
    return api::RequeueState{object_.requeue ? object_.requeue->count : 0, state_.now + duration};
  }

  // The queue may ask for other checks than when the quota was reserved. Who is admitted has
  // passed.
  std::optional<Verdict> follow_checks() {
    const auto queue = state_.cluster_queues.find(object_.cluster_queue);
    if (workload_.admitted() || queue == state_.cluster_queues.end()) return std::nullopt;
    const auto required = required_checks(queue->second, flavors_of(*object_.admission));
    const auto checks = checks_for(state_, object_, required);
    if (checks.size() > kMostChecks) {
      return evict({names::kAdmissionCheck, too_many_checks(queue->second, checks.size())});
    }
    StatusChange change(state_, workload_);
    change.set_checks(checks);
    if (const auto lack = lack_of(checks, object_.topology_is_delayed())) {
      change.set(names::kAdmitted, false, lack->reason, lack->message);
      // Places are sought once more, and for as long, when the checks are ready.
      if (lack->reason == names::kUnsatisfiedAdmissionChecks) {
        change.remove(names::kSecondPassFailed);
      }
    }
    if (!change.any()) return std::nullopt;
    return written(change, "checks", "what it waits for has changed");
  }

  std::optional<Verdict> end_in_time() {
    const api::Condition* admitted = api::find_condition(object_.conditions, names::kAdmitted);
    const auto left = object_.execution_left();
    if (!left || !workload_.admitted()) return std::nullopt;
    const Time end = admitted->changed + *left;
    if (end > state_.now) {
      wake_by(end);
      return std::nullopt;
    }
    return target_deactivation(names::kMaximumExecutionTimeExceeded,
                               fmt::format("exceeding the maximum execution time of {} s",
                                           *object_.maximum_execution_seconds));
  }

  std::optional<Verdict> be_ready_in_time() {
    const auto deadline = ready_deadline(state_, workload_);
    if (!deadline) return std::nullopt;
    if (deadline->at > state_.now) {
      wake_by(deadline->at);
      return std::nullopt;
    }
    const WaitForPodsReady& wait = *state_.configuration.wait_for_pods_ready;
    constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
    const int32_t times = std::min(object_.requeue ? object_.requeue->count : 0, kMost - 1) + 1;
    if (wait.limit && times > *wait.limit) {
      return target_deactivation(
          names::kRequeuingLimitExceeded,
          fmt::format("exceeding the maximum number of re-queuing retries, {}", *wait.limit));
    }
    const Cause cause{names::kPodsReadyTimeout,
                      deadline->cause == names::kWaitForStart
                          ? "Its pods were not ready in time"
                          : "Its pods were not ready again in time",
                      std::string(deadline->cause)};
    return evict(cause,
                 api::RequeueState{times, state_.now + requeue_delay(wait, object_.meta, times)});
  }

  std::optional<Verdict> report_health() {
    const LostNodes lost = lost_nodes(state_, workload_);
    if (lost.look_again) wake_by(*lost.look_again);
    std::vector<std::string> names = lost.names();
    if (names.size() > kMostUnhealthyNodes) names.resize(kMostUnhealthyNodes);
    StatusChange change(state_, workload_);
    change.set_unhealthy_nodes(names);
    if (!change.any()) return std::nullopt;
    std::string message = "its nodes are well again";
    if (!names.empty()) {
      message = fmt::format("node {}: {}", names.front(), lost.why.at(names.front()));
      if (lost.needed.size() > 1) message += fmt::format(", and {} more", lost.needed.size() - 1);
    }
    Verdict verdict = written(change, "node-health", message);
    verdict.notices.push_back({key_, object_.meta.uid, !names.empty(),
                               names.empty() ? "NodesHealthy" : "NodesUnhealthy", message});
    return verdict;
  }

  void wake_by(Time time) { wake_at_ = wake_at_ ? std::min(*wake_at_, time) : time; }

  Verdict evict(const Cause& cause, std::optional<api::RequeueState> requeue = std::nullopt) {
    StatusChange change(state_, workload_);
    change.evict(cause.reason, cause.message, cause.underlying);
    if (requeue) change.set_requeue(requeue);
    if (cause.reason == names::kDeactivated) start_over(change);
    Verdict verdict;
    verdict.write = change.write();
    verdict.notices.push_back({key_, object_.meta.uid, false,
                               fmt::format("EvictedDueTo{}", cause.reason), cause.message});
    verdict.decision = decision("evict", cause.message);
    return verdict;
  }

  // Whoever activates it again gives it all its chances back.
  static void start_over(StatusChange& change) {
    change.remove(names::kDeactivationTarget);
    change.set_requeue(std::nullopt);
    change.set_past_execution(0);
  }

  // Evicted and stopped: what it held is free again.
  Verdict give_back(const api::Condition& evicted) {
    const std::optional<api::RequeueState> requeue = requeue_after(evicted);
    StatusChange change(state_, workload_);
    change.clear_admission();
    change.remove(names::kSecondPassFailed);
    change.set_reclaimable({});
    change.set_unhealthy_nodes({});
    change.set_checks(checks_reset(state_, object_));
    change.set_requeue(requeue);
    if (api::find_condition(object_.conditions, names::kPodsReady) != nullptr) {
      change.set(names::kPodsReady, false, names::kWaitForStart, "The workload is not admitted");
    }
    change.set(names::kQuotaReserved, false, names::kPending, evicted.message);
    change.set(names::kAdmitted, false, names::kNoReservation, "The workload has no reservation");
    const bool stays_away = requeue && requeue->at && *requeue->at > state_.now;
    const bool returns = !is_deactivation(evicted.reason) && !stays_away &&
                         evicted.reason != names::kClusterQueueStopped &&
                         evicted.reason != names::kLocalQueueStopped;
    change.set(names::kRequeued, returns, evicted.reason, evicted.message);
    Verdict verdict;
    verdict.write = change.write();
    verdict.decision = decision("release", evicted.message);
    return verdict;
  }

  // When it may be back. A check that said Retry while its pods were ending may ask for longer than
  // the one that it was evicted for.
  [[nodiscard]] std::optional<api::RequeueState> requeue_after(
      const api::Condition& evicted) const {
    std::optional<api::RequeueState> requeue = object_.requeue;
    if (!object_.active) return requeue;
    for (const api::AdmissionCheckStatus& check : object_.admission_checks) {
      if (check.state != api::CheckState::kRetry) continue;
      // What it says it cannot have said before the eviction, whatever its time is.
      const Time said =
          std::clamp(check.changed, std::min(evicted.changed, state_.now), state_.now);
      const Time until = said + std::chrono::seconds(check.requeue_after_seconds.value_or(0));
      if (until <= state_.now) continue;
      if (!requeue) requeue.emplace();
      requeue->at = std::max(requeue->at.value_or(until), until);
    }
    return requeue;
  }

  Verdict stay_away(const Cause& cause) {
    StatusChange change(state_, workload_);
    change.set(names::kQuotaReserved, false, cause.reason, cause.message);
    start_over(change);
    std::vector<api::AdmissionCheckStatus> checks = object_.admission_checks;
    for (api::AdmissionCheckStatus& check : checks) check.retries = 0;
    change.set_checks(checks);
    if (api::find_condition(object_.conditions, names::kRequeued) != nullptr) {
      change.set(names::kRequeued, false, cause.reason, cause.message);
    }
    return written(change, "deactivate", cause.message);
  }

  Verdict say(const QueueProblem& problem) {
    StatusChange change(state_, workload_);
    change.set(names::kQuotaReserved, false, problem.reason, problem.message);
    return written(change, "set-aside", problem.message);
  }

  // Back in a queue after what kept it away is over.
  Verdict requeue() {
    if (backs_off(object_, state_.now)) {
      Verdict verdict;
      verdict.wake_at = object_.requeue->at;
      return verdict;
    }
    const api::Condition* requeued = api::find_condition(object_.conditions, names::kRequeued);
    if (requeued == nullptr || requeued->holds) return {};
    StatusChange change(state_, workload_);
    if (is_deactivation(requeued->reason)) {
      change.set(names::kRequeued, true, names::kReactivated, "The workload was reactivated");
    } else if (requeued->reason == names::kClusterQueueStopped) {
      change.set(names::kRequeued, true, names::kClusterQueueRestarted,
                 "The ClusterQueue was restarted after being stopped");
    } else if (requeued->reason == names::kLocalQueueStopped) {
      change.set(names::kRequeued, true, names::kLocalQueueRestarted,
                 "The LocalQueue was restarted after being stopped");
    } else {
      change.set(names::kRequeued, true, names::kBackoffFinished, "The time to stay away is over");
    }
    return written(change, "requeue", "what kept it away is over");
  }

  Verdict written(const StatusChange& change, std::string_view what, std::string reason) {
    if (!change.any()) return {};
    Verdict verdict;
    verdict.write = change.write();
    verdict.decision = decision(what, std::move(reason));
    return verdict;
  }

  [[nodiscard]] Decision decision(std::string_view what, std::string reason) const {
    return {what, key_, {{key_.text(), object_.meta.resource_version}}, std::move(reason), {}};
  }

  const State& state_;
  const WorkloadState& workload_;
  const api::Workload& object_;
  api::ObjectKey key_;
  std::optional<Time> wake_at_;
};

}  // namespace

Verdict reconcile_workload(const State& state, const std::string& name) {
  const WorkloadState* workload = state.workload(name);
  return workload == nullptr ? Verdict() : Life(state, *workload).step();
}

}  // namespace phalanx::core
