#include "cli/soak_users.h"

#include <fmt/format.h>

#include "base/check.h"
#include "core/names.h"
#include "sim/object_fields.h"

namespace phalanx::cli {
namespace {

constexpr Duration kLookEvery = std::chrono::minutes(10);
constexpr int64_t kMeddleSeconds = 14'400;  // on average

api::ObjectKey key_of_name(api::Kind kind, const std::string& full_name) {
  const size_t slash = full_name.find('/');
  return {kind, full_name.substr(0, slash), full_name.substr(slash + 1)};
}

}  // namespace

SoakUsers::SoakUsers(sim::ApiServer& server, const SoakView& view, const SoakPlan& plan,
                     uint64_t seed)
    : server_(server), view_(view), jobs_(plan, seed), random_(seed + 1) {
  next_job_ = jobs_.next();
  submit_at_ = server.clock().now() + next_job_.after;
  meddle_at_ = server.clock().now() + some_time(0, 2 * kMeddleSeconds);
  look_at_ = server.clock().now() + kLookEvery;
}

Duration SoakUsers::some_time(int64_t low_seconds, int64_t high_seconds) {
  return std::chrono::seconds(random_.between(low_seconds, high_seconds));
}

bool SoakUsers::react() {
  const Time now = server_.clock().now();
  bool acted = false;
  if (submit_at_ && *submit_at_ <= now) {
    submit();
    acted = true;
  }
  if (meddle_at_ && *meddle_at_ <= now) {
    meddle();
    meddle_at_ = now + some_time(60, 2 * kMeddleSeconds);
    acted = true;
  }
  if (release_at_ && *release_at_ <= now) {
    release_queue();
    acted = true;
  }
  if (look_at_ <= now) {
    look_after_deactivated();
    look_at_ = now + kLookEvery;
    acted = true;
  }
  return acted;
}

std::optional<Time> SoakUsers::wake_at() const {
  Time next = look_at_;
  for (const auto& time : {submit_at_, meddle_at_, release_at_}) {
    if (time) next = std::min(next, *time);
  }
  return next;
}

void SoakUsers::stop() {
  submit_at_.reset();
  meddle_at_.reset();
  if (release_at_) release_queue();
}

void SoakUsers::submit() {
  const auto created = server_.create(std::move(next_job_.job));
  CHECK(created);
  next_job_ = jobs_.next();
  submit_at_ = *submit_at_ + std::max(next_job_.after, Duration(1));
}

void SoakUsers::meddle() {
  switch (random_.below(8)) {
    case 0:
    case 1:
      return delete_job();
    case 2:
    case 3:
    case 4:
      return delete_pod();
    case 5:
    case 6:
      return toggle_activity();
    default:
      return hold_queue();
  }
}

void SoakUsers::delete_job() {
  const auto jobs = server_.list(api::Kind::kJob).items;
  if (jobs.empty()) return;
  const json::value& job = *jobs[random_.below(jobs.size())];
  const bool removed = server_.remove(sim::key_of(api::Kind::kJob, job)).has_value();
  if (removed) ++deeds_["job deleted"];
}

void SoakUsers::delete_pod() {
  const auto pods = server_.list(api::Kind::kPod).items;
  if (pods.empty()) return;
  const json::value& pod = *pods[random_.below(pods.size())];
  const bool removed = server_.remove(sim::key_of(api::Kind::kPod, pod)).has_value();
  if (removed) ++deeds_["pod deleted"];
}

void SoakUsers::toggle_activity() {
  const auto workloads = server_.list(api::Kind::kWorkload).items;
  if (workloads.empty()) return;
  const json::value& workload = *workloads[random_.below(workloads.size())];
  const api::ObjectKey key = sim::key_of(api::Kind::kWorkload, workload);
  set_active(key.namespace_ + "/" + key.name, false);
  ++deeds_["workload deactivated"];
}

void SoakUsers::set_active(const std::string& workload, bool active) {
  const json::value patch = json::object{{"spec", json::object{{"active", active}}}};
  const auto patched =
      server_.patch(key_of_name(api::Kind::kWorkload, workload), sim::PatchType::kMerge, patch);
  CHECK(patched);
}

void SoakUsers::hold_queue() {
  if (release_at_) return;
  held_queue_ = kSoakTeams[random_.below(std::size(kSoakTeams))].name;
  stop_queue(random_.below(2) == 0 ? "Hold" : "HoldAndDrain");
  release_at_ = server_.clock().now() + some_time(300, 1800);
  ++deeds_["queue stopped"];
}

void SoakUsers::release_queue() {
  stop_queue("None");
  release_at_.reset();
}

void SoakUsers::stop_queue(std::string_view policy) {
  const json::value patch = json::object{{"spec", json::object{{"stopPolicy", policy}}}};
  const auto patched =
      server_.patch({api::Kind::kClusterQueue, "", held_queue_}, sim::PatchType::kMerge, patch);
  CHECK(patched);
}

void SoakUsers::look_after_deactivated() {
  const Time now = server_.clock().now();
  std::map<std::string, Time> still;
  for (const sim::Stored& document : server_.list(api::Kind::kWorkload).items) {
    const json::value* active = find_at(*document, {"spec", "active"});
    if (active == nullptr || true_at(*document, {"spec", "active"})) continue;
    if (sim::condition_is_true(*document, core::names::kFinished)) continue;
    if (sim::is_deleted(*document)) continue;
    const api::ObjectKey key = sim::key_of(api::Kind::kWorkload, *document);
    const std::string name = key.namespace_ + "/" + key.name;
    const auto known = deactivated_.find(name);
    const Time at = known == deactivated_.end() ? now + some_time(600, 7200) : known->second;
    if (at > now) {
      still[name] = at;
      continue;
    }
    if (sim::condition_is_true(*document, core::names::kQuotaReserved)) continue;
    const auto workload = view_.workloads().find(name);
    const bool too_long =
        workload != view_.workloads().end() &&
        workload->second.evictions.contains("Deactivated/MaximumExecutionTimeExceeded");
    if (!too_long) {
      set_active(name, true);
      ++deeds_["workload reactivated"];
      continue;
    }
    const bool removed =
        server_.remove(key_of_name(api::Kind::kJob, workload->second.job)).has_value();
    given_up_ += removed ? 1 : 0;
  }
  deactivated_ = std::move(still);
}

}  // namespace phalanx::cli
