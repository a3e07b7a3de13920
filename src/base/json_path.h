// Looking into and changing JSON documents without ever meeting an exception of the JSON library:
// what is absent, null or of another type than asked for reads as nothing.
//
// Paths are lists of field names from the root: {"metadata", "name"}. Whoever wants to be told what
// is wrong with a document uses JsonReader (base/json.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace phalanx {

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

std::string_view string_field(const json::object& object, std::string_view name);

// The object at the path; what is absent on the way, null or no object is made an empty object.
json::object& ensure_object(json::value& document, FieldPath path);

// Removes the fields for which keep(field) is false; the others stay in their order. In one pass:
// to erase them one by one costs the square of their number, and that may be a stranger's to
// choose.
template <typename Keep>
void keep_fields(json::object& object, Keep keep) {
  if (std::ranges::all_of(object, keep)) return;
  json::object kept(object.storage());
  for (auto& field : object) {
    if (keep(std::as_const(field))) kept.emplace(field.key(), std::move(field.value()));
  }
  object = std::move(kept);
}

// Removes the field at the path, keeping the order of the others.
void erase_at(json::value& document, FieldPath path);

// Sets the value of an optional field: nullptr removes it.
void set_or_erase(json::object& object, std::string_view name, const json::value* value);

// Whether both are the same, where absent and null (nullptr) are.
bool same_value(const json::value* a, const json::value* b);

// How many values a document is made of, itself among them.
size_t count_values(const json::value& document);
// How many objects and lists stand inside each other, itself among them; 0 of a number.
size_t depth_of(const json::value& document);

// Fields that are null are removed, at any depth: to Kubernetes they are absent. Elements of lists
// stay.
void drop_nulls(json::value& document);

}  // namespace phalanx
