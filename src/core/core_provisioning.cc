// The part of Core that takes in what has to do with autoscalers (core/provisioning.h), and
// remembers what they could not be asked.
#include <fmt/format.h>

#include <algorithm>

#include "core/core.h"
#include "core/index.h"
#include "core/names.h"
#include "core/provisioning.h"
#include "core/provisioning_holder.h"

namespace phalanx::core {
namespace {

void erase_owned(std::map<std::string, std::set<std::string>>& index, const api::ObjectMeta& meta) {
  if (const auto* owner = owning_workload(meta)) erase_from(index, owner->uid, meta.full_name());
}

// Until a refused creation is tried again, having been refused so often before.
Duration wait_after(int32_t refusals) {
  constexpr Duration kFirst = std::chrono::minutes(1);
  constexpr Duration kLongest = std::chrono::hours(1);
  constexpr int32_t kDoublings = 6;
  return std::min(kLongest, kFirst * (1 << std::min(refusals, kDoublings)));
}

std::string why_not_created(const Write& write, const WriteFinished& result) {
  const std::string what = write.key.text();
  if (result.outcome == WriteOutcome::kAlreadyExists) {
    return what + " is there already and belongs to somebody else; delete it or rename it";
  }
  if (result.outcome == WriteOutcome::kNotFound && api::info(write.key.kind).optional) {
    return fmt::format(
        "{} cannot be created: the cluster does not know the kind; install an autoscaler that "
        "does",
        what);
  }
  return fmt::format("{} cannot be created: {}", what, result.message);
}

}  // namespace

// Two Workloads may want one name at the same time, or one of them may have heard that an object is
// gone before the answer to its deletion: they decide anew when it is known whose the name is.
std::optional<Time> Core::provision(const std::string& workload) {
  Verdict verdict = reconcile_provisioning(state_, workload);
  const std::optional<Time> again = verdict.wake_at;
  if (verdict.write && outbox_.busy(verdict.write->key)) {
    waiting_for_write_[verdict.write->key].insert(workload);
  }
  // What was refused is wanted again only when there is reason to.
  if (verdict.write && verdict.write->verb == Verb::kCreate) outbox_.forget(verdict.write->key);
  carry_out(std::move(verdict));
  return again;
}

void Core::put(const api::ObjectKey& key, api::ProvisioningRequestConfig body) {
  state_.provisioning_configs[key.name] = std::move(body);
  provisioning_config_changed(key.name);
}

void Core::provisioning_config_changed(const std::string& name) {
  std::set<std::string> checks;
  for (const auto& [check, object] : state_.admission_checks) {
    if (object.controller_name != names::kProvisioningController) continue;
    if (object.parameters_name != name) continue;
    checks.insert(check);
    mark(api::Kind::kAdmissionCheck, check);
  }
  if (checks.empty()) return;
  for (const auto& [workload, state] : state_.workloads) {
    if (std::ranges::any_of(state.object.admission_checks,
                            [&](const auto& check) { return checks.contains(check.name); })) {
      try_provisioning_again(workload);
      mark(api::Kind::kWorkload, workload);
    }
  }
}

void Core::put(const api::ObjectKey& key, api::ProvisioningRequest body) {
  made_object_seen(key);
  forget_made_object(key);  // it may have changed hands
  if (const auto* owner = owning_workload(body.meta)) {
    state_.requests_of_workload[owner->uid].insert(full_name(key));
  }
  mark_workload_of(body.meta);
  state_.provisioning_requests[full_name(key)] = std::move(body);
}

// Others' are not kept: that they are known to be there is enough.
void Core::put(const api::ObjectKey& key, api::StoredPodTemplate body) {
  made_object_seen(key);
  forget_made_object(key);
  const auto* owner = owning_workload(body.meta);
  if (owner == nullptr && body.meta.label(names::kManagedLabel) == nullptr) return;
  if (owner != nullptr) state_.templates_of_workload[owner->uid].insert(full_name(key));
  mark_workload_of(body.meta);
  state_.pod_templates[full_name(key)] = std::move(body);
}

// What stood in the way of a Workload has an object now that says whose it is.
void Core::made_object_seen(const api::ObjectKey& key) {
  const auto refusal = state_.provisioning_refusals.find(key);
  if (refusal == state_.provisioning_refusals.end()) return;
  mark(api::Kind::kWorkload, refusal->second.workload);
  state_.provisioning_refusals.erase(refusal);
}

void Core::forget_made_object(const api::ObjectKey& key) {
  const std::string name = full_name(key);
  const auto request = state_.provisioning_requests.find(name);
  if (key.kind == api::Kind::kProvisioningRequest &&
      request != state_.provisioning_requests.end()) {
    mark_workload_of(request->second.meta);
    erase_owned(state_.requests_of_workload, request->second.meta);
    state_.provisioning_requests.erase(request);
  }
  const auto pod_template = state_.pod_templates.find(name);
  if (key.kind == api::Kind::kPodTemplate && pod_template != state_.pod_templates.end()) {
    mark_workload_of(pod_template->second.meta);
    erase_owned(state_.templates_of_workload, pod_template->second.meta);
    state_.pod_templates.erase(pod_template);
  }
}

// Whoever it belonged to, a Workload may have waited for its name.
void Core::made_object_deleted(const api::ObjectKey& key) {
  forget_made_object(key);
  const std::string prefix = key.namespace_ + "/";
  for (auto entry = state_.workloads.lower_bound(prefix);
       entry != state_.workloads.end() && entry->first.starts_with(prefix); ++entry) {
    if (!entry->second.object.admission_checks.empty()) mark(api::Kind::kWorkload, entry->first);
  }
}

void Core::mark_workload_of(const api::ObjectMeta& made_for_it) {
  const auto* owner = owning_workload(made_for_it);
  if (owner != nullptr) mark(api::Kind::kWorkload, made_for_it.namespace_ + "/" + owner->name);
}

void Core::name_settled(const api::ObjectKey& key) {
  const auto waiting = waiting_for_write_.find(key);
  if (waiting == waiting_for_write_.end()) return;
  for (const std::string& workload : waiting->second) mark(api::Kind::kWorkload, workload);
  waiting_for_write_.erase(waiting);
}

// What was not created is not tried again at once: its Workload says why. Another document is tried
// at once, the same after a while.
void Core::creation_finished(const Write& write, const WriteFinished& result) {
  if (!is_for_autoscalers(write.key.kind) || !write.owner) return;
  if (result.outcome == WriteOutcome::kDone || state_.known.contains(write.key)) return;
  ProvisioningRefusal& refusal = state_.provisioning_refusals[write.key];
  refusal.workload = full_name(*write.owner);
  refusal.why = why_not_created(write, result);
  refusal.fingerprint = json_fingerprint(write.body);
  refusal.again_at = state_.now + wait_after(refusal.attempts++);
  mark(api::Kind::kWorkload, refusal.workload);
}

void Core::try_provisioning_again(const std::string& workload) {
  std::erase_if(state_.provisioning_refusals, [&](const auto& refusal) {
    if (refusal.second.workload != workload) return false;
    outbox_.forget(refusal.first);
    return true;
  });
}

// The definition may have been installed just now.
void Core::provisioning_is_served() {
  for (const auto& [key, refusal] : std::exchange(state_.provisioning_refusals, {})) {
    outbox_.forget(key);
    mark(api::Kind::kWorkload, refusal.workload);
  }
}

}  // namespace phalanx::core
