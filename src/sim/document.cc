#include "sim/document.h"

#include <charconv>
#include <memory>

namespace phalanx::sim {

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

std::optional<uint64_t> parse_unsigned(std::string_view text) {
  uint64_t number = 0;
  const char* begin = std::to_address(text.begin());
  const char* end = std::to_address(text.end());
  const auto [stop, code] = std::from_chars(begin, end, number);
  if (code != std::errc() || stop != end) return std::nullopt;
  return number;
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
  return b != nullptr && *a == *b;
}

void drop_nulls(json::value& document) {
  if (json::array* array = document.if_array()) {
    for (json::value& element : *array) drop_nulls(element);
    return;
  }
  json::object* object = document.if_object();
  if (object == nullptr) return;
  for (auto field = object->begin(); field != object->end();) {
    if (field->value().is_null()) {
      field = object->stable_erase(field);
    } else {
      drop_nulls(field->value());
      ++field;
    }
  }
}

std::string_view uid_of(const json::value& document) {
  return string_at(document, {"metadata", "uid"});
}

uint64_t resource_version_of(const json::value& document) {
  return parse_unsigned(string_at(document, {"metadata", "resourceVersion"})).value_or(0);
}

bool is_deleted(const json::value& document) {
  return find_at(document, {"metadata", "deletionTimestamp"}) != nullptr;
}

bool has_finalizers(const json::value& document) {
  const json::array* finalizers = array_at(document, {"metadata", "finalizers"});
  return finalizers != nullptr && !finalizers->empty();
}

api::ObjectKey key_of(api::Kind kind, const json::value& document) {
  return {kind, std::string(string_at(document, {"metadata", "namespace"})),
          std::string(string_at(document, {"metadata", "name"}))};
}

const json::object* find_condition(const json::value& document, std::string_view type) {
  const json::array* conditions = array_at(document, {"status", "conditions"});
  if (conditions == nullptr) return nullptr;
  for (const json::value& condition : *conditions) {
    const json::object* object = condition.if_object();
    if (object != nullptr && string_field(*object, "type") == type) return object;
  }
  return nullptr;
}

bool condition_is_true(const json::value& document, std::string_view type) {
  const json::object* condition = find_condition(document, type);
  return condition != nullptr && string_field(*condition, "status") == "True";
}

void set_condition(json::value& document, const Condition& condition, std::string_view now) {
  json::value& list = ensure_object(document, {"status"})["conditions"];
  json::array& conditions = list.is_array() ? list.get_array() : list.emplace_array();
  json::object* entry = nullptr;
  for (json::value& each : conditions) {
    json::object* object = each.if_object();
    if (object != nullptr && string_field(*object, "type") == condition.type) entry = object;
  }
  if (entry == nullptr) {
    entry = &conditions.emplace_back(json::object{{"type", condition.type}}).get_object();
  }
  if (string_field(*entry, "status") != condition.status) {
    (*entry)["status"] = condition.status;
    (*entry)["lastTransitionTime"] = now;
  }
  const auto set_text = [&](std::string_view name, std::string_view text) {
    if (text.empty()) {
      entry->stable_erase(name);
    } else {
      (*entry)[name] = text;
    }
  };
  set_text("reason", condition.reason);
  set_text("message", condition.message);
}

}  // namespace phalanx::sim
