#include "sim/informer.h"

#include <utility>

#include "base/check.h"
#include "sim/object_fields.h"

namespace phalanx::sim {

Informer::Informer(ApiServer& server, std::vector<api::Kind> kinds)
    : server_(server), kinds_(std::move(kinds)) {
  if (kinds_.empty()) {
    for (const api::KindInfo& about : api::all_kinds()) kinds_.push_back(about.kind);
  }
}

std::vector<Change> Informer::poll() {
  Before before;
  if (!listed_) relist(before);
  while (true) {
    const auto events = server_.read(cursor_);
    if (!events) {
      relist(before);
      continue;
    }
    if (events->empty()) break;
    for (const WatchEvent& event : *events) {
      if (event.type == WatchEventType::kBookmark) continue;
      const auto key = key_of(*event.object);
      CHECK(key);
      assign(before, *key, event.type == WatchEventType::kDeleted ? nullptr : event.object);
    }
  }
  std::vector<Change> changes;
  for (auto& [key, known] : before) {
    Stored now = find(key);
    if (now != known) changes.push_back({key, std::move(known), std::move(now)});
  }
  return changes;
}

Stored Informer::find(const api::ObjectKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

void Informer::relist(Before& before) {
  // Nothing is written between the listings, so one version holds for all of them.
  const uint64_t version = server_.resource_version();
  std::map<api::ObjectKey, Stored> vanished = objects_;
  for (const api::Kind kind : kinds_) {
    for (Stored& object : server_.list(kind).items) {
      const auto key = key_of(*object);
      CHECK(key);
      vanished.erase(*key);
      assign(before, *key, std::move(object));
    }
  }
  for (const auto& [key, object] : vanished) assign(before, key, nullptr);
  cursor_ = {kinds_, version};
  listed_ = true;
}

void Informer::assign(Before& before, const api::ObjectKey& key, Stored object) {
  const auto known = objects_.find(key);
  before.try_emplace(key, known == objects_.end() ? nullptr : known->second);
  if (object == nullptr) {
    if (known != objects_.end()) objects_.erase(known);
  } else if (known != objects_.end()) {
    known->second = std::move(object);
  } else {
    objects_.emplace(key, std::move(object));
  }
}

}  // namespace phalanx::sim
