#include "sim/core_host.h"

#include <fmt/format.h>

#include <ctime>

#include "base/check.h"
#include "sim/document.h"

namespace phalanx::sim {
namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

core::WriteOutcome outcome_of(const ApiError& error) {
  if (error.reason == "Conflict") return core::WriteOutcome::kConflict;
  if (error.reason == "NotFound") return core::WriteOutcome::kNotFound;
  if (error.reason == "AlreadyExists") return core::WriteOutcome::kAlreadyExists;
  return core::WriteOutcome::kRefused;
}

// Preconditions travel in the patch itself, as with any client of Kubernetes.
json::value with_preconditions(const core::Write& write) {
  json::value patch = write.body;
  json::object& metadata = ensure_object(patch, {"metadata"});
  if (!write.uid.empty()) metadata["uid"] = write.uid;
  if (write.resource_version != 0) {
    metadata["resourceVersion"] = std::to_string(write.resource_version);
  }
  return patch;
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
  if (fate != WriteFate::kLoseRequest) result = perform(write);
  if (fate == WriteFate::kCrashAfter) return false;
  if (lost) {
    results_.emplace_back(core::WriteFinished{write.id, core::WriteOutcome::kUnavailable,
                                              "the API server cannot be reached"});
    return true;
  }
  if (!result) {
    results_.emplace_back(
        core::WriteFinished{write.id, outcome_of(result.error()), result.error().message});
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
      return server_.patch(write.key, PatchType::kMerge, with_preconditions(write), options);
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
  const std::string namespace_ =
      notice.about.namespace_.empty() ? "default" : notice.about.namespace_;
  const std::string now = format_time(server_.clock().now());
  json::object about{{"apiVersion", api::api_version(notice.about.kind)},
                     {"kind", api::info(notice.about.kind).name},
                     {"name", notice.about.name},
                     {"uid", notice.uid}};
  if (!notice.about.namespace_.empty()) about["namespace"] = notice.about.namespace_;
  json::object event{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", json::object{{"name", fmt::format("{}.{:x}", notice.about.name, ++notices_)},
                                {"namespace", namespace_}}},
      {"involvedObject", std::move(about)},
      {"reason", notice.reason},
      {"message", notice.message},
      {"type", notice.warning ? "Warning" : "Normal"},
      {"source", json::object{{"component", "phalanx"}}},
      {"firstTimestamp", now},
      {"lastTimestamp", now},
      {"count", 1}};
  // An Event is for people; nothing depends on it, so a refusal (a namespace that goes) is all
  // right.
  [[maybe_unused]] const auto created = server_.create(std::move(event));
}

}  // namespace phalanx::sim
