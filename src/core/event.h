// What goes into the core and what comes out of it.
//
// In: objects seen or gone, the results of writes, and with every step what time it is. Out:
// writes, Kubernetes Events, decisions for the journal, and when to be called again at the latest.
//
// The host keeps two promises. Events of one object come in the order of its versions (older
// versions than the last are ignored, so a relist may repeat them). A successful write is answered
// with the object as it is now, before its WriteFinished; only of a deletion it may come later.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/strong_id.h"
#include "base/time.h"
#include "core/journal.h"
#include "core/object.h"

namespace phalanx::core {

using WriteId = StrongId<struct WriteTag>;

struct ObjectChanged {
  Object object;
};

struct ObjectDeleted {
  api::ObjectKey key;
  // Which one, as it was last; an object of the same name that is newer stays. Without them: any.
  std::string uid = {};
  uint64_t resource_version = 0;
};

// Everything there is of a kind, at one moment: what was known before and is not among it has gone
// unnoticed. For a host that lost sight of the server for too long; the objects come as events of
// their own.
struct Listed {
  api::Kind kind = api::Kind::kNode;
  uint64_t resource_version = 0;  // the moment: newer objects are not concerned
  std::set<api::ObjectKey> keys;
};

enum class WriteOutcome : uint8_t {
  kDone,
  kConflict,       // somebody else wrote first
  kNotFound,       // the object is gone
  kAlreadyExists,  // of a create
  kRefused,        // invalid or forbidden: trying the same again is of no use
  kUnavailable,    // the server could not be reached or was too busy: try again
};

struct WriteFinished {
  WriteId id;
  WriteOutcome outcome = WriteOutcome::kDone;
  std::string message;
  Duration retry_after = std::chrono::seconds(1);  // of kUnavailable
};

// Everything that exists has been told. Before this the core decides nothing.
struct Synced {};

using Event = std::variant<ObjectChanged, ObjectDeleted, Listed, WriteFinished, Synced>;

enum class Verb : uint8_t { kCreate, kMergePatch, kDelete };

struct Write {
  WriteId id;
  Verb verb = Verb::kMergePatch;
  api::ObjectKey key;
  bool status = false;  // through the status subresource
  json::value body;     // the document of a create, or the merge patch
  // Preconditions: the write must fail if the object is another one or has changed since.
  std::string uid;
  uint64_t resource_version = 0;
  std::optional<api::ObjectKey> owner = {};  // of what is created: who is told of a refusal
};

// A Kubernetes Event for people who look at an object.
struct Notice {
  api::ObjectKey about;
  std::string uid;
  bool warning = false;
  std::string reason;
  std::string message;
};

struct Output {
  std::vector<Write> writes;
  std::vector<Notice> notices;
  std::vector<std::string> journal;  // lines of JSON, without line ends
  std::optional<Time> wake_at;
  DecisionTally tally = {};  // the journal, counted
};

}  // namespace phalanx::core
