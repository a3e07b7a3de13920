// Reading JSON objects field by field, with errors that name the field by its full path.
//
// A JsonReader remembers the first problem and lets the code that reads go on with defaults, so
// that decoders are straight lines; whoever started the decoding asks `status.error()` at the end.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace phalanx {

namespace json = boost::json;

// Parses one JSON document; the error names line and column.
Result<json::value> parse_json(std::string_view text);

// The same for any number of documents one after another, each with the line it begins on.
Result<std::vector<std::pair<json::value, int>>> parse_json_sequence(std::string_view text);

// The document on several lines, two spaces an indentation.
std::string pretty_json(const json::value& value);

// A number that equal documents share, whatever the order of their keys; null fields count as
// absent.
uint64_t json_fingerprint(const json::value& value);

// About how many bytes the document takes as JSON; nullopt if it is nested too deeply to be an
// object of the API. One pass, nothing is allocated.
std::optional<size_t> json_size(const json::value& document);

// The first problem met while decoding one document. Its text is bounded, whatever the document
// has for keys and values: it is kept and passed on.
class DecodeStatus {
 public:
  void report(const std::string& path, const std::string& reason);
  [[nodiscard]] bool ok() const { return !error_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_;
};

// A view of one JSON object at `path` of its document. Absent and null are the same.
class JsonReader {
 public:
  // Reports a problem unless `value` is an object; null and absent (nullptr) read as empty.
  JsonReader(const json::value* value, std::string path, DecodeStatus& status);

  [[nodiscard]] bool present() const { return object_ != nullptr; }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] DecodeStatus& status() const { return *status_; }
  [[nodiscard]] std::string path_of(std::string_view name) const;

  // The raw value of a field, or nullptr if it is absent or null.
  [[nodiscard]] const json::value* find(std::string_view name) const;

  [[nodiscard]] std::optional<std::string> optional_string(std::string_view name) const;
  [[nodiscard]] std::string string(std::string_view name, std::string_view fallback = "") const;
  [[nodiscard]] std::string required_string(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name, bool fallback) const;
  // A whole number within [minimum, maximum].
  [[nodiscard]] int64_t integer(std::string_view name, int64_t fallback, int64_t minimum,
                                int64_t maximum) const;
  [[nodiscard]] std::optional<int64_t> optional_integer(std::string_view name, int64_t minimum,
                                                        int64_t maximum) const;
  [[nodiscard]] JsonReader object(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> strings(std::string_view name) const;
  [[nodiscard]] std::map<std::string, std::string> string_map(std::string_view name) const;

  // Calls visit(element, path) for every element of an array field.
  template <typename Visit>
  void each(std::string_view name, Visit visit) const {
    const json::value* field = find(name);
    if (field == nullptr) return;
    if (!field->is_array()) return report(name, "must be a list");
    size_t index = 0;
    for (const json::value& element : field->get_array()) {
      visit(element, path_of(name) + "[" + std::to_string(index++) + "]");
    }
  }

  // Every field not named here is reported as unknown.
  void allow_only(std::initializer_list<std::string_view> names) const;
  void report(std::string_view name, const std::string& reason) const;

 private:
  const json::object* object_ = nullptr;
  std::string path_;
  DecodeStatus* status_;
};

}  // namespace phalanx
