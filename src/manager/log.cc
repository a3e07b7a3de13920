#include "manager/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

#include "base/json.h"
#include "base/printable.h"
#include "base/time.h"
#include "base/wall_clock.h"

namespace phalanx::manager {
namespace {

std::atomic<LogFormat> chosen_format = LogFormat::kText;
std::atomic<Level> least_level = Level::kInfo;

std::string_view word_of(Level level) {
  switch (level) {
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warn";
    case Level::kError:
      return "error";
  }
  return "";
}

}  // namespace

void set_log_style(LogFormat format, Level least) {
  chosen_format = format;
  least_level = least;
}

std::string log_line(LogFormat format, Time now, Level level, std::string_view text) {
  if (format == LogFormat::kText) {
    return fmt::format("{} {:5} {}\n", format_micro_time(now), word_of(level),
                       printable(std::string(text)));
  }
  return json::serialize(json::object{{"time", format_micro_time(now)},
                                      {"level", word_of(level)},
                                      {"message", valid_utf8(text)}}) +
         "\n";
}

void log(Level level, std::string_view text) {
  if (level < least_level) return;
  const std::string line = log_line(chosen_format, wall_now(), level, text);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace phalanx::manager
