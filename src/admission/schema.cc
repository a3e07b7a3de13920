#include "admission/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/schema_node.h"

namespace phalanx::admission {
namespace {

template <typename Value>
struct Word {
  std::string_view name;
  Value value;
};

constexpr std::array<Word<SchemaType>, 6> kTypes{{{"object", SchemaType::kObject},
                                                  {"array", SchemaType::kArray},
                                                  {"string", SchemaType::kString},
                                                  {"integer", SchemaType::kInteger},
                                                  {"number", SchemaType::kNumber},
                                                  {"boolean", SchemaType::kBoolean}}};
constexpr std::array<Word<SchemaFormat>, 3> kFormats{{{"int32", SchemaFormat::kInt32},
                                                      {"int64", SchemaFormat::kInt64},
                                                      {"date-time", SchemaFormat::kDateTime}}};
constexpr std::array<Word<ListType>, 3> kListTypes{
    {{"atomic", ListType::kAtomic}, {"set", ListType::kSet}, {"map", ListType::kMap}}};
// How maps are merged by server-side apply, notes for people, and the rules that are in C++.
constexpr std::array<std::string_view, 4> kIgnored{"x-kubernetes-map-type", "title", "example",
                                                   "x-kubernetes-validations"};

template <typename Words, typename Value>
bool read_word(const Words& words, const json::value& value, Value& result) {
  if (!value.is_string()) return false;
  const auto found =
      std::ranges::find(words, std::string_view(value.get_string()), &Words::value_type::name);
  if (found == words.end()) return false;
  result = found->value;
  return true;
}

bool read_flag(const json::value& value, bool& result) {
  if (!value.is_bool()) return false;
  result = value.get_bool();
  return true;
}

bool read_size(const json::value& value, size_t& result) {
  if (!value.is_int64() || value.get_int64() < 0) return false;
  result = static_cast<size_t>(value.get_int64());
  return true;
}

bool read_number(const json::value& value, std::optional<int64_t>& result) {
  if (!value.is_int64()) return false;
  result = value.get_int64();
  return true;
}

bool read_strings(const json::value& value, std::vector<std::string>& result) {
  if (!value.is_array()) return false;
  for (const json::value& element : value.get_array()) {
    if (!element.is_string()) return false;
    result.emplace_back(element.get_string());
  }
  return true;
}

bool read_pattern(const json::value& value, const Pattern*& result) {
  if (!value.is_string()) return false;
  result = find_pattern(value.get_string());
  return result != nullptr;
}

// One node on its way from JSON. Every keyword is either understood or a problem.
class NodeLoader {
 public:
  NodeLoader(const json::object& source, std::string path)
      : source_(source), path_(std::move(path)) {}

  Result<std::unique_ptr<SchemaNode>> load() {
    for (const auto& [keyword, value] : source_) {
      if (std::ranges::find(kIgnored, std::string_view(keyword)) != kIgnored.end()) continue;
      ASSIGN_OR_RETURN(const bool is_child, load_child(keyword, value));
      if (is_child || load_limit(keyword, value) || load_property(keyword, value)) continue;
      return problem(fmt::format("does not understand {}: {}", std::string_view(keyword),
                                 json::serialize(value)));
    }
    if (int_or_string_) node_->type = SchemaType::kIntOrString;
    RETURN_IF_ERROR(check());
    return std::move(node_);
  }

 private:
  [[nodiscard]] std::unexpected<Error> problem(const std::string& reason) const {
    return fail(fmt::format("the schema of {} {}", path_.empty() ? "the document" : path_, reason));
  }

  Result<bool> load_child(std::string_view keyword, const json::value& value) {
    if (keyword == "items") {
      ASSIGN_OR_RETURN(node_->items, load_schema_node(value, path_ + "[]"));
    } else if (keyword == "additionalProperties") {
      ASSIGN_OR_RETURN(node_->additional, load_schema_node(value, path_ + "[]"));
    } else if (keyword == "properties" && value.is_object()) {
      for (const auto& [name, child] : value.get_object()) {
        const std::string child_path =
            path_.empty() ? std::string(name) : path_ + "." + std::string(name);
        ASSIGN_OR_RETURN(node_->properties[std::string(name)], load_schema_node(child, child_path));
      }
    } else {
      return false;
    }
    return true;
  }

  bool load_limit(std::string_view keyword, const json::value& value) {
    if (keyword == "minimum") return read_number(value, node_->minimum);
    if (keyword == "maximum") return read_number(value, node_->maximum);
    if (keyword == "minLength") return read_size(value, node_->min_length);
    if (keyword == "maxLength") return read_size(value, node_->max_length);
    if (keyword == "minItems") return read_size(value, node_->min_items);
    if (keyword == "maxItems") return read_size(value, node_->max_items);
    if (keyword == "maxProperties") return read_size(value, node_->max_properties);
    if (keyword == "pattern") return read_pattern(value, node_->pattern);
    if (keyword == "format") return read_word(kFormats, value, node_->format);
    if (keyword != "enum" || !value.is_array()) return false;
    node_->allowed.assign(value.get_array().begin(), value.get_array().end());
    return true;
  }

  bool load_property(std::string_view keyword, const json::value& value) {
    if (keyword == "type") return read_word(kTypes, value, node_->type);
    if (keyword == "required") return read_strings(value, node_->required);
    if (keyword == "nullable") return read_flag(value, node_->nullable);
    if (keyword == "x-kubernetes-int-or-string") return read_flag(value, int_or_string_);
    if (keyword == "x-kubernetes-preserve-unknown-fields") {
      return read_flag(value, node_->preserve_unknown);
    }
    if (keyword == "x-kubernetes-list-type") return read_word(kListTypes, value, node_->list_type);
    if (keyword == "x-kubernetes-list-map-keys") return read_strings(value, node_->list_keys);
    if (keyword == "default") {
      node_->default_value = value;
      return true;
    }
    if (keyword == "description" && value.is_string()) {
      node_->description = std::string(value.get_string());
      return true;
    }
    // Structural schemas allow anyOf only as another way to say int-or-string.
    return keyword == "anyOf" && source_.contains("x-kubernetes-int-or-string");
  }

  // What would make a schema mean something else than it says.
  [[nodiscard]] Result<void> check() const {
    if (node_->type == SchemaType::kAny && !node_->preserve_unknown) {
      return problem("has no type; name one");
    }
    if (node_->type == SchemaType::kArray && node_->items == nullptr) {
      return problem("is of a list without items; describe them");
    }
    for (const std::string& name : node_->required) {
      if (node_->find_property(name) == nullptr) {
        return problem(fmt::format("requires {}, which is none of its properties", name));
      }
    }
    for (const std::string& key : node_->list_keys) {
      if (node_->items == nullptr || node_->items->find_property(key) == nullptr) {
        return problem(fmt::format("has the list key {}, which is no property of its items", key));
      }
    }
    return check_default();
  }

  [[nodiscard]] Result<void> check_default() const {
    if (!node_->default_value) return {};
    json::value value = *node_->default_value;
    default_fields_of(*node_, value);
    ProblemList problems;
    validate_value(*node_, value, SchemaPath(), problems);
    if (problems.empty()) return {};
    return problem(
        fmt::format("refuses its own default: {}", std::move(problems).take().front().text()));
  }

  const json::object& source_;
  std::string path_;
  std::unique_ptr<SchemaNode> node_ = std::make_unique<SchemaNode>();
  bool int_or_string_ = false;
};

}  // namespace

Result<std::unique_ptr<SchemaNode>> load_schema_node(const json::value& open_api,
                                                     const std::string& path) {
  if (!open_api.is_object()) {
    return fail(
        fmt::format("the schema of {} must be an object", path.empty() ? "the document" : path));
  }
  return NodeLoader(open_api.get_object(), path).load();
}

Schema::Schema(std::unique_ptr<const SchemaNode> root) : root_(std::move(root)) {}
Schema::Schema(Schema&&) noexcept = default;
Schema& Schema::operator=(Schema&&) noexcept = default;
Schema::~Schema() = default;

Schema Schema::of(std::unique_ptr<const SchemaNode> root) {
  return Schema(std::move(root));
}

Result<Schema> Schema::load(const json::value& open_api) {
  ASSIGN_OR_RETURN(std::unique_ptr<SchemaNode> root, load_schema_node(open_api, ""));
  if (const auto metadata = root->properties.find("metadata"); metadata != root->properties.end()) {
    metadata->second->preserve_unknown = true;
  }
  return Schema(std::move(root));
}

}  // namespace phalanx::admission
