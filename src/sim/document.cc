#include "sim/document.h"

#include <charconv>
#include <memory>

namespace phalanx::sim {

std::optional<uint64_t> parse_unsigned(std::string_view text) {
  uint64_t number = 0;
  const char* begin = std::to_address(text.begin());
  const char* end = std::to_address(text.end());
  const auto [stop, code] = std::from_chars(begin, end, number);
  if (code != std::errc() || stop != end) return std::nullopt;
  return number;
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
