#include "admission/built_in_kinds.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>

#include "admission/built_in_types.h"
#include "admission/schema_node.h"
#include "base/check.h"

namespace phalanx::admission {
namespace {

using FieldTable = std::map<std::string_view, std::string_view, std::less<>>;  // name to type
using TypeTable = std::map<std::string_view, FieldTable, std::less<>>;

constexpr std::string_view kMetadataType = "ObjectMeta";
// No type of Kubernetes is nested as deep: a table that is contains itself.
constexpr int kMostLevels = 40;

struct Scalar {
  std::string_view name;
  SchemaType type;
  SchemaFormat format = SchemaFormat::kNone;
};
constexpr std::array<Scalar, 7> kScalars{{{"string", SchemaType::kString},
                                          {"bool", SchemaType::kBoolean},
                                          {"int32", SchemaType::kInteger, SchemaFormat::kInt32},
                                          {"int64", SchemaType::kInteger, SchemaFormat::kInt64},
                                          {"int|string", SchemaType::kIntOrString},
                                          {"quantity", SchemaType::kQuantity},
                                          {"any", SchemaType::kAny}}};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string_view take_until(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

Result<TypeTable> parse_types(std::string_view text) {
  TypeTable types;
  FieldTable* fields = nullptr;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (trimmed(line).empty()) continue;
    if (!line.starts_with(' ')) {
      const auto [entry, is_new] = types.try_emplace(line);
      if (!is_new) return fail(fmt::format("{}: is described twice", line));
      fields = &entry->second;
      continue;
    }
    if (fields == nullptr) return fail("fields stand before the first type");
    while (!trimmed(line).empty()) {
      std::string_view field = trimmed(take_until(line, ','));
      const std::string_view name = take_until(field, ' ');
      if (field.empty()) return fail(fmt::format("{}: has no type", name));
      if (!fields->emplace(name, field).second) {
        return fail(fmt::format("{}: stands twice in a type", name));
      }
    }
  }
  return types;
}

// Types by name become trees: a schema owns what is in it.
class SchemaBuilder {
 public:
  explicit SchemaBuilder(const TypeTable& types) : types_(types) {}

  Result<std::unique_ptr<SchemaNode>> build(std::string_view type, int level = 0) const {
    if (level > kMostLevels) return fail(fmt::format("{}: contains itself", type));
    auto node = std::make_unique<SchemaNode>();
    if (type.starts_with('[') && type.ends_with(']')) {
      node->type = SchemaType::kArray;
      ASSIGN_OR_RETURN(node->items, build(type.substr(1, type.size() - 2), level + 1));
      return node;
    }
    node->type = SchemaType::kObject;
    if (type.starts_with('{') && type.ends_with('}')) {
      ASSIGN_OR_RETURN(node->additional, build(type.substr(1, type.size() - 2), level + 1));
      return node;
    }
    for (const Scalar& scalar : kScalars) {
      if (scalar.name != type) continue;
      node->type = scalar.type;
      node->format = scalar.format;
      node->preserve_unknown = scalar.type == SchemaType::kAny;
      return node;
    }
    const auto fields = types_.find(type);
    if (fields == types_.end()) return fail(fmt::format("{}: is no type", type));
    for (const auto& [name, inner] : fields->second) {
      ASSIGN_OR_RETURN(node->properties[std::string(name)], build(inner, level + 1));
    }
    return node;
  }

 private:
  const TypeTable& types_;
};

void let_unknown_through(SchemaNode& node) {
  if (node.type == SchemaType::kObject && node.additional == nullptr) node.preserve_unknown = true;
  for (auto& [name, inner] : node.properties) let_unknown_through(*inner);
  if (node.items != nullptr) let_unknown_through(*node.items);
  if (node.additional != nullptr) let_unknown_through(*node.additional);
}

Result<std::unique_ptr<SchemaNode>> build_kind(const SchemaBuilder& builder,
                                               const api::KindInfo& kind) {
  if (kind.group.ends_with(".x-k8s.io")) {
    auto node = std::make_unique<SchemaNode>();
    node->type = SchemaType::kObject;
    node->preserve_unknown = true;
    ASSIGN_OR_RETURN(node->properties["metadata"], builder.build(kMetadataType));
    return node;
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SchemaNode> node, builder.build(kind.name));
  const auto status = node->properties.find("status");
  if (status != node->properties.end()) let_unknown_through(*status->second);
  return node;
}

}  // namespace

Result<BuiltInKinds> BuiltInKinds::load(std::string_view types) {
  ASSIGN_OR_RETURN(const TypeTable table, parse_types(types));
  const SchemaBuilder builder(table);
  std::map<api::Kind, Schema> schemas;
  for (const api::KindInfo& kind : api::all_kinds()) {
    ASSIGN_OR_RETURN(std::unique_ptr<SchemaNode> root, build_kind(builder, kind));
    schemas.emplace(kind.kind, Schema::of(std::move(root)));
  }
  return BuiltInKinds(std::move(schemas));
}

std::vector<Problem> BuiltInKinds::check(api::Kind kind, const json::value& document,
                                         bool strict_fields) const {
  const Schema& schema = schemas_.at(kind);
  ProblemList problems;
  if (strict_fields) problems.add_all(schema.unknown_fields(document));
  problems.add_all(schema.validate(document));
  return std::move(problems).take();
}

const BuiltInKinds& built_in_kinds() {
  static const BuiltInKinds kKinds = [] {
    auto loaded = BuiltInKinds::load(built_in_types());
    CHECK(loaded.has_value());
    return std::move(*loaded);
  }();
  return kKinds;
}

}  // namespace phalanx::admission
