#include "base/printable.h"

#include <fmt/format.h>

namespace phalanx {
namespace {

constexpr unsigned char kDelete = 0x7F;
// Terminals take U+0080 to U+009F for controls, too; in UTF-8 they are C2 80 to C2 9F.
constexpr unsigned char kControlLead = 0xC2;
constexpr unsigned char kLastControl = 0x9F;

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (byte == kControlLead && next >= 0x80 && next <= kLastControl) {
      result += fmt::format("\\u{:04x}", next);
      ++i;
    } else if (text[i] == '\n') {
      result += "\\n";
    } else if (text[i] == '\t') {
      result += "\\t";
    } else if (text[i] == '\r') {
      result += "\\r";
    } else if (byte < ' ' || byte == kDelete) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string cut_to(std::string text, size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

}  // namespace phalanx
