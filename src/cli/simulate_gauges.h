// How much of something was in use, over time: quota of queues, and resources of nodes.
//
// The average is weighted by time: a cluster that is full for an hour and empty for three was used
// to a quarter. Time in which there was nothing to use does not count.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"

namespace phalanx::cli {

class Gauge {
 public:
  void set(int64_t used, int64_t total) {
    used_ = used;
    total_ = total;
  }
  void pass(Duration duration) {
    const double milliseconds = static_cast<double>(duration.count());
    used_time_ += static_cast<double>(used_) * milliseconds;
    total_time_ += static_cast<double>(total_) * milliseconds;
    if (duration.count() > 0) peak_ = std::max(peak_, used_);
  }

  [[nodiscard]] int64_t used() const { return used_; }
  [[nodiscard]] int64_t total() const { return total_; }
  [[nodiscard]] int64_t peak() const { return peak_; }
  // The part that was used, 0 to 1, or more of a quota that was lowered meanwhile.
  [[nodiscard]] double average() const { return total_time_ > 0 ? used_time_ / total_time_ : 0; }

 private:
  int64_t used_ = 0;
  int64_t total_ = 0;
  int64_t peak_ = 0;
  double used_time_ = 0;
  double total_time_ = 0;
};

struct QuotaKey {
  std::string cluster_queue;
  std::string flavor;
  std::string resource;

  auto operator<=>(const QuotaKey&) const = default;
};

struct Gauges {
  std::map<QuotaKey, Gauge> quotas;
  std::map<std::string, Gauge> nodes;  // by resource

  void pass(Duration duration) {
    for (auto& [key, gauge] : quotas) gauge.pass(duration);
    for (auto& [resource, gauge] : nodes) gauge.pass(duration);
  }
};

}  // namespace phalanx::cli
