#include "sim/apply.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/document.h"

namespace phalanx::sim {
namespace {

json::value* find_element(const FieldType& type, json::array& list, const std::string& name) {
  const auto found = std::ranges::find_if(
      list, [&](const json::value& element) { return element_name(type, element) == name; });
  return found == list.end() ? nullptr : &*found;
}

void merge(std::string_view field, const json::value& patch, json::value& target) {
  const FieldType& type = field_type(field);
  if (patch.is_object() && target.is_object() && !type.atomic_object) {
    for (const auto& [name, value] : patch.get_object()) {
      merge(name, value, target.get_object()[name]);
    }
    return;
  }
  const bool lists = patch.is_array() && target.is_array() && type.list != ListType::kAtomic;
  if (!lists || !is_mergeable(type, target.get_array())) {
    target = patch;
    return;
  }
  json::array& list = target.get_array();
  for (const json::value& element : patch.get_array()) {
    json::value* same = find_element(type, list, element_name(type, element));
    if (same == nullptr) {
      list.push_back(element);
    } else {
      merge("", element, *same);
    }
  }
}

// A list of elements with keys must have them, each once, or it cannot be merged.
void check_lists(std::string_view field, const json::value& value, const std::string& path,
                 Problems& problems) {
  if (const json::object* object = value.if_object()) {
    for (const auto& [name, child] : *object) {
      const std::string inner(name);
      check_lists(inner, child, path.empty() ? inner : path + "." + inner, problems);
    }
    return;
  }
  const json::array* list = value.if_array();
  const FieldType& type = field_type(field);
  if (list == nullptr || type.list == ListType::kAtomic) return;
  if (!is_mergeable(type, *list)) {
    problems.add(path, type.list == ListType::kSet
                           ? "must be a list of strings, each once"
                           : fmt::format("every element must have its own {}",
                                         fmt::join(type.keys, " and ")));
    return;
  }
  for (size_t index = 0; index < list->size(); ++index) {
    check_lists("", (*list)[index], fmt::format("{}[{}]", path, index), problems);
  }
}

// Takes the fields of `gone` out of a value, but for those of which `kept` has anything, be it
// below them. Returns whether nothing is left of the value.
bool prune(std::string_view field, const FieldSet& gone, const FieldSet& kept, json::value& value);

bool prune_object(const FieldSet& gone, const FieldSet& kept,
                  const std::vector<std::string_view>& keys, json::object& object) {
  for (const auto& [name, child] : gone.children) {
    if (!name.starts_with("f:")) continue;
    const std::string field = name.substr(2);
    json::value* value = object.if_contains(field);
    const bool is_key = std::ranges::find(keys, field) != keys.end();
    if (value == nullptr || is_key) continue;
    if (prune(field, child, kept.at(name), *value)) object.stable_erase(field);
  }
  return object.empty() && kept.empty();
}

bool prune(std::string_view field, const FieldSet& gone, const FieldSet& kept, json::value& value) {
  if (gone.self && kept.empty()) return true;
  const FieldType& type = field_type(field);
  if (json::object* object = value.if_object()) return prune_object(gone, kept, {}, *object);
  json::array* list = value.if_array();
  if (list == nullptr || type.list == ListType::kAtomic) return false;
  for (const auto& [name, child] : gone.children) {
    json::value* element = find_element(type, *list, name);
    if (element == nullptr) continue;
    if (child.self && kept.at(name).empty()) {
      list->erase(list->begin() + (element - list->data()));
    } else if (json::object* object = element->if_object()) {
      // What identifies an element that others keep stays.
      prune_object(child, kept.at(name), type.keys, *object);
    }
  }
  return list->empty() && kept.empty();
}

// "spec.suspend by kueue (Apply), ...".
std::string describe_conflicts(const ManagedFields& managers, const Writer& writer,
                               const FieldSet& changed) {
  constexpr size_t kMaxNamed = 10;
  std::vector<std::string> parts;
  for (const ManagedEntry& entry : managers.entries()) {
    if (entry.writer == writer) continue;
    for (const std::string& path : entry.fields.intersection(changed).paths()) {
      parts.push_back(fmt::format("{} by \"{}\" ({})", path, entry.writer.manager,
                                  entry.writer.apply ? "Apply" : "Update"));
    }
  }
  if (parts.empty()) return "";
  const size_t more = parts.size() - std::min(parts.size(), kMaxNamed);
  parts.resize(std::min(parts.size(), kMaxNamed));
  return fmt::format("{}{}", fmt::join(parts, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

// Only what this write is about: the status or everything else.
json::value relevant_part(const api::ObjectKey& key, const json::value& patch, bool status) {
  json::value part = patch;
  if (!part.is_object()) return json::object();
  if (status) {
    const json::value* value = find_at(patch, {"status"});
    part = json::object();
    if (value != nullptr) part.get_object()["status"] = *value;
  } else if (api::info(key.kind).has_status) {
    part.get_object().stable_erase("status");
  }
  return part;
}

}  // namespace

ApiResult<Applied> apply_patch(const api::ObjectKey& key, const json::value& live,
                               const json::value& patch, const Writer& writer, bool force,
                               Time now) {
  const json::value wanted = relevant_part(key, patch, writer.status);
  Problems problems;
  check_lists("", wanted, "", problems);
  RETURN_IF_ERROR(refuse_if_any(key, problems));

  Applied applied{live, ManagedFields::read(live)};
  merge("", wanted, applied.document);
  const FieldSet changed = tracked_changes(key.kind, writer.status, live, applied.document).changed;
  const std::string conflicts = describe_conflicts(applied.managers, writer, changed);
  if (!conflicts.empty() && !force) {
    return conflict(key, fmt::format("the apply would change what others manage: {}; leave these "
                                     "fields out, or force the apply to take them over",
                                     conflicts));
  }
  applied.managers.take_from_others(writer, changed);

  FieldSet own = tracked_fields(key.kind, writer.status, wanted);
  FieldSet kept = applied.managers.fields_of_others(writer);
  kept.add(own);
  if (json::object* object = applied.document.if_object()) {
    prune_object(applied.managers.fields_of_writer(writer), kept, {}, *object);
  }
  applied.managers.set(writer, std::move(own), api::api_version(key.kind), format_time(now));
  return applied;
}

}  // namespace phalanx::sim
