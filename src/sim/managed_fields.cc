#include "sim/managed_fields.h"

#include <algorithm>
#include <array>
#include <set>

#include "sim/document.h"

namespace phalanx::sim {
namespace {

// The rest of metadata is the server's.
constexpr std::array<std::string_view, 4> kTrackedMetadata = {"annotations", "finalizers", "labels",
                                                              "ownerReferences"};

bool is_tracked(api::Kind kind, bool status, std::string_view field) {
  if (status) return field == "status";
  if (field == "status") return !api::info(kind).has_status;
  return field != "apiVersion" && field != "kind";
}

// Calls visit(set of the parent, name of the field, path to it) for every field that counts.
template <typename Visit>
void each_tracked(api::Kind kind, bool status, const json::value& document, Visit visit) {
  const json::object* object = document.if_object();
  if (object == nullptr) return;
  for (const auto& field : *object) {
    const std::string_view name = field.key();
    if (!is_tracked(kind, status, name)) continue;
    if (name != "metadata") {
      visit("", name);
      continue;
    }
    for (const std::string_view inner : kTrackedMetadata) {
      if (find_at(document, {"metadata", inner}) != nullptr) visit("metadata", inner);
    }
  }
}

const json::value* value_of(const json::value& document, const std::string& parent,
                            const std::string& name) {
  return parent.empty() ? find_at(document, {name}) : find_at(document, {parent, name});
}

void put(FieldSet& root, const std::string& parent, const std::string& name, FieldSet fields) {
  if (fields.empty()) return;
  FieldSet& holder = parent.empty() ? root : root.children["f:" + parent];
  holder.children["f:" + name] = std::move(fields);
}

ManagedEntry read_entry(const json::value& value) {
  ManagedEntry entry;
  entry.writer = {std::string(string_at(value, {"manager"})),
                  string_at(value, {"operation"}) == "Apply",
                  string_at(value, {"subresource"}) == "status"};
  entry.api_version = string_at(value, {"apiVersion"});
  entry.time = string_at(value, {"time"});
  if (const json::value* fields = find_at(value, {"fieldsV1"})) {
    entry.fields = FieldSet::from_json(*fields);
    entry.fields.self = false;
  }
  return entry;
}

}  // namespace

ManagedFields ManagedFields::read(const json::value& document) {
  ManagedFields managed;
  const json::array* entries = array_at(document, {"metadata", "managedFields"});
  if (entries == nullptr) return managed;
  for (const json::value& value : *entries) {
    ManagedEntry entry = read_entry(value);
    if (!entry.writer.manager.empty() && !entry.fields.empty()) {
      managed.entries_.push_back(std::move(entry));
    }
  }
  return managed;
}

void ManagedFields::write(json::value& document) const {
  json::object& metadata = ensure_object(document, {"metadata"});
  if (entries_.empty()) {
    metadata.stable_erase("managedFields");
    return;
  }
  json::array list;
  for (const ManagedEntry& entry : entries_) {
    json::object object{
        {"manager", entry.writer.manager}, {"operation", entry.writer.apply ? "Apply" : "Update"},
        {"apiVersion", entry.api_version}, {"time", entry.time},
        {"fieldsType", "FieldsV1"},        {"fieldsV1", entry.fields.to_json()}};
    if (entry.writer.status) object["subresource"] = "status";
    list.push_back(std::move(object));
  }
  metadata["managedFields"] = std::move(list);
}

FieldSet ManagedFields::fields_of_writer(const Writer& writer) const {
  const auto own = std::ranges::find(entries_, writer, &ManagedEntry::writer);
  return own == entries_.end() ? FieldSet() : own->fields;
}

FieldSet ManagedFields::fields_of_others(const Writer& writer) const {
  FieldSet fields;
  for (const ManagedEntry& entry : entries_) {
    if (entry.writer != writer) fields.add(entry.fields);
  }
  return fields;
}

void ManagedFields::set(const Writer& writer, FieldSet fields, const std::string& api_version,
                        const std::string& now) {
  const auto own = std::ranges::find(entries_, writer, &ManagedEntry::writer);
  if (fields.empty()) {
    if (own != entries_.end()) entries_.erase(own);
  } else if (own == entries_.end()) {
    entries_.push_back({writer, api_version, now, std::move(fields)});
  } else if (own->fields != fields) {
    *own = {writer, api_version, now, std::move(fields)};
  }
}

void ManagedFields::take_from_others(const Writer& writer, const FieldSet& fields) {
  for (ManagedEntry& entry : entries_) {
    if (entry.writer != writer) entry.fields.remove(fields);
  }
  std::erase_if(entries_, [](const ManagedEntry& entry) { return entry.fields.empty(); });
}

void ManagedFields::record_update(const Writer& writer, const FieldChanges& changes,
                                  const std::string& api_version, const std::string& now) {
  take_from_others(writer, changes.changed);
  take_from_others(writer, changes.removed);
  FieldSet own = fields_of_writer(writer);
  own.remove(changes.removed);
  own.add(changes.changed);
  set(writer, std::move(own), api_version, now);
}

bool ManagedFields::same_fields(const ManagedFields& other) const {
  return std::ranges::equal(
      entries_, other.entries_,
      [](const ManagedEntry& a, const ManagedEntry& b) { return a.same_fields(b); });
}

FieldSet tracked_fields(api::Kind kind, bool status, const json::value& document) {
  FieldSet fields;
  each_tracked(kind, status, document, [&](const std::string& parent, std::string_view name) {
    const std::string field(name);
    put(fields, parent, field, fields_of(field, *value_of(document, parent, field)));
  });
  return fields;
}

FieldChanges tracked_changes(api::Kind kind, bool status, const json::value& before,
                             const json::value& after) {
  std::set<std::pair<std::string, std::string>> places;
  for (const json::value* document : {&before, &after}) {
    each_tracked(kind, status, *document, [&](const std::string& parent, std::string_view name) {
      places.emplace(parent, name);
    });
  }
  FieldChanges changes;
  for (const auto& [parent, name] : places) {
    FieldChanges here =
        compare_fields(name, value_of(before, parent, name), value_of(after, parent, name));
    put(changes.changed, parent, name, std::move(here.changed));
    put(changes.removed, parent, name, std::move(here.removed));
  }
  return changes;
}

}  // namespace phalanx::sim
