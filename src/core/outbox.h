// Writes on their way. An object has at most one write under way at a time: until its result is
// known nobody decides anything about the object, because what the core knows of it is about to be
// old.
//
// This is what keeps decisions exact without locks: the un-gater, say, never counts a pod twice,
// because a pod whose gate is being removed is busy.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/event.h"

namespace phalanx::core {

class Outbox {
 public:
  // `write.id` is set here. The object must not be busy.
  WriteId submit(Write write);
  void notify(Notice notice) { notices_.push_back(std::move(notice)); }

  [[nodiscard]] bool busy(const api::ObjectKey& key) const { return busy_.contains(key); }
  // The object whose write this was; nullopt if the write is unknown (of an earlier life).
  std::optional<api::ObjectKey> finish(WriteId id);

  std::vector<Write> take_writes() { return std::exchange(writes_, {}); }
  std::vector<Notice> take_notices() { return std::exchange(notices_, {}); }
  [[nodiscard]] size_t under_way() const { return pending_.size(); }

 private:
  uint32_t next_ = 0;
  std::map<WriteId, api::ObjectKey> pending_;
  std::set<api::ObjectKey> busy_;
  std::vector<Write> writes_;
  std::vector<Notice> notices_;
};

// Helpers that fill in preconditions.
Write merge_patch(const api::ObjectKey& key, const api::ObjectMeta& meta, json::object patch,
                  bool status = false);
// The patch that removes or adds our finalizer.
Write finalizer_patch(const api::ObjectKey& key, const api::ObjectMeta& meta, bool present);

}  // namespace phalanx::core
