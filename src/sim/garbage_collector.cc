#include "sim/garbage_collector.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/object_fields.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
constexpr std::string_view kOrphanFinalizer = "orphan";
constexpr Duration kRetryDelay = std::chrono::seconds(1);

bool waits_for_dependents(const json::value& owner) {
  return is_deleted(owner) && has_finalizer(owner, kForegroundFinalizer);
}

bool blocks(const json::value& dependent, std::string_view owner_uid) {
  return std::ranges::any_of(owners_of(dependent), [&](const OwnerReference& owner) {
    return owner.uid == owner_uid && owner.blocks_deletion;
  });
}

DeleteOptions just_this(const json::value& object) {
  DeleteOptions options;
  options.uid = uid_of(object);
  return options;
}

}  // namespace

GarbageCollector::GarbageCollector(ApiServer& server) : server_(server), informer_(server, {}) {}

bool GarbageCollector::react() {
  const std::vector<Change> changes = informer_.poll();
  for (const Change& change : changes) observe(change);
  const std::vector<api::ObjectKey> due = timers_.take_due(server_.clock().now());
  std::set<api::ObjectKey> affected(due.begin(), due.end());
  for (const Change& change : changes) enqueue_relatives(change, affected);
  for (const api::ObjectKey& key : affected) sync(key);
  return !changes.empty() || !due.empty();
}

void GarbageCollector::observe(const Change& change) {
  if (change.before != nullptr) {
    by_uid_.erase(std::string(uid_of(*change.before)));
    for (const OwnerReference& owner : owners_of(*change.before)) {
      const auto found = dependents_.find(owner.uid);
      if (found == dependents_.end()) continue;
      found->second.erase(change.key);
      if (found->second.empty()) dependents_.erase(found);
    }
  }
  if (change.after != nullptr) {
    by_uid_.insert_or_assign(std::string(uid_of(*change.after)), change.key);
    for (const OwnerReference& owner : owners_of(*change.after)) {
      dependents_[owner.uid].insert(change.key);
    }
  }
}

// Who has to be looked at: the object, those who depend on it if its life changed, those it depends
// on, and the namespace it is in.
void GarbageCollector::enqueue_relatives(const Change& change,
                                         std::set<api::ObjectKey>& affected) const {
  affected.insert(change.key);
  if (change.before != nullptr) {
    const bool lives_on =
        change.after != nullptr && uid_of(*change.after) == uid_of(*change.before);
    if (!lives_on || is_deleted(*change.after)) {
      affected.merge(dependents_of(*change.before));
    }
  }
  for (const Stored& object : {change.before, change.after}) {
    if (object == nullptr) continue;
    for (const OwnerReference& owner : owners_of(*object)) {
      const auto found = by_uid_.find(owner.uid);
      if (found != by_uid_.end()) affected.insert(found->second);
    }
  }
  if (!change.key.namespace_.empty()) {
    affected.insert({api::Kind::kNamespace, "", change.key.namespace_});
  }
}

std::set<api::ObjectKey> GarbageCollector::dependents_of(const json::value& owner) const {
  const auto found = dependents_.find(std::string(uid_of(owner)));
  return found == dependents_.end() ? std::set<api::ObjectKey>() : found->second;
}

void GarbageCollector::sync(const api::ObjectKey& key) {
  const Stored object = informer_.find(key);
  if (object == nullptr) return;
  if (!is_deleted(*object)) return check_owners(key, *object);
  if (key.kind == api::Kind::kNamespace) empty_namespace(key);
  if (has_finalizer(*object, kOrphanFinalizer)) return orphan_dependents(key, *object);
  if (has_finalizer(*object, kForegroundFinalizer)) delete_foreground(key, *object);
}

void GarbageCollector::check_owners(const api::ObjectKey& key, const json::value& object) {
  std::set<std::string> solid;
  std::set<std::string> leaving;  // gone, or waiting for this object to go
  bool awaited = false;
  for (const OwnerReference& owner : owners_of(object)) {
    const auto kind = api::find_kind(owner.api_version, owner.kind);
    if (!kind) {
      solid.insert(owner.uid);
      continue;
    }
    const bool namespaced = api::info(*kind).namespaced;
    const Stored found = informer_.find({*kind, namespaced ? key.namespace_ : "", owner.name});
    const bool there = found != nullptr && uid_of(*found) == owner.uid;
    const bool waits = there && waits_for_dependents(*found);
    awaited = awaited || waits;
    (there && !waits ? solid : leaving).insert(owner.uid);
  }
  if (leaving.empty()) return;
  if (!solid.empty()) return retry_unless(disown(object, leaving), key);
  DeleteOptions options = just_this(object);
  // Whoever waits for this object waits for what depends on it, too.
  const bool has_dependents = !dependents_of(object).empty();
  if (awaited && has_dependents) options.propagation = Propagation::kForeground;
  retry_unless(server_.remove(key, options), key);
}

void GarbageCollector::delete_foreground(const api::ObjectKey& key, const json::value& owner) {
  const std::string_view uid = uid_of(owner);
  const bool blocked = std::ranges::any_of(
      dependents_of(owner),
      [&](const api::ObjectKey& dependent) { return blocks(*informer_.find(dependent), uid); });
  if (!blocked) retry_unless(remove_finalizer(server_, owner, kForegroundFinalizer), key);
}

void GarbageCollector::orphan_dependents(const api::ObjectKey& key, const json::value& owner) {
  const std::set<api::ObjectKey> dependents = dependents_of(owner);
  // When the last has changed, the owner is looked at again.
  for (const api::ObjectKey& dependent : dependents) {
    retry_unless(disown(*informer_.find(dependent), {std::string(uid_of(owner))}), key);
  }
  if (dependents.empty()) retry_unless(remove_finalizer(server_, owner, kOrphanFinalizer), key);
}

void GarbageCollector::empty_namespace(const api::ObjectKey& key) {
  bool empty = true;
  for (const api::KindInfo& about : api::all_kinds()) {
    if (!about.namespaced) continue;
    for (const Stored& object : server_.list(about.kind, key.name).items) {
      empty = false;
      if (is_deleted(*object)) continue;
      retry_unless(server_.remove(*key_of(*object), just_this(*object)), key);
    }
  }
  if (empty) retry_unless(server_.remove(key), key);
}

ApiResult<void> GarbageCollector::disown(const json::value& object,
                                         const std::set<std::string>& uids) {
  json::array kept;
  for (const json::value& owner : list_field(object, {"metadata", "ownerReferences"})) {
    if (!uids.contains(std::string(string_at(owner, {"uid"})))) kept.push_back(owner);
  }
  return patch_metadata(server_, object, {{"ownerReferences", std::move(kept)}});
}

void GarbageCollector::retry_unless(const ApiResult<void>& written, const api::ObjectKey& key) {
  if (!written) timers_.set(key, server_.clock().now() + kRetryDelay);
}

}  // namespace phalanx::sim
