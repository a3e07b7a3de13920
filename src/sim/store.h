// The objects of the embedded cluster and the history of their changes.
//
// Objects are immutable documents by (kind, namespace, name). Every change takes the next number of
// one counter and leaves exactly one event, so that the history is an unbroken run of versions from
// the compacted one to the latest. Cost: a change is one look-up in a map; a read of the history
// costs the events it returns (a list of versions per kind finds them), however long the history
// is.
//
// What may be written is not decided here (sim/api_server.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/kind.h"
#include "base/json.h"
#include "sim/api_error.h"

namespace phalanx::sim {

using Stored = std::shared_ptr<const json::value>;

enum class WatchEventType : uint8_t { kAdded, kModified, kDeleted, kBookmark };

struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  api::Kind kind = api::Kind::kNode;
  // As it is since this event; of a deleted one: as it was last, with the version of the deletion.
  // A bookmark has none (nullptr), it only says how far the history is known.
  Stored object;
  uint64_t resource_version = 0;
};

struct Listing {
  std::vector<Stored> items;  // by namespace, then name
  uint64_t resource_version = 0;
};

// One reader's place in the history.
struct WatchCursor {
  std::vector<api::Kind> kinds;  // empty: all
  uint64_t position = 0;         // resourceVersion up to which it has read
};

class Store {
 public:
  Store();

  [[nodiscard]] Stored find(const api::ObjectKey& key) const;
  [[nodiscard]] Listing list(api::Kind kind) const;
  [[nodiscard]] Listing list(api::Kind kind, const std::string& namespace_name) const;
  // Whether any object of any kind is in the namespace.
  [[nodiscard]] bool any_in(const std::string& namespace_name) const;
  [[nodiscard]] const std::map<api::ObjectKey, Stored>& objects() const { return objects_; }

  [[nodiscard]] uint64_t version() const { return version_; }
  // The version that the next change has; a document that is put or erased says it already.
  [[nodiscard]] uint64_t next_version() const { return version_ + 1; }

  void put(const api::ObjectKey& key, Stored object);
  // `last` is what watchers are told of the object.
  void erase(const api::ObjectKey& key, Stored last);

  [[nodiscard]] ApiResult<std::vector<WatchEvent>> read(WatchCursor& cursor, size_t at_most) const;
  void compact(uint64_t up_to);
  void set_history_limit(size_t events);

  // Replaces everything; the history starts empty at this version.
  void restore(std::map<api::ObjectKey, Stored> objects, uint64_t version);

 private:
  void record(WatchEvent event);
  [[nodiscard]] std::vector<WatchEvent> events_of_kinds(const WatchCursor& cursor,
                                                        size_t at_most) const;
  [[nodiscard]] const WatchEvent& event(uint64_t version) const;

  std::map<api::ObjectKey, Stored> objects_;
  uint64_t version_ = 0;
  uint64_t compacted_ = 0;         // the history holds the versions after this one
  std::deque<WatchEvent> events_;  // of the versions compacted_ + 1 to version_
  std::vector<std::deque<uint64_t>> versions_by_kind_;
  size_t history_limit_;
};

}  // namespace phalanx::sim
