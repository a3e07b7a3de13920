#include "cli/terminal_style.h"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

namespace phalanx::cli {
namespace {

bool says_utf8(const char* text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

}  // namespace

// The environment as the command line program sees it: nothing below asks it.
PictureStyle style_of_terminal(int max_lines) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return value == nullptr ? "" : value;
  };
  PictureStyle style;
  style.max_lines = max_lines;
  style.color = ::isatty(STDOUT_FILENO) == 1 && *variable("NO_COLOR") == '\0' &&
                std::string_view(variable("TERM")) != "dumb";
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = variable(name);
    if (*value == '\0') continue;
    style.unicode = says_utf8(value);
    break;
  }
  return style;
}

}  // namespace phalanx::cli
