#include "core/outbox.h"

#include <utility>

#include "base/check.h"
#include "base/printable.h"
#include "core/names.h"

namespace phalanx::core {

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
  for (const auto& [id, time] : again_) {
    if (!next || time < *next) next = time;
  }
  return next;
}

bool Outbox::left_alone(const api::ObjectKey& key, uint64_t version) const {
  const auto found = left_alone_.find(key);
  return found != left_alone_.end() && found->second == version;
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
