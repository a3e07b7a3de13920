// How long to wait before trying again: twice as long every time, with jitter, so that those who
// failed together do not come back together.
#pragma once

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "base/time.h"

namespace phalanx::kube {

class Backoff {
 public:
  explicit Backoff(uint64_t seed, Duration first = Duration(200),
                   Duration longest = std::chrono::seconds(30))
      : random_(seed), first_(first), longest_(longest) {}

  // `asked`: what the server asked for; it gets at least that.
  Duration next(std::optional<Duration> asked = std::nullopt) {
    const Duration base = std::min(longest_, first_ * (int64_t{1} << std::min(failures_, 20)));
    ++failures_;
    const Duration delay(random_.between(base.count() / 2, base.count()));
    return std::max(delay, asked.value_or(Duration(0)));
  }
  void succeeded() { failures_ = 0; }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  Random random_;
  Duration first_;
  Duration longest_;
  int failures_ = 0;
};

}  // namespace phalanx::kube
