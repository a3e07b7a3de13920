// Looking into and changing Kubernetes objects as JSON documents, without ever meeting an exception
// of the JSON library: what is absent, null or of another type than asked for reads as nothing.
//
// Paths are lists of field names from the root: {"metadata", "name"}.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "api/kind.h"
#include "base/json.h"

namespace phalanx::sim {

using FieldPath = std::initializer_list<std::string_view>;

// The value at the path; nullptr if it is absent or null, or a step is no object.
const json::value* find_at(const json::value& document, FieldPath path);
json::value* find_at(json::value& document, FieldPath path);

// The field of an object; nullptr if it is absent or null.
const json::value* find_field(const json::object& object, std::string_view name);

const json::object* object_at(const json::value& document, FieldPath path);
json::object* object_at(json::value& document, FieldPath path);
const json::array* array_at(const json::value& document, FieldPath path);
json::array* array_at(json::value& document, FieldPath path);
// "" if it is no string.
std::string_view string_at(const json::value& document, FieldPath path);
std::optional<int64_t> integer_at(const json::value& document, FieldPath path);
bool true_at(const json::value& document, FieldPath path);

// A whole number in decimal digits and nothing else.
std::optional<uint64_t> parse_unsigned(std::string_view text);

std::string_view string_field(const json::object& object, std::string_view name);

// The object at the path; what is absent on the way, null or no object is made an empty object.
json::object& ensure_object(json::value& document, FieldPath path);

// Removes the field at the path, keeping the order of the others.
void erase_at(json::value& document, FieldPath path);

// Sets the value of an optional field: nullptr removes it.
void set_or_erase(json::object& object, std::string_view name, const json::value* value);

// Whether both are the same, where absent and null (nullptr) are.
bool same_value(const json::value* a, const json::value* b);

// Fields that are null are removed, at any depth: to Kubernetes they are absent. Elements of lists
// stay.
void drop_nulls(json::value& document);

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
