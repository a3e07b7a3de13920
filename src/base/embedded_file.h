// A file that was compiled into the program, so that nothing has to lie beside it. Made by
// phalanx_embed() of cmake/embed.cmake.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace phalanx {

struct EmbeddedFile {
  std::string_view name;                    // without its directory
  std::span<const std::string_view> parts;  // the text in pieces: compilers limit a literal's size

  [[nodiscard]] std::string text() const {
    std::string whole;
    for (const std::string_view part : parts) whole += part;
    return whole;
  }
};

}  // namespace phalanx
