// The parts of a loaded schema. For the files schema*.cc only.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/names.h"
#include "admission/problem.h"
#include "base/json.h"

namespace phalanx::admission {

enum class SchemaType : uint8_t {
  kObject,
  kArray,
  kString,
  kInteger,
  kNumber,
  kBoolean,
  kIntOrString,
  kQuantity,  // a number, or a string that says one
  kAny,
};
enum class SchemaFormat : uint8_t { kNone, kInt32, kInt64, kDateTime };
enum class ListType : uint8_t { kAtomic, kSet, kMap };

struct SchemaNode {
  static constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

  std::string description;
  SchemaType type = SchemaType::kAny;
  SchemaFormat format = SchemaFormat::kNone;
  bool nullable = false;
  bool preserve_unknown = false;
  std::optional<json::value> default_value;
  std::vector<json::value> allowed;  // enum; empty: everything
  std::optional<int64_t> minimum;
  std::optional<int64_t> maximum;
  size_t min_length = 0;
  size_t max_length = kNoLimit;
  const Pattern* pattern = nullptr;
  size_t min_items = 0;
  size_t max_items = kNoLimit;
  size_t max_properties = kNoLimit;
  ListType list_type = ListType::kAtomic;
  std::vector<std::string> list_keys;
  std::vector<std::string> required;
  std::map<std::string, std::unique_ptr<SchemaNode>, std::less<>> properties;
  std::unique_ptr<SchemaNode> items;
  std::unique_ptr<SchemaNode> additional;  // the values of a map

  [[nodiscard]] const SchemaNode* find_property(std::string_view name) const {
    const auto found = properties.find(name);
    return found == properties.end() ? nullptr : found->second.get();
  }
};

// A place in a document, linked to what is around it on the stack of whoever walks there.
class SchemaPath {
 public:
  SchemaPath() = default;
  SchemaPath(const SchemaPath& parent, std::string_view field) : parent_(&parent), name_(field) {}
  SchemaPath(const SchemaPath& parent, size_t index)
      : parent_(&parent), index_(index), step_(Step::kElement) {}
  static SchemaPath of_key(const SchemaPath& parent, std::string_view key) {
    SchemaPath path(parent, key);
    path.step_ = Step::kKey;
    return path;
  }

  // "spec.levels[1].nodeLabel", "spec.nodeLabels[example.com/pool]".
  [[nodiscard]] std::string text() const;

 private:
  enum class Step : uint8_t { kField, kKey, kElement };

  const SchemaPath* parent_ = nullptr;
  std::string_view name_;
  size_t index_ = 0;
  Step step_ = Step::kField;
};

Result<std::unique_ptr<SchemaNode>> load_schema_node(const json::value& open_api,
                                                     const std::string& path);
void default_fields_of(const SchemaNode& schema, json::value& value);
void validate_value(const SchemaNode& schema, const json::value& value, const SchemaPath& path,
                    ProblemList& problems);

}  // namespace phalanx::admission
