#include "base/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <compare>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "base/printable.h"

namespace phalanx {
namespace {

// No Kubernetes object comes near it, and everything that walks a document may recurse.
constexpr size_t kMaxDepth = 64;
// A value takes ten times the memory of the two bytes in which it can be written.
constexpr size_t kMostValues = 4'000'000;
// Fields of an object are found by a hash that depends on nothing but where the object stands in
// memory. Large ones stand at the begin of a page, so that a stranger can name the fields of one so
// that all n of them meet in a few places, where putting them in compares some n * n / 2. Objects
// of the API have some dozens, and some thousands where fields that somebody manages are listed.
constexpr size_t kMostComparisons = 50'000'000;
constexpr size_t kFewFields = 1024;
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
    open_objects_.push_back({keys_.size(), unescaped_.size()});
    return true;
  }
  bool on_object_end(size_t size, Code& code) {
    const OpenObject object = open_objects_.back();
    const std::span keys = std::span(keys_).subspan(object.first_key);
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
      repeated_key_ = std::string(twice->text);
      code = json::error::syntax;
      return false;
    }
    open_objects_.pop_back();
    keys_.resize(object.first_key);
    unescaped_.resize(object.first_unescaped);
    if (size > kFewFields) comparisons_ += size * size / 2;
    if (comparisons_ > kMostComparisons) {
      code = json::error::object_too_large;
      return false;
    }
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
    const std::string_view whole = key_.empty() ? lasting(text) : lasting(key_ += text);
    keys_.push_back({std::hash<std::string_view>()(whole), whole});
    key_.clear();
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

  // What is parsed has to stay where it is.
  void begin(std::string_view document) {
    document_ = document;
    stack_.reset();
  }
  [[nodiscard]] json::value release() { return stack_.release(); }
  [[nodiscard]] const std::optional<std::string>& repeated_key() const { return repeated_key_; }

 private:
  // Sorted by a number first, which is most of the comparisons; whoever sends keys whose numbers
  // are the same makes them no worse than those of the texts.
  struct Key {
    size_t hash = 0;
    std::string_view text;
    auto operator<=>(const Key&) const = default;
  };
  struct OpenObject {
    size_t first_key = 0;
    size_t first_unescaped = 0;
  };

  // The same text where it stays until its object is closed: in the document, unless there were
  // escapes in it.
  std::string_view lasting(std::string_view text) {
    const std::less_equal<> not_after;
    const bool in_document =
        not_after(document_.data(), text.data()) &&
        not_after(text.data() + text.size(), document_.data() + document_.size());
    return in_document ? text : std::string_view(unescaped_.emplace_back(text));
  }
  bool one_more(Code& code) {
    if (++values_ <= kMostValues) return true;
    code = json::error::array_too_large;
    return false;
  }

  json::value_stack stack_;
  std::string_view document_;
  std::vector<OpenObject> open_objects_;
  std::vector<Key> keys_;              // of all open objects so far
  std::deque<std::string> unescaped_;  // those of them that are not in the document as they are
  std::string key_;                    // the part of the current one
  std::optional<std::string> repeated_key_;
  size_t values_ = 0;
  size_t comparisons_ = 0;  // that the objects so far may have cost
};

}  // namespace

Result<json::value> parse_strict_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<Builder> parser(options);
  parser.handler().begin(text);
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
  if (code == json::error::object_too_large) {
    return fail(fmt::format("byte {}: objects with too many fields", consumed));
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
