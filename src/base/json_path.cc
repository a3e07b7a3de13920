#include "base/json_path.h"

#include <algorithm>
#include <utility>

namespace phalanx {
namespace {

// Not the == of Boost.JSON: that copies every field of an object to compare it, and so the whole
// document once for each of its levels.
bool equal_values(const json::value& a, const json::value& b) {
  if (a.is_object() && b.is_object()) {
    const json::object& others = b.get_object();
    return a.get_object().size() == others.size() &&
           std::ranges::all_of(a.get_object(), [&](const auto& field) {
             const json::value* other = others.if_contains(field.key());
             return other != nullptr && equal_values(field.value(), *other);
           });
  }
  if (a.is_array() && b.is_array()) {
    return std::ranges::equal(a.get_array(), b.get_array(), equal_values);
  }
  return a == b;
}

}  // namespace

const json::value* find_field(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const json::value* find_at(const json::value& document, FieldPath path) {
  const json::value* value = &document;
  for (const std::string_view name : path) {
    const json::object* object = value->if_object();
    if (object == nullptr) return nullptr;
    value = find_field(*object, name);
    if (value == nullptr) return nullptr;
  }
  return value;
}

json::value* find_at(json::value& document, FieldPath path) {
  return const_cast<json::value*>(find_at(std::as_const(document), path));
}

const json::object* object_at(const json::value& document, FieldPath path) {
  const json::value* value = find_at(document, path);
  return value == nullptr ? nullptr : value->if_object();
}

json::object* object_at(json::value& document, FieldPath path) {
  json::value* value = find_at(document, path);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* array_at(const json::value& document, FieldPath path) {
  const json::value* value = find_at(document, path);
  return value == nullptr ? nullptr : value->if_array();
}

json::array* array_at(json::value& document, FieldPath path) {
  json::value* value = find_at(document, path);
  return value == nullptr ? nullptr : value->if_array();
}

std::string_view string_at(const json::value& document, FieldPath path) {
  const json::value* value = find_at(document, path);
  if (value == nullptr || !value->is_string()) return "";
  return {value->get_string().data(), value->get_string().size()};
}

std::optional<int64_t> integer_at(const json::value& document, FieldPath path) {
  const json::value* value = find_at(document, path);
  if (value == nullptr) return std::nullopt;
  json::error_code code;
  const auto number = value->to_number<int64_t>(code);
  if (code) return std::nullopt;
  return number;
}

bool true_at(const json::value& document, FieldPath path) {
  const json::value* value = find_at(document, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::string_view string_field(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return "";
  return {value->get_string().data(), value->get_string().size()};
}

json::object& ensure_object(json::value& document, FieldPath path) {
  json::value* value = &document;
  if (!value->is_object()) value->emplace_object();
  for (const std::string_view name : path) {
    value = &value->get_object()[name];
    if (!value->is_object()) value->emplace_object();
  }
  return value->get_object();
}

void erase_at(json::value& document, FieldPath path) {
  json::value* value = &document;
  for (const std::string_view* name = path.begin(); name != path.end(); ++name) {
    json::object* object = value->if_object();
    if (object == nullptr) return;
    if (name + 1 == path.end()) {
      object->stable_erase(*name);
      return;
    }
    value = object->if_contains(*name);
    if (value == nullptr) return;
  }
}

void set_or_erase(json::object& object, std::string_view name, const json::value* value) {
  if (value == nullptr) {
    object.stable_erase(name);
  } else {
    object[name] = *value;
  }
}

bool same_value(const json::value* a, const json::value* b) {
  if (a == nullptr || a->is_null()) return b == nullptr || b->is_null();
  return b != nullptr && equal_values(*a, *b);
}

void drop_nulls(json::value& document) {
  if (json::array* array = document.if_array()) {
    for (json::value& element : *array) drop_nulls(element);
    return;
  }
  json::object* object = document.if_object();
  if (object == nullptr) return;
  keep_fields(*object, [](const auto& field) { return !field.value().is_null(); });
  for (auto& field : *object) drop_nulls(field.value());
}

size_t count_values(const json::value& document) {
  size_t count = 1;
  if (const json::array* array = document.if_array()) {
    for (const json::value& element : *array) count += count_values(element);
  } else if (const json::object* object = document.if_object()) {
    for (const auto& field : *object) count += count_values(field.value());
  }
  return count;
}

size_t depth_of(const json::value& document) {
  size_t inside = 0;
  if (const json::array* array = document.if_array()) {
    for (const json::value& element : *array) inside = std::max(inside, depth_of(element));
  } else if (const json::object* object = document.if_object()) {
    for (const auto& field : *object) inside = std::max(inside, depth_of(field.value()));
  } else {
    return 0;
  }
  return inside + 1;
}

}  // namespace phalanx
