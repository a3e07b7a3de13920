// Points in time and durations as Kubernetes writes them, and nothing that reads a clock: time
// comes in from the host (real, scaled or virtual), so that the same events give the same
// decisions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace phalanx {

using Duration = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Duration>;

// "2026-01-31T08:00:00Z": whole seconds, as metav1.Time; the fraction is cut off.
std::string format_time(Time time);
// "2026-01-31T08:00:00.250000Z", as metav1.MicroTime.
std::string format_micro_time(Time time);
// Either form, with any number of fractional digits and a numeric offset or Z.
Result<Time> parse_time(std::string_view text);

// "1h30m", "90s", "250ms", "1.5s"; also "0". No sign.
Result<Duration> parse_duration(std::string_view text);
// "1h30m", "45s", "250ms", "0s": the shortest form that parse_duration reads back.
std::string format_duration(Duration duration);

}  // namespace phalanx
