// An API server in memory, with Kubernetes' semantics wherever a controller can tell the
// difference.
//
// Objects are JSON documents; fields that nobody here knows are kept. A stored document is never
// changed, only replaced, so that readers may hold on to what they read.
//
// - metadata: uid, creationTimestamp, generation (grows with spec changes only), resourceVersion
// (one
//   counter for all kinds, never reused), deletionTimestamp, generateName
// - update and patch with a resourceVersion that is no longer current: Conflict. A write that
// changes
//   nothing does not change the resourceVersion, and no watcher hears of it
// - status is written through its subresource only (kinds that have one), everything else is not
// - delete: with finalizers the object stays, with a deletionTimestamp, until the last is removed;
//   Foreground and Orphan are finalizers for the garbage collector (sim/garbage_collector.h)
// - patches: JSON merge (RFC 7386), JSON (RFC 6902), server-side apply with managedFields
// - watch: from a resourceVersion, with bookmarks; history that was compacted answers Expired (410)
//
// What a kind allows is in its Rules (sim/kind_rules.h), run as admission and validation.
//
// Not thread safe: one process, one thread, no hidden order. Uids come from the seed.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/kind.h"
#include "base/json.h"
#include "base/random.h"
#include "sim/clock.h"

namespace phalanx::sim {

using Stored = std::shared_ptr<const json::value>;

// A refusal, as metav1.Status has it.
struct ApiError {
  int code = 0;        // 400, 403, 404, 409, 410, 422
  std::string reason;  // BadRequest, Forbidden, NotFound, AlreadyExists, Conflict, Expired, Invalid
  std::string message;  // names the object, the field and what to do
};
template <typename T>
using ApiResult = std::expected<T, ApiError>;

enum class PatchType : uint8_t { kMerge, kJson, kApply };

struct WriteOptions {
  bool status = false;        // through the status subresource
  std::string field_manager;  // for managedFields; required for kApply
  bool force = false;         // kApply: take fields over from other managers
  // Refuse fields that the kind does not have, as kubectl asks for; otherwise they are dropped
  // where the kind has a schema.
  bool strict_fields = false;
};

enum class Propagation : uint8_t { kBackground, kForeground, kOrphan };

struct DeleteOptions {
  std::string uid;                // precondition; empty: none
  uint64_t resource_version = 0;  // precondition; 0: none
  Propagation propagation = Propagation::kBackground;
  // Pods: how long they have to end; nullopt: the pod's own terminationGracePeriodSeconds. With 0
  // the object goes at once.
  std::optional<int64_t> grace_period_seconds;
};

enum class WatchEventType : uint8_t { kAdded, kModified, kDeleted, kBookmark };

struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  api::Kind kind = api::Kind::kNode;
  Stored
      object;  // as it is now; of a deleted one: as it was last, with the version of the deletion
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

enum class Operation : uint8_t { kCreate, kUpdate, kDelete };

// What admission looks at. It may change `object` (of a create or update), or refuse.
struct AdmissionRequest {
  Operation operation = Operation::kCreate;
  api::Kind kind = api::Kind::kNode;
  bool status = false;
  const json::value* old_object = nullptr;  // update and delete
  json::value* object = nullptr;            // create and update
  bool strict_fields = false;
};

class ApiServer {
 public:
  using AdmissionHook = std::function<ApiResult<void>(AdmissionRequest&)>;

  ApiServer(const Clock& clock, uint64_t seed);
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Hooks run in the order they were added: first all mutating ones, then the kind's own rules,
  // then all validating ones. Not for writes of the status subresource unless `for_status`.
  void add_mutating_hook(AdmissionHook hook);
  void add_validating_hook(AdmissionHook hook, bool for_status = false);

  // Documents name their kind by apiVersion and kind; older versions are converted first. A
  // namespace that does not exist is refused.
  ApiResult<Stored> create(json::value document, const WriteOptions& options = {});
  ApiResult<Stored> update(json::value document, const WriteOptions& options = {});
  // kApply creates what does not exist.
  ApiResult<Stored> patch(const api::ObjectKey& key, PatchType type, const json::value& patch,
                          const WriteOptions& options = {});
  ApiResult<void> remove(const api::ObjectKey& key, const DeleteOptions& options = {});
  // The pods/binding subresource: gives an unbound pod its node.
  ApiResult<void> bind(const api::ObjectKey& pod, const std::string& node_name);

  // nullptr if there is none.
  [[nodiscard]] Stored get(const api::ObjectKey& key) const;
  [[nodiscard]] Listing list(api::Kind kind) const;
  [[nodiscard]] Listing list(api::Kind kind, const std::string& namespace_) const;
  [[nodiscard]] uint64_t resource_version() const;
  [[nodiscard]] const Clock& clock() const;

  // The next events after the cursor's position, at most `at_most`, and moves it. A cursor that has
  // read everything gets a bookmark if one is due, else nothing.
  ApiResult<std::vector<WatchEvent>> read(WatchCursor& cursor, size_t at_most = 1000);
  // Forgets history up to this version: cursors before it get Expired and must list again.
  void compact(uint64_t up_to);
  // Events kept by itself; older ones are compacted.
  void set_history_limit(size_t events);

 private:
  // To be filled in by the implementation.
};

}  // namespace phalanx::sim
