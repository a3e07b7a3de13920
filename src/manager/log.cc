#include "manager/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "base/printable.h"
#include "base/time.h"
#include "base/wall_clock.h"

namespace phalanx::manager {
namespace {

std::string_view word_of(Level level) {
  switch (level) {
    case Level::kInfo:
      return "info ";
    case Level::kWarning:
      return "warn ";
    case Level::kError:
      return "error";
  }
  return "";
}

}  // namespace

void log(Level level, std::string_view text) {
  const Time now = wall_now();
  const std::string line = fmt::format("{} {} {}\n", format_micro_time(now), word_of(level),
                                       printable(std::string(text)));
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace phalanx::manager
