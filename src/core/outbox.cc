#include "core/outbox.h"

#include "base/check.h"
#include "core/names.h"

namespace phalanx::core {

WriteId Outbox::submit(Write write) {
  CHECK(!busy(write.key));
  write.id = WriteId(next_++);
  busy_.insert(write.key);
  pending_.emplace(write.id, write.key);
  writes_.push_back(std::move(write));
  return writes_.back().id;
}

std::optional<api::ObjectKey> Outbox::finish(WriteId id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return std::nullopt;
  api::ObjectKey key = std::move(found->second);
  pending_.erase(found);
  busy_.erase(key);
  return key;
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
