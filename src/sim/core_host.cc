#include "sim/core_host.h"

#include <ctime>

#include "base/check.h"
#include "core/hosting.h"

namespace phalanx::sim {
namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

CoreHost::CoreHost(ApiServer& server, const core::Adapters& adapters, CoreHostOptions options)
    : server_(server),
      adapters_(adapters),
      options_(std::move(options)),
      notices_(server.resource_version()) {
  start_core();
}

CoreHost::~CoreHost() = default;

void CoreHost::start_core() {
  core_ = std::make_unique<core::Core>(options_.configuration, adapters_);
  informer_ = std::make_unique<Informer>(server_, core_->watched_kinds());
  results_.clear();
  wake_at_.reset();
  synced_ = false;
}

std::vector<core::Event> CoreHost::new_events() {
  std::vector<core::Event> events = std::exchange(results_, {});
  for (const Change& change : informer_->poll()) {
    if (change.after == nullptr) {
      events.emplace_back(core::ObjectDeleted{change.key});
      continue;
    }
    auto object = core::decode_object(*change.after, adapters_);
    CHECK(object);  // the informer hands out only kinds that the core asked for
    events.emplace_back(core::ObjectChanged{std::move(*object)});
  }
  if (!synced_) events.emplace_back(core::Synced{});
  synced_ = true;
  return events;
}

bool CoreHost::react() {
  const double before = cpu_seconds();
  std::vector<core::Event> events = new_events();
  const Time now = server_.clock().now();
  const bool due = wake_at_ && *wake_at_ <= now;
  if (events.empty() && !due) return false;
  core::Output output = core_->step(now, std::move(events));
  core_cpu_seconds_ += cpu_seconds() - before;
  wake_at_ = output.wake_at;
  if (options_.on_journal) {
    for (const std::string& line : output.journal) options_.on_journal(line);
  }
  for (const core::Notice& notice : output.notices) record(notice);
  for (core::Write& write : output.writes) {
    if (!carry_out(write)) {
      start_core();
      break;
    }
  }
  return true;
}

bool CoreHost::carry_out(core::Write& write) {
  const uint64_t number = writes_++;
  const WriteFate fate = options_.fate ? options_.fate(write, number) : WriteFate::kProceed;
  if (fate == WriteFate::kCrashBefore) return false;
  if (fate == WriteFate::kLoseRace) interfere(write);
  const bool lost = fate == WriteFate::kLoseRequest || fate == WriteFate::kLoseReply;
  ApiResult<Stored> result = nullptr;
  if (fate == WriteFate::kRefuse) {
    result = std::unexpected(ApiError{403, "Forbidden", "no rights are known yet"});
  } else if (fate != WriteFate::kLoseRequest) {
    result = perform(write);
  }
  if (fate == WriteFate::kCrashAfter) return false;
  if (lost) {
    results_.emplace_back(core::WriteFinished{write.id, core::WriteOutcome::kUnavailable,
                                              "the API server cannot be reached"});
    return true;
  }
  if (!result) {
    results_.emplace_back(
        core::WriteFinished{write.id, core::outcome_of(result.error().code, result.error().reason),
                            result.error().message});
    return true;
  }
  if (*result != nullptr) {
    auto object = core::decode_object(**result, adapters_);
    CHECK(object);
    results_.emplace_back(core::ObjectChanged{std::move(*object)});
  }
  results_.emplace_back(core::WriteFinished{write.id, core::WriteOutcome::kDone, ""});
  return true;
}

void CoreHost::interfere(const core::Write& write) {
  if (write.verb == core::Verb::kCreate) return;
  const json::object annotations{{"example.com/touched", std::to_string(writes_)}};
  [[maybe_unused]] const auto touched =
      server_.patch(write.key, PatchType::kMerge,
                    json::object{{"metadata", json::object{{"annotations", annotations}}}});
}

ApiResult<Stored> CoreHost::perform(const core::Write& write) {
  const WriteOptions options{.status = write.status, .field_manager = "", .force = false};
  switch (write.verb) {
    case core::Verb::kCreate:
      return server_.create(write.body, options);
    case core::Verb::kMergePatch:
      return server_.patch(write.key, PatchType::kMerge, core::patch_of(write), options);
    case core::Verb::kDelete: {
      const auto removed = server_.remove(write.key, {.uid = write.uid,
                                                      .resource_version = write.resource_version,
                                                      .propagation = Propagation::kBackground,
                                                      .grace_period_seconds = std::nullopt});
      if (!removed) return std::unexpected(removed.error());
      return server_.get(write.key);
    }
  }
  return nullptr;
}

void CoreHost::record(const core::Notice& notice) {
  if (!options_.write_events) return;
  const Time now = server_.clock().now();
  json::object event = core::event_of(notice, {.name = core::event_name(notice, ++notices_),
                                               .component = "phalanx",
                                               .instance = "",
                                               .first = now,
                                               .last = now});
  // An Event is for people; nothing depends on it, so a refusal (a namespace that goes) is all
  // right.
  [[maybe_unused]] const auto created = server_.create(std::move(event));
}

}  // namespace phalanx::sim
