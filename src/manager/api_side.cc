#include "manager/api_side.h"

#include <fmt/format.h>

#include "base/wall_clock.h"
#include "manager/log.h"

namespace phalanx::manager {
namespace {

// Whoever stops is followed within two seconds: one for what is under way, one for the lease.
constexpr auto kLastWrites = std::chrono::milliseconds(900);
constexpr auto kTick = std::chrono::seconds(1);

}  // namespace

ApiSide::ApiSide(const kube::ClusterAccess& access, const core::Adapters& adapters,
                 ApiSideOptions options, Mailbox<Message>& decider)
    : adapters_(adapters),
      options_(std::move(options)),
      decider_(decider),
      transport_(access),
      decoder_(adapters_),
      recorder_("phalanx", options_.identity, options_.seed),
      thread_([this] { run(); }) {}

ApiSide::~ApiSide() {
  stop();
}

void ApiSide::run() {
  while (!over_) transport_.run_once(kTick);
  // On the thread that they were made on.
  elector_.reset();
  life_ = {};
}

bool ApiSide::may_write() const {
  if (!options_.process.elect_leader) return true;
  return elector_ != nullptr && elector_->may_write();
}

void ApiSide::tell(core::Event event) {
  ++measures_.events_received;
  decider_.put(Arrived{life_.number, transport_.now(), std::move(event)});
}

void ApiSide::follow(api::Kind kind) {
  kube::Reflector::Listener listener;
  listener.event = [this](core::Event event) { tell(std::move(event)); };
  listener.listed = [this] {
    if (++life_.listed == life_.reflectors.size()) decider_.put(AllListed{life_.number});
  };
  listener.trouble = [](const std::string& problem) { log_warning(problem); };
  life_.reflectors[kind] =
      std::make_unique<kube::Reflector>(transport_, decoder_, kind, std::move(listener),
                                        options_.seed + static_cast<uint64_t>(kind) * 1000);
}

void ApiSide::make_writer() {
  kube::Writer::Surroundings surroundings;
  surroundings.may_write = [this] { return may_write(); };
  surroundings.seen = [this](api::Kind kind) {
    const auto found = life_.reflectors.find(kind);
    return found == life_.reflectors.end() ? 0 : found->second->seen();
  };
  surroundings.finished = [this](std::vector<core::Event> events) {
    for (core::Event& event : events) tell(std::move(event));
  };
  surroundings.observer.sent = [this](auto waited) { measures_.write_queue.add(waited); };
  surroundings.observer.answered = [this](const std::string& what, int code, auto took) {
    measures_.round_trip.add(took);
    ++measures_.writes[{what, code}];
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
  make_writer();
  // All are there before the first can be done.
  for (const api::Kind kind : kinds) follow(kind);
  for (const auto& [kind, reflector] : life_.reflectors) reflector->start();
}

void ApiSide::begin_life(uint64_t life, std::vector<api::Kind> kinds) {
  transport_.post([this, life, kinds = std::move(kinds)] { begin(life, kinds); });
}

void ApiSide::carry_out(uint64_t life, std::vector<core::Write> writes,
                        std::vector<core::Notice> notices, std::optional<kube::Instant> caused_at) {
  if (writes.empty() && notices.empty()) return;
  const kube::Instant ready = kube::MonotonicClock::now();
  auto all = std::make_shared<std::pair<std::vector<core::Write>, std::vector<core::Notice>>>(
      std::move(writes), std::move(notices));
  transport_.post([this, life, all, caused_at, ready] {
    if (life != life_.number || winding_up_) return;
    for (core::Write& write : all->first) {
      if (caused_at) measures_.own.add(ready - *caused_at);
      life_.writer->submit(std::move(write));
    }
    for (const core::Notice& notice : all->second) {
      if (auto event = recorder_.record(notice, wall_now())) {
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
  listener.elected = [this] { decider_.put(Elected{}); };
  listener.lost = [this](const std::string& why) { decider_.put(Deposed{why}); };
  listener.renewed = [this] {
    if (life_.writer) life_.writer->wake();
  };
  listener.observed = [](const std::string& holder) {
    log_info(holder.empty() ? "nobody leads" : fmt::format("{} leads", holder));
  };
  listener.trouble = [](const std::string& problem) { log_warning(problem); };
  elector_ = std::make_unique<kube::Elector>(transport_, std::move(options), std::move(listener),
                                             wall_now, options_.seed + 13);
  elector_->start();
}

void ApiSide::start_election() {
  if (!options_.process.elect_leader) {
    decider_.put(Elected{});
    return;
  }
  transport_.post([this] { make_elector(); });
}

void ApiSide::wind_up() {
  winding_up_ = true;
  const kube::Instant deadline = transport_.now() + kLastWrites;
  auto check = std::make_shared<std::function<void()>>();
  *check = [this, deadline, check] {
    const bool writing = life_.writer && life_.writer->unfinished() > 0 && may_write();
    if (writing && transport_.now() < deadline) {
      transport_.after(Duration(10), *check);
      return;
    }
    life_ = {};
    *check = nullptr;
    // Posted, so that the loop does not wait once more before it looks.
    const auto end = [this] { transport_.post([this] { over_ = true; }); };
    if (!elector_) return end();
    elector_->resign(end);
  };
  transport_.after(Duration(0), *check);
}

void ApiSide::stop() {
  if (!thread_.joinable()) return;
  transport_.post([this] { wind_up(); });
  thread_.join();
}

void ApiSide::with_measures(std::function<void(const ApiMeasures&, size_t)> use) {
  transport_.post([this, use = std::move(use)] {
    use(measures_, life_.writer ? life_.writer->unfinished() : 0);
  });
}

void ApiSide::with_transport(std::function<void(kube::Transport&)> use) {
  transport_.post([this, use = std::move(use)] { use(transport_); });
}

}  // namespace phalanx::manager
