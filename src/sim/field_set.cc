#include "sim/field_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/document.h"

namespace phalanx::sim {
namespace {

using Types = std::map<std::string, FieldType, std::less<>>;

Types make_types() {
  Types types;
  const auto map = [&](std::initializer_list<const char*> fields,
                       const std::vector<std::string_view>& keys) {
    for (const char* field : fields) types[field] = {ListType::kMap, keys, false};
  };
  map({"containers", "initContainers", "ephemeralContainers", "env", "volumes", "schedulingGates",
       "imagePullSecrets", "resourceClaims"},
      {"name"});
  map({"volumeMounts"}, {"mountPath"});
  map({"ports"}, {"containerPort", "protocol"});
  map({"topologySpreadConstraints"}, {"topologyKey", "whenUnsatisfiable"});
  map({"hostAliases", "podIPs"}, {"ip"});
  map({"conditions", "addresses"}, {"type"});
  map({"ownerReferences"}, {"uid"});
  map({"podSets", "podSetAssignments", "flavors", "resources", "admissionChecks",
       "flavorsReservation", "flavorsUsage", "flavorUsage", "reclaimablePods", "preemptionGates"},
      {"name"});
  types["finalizers"] = {ListType::kSet, {}, false};
  for (const char* field : {"selector", "namespaceSelector", "nodeSelector", "nodeLabels"}) {
    types[field] = {ListType::kAtomic, {}, true};
  }
  return types;
}

// A key that may be left out and then is this.
json::value default_key(std::string_view key) {
  return key == "protocol" ? json::value("TCP") : json::value();
}

void add_fields(std::string_view field, const json::value& value, FieldSet& into) {
  const FieldType& type = field_type(field);
  const json::object* object = value.if_object();
  if (object != nullptr && !object->empty() && !type.atomic_object) {
    for (const auto& [name, child] : *object) {
      add_fields(name, child, into.children["f:" + std::string(name)]);
    }
    return;
  }
  const json::array* list = value.if_array();
  if (list != nullptr && !list->empty() && is_mergeable(type, *list)) {
    for (const json::value& element : *list) {
      FieldSet& child = into.children[element_name(type, element)];
      if (type.list == ListType::kMap) add_fields("", element, child);
      child.self = true;
    }
    return;
  }
  into.self = true;
}

// The elements of a list by their names.
std::map<std::string, const json::value*> by_name(const FieldType& type, const json::array& list) {
  std::map<std::string, const json::value*> elements;
  for (const json::value& element : list) elements.emplace(element_name(type, element), &element);
  return elements;
}

void compare(std::string_view field, const json::value* before, const json::value* after,
             FieldSet& changed, FieldSet& removed);

// Compares children that are found by name on both sides.
template <typename Children>
void compare_children(const Children& before, const Children& after, bool fields, FieldSet& changed,
                      FieldSet& removed) {
  std::set<std::string> names;
  for (const auto& each : before) names.insert(each.first);
  for (const auto& each : after) names.insert(each.first);
  for (const std::string& name : names) {
    const auto old_child = before.find(name);
    const auto new_child = after.find(name);
    const json::value* old_value = old_child == before.end() ? nullptr : old_child->second;
    const json::value* new_value = new_child == after.end() ? nullptr : new_child->second;
    FieldSet child_changed;
    FieldSet child_removed;
    // Below an element of a list there is no field name of its own.
    compare(fields ? std::string_view(name).substr(2) : "", old_value, new_value, child_changed,
            child_removed);
    if (!fields && old_value == nullptr) child_changed.self = true;
    if (!fields && new_value == nullptr) child_removed.self = true;
    if (!child_changed.empty()) changed.children[name] = std::move(child_changed);
    if (!child_removed.empty()) removed.children[name] = std::move(child_removed);
  }
}

std::map<std::string, const json::value*> fields_by_name(const json::object& object) {
  std::map<std::string, const json::value*> fields;
  for (const auto& [name, value] : object) fields.emplace("f:" + std::string(name), &value);
  return fields;
}

void compare(std::string_view field, const json::value* before, const json::value* after,
             FieldSet& changed, FieldSet& removed) {
  if (same_value(before, after)) return;
  const FieldType& type = field_type(field);
  const bool both = before != nullptr && after != nullptr;
  if (both && before->is_object() && after->is_object() && !type.atomic_object) {
    return compare_children(fields_by_name(before->get_object()),
                            fields_by_name(after->get_object()), true, changed, removed);
  }
  if (both && before->is_array() && after->is_array() && type.list != ListType::kAtomic &&
      is_mergeable(type, before->get_array()) && is_mergeable(type, after->get_array())) {
    return compare_children(by_name(type, before->get_array()), by_name(type, after->get_array()),
                            false, changed, removed);
  }
  if (after != nullptr) add_fields(field, *after, changed);
  if (before != nullptr) {
    FieldSet gone;
    add_fields(field, *before, gone);
    gone.remove(changed);
    removed.add(gone);
  }
}

// k:{"name":"main"} as [name=main], v:"x" as [x], f:spec as spec.
std::string readable(const std::string& child, const std::string& path) {
  const std::string rest = child.substr(2);
  if (child.starts_with("f:")) return path.empty() ? rest : path + "." + rest;
  auto key = parse_json(rest);
  if (!key || !key->is_object()) return path + "[" + rest + "]";
  std::vector<std::string> parts;
  for (const auto& [name, value] : key->get_object()) {
    parts.push_back(
        fmt::format("{}={}", std::string_view(name),
                    value.is_string() ? std::string(value.get_string()) : json::serialize(value)));
  }
  return fmt::format("{}[{}]", path, fmt::join(parts, ","));
}

void collect_paths(const FieldSet& set, const std::string& path, std::vector<std::string>& paths) {
  if (set.self) paths.push_back(path);
  for (const auto& [name, child] : set.children) collect_paths(child, readable(name, path), paths);
}

}  // namespace

const FieldSet& FieldSet::at(const std::string& child) const {
  static const FieldSet kNone;
  const auto found = children.find(child);
  return found == children.end() ? kNone : found->second;
}

void FieldSet::add(const FieldSet& other) {
  self |= other.self;
  for (const auto& [name, child] : other.children) children[name].add(child);
}

void FieldSet::remove(const FieldSet& other) {
  if (other.self) self = false;
  for (const auto& [name, child] : other.children) {
    const auto own = children.find(name);
    if (own == children.end()) continue;
    own->second.remove(child);
    if (own->second.empty()) children.erase(own);
  }
}

FieldSet FieldSet::intersection(const FieldSet& other) const {
  FieldSet both;
  both.self = self && other.self;
  for (const auto& [name, child] : children) {
    const auto found = other.children.find(name);
    if (found == other.children.end()) continue;
    FieldSet common = child.intersection(found->second);
    if (!common.empty()) both.children.emplace(name, std::move(common));
  }
  return both;
}

json::value FieldSet::to_json() const {
  json::object object;
  // A node without children is itself a member, else it would not be there.
  if (self && !children.empty()) object["."] = json::object();
  for (const auto& [name, child] : children) object[name] = child.to_json();
  return object;
}

FieldSet FieldSet::from_json(const json::value& value) {
  FieldSet set;
  const json::object* object = value.if_object();
  if (object == nullptr) return set;
  for (const auto& [name, child] : *object) {
    if (std::string_view(name) == ".") {
      set.self = true;
    } else if (name.size() > 2) {
      set.children.emplace(name, from_json(child));
    }
  }
  if (set.children.empty()) set.self = true;
  return set;
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> paths;
  collect_paths(*this, "", paths);
  return paths;
}

const FieldType& field_type(std::string_view field) {
  static const Types kTypes = make_types();
  static const FieldType kPlain;
  const auto found = kTypes.find(field);
  return found == kTypes.end() ? kPlain : found->second;
}

std::string element_name(const FieldType& type, const json::value& element) {
  if (type.list == ListType::kSet) {
    return element.is_string() ? "v:" + json::serialize(element) : "";
  }
  const json::object* object = element.if_object();
  if (type.list != ListType::kMap || object == nullptr) return "";
  json::object keys;
  for (const std::string_view key : type.keys) {
    const json::value* value = find_field(*object, key);
    json::value part = value == nullptr ? default_key(key) : *value;
    if (part.is_null() || part.is_object() || part.is_array()) return "";
    keys[key] = std::move(part);
  }
  return "k:" + json::serialize(keys);
}

bool is_mergeable(const FieldType& type, const json::array& list) {
  if (type.list == ListType::kAtomic) return false;
  std::set<std::string> names;
  return std::ranges::all_of(list, [&](const json::value& element) {
    const std::string name = element_name(type, element);
    return !name.empty() && names.insert(name).second;
  });
}

FieldSet fields_of(std::string_view field, const json::value& value) {
  FieldSet set;
  add_fields(field, value, set);
  return set;
}

FieldChanges compare_fields(std::string_view field, const json::value* before,
                            const json::value* after) {
  FieldChanges changes;
  compare(field, before, after, changes.changed, changes.removed);
  return changes;
}

}  // namespace phalanx::sim
