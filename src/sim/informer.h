// What one actor knows of the objects of some kinds: lists them once, then follows the watch, and
// lists again when the history it needs is gone.
//
// Changes are handed out per object, with what the actor knew before and what is so now, however
// many events lay between. An actor that keeps sums by the difference of both is therefore right
// after any sequence of events and after every new listing.
//
// Cost: polling costs the events read; a listing costs the objects of the kinds. Documents are
// shared with the API server, not copied.
#pragma once

#include <map>
#include <vector>

#include "sim/api_server.h"

namespace phalanx::sim {

struct Change {
  api::ObjectKey key;
  Stored before;  // nullptr: was not known
  Stored after;   // nullptr: is gone. Another uid than before: was deleted and made anew
};

class Informer {
 public:
  // Without kinds: all of them.
  Informer(ApiServer& server, std::vector<api::Kind> kinds);

  // Reads up to the present. Each changed object once, by kind, namespace and name; the first time,
  // all objects.
  std::vector<Change> poll();

  // As of the last poll.
  [[nodiscard]] const std::map<api::ObjectKey, Stored>& objects() const { return objects_; }
  [[nodiscard]] Stored find(const api::ObjectKey& key) const;

 private:
  // What was known of each object that was touched since the last poll began.
  using Before = std::map<api::ObjectKey, Stored>;

  void relist(Before& before);
  void assign(Before& before, const api::ObjectKey& key, Stored object);

  ApiServer& server_;
  std::vector<api::Kind> kinds_;
  WatchCursor cursor_;
  bool listed_ = false;
  std::map<api::ObjectKey, Stored> objects_;
};

}  // namespace phalanx::sim
