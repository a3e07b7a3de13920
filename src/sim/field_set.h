// Sets of fields of a document, as server-side apply keeps them in managedFields (FieldsV1), and
// the few facts about lists that merging needs.
//
// A set is a tree. The children of a node are named as FieldsV1 names them: "f:spec" is a field,
// k:{"name":"main"} the element of a list with this key, v:"orphan" a member of a list that is a
// set; "." stands for the node itself.
//
// Lists are of three types, by the name of their field (the schemas of Kubernetes and Kueue say the
// same for all their uses): maps by some key fields, sets, and all others are one value, atomic.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace phalanx::sim {

struct FieldSet {
  bool self = false;  // the field itself is a member
  std::map<std::string, FieldSet> children;

  [[nodiscard]] bool empty() const { return !self && children.empty(); }
  // The node at a child, or an empty one.
  [[nodiscard]] const FieldSet& at(const std::string& child) const;

  void add(const FieldSet& other);
  void remove(const FieldSet& other);
  [[nodiscard]] FieldSet intersection(const FieldSet& other) const;

  [[nodiscard]] json::value to_json() const;
  static FieldSet from_json(const json::value& value);

  // Every member as a person would write it: spec.containers[name=main].image.
  [[nodiscard]] std::vector<std::string> paths() const;

  bool operator==(const FieldSet&) const = default;
};

enum class ListType : uint8_t { kAtomic, kSet, kMap };

struct FieldType {
  ListType list = ListType::kAtomic;
  std::vector<std::string_view> keys;  // of a map
  bool atomic_object = false;          // an object that is written whole
};

// By the name of a field.
const FieldType& field_type(std::string_view field);

// How an element of a list is named as a child: k:{"name":"main"} or v:"orphan". Empty if a key is
// missing.
std::string element_name(const FieldType& type, const json::value& element);
// Whether every element of the list has a name, and each another: only then it is merged.
bool is_mergeable(const FieldType& type, const json::array& list);

// All fields of a value that is the value of `field`.
FieldSet fields_of(std::string_view field, const json::value& value);

struct FieldChanges {
  FieldSet changed;  // other values than before, or new
  FieldSet removed;
};
FieldChanges compare_fields(std::string_view field, const json::value* before,
                            const json::value* after);

}  // namespace phalanx::sim
