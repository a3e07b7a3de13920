// Looking into and changing Kubernetes objects as JSON documents, beside what any document allows
// (base/json_path.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/kind.h"
#include "base/json_path.h"

namespace phalanx::sim {

// A whole number in decimal digits and nothing else.
std::optional<uint64_t> parse_unsigned(std::string_view text);

// The metadata everybody asks for.
std::string_view uid_of(const json::value& document);
uint64_t resource_version_of(const json::value& document);  // 0 if there is none
bool is_deleted(const json::value& document);               // has a deletionTimestamp
bool has_finalizers(const json::value& document);
api::ObjectKey key_of(api::Kind kind, const json::value& document);

// The condition of this type in status.conditions, or nullptr.
const json::object* find_condition(const json::value& document, std::string_view type);
bool condition_is_true(const json::value& document, std::string_view type);
// Sets a condition in status.conditions; lastTransitionTime moves only when the status changes.
struct Condition {
  std::string_view type;
  std::string_view status;  // True, False, Unknown
  std::string_view reason;
  std::string_view message;
};
void set_condition(json::value& document, const Condition& condition, std::string_view now);

}  // namespace phalanx::sim
