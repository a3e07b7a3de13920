// Texts in characters: what people and API servers count, where std::string counts bytes.
#pragma once

#include <algorithm>
#include <string_view>

namespace phalanx {

// Of a text in UTF-8: every byte begins a character but those that go on with one.
inline size_t length_in_characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace phalanx
