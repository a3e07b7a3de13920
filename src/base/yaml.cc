#include "base/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

namespace phalanx {
namespace {

constexpr int kMaxDepth = 64;

// Every value written out takes at least one character of the text; only aliases make more of them,
// and aliases of aliases without end.
constexpr size_t kMaxValuesFromAliases = 1'000'000;

struct Conversion {
  size_t most_values = 0;
  size_t values = 0;
};

json::value typed_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return nullptr;
  }
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const char* begin = text.data() + (text[0] == '+' && text.size() > 1 ? 1 : 0);
  const char* end = text.data() + text.size();
  int64_t whole = 0;
  if (auto [rest, code] = std::from_chars(begin, end, whole); code == std::errc() && rest == end) {
    return whole;
  }
  uint64_t large = 0;
  if (auto [rest, code] = std::from_chars(begin, end, large); code == std::errc() && rest == end) {
    return large;
  }
  const bool numeric = text.find_first_not_of("0123456789+-.eE") == std::string::npos &&
                       text.find_first_of("0123456789") != std::string::npos;
  double number = 0;
  if (numeric) {
    if (auto [rest, code] = std::from_chars(begin, end, number);
        code == std::errc() && rest == end && std::isfinite(number)) {
      return number;
    }
  }
  return json::value(text);
}

Result<json::value> convert(const YAML::Node& node, int depth, Conversion& conversion);

bool is_plain(const YAML::Node& scalar) {
  // yaml-cpp tags quoted scalars "!" and plain ones "?"; "!!str" asks for a string by name.
  return scalar.Tag() == "?" || scalar.Tag().empty();
}

// What `<<: *a` or `<<: [*a, *b]` adds: fields that are not there, the first one of a name.
Result<void> merge(const json::value& more, int line, json::object& object) {
  if (const json::array* list = more.if_array()) {
    for (const json::value& element : *list) RETURN_IF_ERROR(merge(element, line, object));
    return {};
  }
  const json::object* fields = more.if_object();
  if (fields == nullptr) return fail(fmt::format("line {}: << must be a map, or maps", line));
  for (const auto& field : *fields) object.emplace(field.key(), field.value());
  return {};
}

Result<json::value> convert_map(const YAML::Node& node, int depth, Conversion& conversion) {
  json::object object;
  std::vector<std::pair<int, json::value>> merged;  // line and what stands there
  for (const auto& field : node) {
    const int line = field.first.Mark().line + 1;
    if (!field.first.IsScalar()) {
      return fail(fmt::format("line {}: a key must be a plain word or string", line));
    }
    ASSIGN_OR_RETURN(json::value value, convert(field.second, depth + 1, conversion));
    const std::string& key = field.first.Scalar();
    if (key == "<<" && is_plain(field.first)) {
      merged.emplace_back(line, std::move(value));
    } else if (object.contains(key)) {
      return fail(fmt::format("line {}: the key \"{}\" stands twice; remove one", line, key));
    } else {
      object.emplace(key, std::move(value));
    }
  }
  for (const auto& [line, more] : merged) RETURN_IF_ERROR(merge(more, line, object));
  return object;
}

Result<json::value> convert(const YAML::Node& node, int depth, Conversion& conversion) {
  const auto refuse = [&](std::string_view reason) {
    return fail(fmt::format("line {}: {}", node.Mark().line + 1, reason));
  };
  if (depth > kMaxDepth) return refuse(fmt::format("nested deeper than {} levels", kMaxDepth));
  if (++conversion.values > conversion.most_values) {
    return refuse("aliases make too many values of it; write them out");
  }
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      return json::value(nullptr);
    case YAML::NodeType::Scalar:
      return is_plain(node) ? typed_scalar(node.Scalar()) : json::value(node.Scalar());
    case YAML::NodeType::Sequence: {
      json::array array;
      for (const YAML::Node& element : node) {
        ASSIGN_OR_RETURN(json::value value, convert(element, depth + 1, conversion));
        array.push_back(std::move(value));
      }
      return array;
    }
    case YAML::NodeType::Map:
      return convert_map(node, depth, conversion);
  }
  return refuse("not a YAML value");
}

// The shortest text that reads back as this number, and as one with a fraction: 1.0, not 1.
std::string double_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Whether somebody may take the string for something else if it has no quotes: YAML 1.1 has more
// words for truths, and more ways to write numbers and times (0x1F, 1_000, 12:30, 2026-01-01).
bool needs_quotes(const std::string& text) {
  if (!typed_scalar(text).is_string()) return true;
  // Beyond ASCII there are line ends and marks that readers treat differently.
  const auto is_plain_character = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::ranges::all_of(text, is_plain_character)) return true;
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  constexpr std::array<std::string_view, 11> kWords{"y",    "n",     "yes",  "no",   "on",  "off",
                                                    "true", "false", "null", ".inf", ".nan"};
  if (std::ranges::find(kWords, lower) != kWords.end()) return true;
  std::string_view digits = lower;
  if (digits.front() == '+' || digits.front() == '-') digits.remove_prefix(1);
  const auto begins = [&](std::string_view with) { return digits.starts_with(with); };
  if (digits == ".inf" || begins("0x") || begins("0o") || begins("0b")) return true;
  return !digits.empty() && std::string_view("0123456789.").contains(digits.front()) &&
         digits.find_first_not_of("0123456789_:.+-etz ") == std::string_view::npos;
}

// Whether the string can be written as a block of lines, which has neither quotes nor escapes and
// always ends with one line end.
bool is_block(const std::string& text) {
  if (text.size() < 2 || !text.ends_with('\n') || text.ends_with("\n\n")) return false;
  if (text.front() == ' ' || text.front() == '\n') return false;
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

void emit_string(YAML::Emitter& out, const std::string& text) {
  if (is_block(text)) {
    out << YAML::Literal << text.substr(0, text.size() - 1);  // a block ends its last line itself
    return;
  }
  if (needs_quotes(text)) out << YAML::DoubleQuoted;
  out << text;
}

void emit_key(YAML::Emitter& out, const std::string& key) {
  out << YAML::Key;
  if (needs_quotes(key) || key == "<<") out << YAML::DoubleQuoted;
  out << key << YAML::Value;
}

void emit(YAML::Emitter& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      out << YAML::Null;
      break;
    case json::kind::bool_:
      out << value.get_bool();
      break;
    case json::kind::int64:
      out << value.get_int64();
      break;
    case json::kind::uint64:
      out << value.get_uint64();
      break;
    case json::kind::double_:
      out << double_text(value.get_double());
      break;
    case json::kind::string:
      emit_string(out, std::string(value.get_string()));
      break;
    case json::kind::array:
      if (value.get_array().empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const json::value& element : value.get_array()) emit(out, element);
      out << YAML::EndSeq;
      break;
    case json::kind::object:
      if (value.get_object().empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& field : value.get_object()) {
        emit_key(out, std::string(field.key()));
        emit(out, field.value());
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

namespace {

// What a person most likely overlooked in the line that the parser stopped at, or in the one
// before.
std::string_view hint_for(std::string_view text, int line) {
  for (int i = 0; i <= line; ++i) {
    const size_t end = text.find('\n');
    const std::string_view current = text.substr(0, end);
    const std::string_view indent = current.substr(0, current.find_first_not_of(" \t"));
    if (i + 1 >= line && indent.contains('\t')) return "; indent with spaces, not with tabs";
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return "; check the indentation, the brackets and the quotes there";
}

Result<std::vector<Document>> parse_yaml(std::string_view text) {
  std::vector<Document> documents;
  try {
    std::istringstream stream{std::string(text)};
    for (const YAML::Node& node : YAML::LoadAll(stream)) {
      Conversion conversion{text.size() + kMaxValuesFromAliases};
      const int line = node.Mark().line + 1;
      ASSIGN_OR_RETURN(json::value value, convert(node, 0, conversion));
      if (!value.is_null()) documents.push_back({std::move(value), line});
    }
  } catch (const YAML::DeepRecursion& problem) {
    return fail(
        fmt::format("line {}: nested deeper than {} levels", problem.mark.line + 1, kMaxDepth));
  } catch (const YAML::Exception& problem) {
    return fail(fmt::format("line {}, column {}: not valid YAML: {}{}", problem.mark.line + 1,
                            problem.mark.column + 1, problem.msg,
                            hint_for(text, problem.mark.line)));
  }
  return documents;
}

}  // namespace

Result<std::vector<Document>> parse_documents(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return std::vector<Document>();
  if (text[start] != '{' && text[start] != '[') return parse_yaml(text);
  // JSON is a subset of YAML, but the JSON parser is much faster. What is YAML's flow style and no
  // JSON falls back to the YAML parser; if that does not understand it either, the file was meant
  // to be JSON if a quoted key comes first.
  auto values = parse_json_sequence(text);
  if (values) {
    std::vector<Document> documents;
    for (auto& [value, line] : *values) documents.push_back({std::move(value), line});
    return documents;
  }
  const size_t second = text.find_first_not_of(" \t\r\n", start + 1);
  const bool looks_like_json =
      second == std::string_view::npos || std::string_view("\"{[]}").contains(text[second]);
  if (looks_like_json) return std::unexpected(values.error());
  return parse_yaml(text);
}

std::string to_yaml(const json::value& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

std::string to_yaml_stream(std::span<const json::value> values) {
  std::string text;
  for (const json::value& value : values) text += (text.empty() ? "" : "---\n") + to_yaml(value);
  return text;
}

}  // namespace phalanx
