// An API server in memory, with Kubernetes' semantics wherever a controller can tell the
// difference.
//
// Objects are JSON documents; fields that nobody here knows are kept, fields that are null are
// absent. A stored document is never changed, only replaced, so that readers may hold on to what
// they read.
//
// - metadata: uid, creationTimestamp, generation (grows with spec changes, and once with the
//   deletion), resourceVersion (one counter for all kinds, never reused), deletionTimestamp,
//   generateName
// - update and patch with a resourceVersion that is no longer current: Conflict. A write that
//   changes nothing does not change the resourceVersion, and no watcher hears of it
// - status is written through its subresource only (kinds that have one), everything else is not.
//   A new object has no status: whoever loads objects with one creates them, then writes the status
// - delete: with finalizers the object stays, with a deletionTimestamp, until the last is removed;
//   Foreground and Orphan are finalizers for the garbage collector. A bound pod stays until its
//   kubelet deletes it with a grace period of 0. A Namespace is Terminating until it is deleted
//   once more when it holds nothing
// - patches: JSON merge (RFC 7386), JSON (RFC 6902), server-side apply with managedFields
// - watch: from a resourceVersion, with bookmarks; history that was compacted answers Expired (410)
//
// How a client follows objects: it lists, sets a cursor to the listing's resource_version and reads
// until a read returns nothing; later it reads on. Bookmarks need no action. On Expired it lists
// again and compares with what it knew, because it cannot learn what it missed.
//
// What a built-in kind allows is in sim/kind_rules.h. Custom resources come in through a converter
// and hooks.
//
// Cost: a write costs its own object, a read what it returns; see sim/store.h.
//
// Not thread safe: one process, one thread, no hidden order. Uids come from the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/kind.h"
#include "base/json.h"
#include "base/random.h"
#include "sim/api_error.h"
#include "sim/clock.h"
#include "sim/cluster_state.h"
#include "sim/deletion.h"
#include "sim/store.h"

namespace phalanx::sim {

class ManagedFields;

enum class PatchType : uint8_t { kMerge, kJson, kApply };

struct WriteOptions {
  bool status = false;          // through the status subresource
  std::string field_manager{};  // for managedFields; required for kApply
  bool force = false;           // kApply: take fields over from other managers
  // Refuse fields that the kind does not have, as kubectl asks for. Otherwise hooks drop those of
  // custom resources, whose schemas they have, and those of built-in kinds are kept: components
  // write no others, and looking for them costs every write.
  bool strict_fields = false;
};

enum class Operation : uint8_t { kCreate, kUpdate, kDelete };

// What admission looks at. It may change or replace `object` (of a create or update), but not its
// name, or refuse.
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
  // Brings a document of another version of the kind to the stored one (api::KindInfo::version).
  using Converter = std::function<ApiResult<void>(api::Kind, json::value&)>;

  // With the namespaces "default" and "kube-system".
  ApiServer(const Clock& clock, uint64_t seed);
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Hooks run in the order they were added: first all mutating ones, then the kind's own rules,
  // then all validating ones. The defaults of the kind are there before the first hook, and are
  // filled in again after the last mutating one. Not for writes of the status subresource unless
  // `for_status`. Deletions run the validating hooks only.
  void add_mutating_hook(AdmissionHook hook, bool for_status = false);
  void add_validating_hook(AdmissionHook hook, bool for_status = false);
  // Without one, documents of older versions are refused.
  void set_converter(Converter converter);

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
  [[nodiscard]] Listing list(api::Kind kind, const std::string& namespace_name) const;
  [[nodiscard]] uint64_t resource_version() const;
  [[nodiscard]] const Clock& clock() const;

  // The next events after the cursor's position, at most `at_most`, and moves it. A cursor that has
  // read everything gets a bookmark if one is due, else nothing.
  ApiResult<std::vector<WatchEvent>> read(WatchCursor& cursor, size_t at_most = 1000);
  // Forgets history up to this version: cursors before it get Expired and must list again.
  void compact(uint64_t up_to);
  // Events kept by itself; older ones are compacted.
  void set_history_limit(size_t events);

  // Everything that is to be saved (sim/state_folder.h). Cheap: documents are shared, not copied.
  [[nodiscard]] ClusterState state() const;
  // Becomes the cluster that was saved. The clock, which the server only reads, must be at its
  // time; the history begins empty. Hooks and converter stay.
  void restore(ClusterState state);

 private:
  struct Hook {
    AdmissionHook run;
    bool for_status = false;
  };

  ApiResult<api::Kind> identify(json::value& document) const;
  ApiResult<void> check_namespace(const api::ObjectKey& key) const;
  ApiResult<void> choose_name(api::Kind kind, json::value& document);
  ApiResult<void> admit(const api::ObjectKey& key, const json::value* old_object,
                        json::value& object, const WriteOptions& options);
  static ApiResult<void> run_hooks(const std::vector<Hook>& hooks, AdmissionRequest& request);
  ApiResult<Stored> insert(json::value document, const WriteOptions& options, bool apply);
  // Replaces `old` by what a client wants to have there instead; `applied`: who owns what after an
  // apply.
  ApiResult<Stored> replace(const api::ObjectKey& key, const Stored& old, json::value document,
                            const WriteOptions& options, const ManagedFields* applied);
  ApiResult<Stored> apply(const api::ObjectKey& key, json::value document,
                          const WriteOptions& options);
  // Stores a document that was found good; removes it if it was only waiting for this.
  Stored commit(const api::ObjectKey& key, json::value document);
  void erase(const api::ObjectKey& key, json::value last);
  std::string new_uid();

  const Clock& clock_;
  Random random_;
  Store store_;
  Converter converter_;
  std::vector<Hook> mutating_;
  std::vector<Hook> validating_;
};

}  // namespace phalanx::sim
