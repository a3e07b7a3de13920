#include "base/time.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace phalanx {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::milliseconds;

constexpr int64_t kMaxDurationMs = INT64_C(100) * 366 * 24 * 3600 * 1000;  // a century

// Reads fixed-width parts of a text from the left.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  std::optional<int> number(size_t digits) {
    if (rest_.size() < digits) return std::nullopt;
    int value = 0;
    const char* begin = std::to_address(rest_.begin());
    const char* end = begin + digits;
    const auto [stop, code] = std::from_chars(begin, end, value);
    if (code != std::errc() || stop != end || rest_.front() == '-') return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }
  bool one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Digits after the point, as milliseconds; further ones are cut off.
  std::optional<int> fraction() {
    int value = 0;
    int seen = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      if (seen++ < 3) value = value * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    if (seen == 0) return std::nullopt;
    for (; seen < 3; ++seen) value *= 10;
    return value;
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The offset of a zone: "Z", "+02:00".
std::optional<std::chrono::minutes> scan_zone(Scanner& scanner) {
  if (scanner.one_of("Zz")) return std::chrono::minutes(0);
  const bool east = scanner.one_of("+");
  if (!east && !scanner.one_of("-")) return std::nullopt;
  const auto hours = scanner.number(2);
  if (!hours || !scanner.one_of(":")) return std::nullopt;
  const auto minutes = scanner.number(2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::chrono::minutes offset(*hours * 60 + *minutes);
  return east ? offset : -offset;
}

std::optional<Time> scan_time(Scanner scanner) {
  const auto year = scanner.number(4);
  if (!year || !scanner.one_of("-")) return std::nullopt;
  const auto month = scanner.number(2);
  if (!month || !scanner.one_of("-")) return std::nullopt;
  const auto day = scanner.number(2);
  if (!day || !scanner.one_of("Tt")) return std::nullopt;
  const auto hour = scanner.number(2);
  if (!hour || !scanner.one_of(":")) return std::nullopt;
  const auto minute = scanner.number(2);
  if (!minute || !scanner.one_of(":")) return std::nullopt;
  const auto second = scanner.number(2);
  if (!second) return std::nullopt;
  int fraction_ms = 0;
  if (scanner.one_of(".")) {
    const auto fraction = scanner.fraction();
    if (!fraction) return std::nullopt;
    fraction_ms = *fraction;
  }
  const auto offset = scan_zone(scanner);
  if (!offset || !scanner.at_end()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) + milliseconds(fraction_ms) - *offset;
}

std::string format_seconds(Time time) {
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::seconds>(time) - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

struct Unit {
  std::string_view name;
  int64_t ms;
};
constexpr std::array kUnits{Unit{"ms", 1}, Unit{"h", 3'600'000}, Unit{"m", 60'000},
                            Unit{"s", 1'000}};

// "1.5s" from the left; the amount in milliseconds.
std::optional<int64_t> scan_part(std::string_view& rest) {
  double number = 0;
  const char* begin = std::to_address(rest.begin());
  const char* end = std::to_address(rest.end());
  const auto [stop, code] = std::from_chars(begin, end, number, std::chars_format::fixed);
  if (code != std::errc() || number < 0 || rest.front() == '-') return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(stop - begin));
  for (const Unit& unit : kUnits) {
    if (!rest.starts_with(unit.name)) continue;
    rest.remove_prefix(unit.name.size());
    const double amount = number * static_cast<double>(unit.ms);
    if (amount > static_cast<double>(kMaxDurationMs)) return std::nullopt;
    return std::llround(amount);
  }
  return std::nullopt;
}

}  // namespace

std::string format_time(Time time) {
  return format_seconds(time) + "Z";
}

std::string format_micro_time(Time time) {
  const auto fraction = time - floor<std::chrono::seconds>(time);
  return fmt::format("{}.{:03}000Z", format_seconds(time), fraction.count());
}

Result<Time> parse_time(std::string_view text) {
  if (const auto time = scan_time(Scanner(text))) return *time;
  return fail(fmt::format("\"{}\" is no time; write it like 2026-01-31T08:00:00Z", text));
}

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration(0);
  std::string_view rest = text;
  int64_t total_ms = 0;
  bool readable = !rest.empty();
  while (readable && !rest.empty()) {
    const auto part = scan_part(rest);
    readable = part && total_ms + *part <= kMaxDurationMs;
    if (readable) total_ms += *part;
  }
  if (readable) return Duration(total_ms);
  return fail(fmt::format("\"{}\" is no duration; write it like 90s, 10m or 1h30m", text));
}

std::string format_duration(Duration duration) {
  int64_t rest_ms = duration.count();
  if (rest_ms == 0) return "0s";
  std::string text;
  constexpr std::array kLargestFirst{kUnits[1], kUnits[2], kUnits[3], kUnits[0]};
  for (const Unit& unit : kLargestFirst) {
    if (rest_ms < unit.ms) continue;
    text += fmt::format("{}{}", rest_ms / unit.ms, unit.name);
    rest_ms %= unit.ms;
  }
  return text;
}

}  // namespace phalanx
