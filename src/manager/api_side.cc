#include "manager/api_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/wall_clock.h"
#include "manager/log.h"

namespace phalanx::manager {
namespace {

// Whoever stops is followed within two seconds: one for what is under way, one for the lease.
constexpr auto kLastWrites = std::chrono::milliseconds(900);
// After that nothing more is sent, so that all is answered by then.
constexpr auto kLastSend = std::chrono::milliseconds(500);
// At most so often all watches are taken up on other connections.
constexpr auto kReopenInterval = std::chrono::seconds(10);
constexpr auto kTick = std::chrono::seconds(1);
// Whose watch is broken has no lag to measure.
constexpr size_t kMostAnswersKept = 1000;
// Clocks that are apart by less are nothing to tell anybody.
constexpr Duration kClockTolerance = std::chrono::seconds(2);

}  // namespace

ApiSide::ApiSide(const kube::ClusterAccess& access, const core::Adapters& adapters,
                 ApiSideOptions options, Meters& meters, Mailbox<Message>& decider)
    : adapters_(adapters),
      options_(std::move(options)),
      decider_(decider),
      meters_(meters),
      transport_(access),
      decoder_(adapters_),
      recorder_("phalanx", options_.identity, options_.seed),
      reviewer_(transport_),
      thread_([this] { run(); }) {}

ApiSide::~ApiSide() {
  stop();
}

void ApiSide::run() {
  while (!over_) {
    transport_.run_once(kTick);
    look_at_clock();
  }
  // On the thread that they were made on.
  elector_.reset();
  life_ = {};
}

void ApiSide::look_at_clock() {
  const Duration offset = transport_.clock().now() - wall_now();
  const bool agrees = std::chrono::abs(offset) < kClockTolerance;
  if (std::chrono::abs(offset - clock_offset_) < kClockTolerance) return;
  clock_offset_ = agrees ? Duration(0) : offset;
  log_warning(agrees
                  ? "the clock of this machine agrees with that of the API server again"
                  : fmt::format("the clock of this machine is {} {} that of the API server, which "
                                "is the one that counts; set it right",
                                format_duration(std::chrono::round<std::chrono::seconds>(
                                    std::chrono::abs(offset))),
                                offset < Duration(0) ? "ahead of" : "behind"));
}

bool ApiSide::may_write() const {
  if (!options_.process.elect_leader) return true;
  return elector_ != nullptr && elector_->may_write();
}

void ApiSide::tell(core::Event event) {
  meters_.api_events.add();
  decider_.put(Arrived{life_.number, transport_.now(), std::move(event)});
}

void ApiSide::follow(api::Kind kind) {
  kube::Reflector::Listener listener;
  listener.event = [this, kind](core::Event event) {
    tell(std::move(event));
    measure_lag(kind, life_.reflectors.at(kind)->seen());
  };
  listener.listed = [this] {
    if (++life_.listed == life_.reflectors.size()) decider_.put(AllListed{life_.number});
  };
  listener.trouble = [](const std::string& problem) { log_warning(problem); };
  listener.failed = [this, kind](const kube::Refusal& refusal) {
    if (refusal.nobody_converts()) decider_.put(NobodyConverts{});
    meters_.watch_failures.add({{"resource", std::string(api::info(kind).plural)}});
  };
  listener.died = [this] { suspect_connections(); };
  life_.reflectors[kind] =
      std::make_unique<kube::Reflector>(transport_, decoder_, kind, std::move(listener),
                                        options_.seed + static_cast<uint64_t>(kind) * 1000);
}

// Connections die together: where one did, the others are not waited for. But not too often: what
// looks like a dead network may be a server that has too much to do.
void ApiSide::suspect_connections() {
  const kube::Instant now = transport_.now();
  troubled_at_ = now;
  if (std::exchange(reopens_, true)) return;
  const kube::Instant due = reopened_at_ ? *reopened_at_ + kReopenInterval : now;
  transport_.at(std::max(now, due), [this] { reopen_connections(); });
}

void ApiSide::reopen_connections() {
  reopens_ = false;
  reopened_at_ = transport_.now();
  transport_.distrust_connections();
  for (const auto& [kind, reflector] : life_.reflectors) reflector->reopen();
}

// Connections that were opened since the last trouble, and work for as long as a lease lasts, have
// told what there is to tell.
bool ApiSide::doubtful() const {
  const bool troubled =
      troubled_at_ && transport_.now() < *troubled_at_ + options_.process.lease_duration;
  return troubled || std::ranges::any_of(life_.reflectors, [](const auto& each) {
           return each.second->blind_since().has_value();
         });
}

void ApiSide::make_writer() {
  kube::Writer::Surroundings surroundings;
  surroundings.may_write = [this] { return !sends_no_more_ && may_write(); };
  surroundings.seen = [this](api::Kind kind) {
    const auto found = life_.reflectors.find(kind);
    return found == life_.reflectors.end() ? 0 : found->second->seen();
  };
  surroundings.finished = [this](std::vector<core::Event> events) {
    for (core::Event& event : events) tell(std::move(event));
  };
  surroundings.ahead_of_watch = [this](api::Kind kind, uint64_t version) {
    const auto found = life_.reflectors.find(kind);
    if (found == life_.reflectors.end()) return;
    found->second->expect(version);
    auto& answered = life_.answered[kind];
    if (answered.size() >= kMostAnswersKept) answered.pop_front();
    answered.emplace_back(version, transport_.now());
  };
  surroundings.observer.sent = [this](auto waited) { meters_.write_queue_seconds.add(waited); };
  surroundings.observer.answered = [this](const std::string& what, int code, auto took) {
    meters_.write_round_trip_seconds.add(took);
    meters_.api_writes.add(labels_of_write(what, code));
  };
  const kube::WriterOptions options{.most_at_a_time = 32,
                                    .per_second = options_.process.writes_per_second,
                                    .burst = options_.process.writes_burst};
  life_.writer = std::make_unique<kube::Writer>(transport_, decoder_, options,
                                                std::move(surroundings), options_.seed + 7);
}

void ApiSide::begin(uint64_t number, const std::vector<api::Kind>& kinds) {
  life_ = {};
  life_.number = number;
  sends_no_more_ = retiring_;
  if (!retiring_) ++ending_;  // who waited for the end of other writes
  // Who begins anew has lost the lease, as a rule because nobody answered.
  transport_.distrust_connections();
  make_writer();
  // All are there before the first can be done.
  for (const api::Kind kind : kinds) follow(kind);
  for (const auto& [kind, reflector] : life_.reflectors) reflector->start();
}

void ApiSide::begin_life(uint64_t life, std::vector<api::Kind> kinds) {
  transport_.post([this, life, kinds = std::move(kinds)] { begin(life, kinds); });
}

void ApiSide::catch_up(uint64_t life, uint64_t term) {
  transport_.post([this, life, term] {
    if (life != life_.number) return;
    reopen_connections();
    life_.reflectors.at(api::Kind::kWorkload)->refresh([this, life, term] {
      decider_.put(CaughtUp{life, term});
    });
  });
}

void ApiSide::carry_out(uint64_t life, std::vector<core::Write> writes,
                        std::vector<core::Notice> notices, std::optional<kube::Instant> caused_at) {
  if (writes.empty() && notices.empty()) return;
  const kube::Instant ready = kube::MonotonicClock::now();
  auto all = std::make_shared<std::pair<std::vector<core::Write>, std::vector<core::Notice>>>(
      std::move(writes), std::move(notices));
  transport_.post([this, life, all, caused_at, ready] {
    if (life != life_.number || retiring_) return;
    for (core::Write& write : all->first) {
      if (caused_at) meters_.own_latency_seconds.add(ready - *caused_at);
      life_.writer->submit(std::move(write));
    }
    for (const core::Notice& notice : all->second) {
      if (auto event = recorder_.record(notice, now())) {
        life_.writer->submit(std::move(*event));
      }
    }
  });
}

void ApiSide::make_elector() {
  const ProcessSettings& process = options_.process;
  kube::ElectionOptions options;
  options.identity = options_.identity;
  options.namespace_ = process.lease_namespace;
  options.name = process.lease_name;
  options.lease_duration = process.lease_duration;
  options.renew_deadline = process.renew_deadline;
  options.retry_period = process.retry_period;
  kube::Elector::Listener listener;
  listener.elected = [this] { decider_.put(Elected{doubtful()}); };
  listener.lost = [this](const std::string& why) { decider_.put(Deposed{why}); };
  listener.renewed = [this] {
    if (life_.writer) life_.writer->wake();
  };
  listener.observed = [](const std::string& holder) {
    log_info(holder.empty() ? "nobody leads" : fmt::format("{} leads", holder));
  };
  listener.trouble = [](const std::string& problem) { log_warning(problem); };
  listener.unanswered = [this] { suspect_connections(); };
  elector_ = std::make_unique<kube::Elector>(
      transport_, std::move(options), std::move(listener), [this] { return now(); },
      options_.seed + 13);
  elector_->start();
}

void ApiSide::start_election() {
  transport_.post([this] {
    if (retiring_) return;
    if (options_.process.elect_leader) return make_elector();
    decider_.put(Elected{});
  });
}

void ApiSide::let_writes_end(kube::Instant deadline, std::function<void(bool answered)> done) {
  const kube::Instant last_send = transport_.now() + kLastSend;
  const uint64_t number = ++ending_;
  auto check = std::make_shared<std::function<void()>>();
  *check = [this, number, last_send, deadline, done = std::move(done), check] {
    if (number != ending_) {
      *check = nullptr;
      return;
    }
    sends_no_more_ = transport_.now() >= last_send || !may_write();
    const size_t under_way = life_.writer ? life_.writer->under_way() : 0;
    const size_t waiting = life_.writer && !sends_no_more_ ? life_.writer->unfinished() : 0;
    if (under_way + waiting > 0 && transport_.now() < deadline) {
      transport_.after(Duration(10), *check);
      return;
    }
    *check = nullptr;
    sends_no_more_ = true;
    done(under_way == 0);
  };
  transport_.after(Duration(0), *check);
}

void ApiSide::settle() {
  transport_.post([this] {
    if (retiring_) return;
    // Who is in no hurry waits until requests are given up, or the lease is lost.
    let_writes_end(kube::Instant::max(), [this](bool /*answered*/) { decider_.put(Settled{}); });
  });
}

void ApiSide::begin_to_retire(Duration patience) {
  if (std::exchange(retiring_, true)) return;
  let_writes_end(transport_.now() + kLastWrites, [this, patience](bool answered) {
    life_.writer.reset();
    const auto done = [this] {
      retired_ = true;
      decider_.put(Retired{});
      if (ends_) end();
    };
    if (!answered) {
      log_warning("stops with writes that nobody has answered; the lease runs out by itself");
    }
    // What is cut off may arrive all the same, and whoever comes next must not decide before.
    if (!elector_ || !answered) {
      elector_.reset();
      return done();
    }
    elector_->resign(patience, [done](bool told) {
      if (!told) log_warning("the lease could not be given up; it runs out by itself");
      done();
    });
  });
}

// Posted, so that the loop does not wait once more before it looks.
void ApiSide::end() {
  transport_.post([this] { over_ = true; });
}

void ApiSide::retire(Duration patience) {
  transport_.post([this, patience] { begin_to_retire(patience); });
}

void ApiSide::stop() {
  if (!thread_.joinable()) return;
  transport_.post([this] {
    ends_ = true;
    begin_to_retire(Duration(0));
    if (retired_) end();
  });
  thread_.join();
}

void ApiSide::measure_lag(api::Kind kind, uint64_t seen) {
  const auto found = life_.answered.find(kind);
  if (found == life_.answered.end()) return;
  // Answers to writes of one kind may come in another order than their versions.
  std::erase_if(found->second, [&](const auto& answer) {
    if (answer.first > seen) return false;
    meters_.watch_lag_seconds.add({{"resource", std::string(api::info(kind).plural)}},
                                  transport_.now() - answer.second);
    return true;
  });
}

void ApiSide::with_gauges(std::function<void(ApiGauges)> use) {
  transport_.post([this, use = std::move(use)] {
    ApiGauges gauges;
    gauges.unfinished_writes = life_.writer ? life_.writer->unfinished() : 0;
    for (const auto& [kind, reflector] : life_.reflectors) {
      const auto since = reflector->blind_since();
      gauges.blind[kind] =
          since ? std::chrono::ceil<Duration>(transport_.now() - *since) : Duration(0);
    }
    use(std::move(gauges));
  });
}

void ApiSide::review_access(kube::AccessQuestion question, kube::AccessReviewer::Decided decided) {
  transport_.post([this, question = std::move(question), decided = std::move(decided)] {
    reviewer_.review(question, decided);
  });
}

}  // namespace phalanx::manager
