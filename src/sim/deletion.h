// Deletion as a change of the object: what it looks like while it waits for its finalizers or, a
// pod, for its kubelet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/kind.h"
#include "base/json.h"
#include "base/time.h"

namespace phalanx::sim {

enum class Propagation : uint8_t { kBackground, kForeground, kOrphan };

struct DeleteOptions {
  std::string uid{};              // precondition; empty: none
  uint64_t resource_version = 0;  // precondition; 0: none
  // Foreground and Orphan leave a finalizer for the garbage collector. Background leaves what an
  // earlier deletion asked for.
  Propagation propagation = Propagation::kBackground;
  // Pods: how long they have to end; nullopt: the pod's own terminationGracePeriodSeconds. With 0
  // the object goes at once.
  std::optional<int64_t> grace_period_seconds{};
};

// Marks the object as the deletion asks: deletionTimestamp, deletionGracePeriodSeconds, finalizers.
// A bound pod that has not ended gets its grace period, which a second deletion can only shorten. A
// Namespace is Terminating until a deletion finds it empty (`namespace_is_empty`).
void mark_deleted(api::Kind kind, const DeleteOptions& options, Time now, bool namespace_is_empty,
                  json::value& object);

// Whether nothing holds a deleted object any more: no finalizer and no grace period.
bool may_go(const json::value& object);

}  // namespace phalanx::sim
