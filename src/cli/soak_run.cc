#include "cli/soak_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/json_path.h"
#include "base/sha256.h"
#include "cli/bench_report.h"
#include "cli/soak_core_laws.h"

namespace phalanx::cli {
namespace {

constexpr Duration kAccountEvery = std::chrono::hours(1);
constexpr int64_t kRestartSeconds = 14'400;  // on average
constexpr uint64_t kWritesOfFault = 3000;    // likewise
constexpr Duration kLongestTail = std::chrono::days(6);
constexpr Duration kWithoutWorkload = std::chrono::minutes(1);
constexpr Duration kLongestBusy = std::chrono::minutes(5);
constexpr size_t kBatch = 1 << 16;  // bytes of the journal that are taken into the digest at once

sim::EmbeddedOptions options_of(const SoakPlan& plan) {
  sim::EmbeddedOptions options;
  options.seed = plan.seed;
  options.start = soak_start();
  options.host.configuration = soak_configuration();
  options.host.write_events = false;
  return options;
}

json::object as_json(const std::map<std::string, int64_t>& counts) {
  json::object result;
  for (const auto& [name, count] : counts) result[name] = count;
  return result;
}

double seconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1000;
}

json::object waits_json(std::vector<Duration> waits) {
  std::ranges::sort(waits);
  const auto at = [&](size_t percent) { return seconds(percentile(waits, percent)); };
  return {{"p50", at(50)}, {"p90", at(90)}, {"p99", at(99)}, {"max", at(100)}};
}

}  // namespace

Soak::Soak(const SoakPlan& plan, OnJournal on_journal)
    : plan_(plan),
      on_journal_(std::move(on_journal)),
      random_(plan.seed * 1'000'003),
      cluster_([&] {
        auto options = options_of(plan);
        options.host.on_journal = [this](const std::string& line) { hear(line); };
        options.host.fate = [this](const core::Write&, uint64_t) { return next_fate(); };
        return std::make_unique<sim::EmbeddedCluster>(std::move(options));
      }()),
      view_(cluster_->server()),
      laws_(view_, {}),
      start_(cluster_->now()) {
  create_world();
  next_restart_ = some_time_later(kRestartSeconds);
  next_account_ = start_ + kAccountEvery;
}

void Soak::create_world() {
  for (json::value& document : soak_queues(plan_)) CHECK(cluster_->apply(std::move(document)));
  for (uint32_t i = 0; i < plan_.fixed_nodes(); ++i) CHECK(cluster_->apply(soak_node(plan_, i)));
  sim::Simulation& simulation = cluster_->simulation();
  const auto add = [&]<typename T>(const char* name, std::unique_ptr<T> component) {
    T* raw = component.get();
    simulation.add(name, std::move(component));
    return raw;
  };
  sim::ApiServer& server = cluster_->server();
  users_ = add("users", std::make_unique<SoakUsers>(server, view_, plan_, random_.next()));
  disturbances_ =
      add("disturbances", std::make_unique<SoakDisturbances>(server, plan_, random_.next()));
  autoscaler_ = add("autoscaler", std::make_unique<SoakAutoscaler>(server, random_.next()));
}

Time Soak::some_time_later(int64_t mean_seconds) {
  return cluster_->now() + std::chrono::seconds(random_.between(1, 2 * mean_seconds));
}

void Soak::hear(const std::string& line) {
  ++lines_;
  if (on_journal_) on_journal_(line);
  batch_ += line;
  batch_ += '\n';
  const auto decision = parse_json(line);
  CHECK(decision);
  ++decisions_[std::string(string_at(*decision, {"decision"}))];
  if (batch_.size() < kBatch) return;
  digest_ = sha256_hex(digest_ + batch_);
  batch_.clear();
}

sim::WriteFate Soak::next_fate() {
  using Fate = sim::WriteFate;
  if (!faults_ || random_.below(kWritesOfFault) != 0) return Fate::kProceed;
  constexpr Fate kFates[] = {Fate::kCrashBefore, Fate::kCrashAfter, Fate::kLoseRequest,
                             Fate::kLoseReply,   Fate::kLoseRace,   Fate::kRefuse};
  constexpr const char* kNames[] = {"crash before a write", "crash after a write", "request lost",
                                    "reply lost",           "race lost",           "refused"};
  const uint64_t lot = random_.below(std::size(kFates));
  ++faults_seen_[kNames[lot]];
  crashed_ |= lot < 2;
  return kFates[lot];
}

std::optional<std::string> Soak::run(const std::function<void(Duration)>& progress) {
  Broken broken = run_until(start_ + std::chrono::days(plan_.days), progress);
  if (!broken) broken = let_everybody_finish(progress);
  digest_ = sha256_hex(digest_ + batch_);
  batch_.clear();
  if (broken) broken = fmt::format("{}: {}", format_micro_time(cluster_->now()), *broken);
  return broken;
}

Soak::Broken Soak::run_until(Time end, const std::function<void(Duration)>& progress) {
  while (cluster_->now() < end) {
    if (auto broken = step(std::min({end, next_restart_, next_account_}))) return broken;
    if (cluster_->now() >= next_restart_) {
      cluster_->host().restart();
      ++faults_seen_["core restarted"];
      crashed_ = true;
      next_restart_ = some_time_later(kRestartSeconds);
      if (auto broken = settle_anew()) return broken;
    }
    if (cluster_->now() < next_account_) continue;
    next_account_ = cluster_->now() + kAccountEvery;
    if (auto broken = check_account()) return broken;
    if (auto broken = check_core(true)) return broken;
    if (auto broken = check_jobs()) return broken;
    progress(cluster_->now() - start_);
  }
  return std::nullopt;
}

Soak::Broken Soak::step(Time limit) {
  sim::Simulation& simulation = cluster_->simulation();
  const Time before = cluster_->now();
  const Time next = std::min(limit, simulation.next_wake().value_or(limit));
  ++steps_;
  if (const auto ran = simulation.run_until(std::max(next, before)); !ran) {
    return ran.error().message;
  }
  const auto passed = static_cast<double>((cluster_->now() - before).count());
  running_gpu_ms_ += static_cast<double>(view_.running_gpus()) * passed;
  ready_gpu_ms_ += static_cast<double>(view_.ready_gpus()) * passed;
  return look();
}

Soak::Broken Soak::settle_anew() {
  if (const auto settled = cluster_->simulation().settle(); !settled) {
    return settled.error().message;
  }
  return look();
}

Soak::Broken Soak::look() {
  const SoakView::Touched& touched = view_.follow();
  if (auto broken = laws_.check(touched)) return broken;
  if (std::exchange(crashed_, false)) {
    if (auto broken = check_account()) return broken;
  }
  return touched.any() ? check_core(false) : std::nullopt;
}

Soak::Broken Soak::check_account() {
  ++account_checks_;
  const auto account = cluster_->check_account();
  if (account) return std::nullopt;
  return "the account of the core is not what the objects say: " + account.error().message;
}

// Asking everybody would cost much more than deciding: the first of each queue stands for all, and
// everybody is asked once an hour.
Soak::Broken Soak::check_core(bool everybody) {
  core::Core& core = cluster_->core();
  // A write whose fate is unknown is sent again a moment later.
  if (!core.idle()) {
    if (!busy_since_) busy_since_ = cluster_->now();
    if (cluster_->now() - *busy_since_ <= kLongestBusy) return std::nullopt;
    return fmt::format("the core has waited for a write since {}", format_time(*busy_since_));
  }
  busy_since_.reset();
  ++core_checks_;
  return everybody ? check_all_waiting(core) : check_heads(core);
}

Soak::Broken Soak::check_jobs() const {
  for (const auto& [name, gang] : view_.gangs()) {
    if (gang.wants_to_run() && view_.workload_of(gang) == nullptr &&
        cluster_->now() - gang.created > kWithoutWorkload) {
      return fmt::format("Job {} has no Workload", name);
    }
  }
  return std::nullopt;
}

std::string Soak::unfinished() const {
  for (const auto& [name, gang] : view_.gangs()) {
    if (gang.wants_to_run()) return name;
  }
  return "";
}

Soak::Broken Soak::let_everybody_finish(const std::function<void(Duration)>& progress) {
  faults_ = false;
  next_restart_ = Time::max();
  users_->stop();
  disturbances_->stop();
  autoscaler_->be_reliable();
  const Time begin = cluster_->now();
  const double running = running_gpu_ms_;
  const double ready = ready_gpu_ms_;
  if (auto broken = settle_anew()) return broken;
  while (!unfinished().empty()) {
    if (cluster_->now() - begin > kLongestTail) {
      const std::string name = unfinished();
      const SoakGang& gang = view_.gangs().at(name);
      const SoakWorkload* workload = view_.workload_of(gang);
      return fmt::format("Job {} has not finished {} after the last disturbance; Workload {} is {}",
                         name, format_duration(kLongestTail), gang.workload,
                         workload == nullptr   ? "gone"
                         : !workload->active   ? "not active"
                         : !workload->reserved ? "waiting"
                         : !workload->admitted ? "not admitted yet"
                                               : "admitted");
    }
    if (auto broken = run_until(cluster_->now() + std::chrono::hours(1), progress)) return broken;
  }
  tail_ = cluster_->now() - begin;
  running_gpu_ms_ = running;
  ready_gpu_ms_ = ready;
  return check_account();
}

json::object Soak::report() const {
  const SoakView::Sums& sums = view_.sums();
  constexpr double kHour = 3'600'000;
  const auto decided = [&](const char* what) {
    const auto found = decisions_.find(what);
    return found == decisions_.end() ? int64_t{0} : found->second;
  };
  json::object disturbances = as_json(disturbances_->counts());
  for (const auto& [name, count] : users_->deeds()) disturbances[name] = count;
  for (const auto& [name, count] : faults_seen_) disturbances[name] = count;
  return {{"nodes", plan_.nodes},
          {"days", plan_.days},
          {"seed", plan_.seed},
          {"load_percent", plan_.load_percent},
          {"jobs", json::object{{"submitted", sums.submitted},
                                {"finished", sums.finished},
                                {"failed", sums.failed},
                                {"deleted", sums.removed - users_->given_up()},
                                {"ran_too_long", users_->given_up()}}},
          {"admissions", sums.admissions},
          {"evictions", as_json(sums.evictions)},
          {"preemptions", decided("preempt")},
          {"node_replacements", decided("replace")},
          {"second_passes", decided("second-pass")},
          {"disturbances", std::move(disturbances)},
          {"autoscaler", as_json(autoscaler_->counts())},
          {"waiting_s", waits_json(sums.waits)},
          {"gpu_utilisation", ready_gpu_ms_ > 0 ? running_gpu_ms_ / ready_gpu_ms_ : 0},
          {"used_gpu_hours", std::round(sums.used_gpu_ms / kHour)},
          {"lost_gpu_hours", std::round(sums.lost_gpu_ms / kHour)},
          {"tail_hours", seconds(tail_) / 3600},
          {"decisions", lines_},
          {"decisions_by_kind", as_json(decisions_)},
          {"moments", steps_},
          {"account_checks", account_checks_},
          {"core_checks", core_checks_},
          {"journal_sha256", digest_}};
}

}  // namespace phalanx::cli
