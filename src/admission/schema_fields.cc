// Which fields there are: unknown ones are found or removed, defaults are filled in.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "admission/schema.h"
#include "admission/schema_node.h"
#include "base/json_path.h"
#include "base/spelling.h"

namespace phalanx::admission {
namespace {

// The property that a mistyped name was most likely meant to be, or "".
std::string_view closest_property(const SchemaNode& schema, std::string_view name) {
  std::vector<std::string_view> candidates;
  for (const auto& [candidate, unused] : schema.properties) candidates.push_back(candidate);
  return closest(name, candidates);
}

// Calls visit(schema, child value, child path) for everything inside `value` that the schema
// describes.
template <typename Value, typename Visit>
void each_described(const SchemaNode& schema, Value& value, const SchemaPath& path, Visit visit) {
  if (value.is_array() && schema.items != nullptr) {
    size_t index = 0;
    for (auto& element : value.get_array()) {
      visit(*schema.items, element, SchemaPath(path, index++));
    }
  } else if (value.is_object()) {
    for (auto&& field : value.get_object()) {
      const std::string_view name = field.key();
      if (const SchemaNode* property = schema.find_property(name)) {
        visit(*property, field.value(), SchemaPath(path, name));
      } else if (schema.additional != nullptr) {
        visit(*schema.additional, field.value(), SchemaPath::of_key(path, name));
      }
    }
  }
}

bool knows_all_fields(const SchemaNode& schema) {
  return schema.preserve_unknown || schema.additional != nullptr;
}

void prune_value(const SchemaNode& schema, json::value& value) {
  if (json::object* object = value.if_object(); object != nullptr && !knows_all_fields(schema)) {
    keep_fields(*object,
                [&](const auto& field) { return schema.find_property(field.key()) != nullptr; });
  }
  each_described(schema, value, SchemaPath(),
                 [](const SchemaNode& inner, json::value& child, const SchemaPath&) {
                   prune_value(inner, child);
                 });
}

// Calls found(schema, path, name) for every field that the schema does not have, until that
// returns false; whether it never did.
template <typename Found>
bool each_unknown(const SchemaNode& schema, const json::value& value, const SchemaPath& path,
                  const Found& found) {
  if (const json::object* object = value.if_object();
      object != nullptr && schema.type == SchemaType::kObject && !knows_all_fields(schema)) {
    for (const auto& field : *object) {
      const std::string_view name = field.key();
      if (schema.find_property(name) == nullptr && !found(schema, path, name)) return false;
    }
  }
  bool goes_on = true;
  each_described(
      schema, value, path,
      [&](const SchemaNode& inner, const json::value& child, const SchemaPath& child_path) {
        goes_on = goes_on && each_unknown(inner, child, child_path, found);
      });
  return goes_on;
}

// A null that may not be there is the same as nothing: the default takes its place, if there is
// one.
void drop_nulls(const SchemaNode& schema, json::object& object) {
  keep_fields(object, [&](const auto& field) {
    if (!field.value().is_null()) return true;
    const SchemaNode* inner = schema.find_property(field.key());
    if (inner == nullptr) inner = schema.additional.get();
    return inner == nullptr || inner->nullable;
  });
}

}  // namespace

void default_fields_of(const SchemaNode& schema, json::value& value) {
  if (json::object* object = value.if_object()) {
    drop_nulls(schema, *object);
    for (const auto& [name, property] : schema.properties) {
      if (property->default_value && !object->contains(name)) {
        object->emplace(name, *property->default_value);
      }
    }
  }
  each_described(schema, value, SchemaPath(),
                 [](const SchemaNode& inner, json::value& child, const SchemaPath&) {
                   default_fields_of(inner, child);
                 });
}

std::string SchemaPath::text() const {
  if (parent_ == nullptr) return "";
  std::string before = parent_->text();
  switch (step_) {
    case Step::kKey:
      return fmt::format("{}[{}]", before, name_);
    case Step::kElement:
      return fmt::format("{}[{}]", before, index_);
    case Step::kField:
      break;
  }
  if (!before.empty()) before += '.';
  return before.append(name_);
}

void Schema::prune(json::value& document) const {
  prune_value(*root_, document);
}

std::vector<Problem> Schema::unknown_fields(const json::value& document) const {
  ProblemList problems;
  each_unknown(*root_, document, SchemaPath(),
               [&](const SchemaNode& schema, const SchemaPath& path, std::string_view name) {
                 const std::string_view meant = closest_property(schema, name);
                 problems.add(SchemaPath(path, name).text(),
                              meant.empty()
                                  ? "unknown field; remove it"
                                  : fmt::format("unknown field; did you mean `{}`?", meant));
                 return !problems.full();
               });
  return std::move(problems).take();
}

bool Schema::knows_all_of(const json::value& document) const {
  return each_unknown(*root_, document, SchemaPath(),
                      [](const SchemaNode&, const SchemaPath&, std::string_view) { return false; });
}

void Schema::default_fields(json::value& document) const {
  default_fields_of(*root_, document);
}

}  // namespace phalanx::admission
