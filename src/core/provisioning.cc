#include "core/provisioning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "base/printable.h"
#include "core/names.h"
#include "core/outbox.h"
#include "core/provisioning_config.h"
#include "core/provisioning_holder.h"
#include "core/provisioning_names.h"
#include "core/provisioning_plan.h"
#include "core/workload_status.h"

namespace phalanx::core {
namespace {

using api::CheckState;

constexpr int64_t kMostDoublings = 30;

bool is_provisioning(const State& state, const std::string& check) {
  const auto found = state.admission_checks.find(check);
  return found != state.admission_checks.end() &&
         found->second.controller_name == names::kProvisioningController;
}

int64_t attempt_of(const api::AdmissionCheckStatus& check) {
  return int64_t{check.retries} + 1;
}

int32_t wait_before(const api::RetryStrategy& retry, int64_t attempt) {
  const int64_t base = std::max<int64_t>(retry.base_seconds, 0);
  const int64_t most = std::max<int64_t>(retry.max_seconds, 0);
  return static_cast<int32_t>(std::min(base << std::min(attempt - 1, kMostDoublings), most));
}

void set_state(api::AdmissionCheckStatus& check, CheckState state, std::string message, Time now) {
  if (check.state != state) {
    check.changed = now;
    check.requeue_after_seconds.reset();
    check.updates.clear();
  }
  check.state = state;
  check.message = cut_to(std::move(message), kLongestMessage);
}

// The attempt has failed: there is another one after a while, unless there were enough.
void fail_attempt(api::AdmissionCheckStatus& check, const api::RetryStrategy& retry,
                  std::string message, Time now) {
  const int64_t attempt = attempt_of(check);
  if (attempt > retry.limit || attempt > std::numeric_limits<int32_t>::max()) {
    return set_state(check, CheckState::kRejected, std::move(message), now);
  }
  set_state(check, CheckState::kRetry, std::move(message), now);
  check.requeue_after_seconds = wait_before(retry, attempt);
}

// The condition by which a request is over without success; nullptr: it may still succeed, or has.
const api::Condition* failure_of(const api::ProvisioningRequest& request) {
  constexpr std::array kFailures{names::kFailed, names::kCapacityRevoked, names::kBookingExpired};
  for (const std::string_view type : kFailures) {
    const api::Condition* condition = api::find_condition(request.conditions, type);
    if (condition != nullptr && condition->holds) return condition;
  }
  return nullptr;
}

std::string message_of(const api::Condition& condition, const std::string& request) {
  if (!condition.message.empty()) return condition.message;
  return fmt::format("ProvisioningRequest {}: {}", request, condition.type);
}

// What the autoscaler said last; empty: nothing.
std::string newest_message(const api::Conditions& conditions) {
  const api::Condition* newest = nullptr;
  for (const api::Condition& condition : conditions) {
    if (condition.message.empty()) continue;
    if (newest == nullptr || condition.changed >= newest->changed) newest = &condition;
  }
  return newest == nullptr ? "" : newest->message;
}

ProvisioningStep removal(api::Kind kind, const api::ObjectMeta& meta, std::string why) {
  Write write;
  write.verb = Verb::kDelete;
  write.key = {kind, meta.namespace_, meta.name};
  write.uid = meta.uid;
  write.resource_version = meta.resource_version;
  return {std::move(write), {}, "deprovision", std::move(why), {}};
}

// One Workload, and what has been asked for it.
class Provisioning {
 public:
  Provisioning(const State& state, const WorkloadState& workload)
      : state_(state),
        workload_(workload),
        object_(workload.object),
        checks_(workload.object.admission_checks) {}

  ProvisioningStep step() {
    ProvisioningStep next = decide();
    next.wake_at = wake_at_;
    return next;
  }

 private:
  ProvisioningStep decide() {
    if (object_.meta.deleted) return {};  // all of it goes with its owner
    if (!workload_.reserved() || object_.finished) {
      return leftover("the workload holds no quota any more").value_or(ProvisioningStep());
    }
    if (workload_.evicted() || !object_.active) return {};
    for (api::AdmissionCheckStatus& check : checks_) {
      // Also if the AdmissionCheck is gone by now: its pods use that request, or are to.
      if (check.state == CheckState::kReady || workload_.admitted()) {
        expected_.insert(request_of(check));
      }
      if (!is_provisioning(state_, check.name)) continue;
      if (workload_.admitted()) {
        look_after_capacity(check);
      } else {
        look_at(check);
      }
    }
    finish_without_need();
    if (checks_ != object_.admission_checks) return {{}, checks_, "check", what_changed(), {}};
    if (next_.write) return std::move(next_);
    return leftover("it is of an earlier attempt, or of a check that is not asked for any more")
        .value_or(ProvisioningStep());
  }

  [[nodiscard]] api::ObjectKey key(api::Kind kind, const std::string& name) const {
    return {kind, object_.namespace_, name};
  }

  [[nodiscard]] Holder holder_of_key(const api::ObjectKey& what) const {
    return holder_of(state_, workload_, what);
  }

  // The request of a check: of one that is ready what its pods are told to use.
  [[nodiscard]] std::string request_of(const api::AdmissionCheckStatus& check) const {
    if (check.state == CheckState::kReady) {
      for (const api::PodSetUpdate& update : check.updates) {
        const auto name = update.annotations.find(std::string(names::kConsumeRequestAnnotation));
        if (name != update.annotations.end()) return name->second;
      }
    }
    return ProvisioningNames(state_, workload_, check.name, attempt_of(check)).request();
  }

  // nullptr: there is none that belongs to this Workload.
  [[nodiscard]] const api::ProvisioningRequest* own_request(const std::string& name) const {
    if (holder_of_key(key(api::Kind::kProvisioningRequest, name)) != Holder::kOwn) return nullptr;
    return &state_.provisioning_requests.at(object_.namespace_ + "/" + name);
  }

  void set(api::AdmissionCheckStatus& check, CheckState state, std::string message) {
    set_state(check, state, std::move(message), state_.now);
  }

  void say(api::AdmissionCheckStatus& check, std::string message) {
    set(check, CheckState::kPending, std::move(message));
  }

  void propose(ProvisioningStep step) {
    if (!next_.write) next_ = std::move(step);
  }

  // What was admitted lives on nodes that the autoscaler may take back.
  void look_after_capacity(api::AdmissionCheckStatus& check) {
    if (check.state != CheckState::kReady) return;
    const api::ProvisioningRequest* request = own_request(request_of(check));
    if (request == nullptr) return;
    const api::Condition* revoked =
        api::find_condition(request->conditions, names::kCapacityRevoked);
    if (revoked == nullptr || !revoked->holds) return;
    set(check, CheckState::kRejected, message_of(*revoked, request->meta.name));
  }

  void look_at(api::AdmissionCheckStatus& check) {
    const ConfigOfCheck found = config_of(state_, state_.admission_checks.at(check.name));
    const std::string name = request_of(check);
    expected_.insert(name);
    if (check.state == CheckState::kPending) {
      if (found.config == nullptr)
        return say(check, fmt::format("AdmissionCheck {}: {}", check.name, found.message));
      return ask(check, *found.config);
    }
    const api::ProvisioningRequest* request = own_request(name);
    if (check.state != CheckState::kReady) return;
    if (request == nullptr) {
      if (check.updates.empty()) return;  // nothing had to be provided
      return say(check, fmt::format("ProvisioningRequest {} is gone; it is asked for anew", name));
    }
    // It was provided, and is lost again before it was used.
    if (const api::Condition* failure = failure_of(*request)) {
      fail(check, found.config == nullptr ? api::RetryStrategy() : found.config->retry, *request,
           *failure);
    }
  }

  void ask(api::AdmissionCheckStatus& check, const api::ProvisioningRequestConfig& config) {
    const ProvisioningPlan plan = plan_provisioning(state_, workload_, config, check.name,
                                                    attempt_of(check), planned_templates_);
    if (plan.pods.empty()) return do_without(check, plan.name);
    if (std::string problem = problem_of_parameters(plan, config.meta.name); !problem.empty()) {
      return say(check, std::move(problem));
    }
    for (const PlannedPods& pods : plan.pods) planned_templates_.insert(pods.template_name);
    if (const api::ProvisioningRequest* request = own_request(plan.name)) {
      return follow(check, config, plan, *request);
    }
    const api::ObjectKey request = key(api::Kind::kProvisioningRequest, plan.name);
    if (const Holder holder = holder_of_key(request); holder != Holder::kNobody) {
      return say_taken(check, request, holder);
    }
    if (!prepare_templates(check, plan)) return;
    create(check, request, [&] { return request_document(workload_, plan); });
  }

  // Nothing has to be provisioned. Who was asked for something before must not go on: the check is
  // ready when nothing is left of that.
  void do_without(api::AdmissionCheckStatus& check, const std::string& name) {
    expected_.erase(name);
    const api::ProvisioningRequest* request = own_request(name);
    if (request == nullptr) return without_need_.push_back(&check);
    if (request->meta.deleted) return say_going(check, key(api::Kind::kProvisioningRequest, name));
    propose(
        removal(api::Kind::kProvisioningRequest, request->meta, "nothing has to be provisioned"));
  }

  void finish_without_need() {
    if (without_need_.empty() || next_.write) return;
    if (auto rest = leftover("nothing has to be provisioned")) return propose(std::move(*rest));
    for (api::AdmissionCheckStatus* check : without_need_) {
      const auto& parameters = state_.admission_checks.at(check->name).parameters_name;
      set(*check, CheckState::kReady,
          fmt::format("No pod set requests a resource that ProvisioningRequestConfig {} manages: "
                      "nothing has to be provisioned",
                      parameters));
    }
  }

  // There is a request already.
  void follow(api::AdmissionCheckStatus& check, const api::ProvisioningRequestConfig& config,
              const ProvisioningPlan& plan, const api::ProvisioningRequest& request) {
    if (request.meta.deleted) {
      return say_going(check, key(api::Kind::kProvisioningRequest, plan.name));
    }
    if (!asks_for(request, plan) || is_of_earlier_reservation(request) ||
        has_outdated_template(plan)) {
      return propose(removal(api::Kind::kProvisioningRequest, request.meta,
                             "it does not ask for what is needed now"));
    }
    if (const api::Condition* failure = failure_of(request)) {
      return fail(check, config.retry, request, *failure);
    }
    const api::Condition* provisioned =
        api::find_condition(request.conditions, names::kProvisioned);
    if (provisioned != nullptr && provisioned->holds) {
      return succeed(check, config, plan, request, *provisioned);
    }
    std::string message = newest_message(request.conditions);
    if (message.empty()) message = fmt::format("Waits for ProvisioningRequest {}", plan.name);
    // Somebody may have deleted one; the autoscaler still looks at them.
    if (prepare_templates(check, plan)) say(check, std::move(message));
  }

  [[nodiscard]] bool is_of_earlier_reservation(const api::ProvisioningRequest& request) const {
    const std::string* reservation = request.meta.annotation(names::kReservationAnnotation);
    return reservation != nullptr && *reservation != reservation_of(workload_);
  }

  [[nodiscard]] const api::StoredPodTemplate* own_template(const std::string& name) const {
    if (holder_of_key(key(api::Kind::kPodTemplate, name)) != Holder::kOwn) return nullptr;
    return &state_.pod_templates.at(object_.namespace_ + "/" + name);
  }

  // One that another hand made, or Kueue, says nothing about what is in it.
  [[nodiscard]] static bool is_outdated(const api::StoredPodTemplate& stored,
                                        const PlannedPods& pods) {
    const std::string* made_of = stored.meta.annotation(names::kTemplateFingerprintAnnotation);
    return made_of != nullptr && *made_of != pods.fingerprint;
  }

  [[nodiscard]] bool has_outdated_template(const ProvisioningPlan& plan) const {
    return std::ranges::any_of(plan.pods, [&](const PlannedPods& pods) {
      const api::StoredPodTemplate* stored = own_template(pods.template_name);
      return stored != nullptr && is_outdated(*stored, pods);
    });
  }

  // Whether all are there as they have to be; if not, the first that is not is seen to.
  bool prepare_templates(api::AdmissionCheckStatus& check, const ProvisioningPlan& plan) {
    for (const PlannedPods& pods : plan.pods) {
      const api::ObjectKey what = key(api::Kind::kPodTemplate, pods.template_name);
      const api::StoredPodTemplate* stored = own_template(pods.template_name);
      if (stored != nullptr && !stored->meta.deleted && !is_outdated(*stored, pods)) continue;
      const Holder holder = holder_of_key(what);
      if (holder == Holder::kNobody) {
        create(check, what, [&] { return template_document(workload_, pods); });
      } else if (stored == nullptr) {
        say_taken(check, what, holder);
      } else if (stored->meta.deleted) {
        say_going(check, what);
      } else {
        propose(removal(api::Kind::kPodTemplate, stored->meta, "its pods are others now"));
      }
      return false;
    }
    return true;
  }

  template <typename Document>
  void create(api::AdmissionCheckStatus& check, const api::ObjectKey& what, Document document) {
    if (const ProvisioningRefusal* refusal = standing_refusal(what, document)) {
      wake_at_ = wake_at_ ? std::min(*wake_at_, refusal->again_at) : refusal->again_at;
      return say(check, refusal->why);
    }
    if (next_.write) return;
    Write write;
    write.verb = Verb::kCreate;
    write.key = what;
    write.body = document();
    write.owner = workload_key(object_);
    next_ = {std::move(write), {}, "provision", fmt::format("AdmissionCheck {}", check.name), {}};
  }

  // nullptr: there is none, or it is time to try again, or it was about another document.
  template <typename Document>
  [[nodiscard]] const ProvisioningRefusal* standing_refusal(const api::ObjectKey& what,
                                                            Document document) const {
    const auto found = state_.provisioning_refusals.find(what);
    if (found == state_.provisioning_refusals.end()) return nullptr;
    const ProvisioningRefusal& refusal = found->second;
    if (state_.now >= refusal.again_at) return nullptr;
    return refusal.fingerprint == json_fingerprint(document()) ? &refusal : nullptr;
  }

  // An object of a name that we cannot do without.
  void say_taken(api::AdmissionCheckStatus& check, const api::ObjectKey& what, Holder holder) {
    if (holder == Holder::kEarlier) return say_going(check, what);
    say(check,
        fmt::format(
            "{} is there already and {}; delete it, so that it can be made", what.text(),
            holder == Holder::kUnreadable ? "cannot be read" : "does not belong to this Workload"));
  }

  void say_going(api::AdmissionCheckStatus& check, const api::ObjectKey& what) {
    say(check, fmt::format("Waits until an earlier {} is gone", what.text()));
  }

  void fail(api::AdmissionCheckStatus& check, const api::RetryStrategy& retry,
            const api::ProvisioningRequest& request, const api::Condition& failure) {
    fail_attempt(check, retry, message_of(failure, request.meta.name), state_.now);
  }

  void succeed(api::AdmissionCheckStatus& check, const api::ProvisioningRequestConfig& config,
               const ProvisioningPlan& plan, const api::ProvisioningRequest& request,
               const api::Condition& provisioned) {
    std::map<std::string, std::string> selector;
    for (const api::NodeSelectorUpdate& update : config.node_selector) {
      const auto detail = request.class_details.find(update.detail);
      if (detail == request.class_details.end()) {
        return say(check, fmt::format("ProvisioningRequest {} is provisioned, but its "
                                      "status.provisioningClassDetails has no {}, which the pods "
                                      "are to select nodes by",
                                      plan.name, update.detail));
      }
      selector[update.key] = detail->second;
    }
    set(check, CheckState::kReady, message_of(provisioned, plan.name));
    for (const PlannedPods& pods : plan.pods) {
      for (const std::string& pod_set : pods.pod_sets) {
        api::PodSetUpdate update;
        update.pod_set = pod_set;
        update.annotations = {{std::string(names::kConsumeRequestAnnotation), plan.name},
                              {std::string(names::kProvisioningClassAnnotation), plan.class_name}};
        update.node_selector = selector;
        check.updates.push_back(std::move(update));
      }
    }
  }

  // The first object of this Workload that nobody needs: requests before the PodTemplates that they
  // name.
  std::optional<ProvisioningStep> leftover(const std::string& why) {
    std::set<std::string> named = planned_templates_;
    for (const std::string& name : owned(state_.requests_of_workload)) {
      const api::ProvisioningRequest& request = state_.provisioning_requests.at(name);
      if (!expected_.contains(request.meta.name) && !request.meta.deleted) {
        return removal(api::Kind::kProvisioningRequest, request.meta, why);
      }
      for (const api::ProvisionedPodSet& pods : request.pod_sets) named.insert(pods.template_name);
    }
    for (const std::string& name : owned(state_.templates_of_workload)) {
      const api::StoredPodTemplate& stored = state_.pod_templates.at(name);
      if (named.contains(stored.meta.name) || stored.meta.deleted) continue;
      return removal(api::Kind::kPodTemplate, stored.meta, why);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::set<std::string> owned(
      const std::map<std::string, std::set<std::string>>& index) const {
    const auto found = index.find(object_.meta.uid);
    return found == index.end() ? std::set<std::string>() : found->second;
  }

  [[nodiscard]] std::string what_changed() const {
    for (size_t i = 0; i < checks_.size(); ++i) {
      if (checks_[i] == object_.admission_checks[i]) continue;
      return fmt::format("{}: {}", checks_[i].name, checks_[i].message);
    }
    return "";
  }

  const State& state_;
  const WorkloadState& workload_;
  const api::Workload& object_;
  std::vector<api::AdmissionCheckStatus> checks_;
  ProvisioningStep next_;
  std::optional<Time> wake_at_;
  std::set<std::string> expected_;                        // requests
  std::set<std::string> planned_templates_;               // PodTemplates
  std::vector<api::AdmissionCheckStatus*> without_need_;  // of checks_
};

}  // namespace

ProvisioningStep next_provisioning(const State& state, const WorkloadState& workload) {
  return Provisioning(state, workload).step();
}

std::vector<api::AdmissionCheckStatus> checks_without_places(const State& state,
                                                             const WorkloadState& workload) {
  std::vector<api::AdmissionCheckStatus> checks = workload.object.admission_checks;
  for (api::AdmissionCheckStatus& check : checks) {
    // Without updates nothing was provided for it.
    if (check.updates.empty() || !is_provisioning(state, check.name)) continue;
    const auto config = config_of(state, state.admission_checks.at(check.name)).config;
    fail_attempt(check, config == nullptr ? api::RetryStrategy() : config->retry,
                 "Its pods do not fit the nodes that were provided", state.now);
  }
  return checks;
}

Verdict provisioning_verdict(const WorkloadState& workload, ProvisioningStep step) {
  const api::Workload& object = workload.object;
  const api::ObjectKey key = workload_key(object);
  Verdict verdict;
  verdict.wake_at = step.wake_at;
  if (step.write) {
    verdict.write = std::move(step.write);
  } else if (!step.checks.empty()) {
    verdict.write = merge_patch(
        key, object.meta,
        {{"status", json::object{{"admissionChecks", api::admission_checks_json(step.checks)}}}},
        true);
  } else {
    return verdict;
  }
  verdict.decision = Decision{step.what,
                              verdict.write->key,
                              {{key.text(), object.meta.resource_version}},
                              std::move(step.why),
                              {}};
  return verdict;
}

Verdict reconcile_provisioning(const State& state, const std::string& name) {
  const WorkloadState* workload = state.workload(name);
  if (workload == nullptr) return {};
  const std::string& uid = workload->object.meta.uid;
  if (workload->object.admission_checks.empty() && !state.requests_of_workload.contains(uid) &&
      !state.templates_of_workload.contains(uid)) {
    return {};
  }
  return provisioning_verdict(*workload, next_provisioning(state, *workload));
}

}  // namespace phalanx::core
