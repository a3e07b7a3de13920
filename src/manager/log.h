// What a process says of itself: one line for each thing worth knowing, on standard error, for
// people or as an object of JSON for those who collect logs.
//
// A line is one write, so that threads need no lock, and control characters in it are escaped: part
// of it comes from outside. How it is written is the one thing that a whole process shares; it is
// set before the first thread begins.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"

namespace phalanx::manager {

enum class Level { kInfo, kWarning, kError };

enum class LogFormat { kText, kJson };

// Lines below the level are left out.
void set_log_style(LogFormat format, Level least);
// As it is written, with its end.
std::string log_line(LogFormat format, Time now, Level level, std::string_view text);

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
