#include "manager/manager.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>

#include "base/file.h"
#include "jobs/batch_job.h"
#include "manager/log.h"

namespace phalanx::manager {
namespace {

// Beyond it the thread that reads from the API server waits.
constexpr size_t kMailboxSize = 20'000;
// How often the configuration file is looked at, and whether queues are still there.
constexpr auto kLookInterval = std::chrono::seconds(2);
constexpr Duration kLongestWait = std::chrono::seconds(1);
// However few connections there are: a Service takes a moment to forget a pod.
constexpr Duration kShortestLeave = std::chrono::seconds(1);
// Who has had no new client for so long is no longer led to.
constexpr Duration kQuiet = std::chrono::seconds(5);
constexpr Duration kAnswerInterval = std::chrono::milliseconds(10);

uint64_t random_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

std::string host_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

// Two replicas that are given one name are still two: both would take the lease for theirs.
std::string unlike_any_other(const std::string& name) {
  return fmt::format("{}_{:08x}", name, random_seed() & 0xFFFFFFFF);
}

}  // namespace

Result<std::unique_ptr<Manager>> Manager::make(kube::ClusterAccess access, ManagerOptions options) {
  std::string text;
  if (!options.configuration_file.empty()) {
    ASSIGN_OR_RETURN(text, read_file(options.configuration_file));
  }
  ASSIGN_OR_RETURN(Settings settings,
                   read_settings(text, options.configuration_file, options.overrides));
  options.identity = unlike_any_other(options.identity.empty() ? host_name() : options.identity);
  return std::unique_ptr<Manager>(
      new Manager(std::move(access), std::move(options), std::move(settings), std::move(text)));
}

Manager::Manager(kube::ClusterAccess access, ManagerOptions options, Settings settings,
                 std::string configuration_text)
    : access_(std::move(access)),
      options_(std::move(options)),
      settings_(std::move(settings)),
      configuration_text_(std::move(configuration_text)),
      adapters_(jobs::all_adapters()),
      mailbox_(kMailboxSize),
      workload_meter_(meters_.registry),
      task_timer_(meters_) {}

Manager::~Manager() {
  mailbox_.close();
  if (journal_ >= 0) ::close(journal_);
}

void Manager::stop() {
  mailbox_.put(Stop{});
}

core::Core& Manager::informed() {
  return listed_ || !previous_ ? *core_ : *previous_;
}

Standing Manager::standing() const {
  return {ever_ready_, role()};
}

Role Manager::role() const {
  if (retired_) return Role::kFollower;
  if (!settings_.process.elect_leader) return Role::kStandalone;
  return leads_ ? Role::kLeader : Role::kFollower;
}

void Manager::measure(const core::Event& event) {
  using api::Kind;
  if (const auto* changed = std::get_if<core::ObjectChanged>(&event)) {
    if (changed->object.key.kind != Kind::kWorkload) return;
    workload_meter_.saw(changed->object, informed().state(), role(), api_->now(), ever_listed_);
  } else if (const auto* deleted = std::get_if<core::ObjectDeleted>(&event)) {
    if (deleted->key.kind == Kind::kWorkload) workload_meter_.saw(*deleted);
  } else if (const auto* listed = std::get_if<core::Listed>(&event)) {
    if (listed->kind == Kind::kWorkload) workload_meter_.saw(*listed);
  }
}

void Manager::begin_life() {
  if (listed_) previous_ = std::move(core_);
  ++life_;
  reloading_ = false;
  listed_ = false;
  core_ = std::make_unique<core::Core>(settings_.core, adapters_);
  core_->set_probe(&task_timer_);
  // A life that begins while it leads lists everything after that.
  if (leads_) fresh_ = true;
  now_ = {};  // whatever the clock said then
  workload_meter_.begin_life();
  events_.clear();
  earliest_.reset();
  wake_at_.reset();
  api_->begin_life(life_, core_->watched_kinds());
}

Result<void> Manager::run(const std::function<void()>& ready) {
  on_ready_ = ready;
  for (const std::string& warning : settings_.warnings) log_warning(warning);
  if (!options_.journal.empty()) {
    journal_ = ::open(options_.journal.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (journal_ < 0) return fail(fmt::format("{}: {}", options_.journal, std::strerror(errno)));
  }
  log_info(
      fmt::format("{}: API server {} by {}", options_.identity, access_.server, access_.origin));
  api_ = std::make_unique<ApiSide>(
      access_, adapters_, ApiSideOptions{settings_.process, options_.identity, random_seed()},
      meters_, mailbox_);
  ASSIGN_OR_RETURN(endpoints_, Endpoints::start(access_, settings_.process, adapters_, *api_,
                                                meters_, mailbox_));
  begin_life();
  while (!has_left()) {
    for (Message& message : mailbox_.take(until_next())) take_in(message);
    // Nothing is decided while the last writes are under way.
    if (reloading_ || (leaving_since_ && !retired_)) continue;
    step();
    if (kube::MonotonicClock::now() >= next_look_) {
      look_after_configuration();
      if (listed_) workload_meter_.forget_gone_queues(core_->state());
      next_look_ = kube::MonotonicClock::now() + kLookInterval;
    }
  }
  if (!failure_) close_endpoints();
  // Nobody takes from it any more: whoever wants to put something must not wait for room.
  mailbox_.close();
  api_->stop();
  endpoints_->stop();
  if (failure_) return std::unexpected(*failure_);
  log_info("stopped");
  return {};
}

// API servers keep connections, and no HTTP server can close an idle one without a chance that a
// request is under way on it, which would be refused to whoever submits the job. So the other side
// hangs up: every answer asks for it, and API servers do it by themselves with what was idle for
// 90 seconds. Meanwhile the lease is somebody else's, and this replica follows like any other.
void Manager::begin_to_leave(std::optional<Error> why) {
  if (leaving_since_) return;
  log_info("stopping");
  leaving_since_ = kube::MonotonicClock::now();
  quiet_since_ = *leaving_since_;
  accepted_ = endpoints_->webhook_traffic().connections_accepted;
  failure_ = std::move(why);
  hurries_ = failure_ || !(ever_ready_ || endpoints_->converts_early());
  if (hurries_) return;
  api_->retire(std::clamp(options_.drain_timeout - kShortestLeave, Duration(0),
                          settings_.process.lease_duration));
  endpoints_->drain();
}

void Manager::retired() {
  retired_ = true;
  fresh_ = false;
  if (const uint64_t left = endpoints_->webhook_traffic().connections_open; left > 0) {
    log_info(fmt::format("answers webhooks until clients hang up ({} connections), for at most {}",
                         left, format_duration(options_.drain_timeout)));
  }
  // A core that has decided would go on deciding.
  const bool decided = std::exchange(leads_, false) && listed_;
  if (decided || reloading_) begin_life();
}

// That nobody is there at one moment says little: while every connection serves one request, there
// is none between two of them.
bool Manager::has_left() {
  if (!leaving_since_ || hurries_) return hurries_;
  const kube::Instant now = kube::MonotonicClock::now();
  const auto lasts = now - *leaving_since_;
  if (!retired_ || lasts < kShortestLeave) return false;
  if (lasts >= options_.drain_timeout) return true;
  const serve::ServerCounters traffic = endpoints_->webhook_traffic();
  if (traffic.connections_accepted != accepted_) quiet_since_ = now;
  accepted_ = traffic.connections_accepted;
  return traffic.connections_open == 0 && now - quiet_since_ >= kQuiet;
}

// Whoever still has a request under way waits for the answer, and the servers for both.
void Manager::close_endpoints() {
  std::atomic<bool> closed = false;
  const std::jthread closing([&] {
    endpoints_->stop();
    closed = true;
  });
  while (!closed) {
    for (Message& message : mailbox_.take(kAnswerInterval)) {
      if (auto* question = std::get_if<Question>(&message)) question->ask(informed(), standing());
    }
  }
}

void Manager::take_in(Message& message) {
  if (auto* arrived = std::get_if<Arrived>(&message)) {
    if (arrived->life != life_) return;
    if (!earliest_ || arrived->at < *earliest_) earliest_ = arrived->at;
    measure(arrived->event);
    events_.push_back(std::move(arrived->event));
  } else if (auto* listed = std::get_if<AllListed>(&message)) {
    if (listed->life == life_) all_listed();
  } else if (std::holds_alternative<NobodyConverts>(message)) {
    endpoints_->convert_now();
  } else if (const auto* caught_up = std::get_if<CaughtUp>(&message)) {
    if (caught_up->life != life_ || caught_up->term != term_) return;
    fresh_ = true;
    lead();
  } else if (const auto* elected = std::get_if<Elected>(&message)) {
    if (!leaving_since_) take_over(elected->doubtful);
  } else if (auto* deposed = std::get_if<Deposed>(&message)) {
    log_warning(fmt::format("leads no more: {}", deposed->why));
    leads_ = false;
    fresh_ = false;
    endpoints_->lead(false);
    // What is still being listed has decided nothing, and goes on: a network that is slow would
    // otherwise never let it come to an end.
    if (listed_) begin_life();
  } else if (auto* question = std::get_if<Question>(&message)) {
    question->ask(informed(), standing());
  } else if (std::holds_alternative<Listening>(message)) {
    listening_ = true;
    become_ready();
  } else if (std::holds_alternative<Settled>(message)) {
    if (reloading_) begin_life();
  } else if (std::holds_alternative<Retired>(message)) {
    retired();
  } else if (auto* stop = std::get_if<Stop>(&message)) {
    begin_to_leave(std::move(stop->why));
  }
}

void Manager::all_listed() {
  step();  // what was listed is known from here on
  workload_meter_.all_listed();
  listed_ = true;
  ever_listed_ = true;
  previous_.reset();
  become_ready();
  lead();
}

void Manager::become_ready() {
  if (ever_ready_ || !listed_ || !listening_ || leaving_since_) return;
  ever_ready_ = true;
  // Who takes part in the election knows everything, so that whoever wins can begin.
  api_->start_election();
  on_ready_();
}

// The leader before us may have promised places a moment ago of which we have not heard: watches
// are never late by much, but nobody can tell by how much, and one that died is silent like one of
// a cluster in which nothing happens. All promises are in Workloads, so these are listed anew
// before anything is decided; if there is reason to doubt the rest, everything is. Watches go on on
// new connections, so that one that died is not waited for.
void Manager::take_over(bool doubtful) {
  leads_ = true;
  endpoints_->lead(true);
  fresh_ = !settings_.process.elect_leader;
  if (doubtful && listed_) begin_life();
  ++term_;
  if (!fresh_) api_->catch_up(life_, term_);
  lead();
}

void Manager::lead() {
  if (!leads_ || !listed_ || !fresh_ || leaving_since_) return;
  log_info("leads: decides from here on");
  events_.emplace_back(core::Synced{});
}

void Manager::step() {
  // Nobody's clock goes backwards here. Before the first event the API server has not told the
  // time.
  const Time now = std::max(now_, api_->now());
  const bool due = wake_at_ && *wake_at_ <= now;
  if (events_.empty() && !due) return;
  now_ = now;
  const auto caused_at = std::exchange(earliest_, std::nullopt);
  const kube::Instant begun = kube::MonotonicClock::now();
  core::Output output = core_->step(now_, std::exchange(events_, {}));
  const auto took = kube::MonotonicClock::now() - begun;
  meters_.step_seconds.add(took);
  for (const auto& [sort, count] : output.tally) {
    meters_.decisions.add({{"decision", sort.what}, {"cause", sort.cause}},
                          static_cast<double>(count));
  }
  workload_meter_.decided(output.tally, role(), took);
  wake_at_ = output.wake_at;
  std::string lines;
  for (const std::string& line : output.journal) lines += line + "\n";
  if (journal_ >= 0 && !lines.empty()) {
    [[maybe_unused]] const ssize_t written = ::write(journal_, lines.data(), lines.size());
  }
  // A follower hears of the same things as the leader, who tells them.
  if (!leads_) output.notices.clear();
  api_->carry_out(life_, std::move(output.writes), std::move(output.notices), caused_at);
}

Duration Manager::until_next() const {
  if (leaving_since_ || reloading_) return kAnswerInterval;
  Duration wait = kLongestWait;
  if (wake_at_) {
    wait = std::clamp(*wake_at_ - std::max(now_, api_->now()), Duration(0), wait);
  }
  return wait;
}

void Manager::look_after_configuration() {
  if (options_.configuration_file.empty()) return;
  auto text = read_file(options_.configuration_file);
  if (!text || *text == configuration_text_) return;  // a file that is being replaced comes back
  configuration_text_ = *text;
  auto settings = read_settings(*text, options_.configuration_file, options_.overrides);
  if (!settings) {
    return log_error(
        fmt::format("{}; the configuration stays as it was", settings.error().message));
  }
  for (const std::string& warning : settings->warnings) log_warning(warning);
  const std::string restart = needing_restart(settings_.process, settings->process);
  if (!restart.empty()) {
    log_warning(fmt::format("{}: {}: changes when the process is started again",
                            options_.configuration_file, restart));
  }
  if (settings->core == settings_.core) return;
  settings_.core = std::move(settings->core);
  log_info(fmt::format("{}: has changed and is in force now", options_.configuration_file));
  if (!leads_) return begin_life();
  // What is cut off may arrive after everything was listed, and what it promised be given twice.
  reloading_ = true;
  api_->settle();
}

}  // namespace phalanx::manager
