#include "sim/object_fields.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace phalanx::sim {
namespace {

std::string_view as_text(const json::value* value, std::string_view fallback = "") {
  if (value == nullptr || !value->is_string()) return fallback;
  const json::string& text = value->get_string();
  return {text.data(), text.size()};
}

}  // namespace

const json::value* find_field(const json::value& document, FieldPath path) {
  const json::value* value = &document;
  for (const std::string_view name : path) {
    const json::object* object = value->if_object();
    value = object == nullptr ? nullptr : object->if_contains(name);
    if (value == nullptr || value->is_null()) return nullptr;
  }
  return value;
}

std::string_view text_field(const json::value& document, FieldPath path,
                            std::string_view fallback) {
  return as_text(find_field(document, path), fallback);
}

std::optional<int64_t> integer_field(const json::value& document, FieldPath path) {
  const json::value* value = find_field(document, path);
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return std::numeric_limits<int64_t>::max();  // only what is larger
  return std::nullopt;
}

bool boolean_field(const json::value& document, FieldPath path, bool fallback) {
  const json::value* value = find_field(document, path);
  return value != nullptr && value->is_bool() ? value->get_bool() : fallback;
}

std::optional<Time> time_field(const json::value& document, FieldPath path) {
  const std::string_view text = text_field(document, path);
  if (text.empty()) return std::nullopt;
  const auto time = parse_time(text);
  return time ? std::optional(*time) : std::nullopt;
}

std::span<const json::value> list_field(const json::value& document, FieldPath path) {
  const json::value* value = find_field(document, path);
  if (value == nullptr || !value->is_array()) return {};
  const json::array& list = value->get_array();
  return {list.data(), list.size()};
}

std::string_view uid_of(const json::value& document) {
  return text_field(document, {"metadata", "uid"});
}

std::string_view annotation_of(const json::value& document, std::string_view name) {
  return text_field(document, {"metadata", "annotations", name});
}

std::optional<Duration> duration_annotation(const json::value& document, std::string_view name) {
  const std::string_view text = annotation_of(document, name);
  if (text.empty()) return std::nullopt;
  const auto duration = parse_duration(text);
  return duration ? std::optional(*duration) : std::nullopt;
}

bool is_deleting(const json::value& document) {
  return find_field(document, {"metadata", "deletionTimestamp"}) != nullptr;
}

bool has_finalizer(const json::value& document, std::string_view name) {
  return std::ranges::any_of(list_field(document, {"metadata", "finalizers"}),
                             [&](const json::value& entry) { return as_text(&entry) == name; });
}

std::optional<api::ObjectKey> key_of(const json::value& document) {
  const auto kind =
      api::find_kind(text_field(document, {"apiVersion"}), text_field(document, {"kind"}));
  if (!kind) return std::nullopt;
  return api::ObjectKey{*kind, std::string(text_field(document, {"metadata", "namespace"})),
                        std::string(text_field(document, {"metadata", "name"}))};
}

std::vector<OwnerReference> owners_of(const json::value& document) {
  std::vector<OwnerReference> owners;
  for (const json::value& entry : list_field(document, {"metadata", "ownerReferences"})) {
    owners.push_back(
        {std::string(text_field(entry, {"apiVersion"})), std::string(text_field(entry, {"kind"})),
         std::string(text_field(entry, {"name"})), std::string(text_field(entry, {"uid"})),
         boolean_field(entry, {"controller"}), boolean_field(entry, {"blockOwnerDeletion"})});
  }
  return owners;
}

std::optional<OwnerReference> controller_of(const json::value& document) {
  for (OwnerReference& owner : owners_of(document)) {
    if (owner.controller) return std::move(owner);
  }
  return std::nullopt;
}

bool is_terminal(const json::value& pod) {
  const std::string_view phase = text_field(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

const json::value* find_condition(const json::value& document, std::string_view type) {
  for (const json::value& condition : list_field(document, {"status", "conditions"})) {
    if (text_field(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

bool has_condition(const json::value& document, std::string_view type, std::string_view status) {
  const json::value* condition = find_condition(document, type);
  return condition != nullptr && text_field(*condition, {"status"}) == status;
}

void set_condition(json::object& status, const Condition& condition, Time now) {
  json::value& list = status["conditions"];
  json::array& conditions = list.is_array() ? list.get_array() : list.emplace_array();
  auto* found = std::ranges::find_if(conditions, [&](const json::value& existing) {
    return text_field(existing, {"type"}) == condition.type;
  });
  if (found == conditions.end()) {
    conditions.push_back(json::object{{"type", condition.type}});
    found = conditions.end() - 1;
  }
  if (!found->is_object()) return;
  json::object& fields = found->get_object();
  if (text_field(*found, {"status"}) != condition.status) {
    fields["status"] = condition.status;
    fields["lastTransitionTime"] = format_time(now);
  }
  const auto set_or_erase = [&](std::string_view name, std::string_view text) {
    if (text.empty()) {
      fields.erase(name);
    } else {
      fields[name] = text;
    }
  };
  set_or_erase("reason", condition.reason);
  set_or_erase("message", condition.message);
}

json::object status_of(const json::value& document) {
  const json::value* status = find_field(document, {"status"});
  return status != nullptr && status->is_object() ? status->get_object() : json::object();
}

ApiResult<void> write_status(ApiServer& server, const json::value& document, json::object status) {
  const json::value* old = find_field(document, {"status"});
  if (old != nullptr && old->is_object() && old->get_object() == status) return {};
  json::value changed = document;
  if (!changed.is_object()) return {};
  changed.get_object()["status"] = std::move(status);
  WriteOptions options;
  options.status = true;
  auto written = server.update(std::move(changed), options);
  if (!written) return std::unexpected(std::move(written).error());
  return {};
}

ApiResult<void> remove_finalizer(ApiServer& server, const json::value& document,
                                 std::string_view name) {
  if (!has_finalizer(document, name)) return {};
  json::array kept;
  for (const json::value& entry : list_field(document, {"metadata", "finalizers"})) {
    if (as_text(&entry) != name) kept.push_back(entry);
  }
  return patch_metadata(server, document, {{"finalizers", std::move(kept)}});
}

ApiResult<void> patch_metadata(ApiServer& server, const json::value& document,
                               json::object metadata) {
  const auto key = key_of(document);
  if (!key) return {};
  metadata["resourceVersion"] = text_field(document, {"metadata", "resourceVersion"});
  auto written =
      server.patch(*key, PatchType::kMerge, json::object{{"metadata", std::move(metadata)}});
  if (!written) return std::unexpected(std::move(written).error());
  return {};
}

Time began_at(std::optional<Time> written, Time now) {
  if (!written) return now;
  return std::chrono::floor<std::chrono::seconds>(now) <= *written ? now : *written;
}

}  // namespace phalanx::sim
