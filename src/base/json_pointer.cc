#include "base/json_pointer.h"

#include <fmt/format.h>

namespace phalanx {

Result<JsonPointer> parse_json_pointer(std::string_view text) {
  JsonPointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') {
    return fail(fmt::format("\"{}\" is no JSON pointer; begin it with \"/\"", text));
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      pointer.emplace_back();
    } else if (text[i] != '~') {
      pointer.back() += text[i];
    } else if (i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      pointer.back() += text[++i] == '0' ? '~' : '/';
    } else {
      return fail(
          fmt::format("\"{}\" is no JSON pointer; write ~0 for \"~\" and ~1 for \"/\"", text));
    }
  }
  return pointer;
}

void append_json_pointer_step(std::string& text, std::string_view step) {
  text += '/';
  for (const char c : step) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
}

}  // namespace phalanx
