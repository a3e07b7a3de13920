// What a process says of itself: one line for each thing worth knowing, on standard error.
//
// A line is one write, so that threads need no lock, and control characters in it are escaped: part
// of it comes from outside.
#pragma once

#include <string_view>

namespace phalanx::manager {

enum class Level { kInfo, kWarning, kError };

void log(Level level, std::string_view text);
inline void log_info(std::string_view text) {
  log(Level::kInfo, text);
}
inline void log_warning(std::string_view text) {
  log(Level::kWarning, text);
}
inline void log_error(std::string_view text) {
  log(Level::kError, text);
}

}  // namespace phalanx::manager
