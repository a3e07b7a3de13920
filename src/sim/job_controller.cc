#include "sim/job_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/object_fields.h"
#include "sim/pod_status.h"

namespace phalanx::sim {
namespace {

using std::chrono::seconds;

constexpr Duration kFirstDelay = seconds(10);
constexpr Duration kLongestDelay = seconds(360);
constexpr Duration kRetryDelay = seconds(1);

std::string job_uid_of(const Stored& pod) {
  if (pod == nullptr) return "";
  const auto owner = controller_of(*pod);
  const bool is_job = owner && api::find_kind(owner->api_version, owner->kind) == api::Kind::kJob;
  return is_job ? owner->uid : "";
}

Duration replacement_delay(int64_t failures) {
  constexpr int64_t kDoublings = 6;  // beyond the longest
  return std::min<Duration>(kFirstDelay * (1 << std::min(failures - 1, kDoublings)), kLongestDelay);
}

std::string pods_have(int64_t count) {
  return count == 1 ? "1 pod has" : fmt::format("{} pods have", count);
}

const json::object* status_condition(const json::object& status, std::string_view type) {
  const json::value* list = status.if_contains("conditions");
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const json::value& condition : list->get_array()) {
    if (string_at(condition, {"type"}) == type && string_at(condition, {"status"}) == "True") {
      return condition.if_object();
    }
  }
  return nullptr;
}

}  // namespace

JobController::JobController(ApiServer& server)
    : server_(server), informer_(server, {api::Kind::kJob, api::Kind::kPod}) {}

bool JobController::react() {
  const std::vector<Change> changes = informer_.poll();
  const std::vector<api::ObjectKey> due = timers_.take_due(server_.clock().now());
  // Jobs first, so that pods find theirs.
  for (const Change& change : changes) {
    if (change.key.kind == api::Kind::kJob) observe_job(change);
  }
  std::set<api::ObjectKey> affected(due.begin(), due.end());
  for (const Change& change : changes) {
    if (change.key.kind == api::Kind::kPod) observe_pod(change, affected);
  }
  for (const Change& change : changes) {
    if (change.key.kind != api::Kind::kJob) continue;
    affected.insert(change.key);
    const bool gone = change.before != nullptr &&
                      (change.after == nullptr || uid_of(*change.before) != uid_of(*change.after));
    if (!gone) continue;
    const auto pods = pods_by_job_.find(std::string(uid_of(*change.before)));
    if (pods == pods_by_job_.end()) continue;
    affected.insert(pods->second.begin(), pods->second.end());
  }
  for (const api::ObjectKey& key : affected) {
    if (key.kind == api::Kind::kJob) {
      sync(key);
    } else {
      release_orphan(key);
    }
  }
  return !changes.empty() || !due.empty();
}

void JobController::observe_job(const Change& change) {
  if (change.before != nullptr) {
    const std::string uid(uid_of(*change.before));
    job_by_uid_.erase(uid);
    if (change.after == nullptr || uid_of(*change.after) != uid) {
      failures_.erase(uid);
      refusals_.erase(uid);
    }
  }
  if (change.after != nullptr) {
    job_by_uid_.insert_or_assign(std::string(uid_of(*change.after)), change.key);
  }
}

void JobController::observe_pod(const Change& change, std::set<api::ObjectKey>& affected) {
  const std::string before = job_uid_of(change.before);
  const std::string after = job_uid_of(change.after);
  if (!before.empty() && before != after) {
    std::set<api::ObjectKey>& pods = pods_by_job_[before];
    pods.erase(change.key);
    if (pods.empty()) pods_by_job_.erase(before);
  }
  if (!after.empty()) pods_by_job_[after].insert(change.key);
  for (const std::string& uid : {before, after}) {
    const auto job = job_by_uid_.find(uid);
    if (job != job_by_uid_.end()) affected.insert(job->second);
  }
  if (change.after != nullptr && !job_by_uid_.contains(after)) affected.insert(change.key);
}

void JobController::release_orphan(const api::ObjectKey& key) {
  const Stored pod = informer_.find(key);
  if (pod == nullptr || job_by_uid_.contains(job_uid_of(pod))) return;
  if (!remove_finalizer(server_, *pod, kJobTrackingFinalizer)) {
    timers_.set(key, server_.clock().now() + kRetryDelay);
  }
}

std::vector<JobPod> JobController::pods_of(const JobView& job) const {
  std::vector<JobPod> pods;
  const auto found = pods_by_job_.find(job.uid);
  if (found == pods_by_job_.end()) return pods;
  for (const api::ObjectKey& key : found->second) {
    pods.push_back(view_pod(key, informer_.find(key), job, server_.clock().now()));
  }
  return pods;
}

void JobController::sync(const api::ObjectKey& key) {
  timers_.cancel(key);
  const Stored document = informer_.find(key);
  if (document == nullptr) return;
  Pass pass;
  pass.now = server_.clock().now();
  pass.job = view_job(key, document);
  if (!pass.job.ours) return;
  pass.pods = pods_of(pass.job);
  if (pass.job.finished) return sync_finished(pass.job, pass.pods);
  pass.tally = tally_pods(pass.job, pass.pods);
  pass.status = status_of(*document);
  for (const JobPod& pod : pass.pods) {
    pass.active += pod.active ? 1 : 0;
    pass.ready += pod.ready ? 1 : 0;
    pass.terminating += pod.terminating ? 1 : 0;
  }
  const Failures& failures = note_failures(pass);
  if (failures.since_success > 0) {
    pass.wake_by(failures.last + replacement_delay(failures.since_success));
  }
  decide(pass);
  if (status_condition(pass.status, "FailureTarget") != nullptr ||
      status_condition(pass.status, "SuccessCriteriaMet") != nullptr) {
    stop(pass);
    finish(pass);
  } else if (pass.job.suspended) {
    suspend(pass);
  } else if (!pass.job.deleting) {
    scale(pass);
  }
  write(pass);
  if (pass.wake) timers_.set(key, *pass.wake);
}

void JobController::sync_finished(const JobView& job, const std::vector<JobPod>& pods) {
  const Time now = server_.clock().now();
  for (const JobPod& pod : pods) {
    if (pod.tracked && !remove_finalizer(server_, *pod.document, kJobTrackingFinalizer)) {
      return timers_.set(job.key, now + kRetryDelay);
    }
  }
  if (!job.ttl_seconds_after_finished || job.deleting) return;
  const bool failed = condition_is_true(*job.document, "Failed");
  const json::object* condition = find_condition(*job.document, failed ? "Failed" : "Complete");
  const auto end = parse_time(string_field(*condition, "lastTransitionTime"));
  const Time expires = end.value_or(now) + seconds(*job.ttl_seconds_after_finished);
  if (expires > now) return timers_.set(job.key, expires);
  DeleteOptions options;
  options.uid = job.uid;
  options.propagation = Propagation::kForeground;
  if (!server_.remove(job.key, options)) timers_.set(job.key, now + kRetryDelay);
}

const JobController::Failures& JobController::note_failures(const Pass& pass) {
  const auto [entry, is_new] = failures_.try_emplace(pass.job.uid);
  Failures& failures = entry->second;
  const Time now = server_.clock().now();
  std::set<std::string> newly;
  for (const JobPod* pod : pass.tally.newly_finished) newly.insert(pod->uid);
  std::vector<std::tuple<Time, api::ObjectKey, bool>> ends;  // and whether it failed
  for (const JobPod& pod : pass.pods) {
    if (!pod.succeeded && !pod.failed) continue;
    const bool is_newly = newly.contains(pod.uid);
    if (!is_newly && !is_new) continue;
    ends.emplace_back(is_newly ? began_at(pod.finished_at, now) : pod.finished_at, pod.key,
                      pod.failed);
  }
  std::ranges::sort(ends);
  for (const auto& [time, key, failed] : ends) {
    failures.since_success = failed ? failures.since_success + 1 : 0;
    if (failed) failures.last = time;
  }
  return failures;
}

bool JobController::out_of_restarts(const Pass& pass) {
  if (!pass.job.restarts_in_place) return false;
  int64_t restarts = 0;
  for (const JobPod& pod : pass.pods) {
    if (pod.active) restarts += restart_count(*pod.document);
  }
  return restarts > 0 && restarts >= pass.job.backoff_limit;
}

void JobController::decide(Pass& pass) {
  if (status_condition(pass.status, "FailureTarget") != nullptr ||
      status_condition(pass.status, "SuccessCriteriaMet") != nullptr) {
    return;
  }
  const JobView& job = pass.job;
  const auto decide_as = [&](std::string_view type, std::string_view reason,
                             const std::string& message) {
    set_condition(pass.status, {type, "True", reason, message}, pass.now);
  };
  if (pass.tally.all_failed() > job.backoff_limit || out_of_restarts(pass)) {
    return decide_as("FailureTarget", "BackoffLimitExceeded",
                     fmt::format("{} failed; spec.backoffLimit allows {}",
                                 pods_have(pass.tally.all_failed()), job.backoff_limit));
  }
  // Of a Job that is just being resumed, the start time is still that of an earlier run.
  const bool runs = !job.suspended && status_condition(pass.status, "Suspended") == nullptr;
  if (job.active_deadline_seconds && job.start_time && runs) {
    const Time deadline = *job.start_time + seconds(*job.active_deadline_seconds);
    if (deadline <= pass.now) {
      return decide_as("FailureTarget", "DeadlineExceeded",
                       fmt::format("it has run for more than the {} s of "
                                   "spec.activeDeadlineSeconds",
                                   *job.active_deadline_seconds));
    }
    pass.wake_by(deadline);
  }
  const int64_t succeeded = pass.tally.all_succeeded();
  const bool reached =
      job.completions ? succeeded >= *job.completions : succeeded > 0 && pass.active == 0;
  if (reached) {
    decide_as("SuccessCriteriaMet", "CompletionsReached",
              fmt::format("{} succeeded, which is all that was asked for", pods_have(succeeded)));
  }
}

void JobController::remove_pod(Pass& pass, const JobPod& pod, bool counted) {
  DeleteOptions options;
  options.uid = pod.uid;
  const bool removed =
      (counted || remove_finalizer(server_, *pod.document, kJobTrackingFinalizer)) &&
      server_.remove(pod.key, options);
  if (!removed) return pass.wake_by(pass.now + kRetryDelay);
  --pass.active;
  pass.ready -= pod.ready ? 1 : 0;
  // Without a node nobody has to end it.
  if (!string_at(*pod.document, {"spec", "nodeName"}).empty()) ++pass.terminating;
}

void JobController::stop(Pass& pass) {
  for (const JobPod& pod : pass.pods) {
    if (pod.active) remove_pod(pass, pod, true);
  }
}

void JobController::suspend(Pass& pass) {
  for (const JobPod& pod : pass.pods) {
    if (pod.active) remove_pod(pass, pod, false);
  }
  set_condition(pass.status, {"Suspended", "True", "JobSuspended", "the Job is suspended"},
                pass.now);
}

void JobController::scale(Pass& pass) {
  const JobView& job = pass.job;
  const Time now = pass.now;
  if (status_condition(pass.status, "Suspended") != nullptr) {
    set_condition(pass.status, {"Suspended", "False", "JobResumed", "the Job goes on"}, now);
    pass.status["startTime"] = format_time(now);
  } else if (!job.start_time) {
    pass.status["startTime"] = format_time(now);
  }
  if (job.active_deadline_seconds) {
    const Time start = parse_time(string_field(pass.status, "startTime")).value_or(now);
    pass.wake_by(start + seconds(*job.active_deadline_seconds));
  }
  // Without completions, nothing new begins after the first success.
  const int64_t succeeded = pass.tally.all_succeeded();
  int64_t wanted = job.parallelism;
  if (job.completions) wanted = std::clamp<int64_t>(*job.completions - succeeded, 0, wanted);
  if (!job.completions && succeeded > 0) wanted = std::min(pass.active, wanted);

  const RemovalOrder order = removal_order(job, pass.pods);
  const int64_t surplus = std::max(order.surplus, pass.active - wanted);
  for (int64_t i = 0; i < surplus; ++i) {
    remove_pod(pass, *order.pods[static_cast<size_t>(i)], false);
  }
  const int64_t waits_for = job.replaces_failed_only ? pass.terminating : 0;
  const int64_t missing = wanted - pass.active - waits_for;
  if (missing <= 0) return;
  const Failures& failures = failures_[job.uid];
  const bool delayed =
      failures.since_success > 0 && failures.last + replacement_delay(failures.since_success) > now;
  if (!delayed) create(pass, missing);
}

void JobController::create(Pass& pass, int64_t count) {
  IndexSet taken = pass.tally.completed;
  for (const JobPod& pod : pass.pods) {
    const bool holds = pod.active || (pod.terminating && pass.job.replaces_failed_only);
    if (holds && pod.index) taken.insert(*pod.index);
  }
  int64_t index = 0;
  for (int64_t i = 0; i < count; ++i) {
    while (pass.job.indexed && taken.contains(index)) ++index;
    if (pass.job.indexed && pass.job.completions && index >= *pass.job.completions) return;
    const auto created =
        server_.create(new_pod(pass.job, pass.job.indexed ? std::optional(index) : std::nullopt));
    // Refused, for example by a quota: later, perhaps.
    if (!created) {
      return pass.wake_by(pass.now + report_refusal(pass.job, created.error().message));
    }
    refusals_.erase(pass.job.uid);
    taken.insert(index);
    ++pass.active;
  }
}

Duration JobController::report_refusal(const JobView& job, std::string message) {
  // The name that the pod would have had says nothing, and is another one every time.
  if (message.starts_with("Pod ")) message.erase(0, message.find(": ") + 2);
  Refusal& refusal = refusals_[job.uid];
  const Duration delay = replacement_delay(++refusal.tries);
  if (std::exchange(refusal.message, message) == message) return delay;
  const Time now = server_.clock().now();
  json::object about{{"apiVersion", api::api_version(api::Kind::kJob)},
                     {"kind", "Job"},
                     {"name", job.key.name},
                     {"namespace", job.key.namespace_},
                     {"uid", job.uid}};
  json::object metadata{
      {"name", fmt::format("{}.{:x}", job.key.name, now.time_since_epoch().count())},
      {"namespace", job.key.namespace_}};
  // For people; nothing depends on it.
  [[maybe_unused]] const auto created =
      server_.create(json::object{{"apiVersion", "v1"},
                                  {"kind", "Event"},
                                  {"metadata", std::move(metadata)},
                                  {"involvedObject", std::move(about)},
                                  {"reason", kFailedCreate},
                                  {"message", fmt::format("cannot make pods: {}", message)},
                                  {"type", "Warning"},
                                  {"source", json::object{{"component", "job-controller"}}},
                                  {"firstTimestamp", format_time(now)},
                                  {"lastTimestamp", format_time(now)},
                                  {"count", 1}});
  return delay;
}

void JobController::finish(Pass& pass) {
  const bool pods_left = std::ranges::any_of(
      pass.pods, [](const JobPod& pod) { return pod.tracked || pod.active || pod.terminating; });
  if (pods_left || !pass.tally.complete()) return;
  // The failure was decided first if both are there.
  const json::object* failure = status_condition(pass.status, "FailureTarget");
  const json::object* cause =
      failure != nullptr ? failure : status_condition(pass.status, "SuccessCriteriaMet");
  const std::string reason(string_field(*cause, "reason"));
  const std::string message(string_field(*cause, "message"));
  const std::string_view type = failure != nullptr ? "Failed" : "Complete";
  set_condition(pass.status, {type, "True", reason, message}, pass.now);
  if (failure == nullptr) pass.status["completionTime"] = format_time(pass.now);
}

void JobController::write(Pass& pass) {
  set_count(pass.status, "active", pass.active);
  pass.status["ready"] = pass.ready;
  pass.status["terminating"] = pass.terminating;
  write_tally(pass.job, pass.tally, pass.status);
  const Time retry = pass.now + kRetryDelay;
  if (!write_status(server_, *pass.job.document, std::move(pass.status))) {
    return pass.wake_by(retry);
  }
  for (const JobPod* pod : pass.tally.to_release) {
    if (!remove_finalizer(server_, *pod->document, kJobTrackingFinalizer)) pass.wake_by(retry);
  }
}

}  // namespace phalanx::sim
