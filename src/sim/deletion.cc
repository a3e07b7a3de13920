#include "sim/deletion.h"

#include <algorithm>

#include "sim/document.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
constexpr std::string_view kOrphanFinalizer = "orphan";
constexpr int64_t kDefaultGraceSeconds = 30;

void set_propagation(Propagation propagation, json::value& object) {
  if (propagation == Propagation::kBackground) return;
  const std::string_view wanted =
      propagation == Propagation::kForeground ? kForegroundFinalizer : kOrphanFinalizer;
  const std::string_view other =
      propagation == Propagation::kForeground ? kOrphanFinalizer : kForegroundFinalizer;
  json::value& list = ensure_object(object, {"metadata"})["finalizers"];
  json::array& finalizers = list.is_array() ? list.get_array() : list.emplace_array();
  const auto gone = std::ranges::find(finalizers, json::value(other));
  if (gone != finalizers.end()) finalizers.erase(gone);
  if (std::ranges::find(finalizers, json::value(wanted)) == finalizers.end()) {
    finalizers.emplace_back(wanted);
  }
}

// How long the object stays after it is deleted.
int64_t grace_of(api::Kind kind, const DeleteOptions& options, const json::value& object) {
  if (kind != api::Kind::kPod) return 0;
  const std::string_view phase = string_at(object, {"status", "phase"});
  const bool ended = phase == "Succeeded" || phase == "Failed";
  // Without a kubelet there is nobody who would end it.
  if (ended || string_at(object, {"spec", "nodeName"}).empty()) return 0;
  const int64_t grace = options.grace_period_seconds.value_or(
      integer_at(object, {"spec", "terminationGracePeriodSeconds"}).value_or(kDefaultGraceSeconds));
  return grace < 0 ? 1 : grace;
}

void set_deletion(json::value& object, Time when, int64_t grace_seconds) {
  json::object& metadata = ensure_object(object, {"metadata"});
  metadata["deletionTimestamp"] = format_time(when);
  metadata["deletionGracePeriodSeconds"] = grace_seconds;
}

// The grace period runs from the first deletion; a later one can only shorten it.
void shorten_grace(const DeleteOptions& options, json::value& object) {
  const auto before = integer_at(object, {"metadata", "deletionGracePeriodSeconds"});
  if (!before || !options.grace_period_seconds) return;
  const int64_t after = std::max<int64_t>(*options.grace_period_seconds, 0);
  if (after >= *before) return;
  const auto end = parse_time(string_at(object, {"metadata", "deletionTimestamp"}));
  if (!end) return;
  set_deletion(object, *end - std::chrono::seconds(*before - after), after);
}

void mark_namespace(Time now, bool is_empty, json::value& object) {
  json::object& metadata = ensure_object(object, {"metadata"});
  if (!is_deleted(object)) {
    metadata["deletionTimestamp"] = format_time(now);
    ensure_object(object, {"status"})["phase"] = "Terminating";
  } else if (is_empty) {
    metadata["deletionGracePeriodSeconds"] = 0;
  }
}

}  // namespace

void mark_deleted(api::Kind kind, const DeleteOptions& options, Time now, bool namespace_is_empty,
                  json::value& object) {
  set_propagation(options.propagation, object);
  if (kind == api::Kind::kNamespace) {
    mark_namespace(now, namespace_is_empty, object);
  } else if (is_deleted(object)) {
    shorten_grace(options, object);
  } else {
    const int64_t grace = grace_of(kind, options, object);
    set_deletion(object, now + std::chrono::seconds(grace), grace);
  }
}

bool may_go(const json::value& object) {
  return is_deleted(object) && !has_finalizers(object) &&
         integer_at(object, {"metadata", "deletionGracePeriodSeconds"}) == 0;
}

}  // namespace phalanx::sim
