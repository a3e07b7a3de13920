#include "base/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>

#include "base/printable.h"

namespace phalanx {
namespace {

// No Kubernetes object comes near it, and everything that walks a document may recurse.
constexpr size_t kMaxDepth = 64;
// A value takes ten times the memory of the two bytes in which it can be written.
constexpr size_t kMostValues = 4'000'000;
constexpr size_t kLongestShownKey = 64;

// Builds the document from what the parser sees, and watches the keys of every open object. The
// names of the members are those that the parser calls.
class Builder {
 public:
  using Text = json::string_view;
  using Code = json::error_code;

  // NOLINTBEGIN(readability-identifier-naming)
  static constexpr size_t max_object_size = json::object::max_size();
  static constexpr size_t max_array_size = json::array::max_size();
  static constexpr size_t max_key_size = json::string::max_size();
  static constexpr size_t max_string_size = json::string::max_size();
  // NOLINTEND(readability-identifier-naming)

  bool on_document_begin(Code& /*code*/) { return true; }
  bool on_document_end(Code& /*code*/) { return true; }
  bool on_object_begin(Code& /*code*/) {
    open_objects_.emplace_back();
    return true;
  }
  bool on_object_end(size_t size, Code& code) {
    std::vector<std::string>& keys = open_objects_.back();
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
      repeated_key_ = std::move(*twice);
      code = json::error::syntax;
      return false;
    }
    open_objects_.pop_back();
    stack_.push_object(size);
    return one_more(code);
  }
  bool on_array_begin(Code& /*code*/) { return true; }
  bool on_array_end(size_t size, Code& code) {
    stack_.push_array(size);
    return one_more(code);
  }
  bool on_key_part(Text text, size_t /*size*/, Code& /*code*/) {
    key_ += text;
    stack_.push_chars(text);
    return true;
  }
  bool on_key(Text text, size_t /*size*/, Code& /*code*/) {
    key_ += text;
    open_objects_.back().push_back(std::exchange(key_, {}));
    stack_.push_key(text);
    return true;
  }
  bool on_string_part(Text text, size_t /*size*/, Code& /*code*/) {
    stack_.push_chars(text);
    return true;
  }
  bool on_string(Text text, size_t /*size*/, Code& code) {
    stack_.push_string(text);
    return one_more(code);
  }
  bool on_number_part(Text /*text*/, Code& /*code*/) { return true; }
  bool on_int64(int64_t number, Text /*text*/, Code& code) {
    stack_.push_int64(number);
    return one_more(code);
  }
  bool on_uint64(uint64_t number, Text /*text*/, Code& code) {
    stack_.push_uint64(number);
    return one_more(code);
  }
  bool on_double(double number, Text /*text*/, Code& code) {
    stack_.push_double(number);
    return one_more(code);
  }
  bool on_bool(bool value, Code& code) {
    stack_.push_bool(value);
    return one_more(code);
  }
  bool on_null(Code& code) {
    stack_.push_null();
    return one_more(code);
  }
  bool on_comment_part(Text /*text*/, Code& /*code*/) { return true; }
  bool on_comment(Text /*text*/, Code& /*code*/) { return true; }

  void begin() { stack_.reset(); }
  [[nodiscard]] json::value release() { return stack_.release(); }
  [[nodiscard]] const std::optional<std::string>& repeated_key() const { return repeated_key_; }

 private:
  bool one_more(Code& code) {
    if (++values_ <= kMostValues) return true;
    code = json::error::array_too_large;
    return false;
  }

  json::value_stack stack_;
  std::vector<std::vector<std::string>> open_objects_;  // the keys of each so far
  std::string key_;                                     // the part of the current one
  std::optional<std::string> repeated_key_;
  size_t values_ = 0;
};

}  // namespace

Result<json::value> parse_strict_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<Builder> parser(options);
  parser.handler().begin();
  json::error_code code;
  const size_t consumed = parser.write_some(false, text.data(), text.size(), code);
  const auto& repeated = parser.handler().repeated_key();
  if (repeated) {
    return fail(fmt::format("byte {}: the key \"{}\" stands twice in one object", consumed,
                            printable(repeated->substr(0, kLongestShownKey))));
  }
  if (code == json::error::too_deep) {
    return fail(fmt::format("byte {}: nested deeper than {} levels", consumed, kMaxDepth));
  }
  if (code == json::error::array_too_large) {
    return fail(fmt::format("byte {}: more than {} values", consumed, kMostValues));
  }
  if (code) return fail(fmt::format("byte {}: not valid JSON: {}", consumed, code.message()));
  const size_t more = text.find_first_not_of(" \t\r\n", consumed);
  if (more != std::string_view::npos) {
    return fail(fmt::format("byte {}: not valid JSON: something follows the document", more));
  }
  return parser.handler().release();
}

}  // namespace phalanx
