#include "core/outbox.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/printable.h"
#include "core/names.h"

namespace phalanx::core {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(5);
constexpr Duration kLongestPause = std::chrono::minutes(10);
constexpr int32_t kDoublings = 7;

Duration pause_after(int32_t refusals) {
  return std::min(kLongestPause, kFirstPause * (1 << std::min(refusals, kDoublings)));
}

}  // namespace

void Outbox::submit(Write write, std::vector<Notice> notices) {
  CHECK(!busy(write.key));
  write.id = WriteId(next_++);
  busy_.insert(write.key);
  fresh_.push_back(write.id);
  const WriteId id = write.id;
  pending_.emplace(id, Finished{std::move(write), std::move(notices)});
}

std::optional<Outbox::Finished> Outbox::finish(WriteId id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return std::nullopt;
  Finished finished = std::move(found->second);
  pending_.erase(found);
  again_.erase(id);
  busy_.erase(finished.write.key);
  return finished;
}

void Outbox::send_again(WriteId id, Time at) {
  if (pending_.contains(id)) again_[id] = at;
}

std::optional<Time> Outbox::next_attempt() const {
  std::optional<Time> next;
  if (!failures_by_time_.empty()) next = failures_by_time_.begin()->first;
  for (const auto& [id, time] : again_) {
    if (!next || time < *next) next = time;
  }
  return next;
}

void Outbox::leave_alone(const api::ObjectKey& key, uint64_t version) {
  forget(key);
  failures_[key].version = version;
}

void Outbox::leave_alone_for_now(const Write& refused, Time now) {
  Failure& failure = failures_[refused.key];
  if (failure.due) failures_by_time_.erase({*failure.due, refused.key});
  failure.version = refused.resource_version;
  failure.stands = true;
  failure.asked_by = refused.owner.value_or(refused.key);
  failure.due = now + pause_after(failure.refusals++);
  failures_by_time_.emplace(*failure.due, refused.key);
}

bool Outbox::left_alone(const api::ObjectKey& key, uint64_t version) const {
  const auto found = failures_.find(key);
  return found != failures_.end() && found->second.stands && found->second.version == version;
}

void Outbox::forget(const api::ObjectKey& key) {
  const auto found = failures_.find(key);
  if (found == failures_.end()) return;
  if (found->second.due) failures_by_time_.erase({*found->second.due, key});
  failures_.erase(found);
}

std::vector<api::ObjectKey> Outbox::take_due(Time now) {
  std::vector<api::ObjectKey> deciders;
  while (!failures_by_time_.empty() && failures_by_time_.begin()->first <= now) {
    const api::ObjectKey key = failures_by_time_.begin()->second;
    Failure& failure = failures_.at(key);
    if (!failure.stands) {  // nobody wanted to write it any more
      forget(key);
      continue;
    }
    deciders.push_back(failure.asked_by);
    failure.stands = false;
    failures_by_time_.erase(failures_by_time_.begin());
    failure.due = now + kLongestPause;
    failures_by_time_.emplace(*failure.due, key);
  }
  return deciders;
}

std::vector<Notice> Outbox::take_notices() {
  for (Notice& notice : notices_) notice.message = printable(notice.message);
  return std::exchange(notices_, {});
}

std::vector<Write> Outbox::take_writes(Time now) {
  std::vector<Write> writes;
  for (auto entry = again_.begin(); entry != again_.end();) {
    if (entry->second > now) {
      ++entry;
      continue;
    }
    writes.push_back(pending_.at(entry->first).write);
    entry = again_.erase(entry);
  }
  for (const WriteId id : std::exchange(fresh_, {})) writes.push_back(pending_.at(id).write);
  return writes;
}

Write merge_patch(const api::ObjectKey& key, const api::ObjectMeta& meta, json::object patch,
                  bool status) {
  Write write;
  write.key = key;
  write.status = status;
  write.body = std::move(patch);
  write.uid = meta.uid;
  write.resource_version = meta.resource_version;
  return write;
}

Write finalizer_patch(const api::ObjectKey& key, const api::ObjectMeta& meta, bool present) {
  json::array finalizers;
  for (const std::string& finalizer : meta.finalizers) {
    if (finalizer != names::kInUseFinalizer) finalizers.emplace_back(finalizer);
  }
  if (present) finalizers.emplace_back(names::kInUseFinalizer);
  return merge_patch(key, meta,
                     {{"metadata", json::object{{"finalizers", std::move(finalizers)}}}});
}

}  // namespace phalanx::core
