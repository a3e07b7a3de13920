#include "core/workload_controller.h"

#include <fmt/format.h>

#include "core/adapter.h"
#include "core/job_controller.h"
#include "core/names.h"
#include "core/outbox.h"
#include "core/workload_status.h"

namespace phalanx::core {
namespace {

struct Cause {
  std::string_view reason;
  std::string message;
};

class Life {
 public:
  Life(const State& state, const WorkloadState& workload)
      : state_(state), workload_(workload), object_(workload.object), key_(workload_key(object_)) {}

  Verdict step() {
    if (object_.meta.deleted || object_.finished) return let_go();
    if (state_.job_is_gone(workload_)) return finish_orphan();
    if (lacks_finalizer()) return with_finalizer();
    if (workload_.reserved()) {
      if (!workload_.evicted()) {
        if (const auto cause = must_leave()) return evict(*cause);
        return {};
      }
      return stopped() ? give_back() : Verdict();
    }
    if (!object_.active) return stay_away({names::kDeactivated, "The workload is deactivated"});
    if (const auto problem = queue_problem(state_, workload_)) return say(*problem);
    return requeue();
  }

 private:
  // Nothing of it is needed any more once its pods are gone.
  Verdict let_go() {
    if (!object_.meta.has_finalizer(names::kInUseFinalizer)) return {};
    if (object_.meta.deleted && is_the_jobs_own() && !stopped()) return {};
    if (state_.account.live_pods(workload_.request.name) > 0) return {};
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
    if (state_.account.live_pods(workload_.request.name) > 0) return false;
    const Job* job = state_.job_of(workload_);
    if (job == nullptr || job->finished || job->meta.deleted) return true;
    return job->suspended && !needs_restoring(*job, object_) && job->active_pods == 0;
  }

  // A second Workload of the same job is not what the job runs by.
  [[nodiscard]] bool is_the_jobs_own() const {
    const auto job = state_.job_of_uid.find(workload_.job_uid());
    return job != state_.job_of_uid.end() &&
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
    if (state_.account.live_pods(workload_.request.name) > 0) return {};
    StatusChange change(state_, workload_);
    change.set(names::kFinished, true, names::kOwnerNotFound, "The job it was made for is gone");
    return written(change, "finish", "its job is gone");
  }

  [[nodiscard]] std::optional<Cause> must_leave() const {
    if (!object_.active) return Cause{names::kDeactivated, "The workload is deactivated"};
    const auto queue = state_.cluster_queues.find(object_.cluster_queue);
    if (queue != state_.cluster_queues.end() &&
        queue->second.stop_policy == api::StopPolicy::kHoldAndDrain) {
      return Cause{names::kClusterQueueStopped, "The ClusterQueue is stopped"};
    }
    const auto local = state_.local_queues.find(workload_.local_queue());
    if (local != state_.local_queues.end() &&
        local->second.stop_policy == api::StopPolicy::kHoldAndDrain) {
      return Cause{names::kLocalQueueStopped, "The LocalQueue is stopped"};
    }
    return std::nullopt;
  }

  Verdict evict(const Cause& cause) {
    StatusChange change(state_, workload_);
    change.evict(cause.reason, cause.message);
    Verdict verdict;
    verdict.write = change.write();
    verdict.notices.push_back({key_, object_.meta.uid, false,
                               fmt::format("EvictedDueTo{}", cause.reason), cause.message});
    verdict.decision = decision("evict", cause.message);
    return verdict;
  }

  // Evicted and stopped: what it held is free again.
  Verdict give_back() {
    const api::Condition* evicted = api::find_condition(object_.conditions, names::kEvicted);
    StatusChange change(state_, workload_);
    change.clear_admission();
    change.set_reclaimable({});
    change.set(names::kQuotaReserved, false, names::kPending, evicted->message);
    change.set(names::kAdmitted, false, names::kNoReservation, "The workload has no reservation");
    const bool returns = evicted->reason != names::kDeactivated &&
                         evicted->reason != names::kClusterQueueStopped &&
                         evicted->reason != names::kLocalQueueStopped;
    change.set(names::kRequeued, returns, evicted->reason, evicted->message);
    Verdict verdict;
    verdict.write = change.write();
    verdict.decision = decision("release", evicted->message);
    return verdict;
  }

  Verdict stay_away(const Cause& cause) {
    StatusChange change(state_, workload_);
    change.set(names::kQuotaReserved, false, cause.reason, cause.message);
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
    const api::Condition* requeued = api::find_condition(object_.conditions, names::kRequeued);
    if (requeued == nullptr || requeued->holds) return {};
    StatusChange change(state_, workload_);
    if (requeued->reason == names::kDeactivated) {
      change.set(names::kRequeued, true, names::kReactivated, "The workload was reactivated");
    } else if (requeued->reason == names::kClusterQueueStopped) {
      change.set(names::kRequeued, true, names::kClusterQueueRestarted,
                 "The ClusterQueue was restarted after being stopped");
    } else if (requeued->reason == names::kLocalQueueStopped) {
      change.set(names::kRequeued, true, names::kLocalQueueRestarted,
                 "The LocalQueue was restarted after being stopped");
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
};

}  // namespace

Verdict reconcile_workload(const State& state, const std::string& name) {
  const WorkloadState* workload = state.workload(name);
  return workload == nullptr ? Verdict() : Life(state, *workload).step();
}

}  // namespace phalanx::core
