#include "kube/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/hosting.h"

namespace phalanx::kube {
namespace {

constexpr size_t kMostEventsWaiting = 1000;
constexpr int kNotFound = 404;
constexpr Duration kFirstPause(500);

std::string verb_of(core::Verb verb) {
  switch (verb) {
    case core::Verb::kCreate:
      return "create";
    case core::Verb::kMergePatch:
      return "patch";
    case core::Verb::kDelete:
      return "delete";
  }
  return "";
}

std::string what_is(const core::Write& write) {
  return fmt::format("{} {}{}", verb_of(write.verb), api::info(write.key.kind).plural,
                     write.status ? "/status" : "");
}

}  // namespace

HttpRequest request_of(const core::Write& write) {
  const Resource resource = resource_of(write.key.kind);
  switch (write.verb) {
    case core::Verb::kCreate:
      return create_request(resource, write.key.namespace_, write.body);
    case core::Verb::kMergePatch:
      return patch_request(object_path(write.key), core::patch_of(write),
                           {.subresource = write.status ? "status" : ""});
    case core::Verb::kDelete:
      return delete_request(object_path(write.key),
                            {.uid = write.uid, .resource_version = write.resource_version});
  }
  return {};
}

Writer::Writer(Transport& transport, ObjectDecoder& decoder, const WriterOptions& options,
               Surroundings surroundings, uint64_t seed)
    : transport_(transport),
      decoder_(decoder),
      options_(options),
      surroundings_(std::move(surroundings)),
      seed_(seed),
      tokens_(options.burst),
      refilled_(transport.now()) {}

Writer::~Writer() {
  for (const Transport::Id id : under_way_) transport_.cancel(id);
  transport_.cancel(refill_timer_);
}

void Writer::submit(core::Write write) {
  queue_.push_back({std::move(write), transport_.now()});
  pump();
}

void Writer::submit(EventWrite write) {
  if (events_.size() >= kMostEventsWaiting) events_.pop_front();
  events_.push_back(std::move(write));
  pump();
}

bool Writer::take_token() {
  if (options_.per_second <= 0) return true;
  const Instant now = transport_.now();
  const double earned =
      std::chrono::duration<double>(now - refilled_).count() * options_.per_second;
  tokens_ = std::min<double>(std::max(1, options_.burst), tokens_ + earned);
  refilled_ = now;
  if (tokens_ >= 1) {
    tokens_ -= 1;
    return true;
  }
  if (refill_timer_ == 0) {
    const auto missing = std::chrono::duration<double>((1 - tokens_) / options_.per_second);
    refill_timer_ =
        transport_.at(now + std::chrono::ceil<std::chrono::microseconds>(missing), [this] {
          refill_timer_ = 0;
          pump();
        });
  }
  return false;
}

void Writer::pump() {
  while (under_way_.size() < options_.most_at_a_time && !(queue_.empty() && events_.empty()) &&
         surroundings_.may_write() && take_token()) {
    if (!queue_.empty()) {
      Waiting next = std::move(queue_.front());
      queue_.pop_front();
      send(std::move(next));
    } else {
      EventWrite next = std::move(events_.front());
      events_.pop_front();
      send(std::move(next));
    }
  }
}

void Writer::ended(Transport::Id id, const std::string& what, Instant begun,
                   const HttpResponse& response) {
  under_way_.erase(id);
  const auto& observe = surroundings_.observer.answered;
  if (observe) observe(what, response.status, transport_.now() - begun);
}

void Writer::send(Waiting waiting) {
  const Instant begun = transport_.now();
  if (surroundings_.observer.sent) surroundings_.observer.sent(begun - waiting.since);
  auto write = std::make_shared<core::Write>(std::move(waiting.write));
  auto id = std::make_shared<Transport::Id>(0);
  ++writes_under_way_;
  *id = transport_.send(request_of(*write), [this, write, id, begun](const HttpResponse& response) {
    --writes_under_way_;
    ended(*id, what_is(*write), begun, response);
    finish(*write, response);
    pump();
  });
  under_way_.insert(*id);
}

void Writer::send(EventWrite write) {
  const Instant begun = transport_.now();
  const bool creates = write.request.method == Method::kPost;
  auto id = std::make_shared<Transport::Id>(0);
  auto otherwise = std::make_shared<std::optional<HttpRequest>>(std::move(write.otherwise));
  *id = transport_.send(std::move(write.request),
                        [this, otherwise, id, begun, creates](const HttpResponse& response) {
                          ended(*id, creates ? "create events" : "patch events", begun, response);
                          if (response.status == kNotFound && *otherwise) {
                            events_.push_front({std::move(**otherwise), std::nullopt});
                          }
                          pump();
                        });
  under_way_.insert(*id);
}

void Writer::finish(const core::Write& write, const HttpResponse& response) {
  std::vector<core::Event> events;
  if (!response.ok()) {
    Refusal refusal = read_refusal(response);
    const core::WriteOutcome outcome = core::outcome_of(refusal.code, refusal.reason);
    core::WriteFinished finished{write.id, outcome, std::move(refusal.message)};
    if (outcome == core::WriteOutcome::kUnavailable) {
      const auto [failing, first] =
          failing_.try_emplace(write.id, seed_ + write.id.value, kFirstPause);
      finished.retry_after = failing->second.next(response.retry_after);
    } else {
      failing_.erase(write.id);
    }
    events.emplace_back(std::move(finished));
    return surroundings_.finished(std::move(events));
  }
  failing_.erase(write.id);
  // What a deletion answers is not the object as it is: the watch tells.
  if (write.verb != core::Verb::kDelete) {
    auto object = decoder_.object(response.body, write.key.kind);
    if (object && object->resource_version > surroundings_.seen(write.key.kind)) {
      if (surroundings_.ahead_of_watch) {
        surroundings_.ahead_of_watch(write.key.kind, object->resource_version);
      }
      events.emplace_back(core::ObjectChanged{std::move(*object)});
    }
  }
  events.emplace_back(core::WriteFinished{write.id, core::WriteOutcome::kDone, ""});
  surroundings_.finished(std::move(events));
}

}  // namespace phalanx::kube
