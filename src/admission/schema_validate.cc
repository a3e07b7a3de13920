// Whether the values of a document are what its schema allows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "admission/schema.h"
#include "admission/schema_node.h"
#include "base/characters.h"
#include "base/time.h"

namespace phalanx::admission {
namespace {

std::string_view name_of(SchemaType type) {
  switch (type) {
    case SchemaType::kObject:
      return "an object";
    case SchemaType::kArray:
      return "a list";
    case SchemaType::kString:
      return "a string";
    case SchemaType::kInteger:
      return "a whole number";
    case SchemaType::kNumber:
      return "a number";
    case SchemaType::kBoolean:
      return "true or false";
    case SchemaType::kIntOrString:
      return "a whole number or a string";
    case SchemaType::kQuantity:
      return "a quantity, such as 2, 500m or 16Gi";
    case SchemaType::kAny:
      break;
  }
  return "a value";
}

// What a value of a wrong type is: itself, if it is short enough to be read.
std::string shown(const json::value& value) {
  constexpr size_t kMost = 40;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_double()) return fmt::format("{}", value.get_double());
  if (!value.is_string()) return json::serialize(value);
  if (value.get_string().size() > kMost) return "a text";
  return fmt::format("the text \"{}\"", std::string_view(value.get_string()));
}

// Numbers such as 2.0 are whole, as they are for an API server.
bool is_whole_number(const json::value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::floor(value.get_double()) == value.get_double());
}

bool has_type(const json::value& value, SchemaType type) {
  switch (type) {
    case SchemaType::kObject:
      return value.is_object();
    case SchemaType::kArray:
      return value.is_array();
    case SchemaType::kString:
      return value.is_string();
    case SchemaType::kInteger:
      return is_whole_number(value);
    case SchemaType::kNumber:
      return value.is_number();
    case SchemaType::kBoolean:
      return value.is_bool();
    case SchemaType::kIntOrString:
      return value.is_string() || is_whole_number(value);
    case SchemaType::kQuantity:
      return value.is_string() || value.is_number();
    case SchemaType::kAny:
      break;
  }
  return true;
}

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

// What somebody who wrote this value most likely overlooked, or "".
std::string_view remedy_for(SchemaType type, const json::value& value) {
  if (type == SchemaType::kString && (value.is_number() || value.is_bool())) {
    return "; put it in quotes";
  }
  if (!value.is_string() || value.get_string().empty()) return "";
  json::error_code code;
  const json::value unquoted = json::parse(value.get_string(), code);
  return !code && !unquoted.is_string() && has_type(unquoted, type) ? "; remove the quotes" : "";
}

// "name of the flavor", from "Name of the flavor. More about it."
std::string remark(const std::string& description) {
  std::string text = description.substr(0, description.find(". "));
  if (text.ends_with('.')) text.pop_back();
  const auto is_upper = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
  const std::string_view word = std::string_view(text).substr(0, text.find(' '));
  // A word with capitals inside, such as PodSpec, is a name and keeps them.
  if (std::ranges::count_if(word, is_upper) == 1 && is_upper(word[0])) {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

class Validator {
 public:
  explicit Validator(ProblemList& problems) : problems_(problems) {}

  void check(const SchemaNode& schema, const json::value& value, const SchemaPath& path) {
    if (problems_.full() || (value.is_null() && schema.nullable)) return;
    if (!has_type(value, schema.type)) {
      problems_.add(path.text(), fmt::format("must be {}, but is {}{}", name_of(schema.type),
                                             shown(value), remedy_for(schema.type, value)));
      return;
    }
    check_allowed(schema, value, path);
    if (value.is_object()) check_object(schema, value.get_object(), path);
    if (value.is_array()) check_list(schema, value.get_array(), path);
    if (value.is_string()) check_string(schema, value.get_string(), path);
    if (value.is_number()) check_number(schema, value, path);
  }

 private:
  void check_allowed(const SchemaNode& schema, const json::value& value, const SchemaPath& path) {
    if (schema.allowed.empty() ||
        std::ranges::find(schema.allowed, value) != schema.allowed.end()) {
      return;
    }
    std::vector<std::string> allowed;
    std::ranges::transform(schema.allowed, std::back_inserter(allowed), text_of);
    problems_.add(path.text(), fmt::format("\"{}\" is not supported; use {}", text_of(value),
                                           alternatives(allowed)));
  }

  void check_object(const SchemaNode& schema, const json::object& object, const SchemaPath& path) {
    for (const std::string& name : schema.required) {
      if (!object.contains(name)) report_missing(schema, name, path);
    }
    if (object.size() > schema.max_properties) {
      problems_.add(path.text(), fmt::format("has {} entries, but at most {} are allowed",
                                             object.size(), schema.max_properties));
    }
    // In the order of the schema, so that the same mistakes are told in the same order.
    for (const auto& [name, property] : schema.properties) {
      if (const json::value* value = object.if_contains(name)) {
        check(*property, *value, SchemaPath(path, name));
      }
    }
    if (schema.additional == nullptr) return;
    for (const auto& [key, value] : object) {
      check(*schema.additional, value, SchemaPath::of_key(path, key));
    }
  }

  void report_missing(const SchemaNode& schema, const std::string& name, const SchemaPath& path) {
    const SchemaNode* property = schema.find_property(name);
    const std::string about = property == nullptr ? "" : remark(property->description);
    problems_.add(SchemaPath(path, name).text(),
                  about.empty() ? "is required" : "is required: " + about);
  }

  void check_list(const SchemaNode& schema, const json::array& list, const SchemaPath& path) {
    if (list.size() < schema.min_items) {
      problems_.add(path.text(), "must have at least " + counted(schema.min_items, "item"));
    }
    if (list.size() > schema.max_items) {
      problems_.add(path.text(), fmt::format("has {} items, but at most {} are allowed",
                                             list.size(), schema.max_items));
      return;  // what is too long may be very long
    }
    for (size_t i = 0; i < list.size() && !problems_.full(); ++i) {
      check(*schema.items, list[i], SchemaPath(path, i));
    }
    if (schema.list_type != ListType::kAtomic) check_unique(schema, list, path);
  }

  void check_unique(const SchemaNode& schema, const json::array& list, const SchemaPath& path) {
    std::set<std::string> seen;
    for (size_t i = 0; i < list.size() && !problems_.full(); ++i) {
      std::string identity;
      std::string shown;
      if (schema.list_type == ListType::kSet) {
        identity = json::serialize(list[i]);
        shown = text_of(list[i]);
      } else {
        if (!list[i].is_object()) continue;
        for (const std::string& key : schema.list_keys) {
          const json::value* field = list[i].get_object().if_contains(key);
          identity += (field == nullptr ? "" : json::serialize(*field)) + "\n";
          shown += fmt::format("{}{} {}", shown.empty() ? "" : ", ", key,
                               field == nullptr ? "" : text_of(*field));
        }
      }
      if (seen.insert(identity).second) continue;
      problems_.add(SchemaPath(path, i).text(),
                    fmt::format("{} stands twice in the list; remove one of them", shown));
    }
  }

  void check_string(const SchemaNode& schema, std::string_view text, const SchemaPath& path) {
    const size_t length = length_in_characters(text);
    if (length < schema.min_length) {
      problems_.add(path.text(),
                    schema.min_length == 1
                        ? "must not be empty"
                        : fmt::format("must have at least {} characters", schema.min_length));
      return;
    }
    if (length > schema.max_length) {
      problems_.add(path.text(), fmt::format("has {} characters, but at most {} are allowed",
                                             length, schema.max_length));
      return;
    }
    if (schema.pattern != nullptr && !schema.pattern->matches(text)) {
      problems_.add(path.text(), fmt::format("\"{}\" is not {}; {}", text, schema.pattern->form,
                                             schema.pattern->remedy));
    }
    if (schema.format == SchemaFormat::kDateTime && !parse_time(text)) {
      problems_.add(path.text(),
                    fmt::format("\"{}\" is not a time; write it as 2026-01-31T08:00:00Z", text));
    }
  }

  void check_number(const SchemaNode& schema, const json::value& value, const SchemaPath& path) {
    json::error_code code;
    const auto number = value.to_number<int64_t>(code);
    if (code) {
      // Fractions have no limits in any schema; what is whole is too large for 64 bits.
      if (schema.type != SchemaType::kInteger && schema.type != SchemaType::kIntOrString) return;
      const bool small = schema.format == SchemaFormat::kInt32;
      problems_.add(path.text(), fmt::format("is {}, but must be between {} and {}", shown(value),
                                             small ? std::numeric_limits<int32_t>::min()
                                                   : std::numeric_limits<int64_t>::min(),
                                             small ? std::numeric_limits<int32_t>::max()
                                                   : std::numeric_limits<int64_t>::max()));
      return;
    }
    if (schema.format == SchemaFormat::kInt32 && (number < std::numeric_limits<int32_t>::min() ||
                                                  number > std::numeric_limits<int32_t>::max())) {
      problems_.add(path.text(), fmt::format("is {}, but must be between {} and {}", number,
                                             std::numeric_limits<int32_t>::min(),
                                             std::numeric_limits<int32_t>::max()));
    } else if (schema.minimum && number < *schema.minimum) {
      problems_.add(path.text(),
                    fmt::format("is {}, but must be at least {}", number, *schema.minimum));
    } else if (schema.maximum && number > *schema.maximum) {
      problems_.add(path.text(),
                    fmt::format("is {}, but must be at most {}", number, *schema.maximum));
    }
  }

  ProblemList& problems_;
};

}  // namespace

void validate_value(const SchemaNode& schema, const json::value& value, const SchemaPath& path,
                    ProblemList& problems) {
  Validator(problems).check(schema, value, path);
}

std::vector<Problem> Schema::validate(const json::value& document) const {
  ProblemList problems;
  validate_value(*root_, document, SchemaPath(), problems);
  return std::move(problems).take();
}

}  // namespace phalanx::admission
