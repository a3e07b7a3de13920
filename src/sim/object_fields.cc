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

std::string_view text_or(const json::value& document, FieldPath path, std::string_view fallback) {
  return as_text(find_at(document, path), fallback);
}

std::optional<Time> time_field(const json::value& document, FieldPath path) {
  const std::string_view text = string_at(document, path);
  if (text.empty()) return std::nullopt;
  const auto time = parse_time(text);
  return time ? std::optional(*time) : std::nullopt;
}

std::span<const json::value> list_field(const json::value& document, FieldPath path) {
  const json::value* value = find_at(document, path);
  if (value == nullptr || !value->is_array()) return {};
  const json::array& list = value->get_array();
  return {list.data(), list.size()};
}

std::string_view annotation_of(const json::value& document, std::string_view name) {
  return string_at(document, {"metadata", "annotations", name});
}

std::optional<Duration> duration_annotation(const json::value& document, std::string_view name) {
  const std::string_view text = annotation_of(document, name);
  if (text.empty()) return std::nullopt;
  const auto duration = parse_duration(text);
  return duration ? std::optional(*duration) : std::nullopt;
}

std::optional<Time> deleted_at(const json::value& document) {
  const auto end = time_field(document, {"metadata", "deletionTimestamp"});
  const auto grace = integer_at(document, {"metadata", "deletionGracePeriodSeconds"});
  return end ? std::optional(*end - std::chrono::seconds(grace.value_or(0))) : std::nullopt;
}

bool has_finalizer(const json::value& document, std::string_view name) {
  return std::ranges::any_of(list_field(document, {"metadata", "finalizers"}),
                             [&](const json::value& entry) { return as_text(&entry) == name; });
}

std::optional<api::ObjectKey> key_of(const json::value& document) {
  const auto kind =
      api::find_kind(string_at(document, {"apiVersion"}), string_at(document, {"kind"}));
  if (!kind) return std::nullopt;
  return api::ObjectKey{*kind, std::string(string_at(document, {"metadata", "namespace"})),
                        std::string(string_at(document, {"metadata", "name"}))};
}

std::vector<OwnerReference> owners_of(const json::value& document) {
  std::vector<OwnerReference> owners;
  for (const json::value& entry : list_field(document, {"metadata", "ownerReferences"})) {
    owners.push_back(
        {std::string(string_at(entry, {"apiVersion"})), std::string(string_at(entry, {"kind"})),
         std::string(string_at(entry, {"name"})), std::string(string_at(entry, {"uid"})),
         true_at(entry, {"controller"}), true_at(entry, {"blockOwnerDeletion"})});
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
  const std::string_view phase = string_at(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

void set_condition(json::object& status, const Condition& condition, Time now) {
  json::value& list = status["conditions"];
  json::array& conditions = list.is_array() ? list.get_array() : list.emplace_array();
  auto* found = std::ranges::find_if(conditions, [&](const json::value& existing) {
    return string_at(existing, {"type"}) == condition.type;
  });
  if (found == conditions.end()) {
    conditions.push_back(json::object{{"type", condition.type}});
    found = conditions.end() - 1;
  }
  if (!found->is_object()) return;
  json::object& fields = found->get_object();
  if (string_at(*found, {"status"}) != condition.status) {
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
  const json::value* status = find_at(document, {"status"});
  return status != nullptr && status->is_object() ? status->get_object() : json::object();
}

ApiResult<void> write_status(ApiServer& server, const json::value& document, json::object status) {
  const json::value* old = find_at(document, {"status"});
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
  metadata["resourceVersion"] = string_at(document, {"metadata", "resourceVersion"});
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
