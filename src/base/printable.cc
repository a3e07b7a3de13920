#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace phalanx {
namespace {

constexpr unsigned char kDelete = 0x7F;
// Terminals take U+0080 to U+009F for controls, too; in UTF-8 they are C2 80 to C2 9F.
constexpr unsigned char kControlLead = 0xC2;
constexpr unsigned char kLastControl = 0x9F;

// How many bytes the character has that begins here; 0 if none does. Overlong forms, surrogates and
// what is beyond U+10FFFF are none.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto in = [&](size_t i, unsigned low, unsigned high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const auto goes_on = [&](size_t i) { return in(i, 0x80, 0xBF); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return goes_on(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = in(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && goes_on(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second = in(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && goes_on(2) && goes_on(3) ? 4 : 0;
  }
  return 0;
}

struct Hidden {
  char32_t code;
  std::string_view text;
};
// What turns the direction of text round, begins a new line or cannot be seen: with these a name
// can be made to look like another.
constexpr std::array<Hidden, 16> kHidden{{{0x061C, "\u061C"},
                                          {0x200B, "\u200B"},
                                          {0x200E, "\u200E"},
                                          {0x200F, "\u200F"},
                                          {0x2028, "\u2028"},
                                          {0x2029, "\u2029"},
                                          {0x202A, "\u202A"},
                                          {0x202B, "\u202B"},
                                          {0x202C, "\u202C"},
                                          {0x202D, "\u202D"},
                                          {0x202E, "\u202E"},
                                          {0x2066, "\u2066"},
                                          {0x2067, "\u2067"},
                                          {0x2068, "\u2068"},
                                          {0x2069, "\u2069"},
                                          {0xFEFF, "\uFEFF"}}};

// The one that the text begins with; nullptr: none.
const Hidden* hidden_at(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead != 0xD8 && lead != 0xE2 && lead != 0xEF) return nullptr;
  const auto* const found = std::ranges::find_if(
      kHidden, [&](const Hidden& hidden) { return text.starts_with(hidden.text); });
  return found == kHidden.end() ? nullptr : found;
}

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
    } else if (const Hidden* hidden = hidden_at(text.substr(i))) {
      result += fmt::format("\\u{:04x}", static_cast<uint32_t>(hidden->code));
      i += hidden->text.size() - 1;
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

std::string shortened(std::string text, size_t most_bytes) {
  constexpr std::string_view kMore = "...";
  if (text.size() <= most_bytes) return text;
  return cut_to(std::move(text), most_bytes - std::min(most_bytes, kMore.size())).append(kMore);
}

std::string excerpt(const std::string& text) {
  constexpr size_t kMostBytes = 200;
  return shortened(text, kMostBytes);
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length == 0) {
      valid += "\xEF\xBF\xBD";
    } else {
      valid += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return valid;
}

}  // namespace phalanx
