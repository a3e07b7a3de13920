// Writes on their way. An object has at most one write under way at a time: until its result is
// known nobody decides anything about the object, because what the core knows of it is about to be
// old.
//
// This is what keeps decisions exact without locks: the un-gater, say, never counts a pod twice,
// because a pod whose gate is being removed is busy. A write whose fate is unknown, because the
// server could not be reached, is sent again as it was; with its preconditions that does no harm if
// it had arrived after all. A write that failed leaves the object alone until there is a newer
// version of it. One that the server refused is tried again even without, from time to time: what
// it was refused by (rights, quotas, webhooks of others) changes without the object, and a server
// that has just started knows no rights for a moment.
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
  struct Finished {
    Write write;
    std::vector<Notice> notices;  // to give if it was done
  };

  // `write.id` is set here. The object must not be busy.
  void submit(Write write, std::vector<Notice> notices = {});
  void notify(Notice notice) { notices_.push_back(std::move(notice)); }

  [[nodiscard]] bool busy(const api::ObjectKey& key) const { return busy_.contains(key); }
  // nullopt if the write is unknown (of an earlier life).
  std::optional<Finished> finish(WriteId id);
  // Whether it arrived is not known: it goes out once more, at this time.
  void send_again(WriteId id, Time at);
  // When the next of these is due, or somebody is to decide again.
  [[nodiscard]] std::optional<Time> next_attempt() const;

  // A write on this version of the object failed.
  void leave_alone(const api::ObjectKey& key, uint64_t version);
  // The server did not want it. Who asked for it, the object itself or the one that it was to be
  // made for, decides again later: after some seconds, and twice as long every time.
  void leave_alone_for_now(const Write& refused, Time now);
  [[nodiscard]] bool left_alone(const api::ObjectKey& key, uint64_t version) const;
  void forget(const api::ObjectKey& key);
  // Who is to decide again by now.
  std::vector<api::ObjectKey> take_due(Time now);

  // What is to be written now.
  std::vector<Write> take_writes(Time now);
  // Whatever names and values of others stand in their messages, a terminal can show them.
  std::vector<Notice> take_notices();
  [[nodiscard]] size_t under_way() const { return pending_.size(); }

 private:
  struct Failure {
    uint64_t version = 0;  // that was written on
    bool stands = true;    // false: it may be tried again, and what is left is the count
    int32_t refusals = 0;  // in a row
    // When it may be tried again, then when it is forgotten; nullopt: only a newer version ends it.
    std::optional<Time> due;
    api::ObjectKey asked_by;
  };

  uint32_t next_ = 0;
  std::map<WriteId, Finished> pending_;
  std::set<api::ObjectKey> busy_;
  std::vector<WriteId> fresh_;
  std::map<WriteId, Time> again_;
  std::map<api::ObjectKey, Failure> failures_;
  std::set<std::pair<Time, api::ObjectKey>> failures_by_time_;
  std::vector<Notice> notices_;
};

// Helpers that fill in preconditions.
Write merge_patch(const api::ObjectKey& key, const api::ObjectMeta& meta, json::object patch,
                  bool status = false);
// The patch that removes or adds our finalizer.
Write finalizer_patch(const api::ObjectKey& key, const api::ObjectMeta& meta, bool present);

}  // namespace phalanx::core
