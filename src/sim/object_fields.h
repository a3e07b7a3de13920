// What the actors of the embedded cluster read of documents and write to them, beyond the plain
// fields of sim/document.h: times, owners, finalizers, statuses.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "base/json.h"
#include "base/time.h"
#include "sim/api_server.h"
#include "sim/document.h"

namespace phalanx::sim {

// The text of a field, or `fallback` if it is no text.
std::string_view text_or(const json::value& document, FieldPath path, std::string_view fallback);
std::optional<Time> time_field(const json::value& document, FieldPath path);
std::span<const json::value> list_field(const json::value& document, FieldPath path);

std::string_view annotation_of(const json::value& document, std::string_view name);
// The duration in an annotation; nullopt if there is none or if it cannot be read.
std::optional<Duration> duration_annotation(const json::value& document, std::string_view name);
// When it was deleted: deletionTimestamp says when its grace period is over.
std::optional<Time> deleted_at(const json::value& document);
bool has_finalizer(const json::value& document, std::string_view name);
// nullopt for documents of kinds that nobody here knows.
std::optional<api::ObjectKey> key_of(const json::value& document);

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool blocks_deletion = false;
};
std::vector<OwnerReference> owners_of(const json::value& document);
// The owner that has controller: true.
std::optional<OwnerReference> controller_of(const json::value& document);

// Whether a pod has ended: Succeeded or Failed.
bool is_terminal(const json::value& pod);

// Adds or changes a condition of a status object. lastTransitionTime moves only with the status.
void set_condition(json::object& status, const Condition& condition, Time now);

// A copy of the status to change and hand to write_status.
json::object status_of(const json::value& document);
// Nothing is written if the status is what the document already has. A document that is no longer
// current is a Conflict: its change will be heard of, and the caller decides again.
ApiResult<void> write_status(ApiServer& server, const json::value& document, json::object status);
// Leaves the object without the finalizer; nothing is written if it has none.
ApiResult<void> remove_finalizer(ApiServer& server, const json::value& document,
                                 std::string_view name);
// A merge patch of metadata that holds only for the document's version.
ApiResult<void> patch_metadata(ApiServer& server, const json::value& document,
                               json::object metadata);

// When something began that the API server dates by the second. Seen within that second it began
// now, as far as anybody can tell; later, when it says. So waiting is exact to the millisecond, and
// an actor that was restarted goes on from what was written.
Time began_at(std::optional<Time> written, Time now);

}  // namespace phalanx::sim
