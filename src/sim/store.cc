#include "sim/store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "sim/document.h"

namespace phalanx::sim {
namespace {

// Old versions of objects stay in memory as long as their events: a few kilobytes each.
constexpr size_t kDefaultHistoryLimit = 100'000;

// A reader whose kinds are quiet is told how far the history is after this many other events, so
// that its place does not fall out of the history.
constexpr uint64_t kBookmarkInterval = 1'000;

}  // namespace

Store::Store() : versions_by_kind_(api::all_kinds().size()), history_limit_(kDefaultHistoryLimit) {}

Stored Store::find(const api::ObjectKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

Listing Store::list(api::Kind kind) const {
  Listing listing{{}, version_};
  for (auto each = objects_.lower_bound({kind, "", ""});
       each != objects_.end() && each->first.kind == kind; ++each) {
    listing.items.push_back(each->second);
  }
  return listing;
}

Listing Store::list(api::Kind kind, const std::string& namespace_name) const {
  Listing listing{{}, version_};
  for (auto each = objects_.lower_bound({kind, namespace_name, ""});
       each != objects_.end() && each->first.kind == kind &&
       each->first.namespace_ == namespace_name;
       ++each) {
    listing.items.push_back(each->second);
  }
  return listing;
}

bool Store::any_in(const std::string& namespace_name) const {
  return std::ranges::any_of(api::all_kinds(), [&](const api::KindInfo& about) {
    if (!about.namespaced) return false;
    const auto first = objects_.lower_bound({about.kind, namespace_name, ""});
    return first != objects_.end() && first->first.kind == about.kind &&
           first->first.namespace_ == namespace_name;
  });
}

void Store::put(const api::ObjectKey& key, Stored object) {
  CHECK(resource_version_of(*object) == next_version());
  const auto [place, is_new] = objects_.insert_or_assign(key, object);
  record({is_new ? WatchEventType::kAdded : WatchEventType::kModified, key.kind, std::move(object),
          next_version()});
}

void Store::erase(const api::ObjectKey& key, Stored last) {
  CHECK(resource_version_of(*last) == next_version());
  CHECK(objects_.erase(key) == 1);
  record({WatchEventType::kDeleted, key.kind, std::move(last), next_version()});
}

void Store::record(WatchEvent event) {
  version_ = event.resource_version;
  versions_by_kind_[static_cast<size_t>(event.kind)].push_back(version_);
  events_.push_back(std::move(event));
  if (events_.size() > history_limit_) compact(version_ - history_limit_);
}

const WatchEvent& Store::event(uint64_t version) const {
  CHECK(version > compacted_ && version <= version_);
  return events_[version - compacted_ - 1];
}

std::vector<WatchEvent> Store::events_of_kinds(const WatchCursor& cursor, size_t at_most) const {
  // The unread versions of each kind; the least of their fronts is the next event.
  using Place = std::deque<uint64_t>::const_iterator;
  std::vector<std::pair<Place, Place>> unread;
  for (const api::KindInfo& about : api::all_kinds()) {
    const bool wanted =
        cursor.kinds.empty() || std::ranges::find(cursor.kinds, about.kind) != cursor.kinds.end();
    if (!wanted) continue;
    const auto& versions = versions_by_kind_[static_cast<size_t>(about.kind)];
    const auto next = std::ranges::upper_bound(versions, cursor.position);
    if (next != versions.end()) unread.emplace_back(next, versions.end());
  }
  std::vector<WatchEvent> events;
  while (events.size() < at_most && !unread.empty()) {
    const auto least = std::ranges::min_element(
        unread, {}, [](const std::pair<Place, Place>& each) { return *each.first; });
    events.push_back(event(*least->first));
    if (++least->first == least->second) unread.erase(least);
  }
  return events;
}

ApiResult<std::vector<WatchEvent>> Store::read(WatchCursor& cursor, size_t at_most) const {
  if (cursor.position < compacted_) {
    return std::unexpected(ApiError{
        410, "Expired",
        fmt::format("the history after version {} is no longer known, it begins after {}; list "
                    "again and watch from the version of the listing",
                    cursor.position, compacted_)});
  }
  if (cursor.position > version_) {
    return std::unexpected(ApiError{
        504, "Timeout",
        fmt::format("version {} lies in the future, the latest is {}; list again and watch from "
                    "the version of the listing",
                    cursor.position, version_)});
  }
  std::vector<WatchEvent> events = events_of_kinds(cursor, at_most);
  // With a short history the bookmark must come sooner to be of use.
  const uint64_t interval = std::min<uint64_t>(kBookmarkInterval, history_limit_ / 2 + 1);
  if (events.empty() && at_most > 0 && version_ - cursor.position >= interval) {
    const api::Kind kind = cursor.kinds.empty() ? api::Kind::kNamespace : cursor.kinds.front();
    events.push_back({WatchEventType::kBookmark, kind, nullptr, version_});
  }
  if (!events.empty()) cursor.position = events.back().resource_version;
  return events;
}

void Store::compact(uint64_t up_to) {
  up_to = std::min(up_to, version_);
  for (; compacted_ < up_to; ++compacted_) {
    // What is first in the history is first of its kind, too.
    versions_by_kind_[static_cast<size_t>(events_.front().kind)].pop_front();
    events_.pop_front();
  }
}

void Store::set_history_limit(size_t events) {
  history_limit_ = events;
  if (events_.size() > history_limit_) compact(version_ - history_limit_);
}

void Store::restore(std::map<api::ObjectKey, Stored> objects, uint64_t version) {
  objects_ = std::move(objects);
  events_.clear();
  for (auto& versions : versions_by_kind_) versions.clear();
  version_ = version;
  compacted_ = version;
}

}  // namespace phalanx::sim
