#include "cli/explain_workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/printable.h"
#include "base/quantity.h"
#include "cli/queue_advice.h"
#include "cli/simulate_placement.h"
#include "cli/tree_picture.h"
#include "core/admission_checks.h"
#include "core/job_controller.h"
#include "core/names.h"
#include "core/node_health.h"
#include "core/pods_ready.h"
#include "core/preemption.h"
#include "core/replacement.h"
#include "core/second_pass.h"
#include "placement/explanation_render.h"

namespace phalanx::cli {
namespace {

std::string topology_text(const std::optional<api::TopologyRequest>& request) {
  if (!request) return "";
  std::string text;
  if (request->required) text = "required within " + *request->required;
  if (request->preferred) text = "preferred within " + *request->preferred;
  if (request->unconstrained) text = "anywhere in the topology";
  for (const api::SliceConstraint& slice : request->constraints()) {
    text += fmt::format("{}slices of {} within {}", text.empty() ? "" : ", ", slice.size,
                        slice.topology);
  }
  return text;
}

std::string pod_text(const api::ResourceAmounts& amounts) {
  std::string text;
  for (const auto& [resource, amount] : amounts) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", format_amount(resource, amount), resource);
  }
  return text.empty() ? "nothing" : text;
}

class Explainer {
 public:
  Explainer(core::Core& core, const core::WorkloadState& workload)
      : core_(core), state_(core.state()), workload_(workload) {}

  WorkloadAnswer answer() {
    const api::Workload& object = workload_.object;
    answer_.workload = workload_.request.name;
    answer_.object = "Workload " + answer_.workload;
    answer_.local_queue = object.queue_name;
    answer_.priority = workload_.priority;
    for (const placement::PodSet& pod_set : workload_.request.pod_sets) {
      answer_.pod_sets.push_back({pod_set.name, pod_set.count,
                                  object.pod_sets[answer_.pod_sets.size()].min_count,
                                  pod_set.requests, topology_text(pod_set.topology)});
    }
    if (const api::ClusterQueue* queue = state_.cluster_queue_of(workload_)) {
      answer_.cluster_queue = queue->meta.name;
    }
    if (object.finished) {
      finished();
    } else if (workload_.reserved() && !workload_.evicted()) {
      admitted();
    } else {
      waiting();
    }
    return std::move(answer_);
  }

 private:
  void finished() {
    const api::Condition* finished =
        api::find_condition(workload_.object.conditions, core::names::kFinished);
    const bool failed = finished != nullptr && finished->reason == core::names::kFailed;
    answer_.standing = failed ? Standing::kFailed : Standing::kFinished;
    if (finished != nullptr) answer_.message = finished->message;
  }

  void admitted() {
    answer_.standing = Standing::kAdmitted;
    answer_.cluster_queue = workload_.object.cluster_queue;
    answer_.placement = placement_summary(state_, workload_.object);
    if (!workload_.admitted()) {
      reserved_only();
    } else {
      tell_lost_nodes();
      tell_readiness();
    }
    for (const AskedPodSet& asked : answer_.pod_sets) {
      const auto given = std::ranges::find(*workload_.object.admission, asked.name,
                                           &api::PodSetAssignment::pod_set);
      if (given == workload_.object.admission->end() || !given->count) continue;
      if (*given->count < asked.count) {
        answer_.notes.push_back(fmt::format("{} was admitted with {} of {} pods", asked.name,
                                            *given->count, asked.count));
      }
    }
  }

  // It has its quota, and waits for what others say, or for its places.
  void reserved_only() {
    answer_.message = "its quota is reserved, but it is not admitted yet";
    const api::Workload& object = workload_.object;
    const auto lack = core::lack_of(object.admission_checks, object.topology_is_delayed());
    if (lack) answer_.message += ": " + lack->message;
    for (const api::AdmissionCheckStatus& check : object.admission_checks) {
      if (check.state == api::CheckState::kReady) continue;
      answer_.notes.push_back(
          fmt::format("AdmissionCheck {}: {}", check.name,
                      check.message.empty() ? "nothing was said yet" : check.message));
    }
    if (!lack) answer_.message += ": the pods of other workloads have to be ready first";
    if (!core::all_checks_ready(object) || !object.topology_is_delayed()) return;
    if (const auto places = core::place_delayed(state_, workload_); !places) {
      const Time since = core::second_pass_failed_at(object, state_.now).value_or(state_.now);
      answer_.notes.push_back(fmt::format("places are sought until {}: {}",
                                          format_time(since + core::kLastSecondPass),
                                          places.error()));
    }
  }

  void tell_lost_nodes() {
    const core::LostNodes lost = core::lost_nodes(state_, workload_);
    for (const std::string& host : lost.needed) {
      answer_.notes.push_back(fmt::format("node {} is lost: {}", host, lost.why.at(host)));
    }
    if (lost.needed.empty()) return;
    if (const auto places = core::find_replacement(state_, workload_, lost); !places) {
      answer_.notes.push_back("there is no replacement: " + places.error());
    }
  }

  void tell_readiness() {
    if (const auto deadline = core::ready_deadline(state_, workload_)) {
      answer_.notes.push_back(fmt::format("not all of its pods are ready; they have to be by {}",
                                          format_time(deadline->at)));
    }
  }

  // Whether it is not considered for now.
  bool kept_away() {
    const api::Workload& object = workload_.object;
    if (core::backs_off(object, state_.now)) {
      answer_.message = fmt::format("it stays away until {}", format_time(*object.requeue->at));
      return true;
    }
    const api::ClusterQueue* own = state_.cluster_queue_of(workload_);
    const core::PendingQueue* pending = core_.scheduler().queue(own->meta.name);
    const core::No* no = pending == nullptr ? nullptr : pending->no_of(workload_.request.name);
    if (no == nullptr || no->reason != core::names::kWaitingForPodsReady) return false;
    answer_.message = with_name(no->message);
    return true;
  }

  void waiting() {
    if (auto why = set_aside_because(state_, workload_)) {
      answer_.standing = Standing::kSetAside;
      answer_.message = std::move(*why);
      return;
    }
    answer_.standing = Standing::kWaiting;
    tell_eviction();
    if (state_.holdings.contains(workload_.request.name)) {
      answer_.message = "it was evicted, and its pods are not gone yet";
      return;
    }
    if (kept_away()) return;
    tell_held_place();
    const api::ClusterQueue& queue = *state_.cluster_queue_of(workload_);
    const core::PendingQueue* pending = core_.scheduler().queue(queue.meta.name);
    if (pending != nullptr) {
      answer_.position = pending->position(workload_.request.name);
      answer_.queue_length = pending->size();
    }
    const core::Appraisal appraisal = core_.scheduler().appraise(workload_, queue, true);
    if (appraisal.refused) return refused(queue, appraisal);
    if (!appraisal.fits()) return preempts(appraisal);
    const bool behind = pending != nullptr && answer_.position > 1 &&
                        queue.strategy == api::QueueingStrategy::kStrictFifo;
    answer_.message =
        behind ? fmt::format(
                     "it would fit, but {} is before it, and the queue is strictly first "
                     "come, first served",
                     pending->first()->workload)
               : "it fits; it is about to be admitted";
  }

  // It fits once others are gone: who, and whether they know already.
  void preempts(const core::Appraisal& appraisal) {
    const quota::Refused& why = appraisal.assigned->why;
    const core::Nomination* held = core_.scheduler().nominations().find(workload_.request.name);
    const std::set<std::string>& awaited =
        held != nullptr && !held->awaited.empty() ? held->awaited : appraisal.awaited;
    answer_.message = fmt::format(
        "{}; it fits once {} gone: {}{}", why.text(workload_.request.pod_sets[why.pod_set].name),
        awaited.size() == 1 ? "this workload is" : fmt::format("{} workloads are", awaited.size()),
        fmt::join(awaited, ", "), held != nullptr ? "; its place is held until then" : "");
  }

  void refused(const api::ClusterQueue& queue, const core::Appraisal& appraisal) {
    const size_t index = appraisal.refused->pod_set;
    const placement::PodSet& pod_set = workload_.request.pod_sets[index];
    answer_.pod_set = pod_set.name;
    answer_.message = appraisal.refused->text(pod_set.name);
    for (const quota::Refusal& refusal : appraisal.refused->refusals) {
      FlavorAttempt attempt{refusal.flavor, refusal.text,
                            quota_figures(core_, workload_, index, queue, refusal.flavor), nullptr,
                            ""};
      if (refusal.flavor.empty()) attempt.remedy = uncovered_remedy(queue, pod_set.requests);
      const auto explained = appraisal.explanations.find(refusal.flavor);
      if (refusal.obstacle == quota::Obstacle::kTopology &&
          explained != appraisal.explanations.end()) {
        attempt.explanation = explained->second;
      }
      answer_.attempts.push_back(std::move(attempt));
    }
    tell_preemption(queue, *appraisal.refused);
  }

  // It was there before, and had to go.
  void tell_eviction() {
    const api::Condition* evicted =
        api::find_condition(workload_.object.conditions, core::names::kEvicted);
    if (evicted == nullptr || !evicted->holds) return;
    answer_.notes.push_back(fmt::format("evicted at {} ({}): {}", format_time(evicted->changed),
                                        evicted->reason, with_name(evicted->message)));
  }

  // Owners are told of workloads in other namespaces by UID only; who asks here may see them all.
  [[nodiscard]] std::string with_name(const std::string& message) const {
    constexpr std::string_view kMark = "(UID: ";
    const size_t mark = message.find(kMark);
    if (mark == std::string::npos) return message;
    const size_t begin = mark + kMark.size();
    const std::string uid = message.substr(begin, message.find_first_of(",)", begin) - begin);
    const auto found = std::ranges::find_if(
        state_.workloads, [&](const auto& entry) { return entry.second.object.meta.uid == uid; });
    if (found == state_.workloads.end() || message.contains(found->first)) return message;
    return fmt::format("{} (that is workload {})", message, found->first);
  }

  void tell_held_place() {
    const core::Nomination* held = core_.scheduler().nominations().find(workload_.request.name);
    if (held == nullptr || !held->reservation) return;
    answer_.notes.push_back(
        fmt::format("a place is held for it as the first of its queue{}",
                    held->free_at ? ", free at " + format_time(*held->free_at) : ""));
  }

  void tell_preemption(const api::ClusterQueue& queue, const quota::Refused& refused) {
    const bool of_use = std::ranges::any_of(refused.refusals, [](const quota::Refusal& refusal) {
      return refusal.obstacle == quota::Obstacle::kWaitingForQuota ||
             refusal.obstacle == quota::Obstacle::kTopology;
    });
    if (!of_use) return;
    const auto restraint = core::restraint_of(workload_, state_.now);
    if (core::may_preempt(queue) && restraint) {
      answer_.notes.push_back(
          fmt::format("having been preempted, it asks nobody to go who has started since, until {}",
                      format_time(restraint->until)));
      return;
    }
    answer_.notes.push_back(
        core::may_preempt(queue)
            ? "nobody goes for it: no workloads that it may preempt would make room"
            : fmt::format("nobody goes for it: spec.preemption of ClusterQueue {} is Never",
                          queue.meta.name));
  }

  core::Core& core_;
  core::State& state_;
  const core::WorkloadState& workload_;
  WorkloadAnswer answer_;
};

std::string indented(const std::string& text, std::string_view by) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) result += fmt::format("{}{}\n", by, line);
  return result;
}

std::string attempt_text(const FlavorAttempt& attempt) {
  std::string text = attempt.flavor.empty()
                         ? fmt::format("\n  {}\n", attempt.text)
                         : fmt::format("\n  Flavor {}: {}\n", attempt.flavor, attempt.text);
  for (const QuotaFigures& quota : attempt.quota) {
    text += fmt::format("    {}\n", figures_text(quota));
  }
  if (!attempt.remedy.empty()) {
    text += fmt::format("    what would help:\n      - {}\n", attempt.remedy);
  }
  if (attempt.explanation) {
    text += indented(placement::explanation_text(*attempt.explanation, true), "    ");
  }
  return text;
}

json::object attempt_json(const FlavorAttempt& attempt) {
  json::array quotas;
  for (const QuotaFigures& quota : attempt.quota) quotas.push_back(figures_json(quota));
  json::object object{{"text", attempt.text}, {"quota", std::move(quotas)}};
  if (!attempt.flavor.empty()) object["flavor"] = attempt.flavor;
  if (!attempt.remedy.empty()) object["remedy"] = attempt.remedy;
  if (attempt.explanation) {
    object["explanation"] = placement::explanation_json(*attempt.explanation);
  }
  return object;
}

}  // namespace

std::string_view standing_name(Standing standing) {
  switch (standing) {
    case Standing::kFinished:
      return "finished";
    case Standing::kFailed:
      return "failed";
    case Standing::kAdmitted:
      return "admitted";
    case Standing::kWaiting:
      return "waits";
    case Standing::kSetAside:
      return "set aside";
    case Standing::kNotManaged:
      return "not managed";
  }
  return "";
}

std::pair<Standing, std::string> standing_without_workload(const core::State& state,
                                                           const api::ObjectKey& key,
                                                           const core::Job& job) {
  if (!core::is_managed(state, key, job)) {
    return {Standing::kNotManaged,
            fmt::format("no queue is responsible for it; give it the label {} with the name of a "
                        "LocalQueue of its namespace",
                        core::names::kQueueLabel)};
  }
  if (!job.problem.empty()) return {Standing::kSetAside, job.problem};
  if (job.finished) {
    return {job.succeeded ? Standing::kFinished : Standing::kFailed, job.finish_message};
  }
  int64_t pods = 0;
  for (const core::JobPodSet& pod_set : job.pod_sets) pods += pod_set.count;
  if (pods == 0) {
    return {Standing::kSetAside,
            "it asks for no pods, so that there is nothing to queue; set spec.parallelism to 1 or "
            "more"};
  }
  return {Standing::kWaiting, "its Workload is not there yet"};
}

WorkloadAnswer explain_workload(core::Core& core, const std::string& full_name) {
  return Explainer(core, *core.state().workload(full_name)).answer();
}

WorkloadAnswer explain_job(core::Core& core, const api::ObjectKey& key) {
  const core::State& state = core.state();
  const core::Job& job = state.jobs.at(key);
  const auto owned = state.workloads_of_job.find(core::job_id(job.meta.namespace_, job.meta.uid));
  WorkloadAnswer answer;
  if (owned != state.workloads_of_job.end() && !owned->second.empty()) {
    answer = explain_workload(core, *owned->second.begin());
  } else {
    auto [standing, why] = standing_without_workload(state, key, job);
    answer.standing = standing;
    answer.message = std::move(why);
  }
  answer.object = key.text();
  return answer;
}

std::string answer_text(const WorkloadAnswer& answer) {
  std::string text = fmt::format("{}: {}\n", answer.object, standing_name(answer.standing));
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<10}{}\n", name, printable(value));
  };
  line("Why", answer.attempts.empty() ? answer.message : "");
  line("Where", answer.placement);
  line("Workload", answer.workload);
  std::string queue = answer.local_queue;
  if (!answer.cluster_queue.empty()) {
    queue += fmt::format(" (ClusterQueue {})", answer.cluster_queue);
  }
  if (answer.position > 0) {
    queue += fmt::format(", number {} of {} that wait", answer.position, answer.queue_length);
  }
  if (answer.priority != 0) queue += fmt::format(", priority {}", answer.priority);
  line("Queue", queue);
  for (const AskedPodSet& pod_set : answer.pod_sets) {
    line("Asks for", fmt::format("{}: {} pod{}{} of {}{}{}", pod_set.name, pod_set.count,
                                 pod_set.count == 1 ? "" : "s",
                                 pod_set.least ? fmt::format(", at least {},", *pod_set.least) : "",
                                 pod_text(pod_set.per_pod), pod_set.topology.empty() ? "" : "; ",
                                 pod_set.topology));
  }
  for (const std::string& note : answer.notes) line("Note", note);
  for (const FlavorAttempt& attempt : answer.attempts) text += attempt_text(attempt);
  return text;
}

json::object answer_json(const WorkloadAnswer& answer) {
  json::array pod_sets;
  for (const AskedPodSet& pod_set : answer.pod_sets) {
    json::object per_pod;
    for (const auto& [resource, amount] : pod_set.per_pod) {
      per_pod[resource] = format_amount(resource, amount);
    }
    json::object asked{{"name", pod_set.name},
                       {"count", pod_set.count},
                       {"perPod", std::move(per_pod)},
                       {"topology", pod_set.topology}};
    if (pod_set.least) asked["minCount"] = *pod_set.least;
    pod_sets.push_back(std::move(asked));
  }
  json::array attempts;
  for (const FlavorAttempt& attempt : answer.attempts) attempts.push_back(attempt_json(attempt));
  json::object object{{"object", answer.object},
                      {"state", standing_name(answer.standing)},
                      {"message", answer.message},
                      {"workload", answer.workload},
                      {"localQueue", answer.local_queue},
                      {"clusterQueue", answer.cluster_queue},
                      {"position", answer.position},
                      {"queueLength", answer.queue_length},
                      {"priority", answer.priority},
                      {"placement", answer.placement},
                      {"podSets", std::move(pod_sets)},
                      {"refusedPodSet", answer.pod_set},
                      {"flavors", std::move(attempts)},
                      {"notes", json::array(answer.notes.begin(), answer.notes.end())}};
  return object;
}

}  // namespace phalanx::cli
