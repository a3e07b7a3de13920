#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "base/printable.h"

namespace phalanx {
namespace {

constexpr uint64_t kFnvOffset = 0xcbf29ce484222325;

uint64_t hash_bytes(std::string_view bytes, uint64_t seed) {
  uint64_t hash = seed;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

uint64_t mix(uint64_t hash) {
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EB;
  return hash ^ (hash >> 31);
}

// Nesting deeper than this is refused rather than followed: no Kubernetes object comes near it.
constexpr size_t kMaxDepth = 64;

// Deeper than any object of the API, and shallow enough for recursion and for our readers of files.
constexpr int kMaxObjectDepth = 60;

bool measure_into(const json::value& value, int depth, size_t& size) {
  if (depth > kMaxObjectDepth) return false;
  switch (value.kind()) {
    case json::kind::null:
    case json::kind::bool_:
      size += 5;
      return true;
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      size += 8;
      return true;
    case json::kind::string:
      size += value.get_string().size() + 2;
      return true;
    case json::kind::array:
      size += 2;
      for (const json::value& element : value.get_array()) {
        size += 1;
        if (!measure_into(element, depth + 1, size)) return false;
      }
      return true;
    case json::kind::object:
      size += 2;
      for (const auto& field : value.get_object()) {
        size += field.key().size() + 4;
        if (!measure_into(field.value(), depth + 1, size)) return false;
      }
      return true;
  }
  return true;
}

std::string quoted(std::string_view text) {
  return json::serialize(json::value(text));
}

void write_pretty(const json::value& value, const std::string& indent, std::string& out) {
  const std::string inner = indent + "  ";
  const auto write_items = [&](char open, char close, const auto& items, auto write_item) {
    out += open;
    bool first = true;
    for (const auto& item : items) {
      out += first ? "\n" : ",\n";
      first = false;
      out += inner;
      write_item(item);
    }
    if (!first) out += "\n" + indent;
    out += close;
  };
  if (value.is_object()) {
    write_items('{', '}', value.get_object(), [&](const json::key_value_pair& field) {
      out += quoted(field.key()) + ": ";
      write_pretty(field.value(), inner, out);
    });
  } else if (value.is_array()) {
    write_items('[', ']', value.get_array(),
                [&](const json::value& element) { write_pretty(element, inner, out); });
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

uint64_t json_fingerprint(const json::value& value) {
  switch (value.kind()) {
    case json::kind::object: {
      uint64_t sum = 1;  // a sum, so that the order of keys does not matter
      for (const auto& [key, member] : value.get_object()) {
        if (!member.is_null()) sum += mix(hash_bytes(key, json_fingerprint(member)));
      }
      return mix(sum);
    }
    case json::kind::array: {
      uint64_t hash = 2;
      for (const json::value& element : value.get_array()) {
        hash = mix(hash * 3 + json_fingerprint(element));
      }
      return hash;
    }
    case json::kind::string:
      return hash_bytes(value.get_string(), kFnvOffset);
    default:
      return hash_bytes(json::serialize(value), kFnvOffset + 1);
  }
}

Result<json::value> parse_json(std::string_view text) {
  ASSIGN_OR_RETURN(auto documents, parse_json_sequence(text));
  if (documents.size() == 1) return std::move(documents[0].first);
  if (documents.empty()) return fail("line 1, column 1: not valid JSON: nothing is there");
  return fail(fmt::format("line {}, column 1: not valid JSON: something follows the document",
                          documents[1].second));
}

Result<std::vector<std::pair<json::value, int>>> parse_json_sequence(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  std::vector<std::pair<json::value, int>> documents;
  size_t begin = 0;
  size_t line_start = 0;
  int line = 1;
  const auto advance = [&](size_t position) {  // counts lines up to there
    for (; begin < position; ++begin) {
      if (text[begin] != '\n') continue;
      ++line;
      line_start = begin + 1;
    }
  };
  for (;;) {
    advance(std::min(text.find_first_not_of(" \t\r\n", begin), text.size()));
    if (begin == text.size()) return documents;
    const int first_line = line;
    json::stream_parser parser({}, options);
    json::error_code code;
    const size_t consumed = parser.write_some(text.data() + begin, text.size() - begin, code);
    advance(begin + consumed);
    if (!code) parser.finish(code);
    if (code) {
      return fail(fmt::format("line {}, column {}: not valid JSON: {}", line,
                              begin - line_start + 1, code.message()));
    }
    documents.emplace_back(parser.release(), first_line);
  }
}

std::optional<size_t> json_size(const json::value& document) {
  size_t size = 0;
  if (!measure_into(document, 0, size)) return std::nullopt;
  return size;
}

std::string pretty_json(const json::value& value) {
  std::string out;
  write_pretty(value, "", out);
  return out;
}

void DecodeStatus::report(const std::string& path, const std::string& reason) {
  constexpr size_t kLongest = 1024;  // of each: where it is, and what
  if (error_) return;
  const std::string what = shortened(reason, kLongest);
  error_ = Error{path.empty() ? what : shortened(path, kLongest) + ": " + what};
}

JsonReader::JsonReader(const json::value* value, std::string path, DecodeStatus& status)
    : path_(std::move(path)), status_(&status) {
  if (value == nullptr || value->is_null()) return;
  if (!value->is_object()) {
    status_->report(path_, "must be an object");
    return;
  }
  object_ = &value->get_object();
}

std::string JsonReader::path_of(std::string_view name) const {
  if (name.empty()) return path_;
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

const json::value* JsonReader::find(std::string_view name) const {
  if (object_ == nullptr) return nullptr;
  const json::value* value = object_->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void JsonReader::report(std::string_view name, const std::string& reason) const {
  status_->report(path_of(name), reason);
}

std::optional<std::string> JsonReader::optional_string(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    report(name, "must be a string");
    return std::nullopt;
  }
  return std::string(value->get_string());
}

std::string JsonReader::string(std::string_view name, std::string_view fallback) const {
  return optional_string(name).value_or(std::string(fallback));
}

std::string JsonReader::required_string(std::string_view name) const {
  auto value = optional_string(name);
  if (!value && !has(name)) report(name, "is required");
  return value.value_or("");
}

bool JsonReader::boolean(std::string_view name, bool fallback) const {
  const json::value* value = find(name);
  if (value == nullptr) return fallback;
  if (value->is_bool()) return value->get_bool();
  report(name, "must be true or false");
  return fallback;
}

std::optional<int64_t> JsonReader::optional_integer(std::string_view name, int64_t minimum,
                                                    int64_t maximum) const {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  json::error_code code;
  const auto number = value->to_number<int64_t>(code);
  if (code) {
    report(name, "must be a whole number");
    return std::nullopt;
  }
  if (number < minimum || number > maximum) {
    report(name, fmt::format("is {}, but must be between {} and {}", number, minimum, maximum));
    return std::nullopt;
  }
  return number;
}

int64_t JsonReader::integer(std::string_view name, int64_t fallback, int64_t minimum,
                            int64_t maximum) const {
  return optional_integer(name, minimum, maximum).value_or(fallback);
}

JsonReader JsonReader::object(std::string_view name) const {
  return JsonReader(find(name), path_of(name), *status_);
}

std::vector<std::string> JsonReader::strings(std::string_view name) const {
  std::vector<std::string> result;
  each(name, [&](const json::value& element, const std::string& path) {
    if (element.is_string()) {
      result.emplace_back(element.get_string());
    } else {
      status_->report(path, "must be a string");
    }
  });
  return result;
}

std::map<std::string, std::string> JsonReader::string_map(std::string_view name) const {
  std::map<std::string, std::string> result;
  const JsonReader fields = object(name);
  if (!fields.present()) return result;
  for (const auto& [key, value] : *fields.object_) {
    if (value.is_string()) {
      result.emplace(key, value.get_string());
    } else {
      fields.report(key, "must be a string");
    }
  }
  return result;
}

void JsonReader::allow_only(std::initializer_list<std::string_view> names) const {
  if (object_ == nullptr) return;
  for (const auto& field : *object_) {
    if (std::find(names.begin(), names.end(), std::string_view(field.key())) == names.end()) {
      report(field.key(), "unknown field");
    }
  }
}

}  // namespace phalanx
