// Alarms of an actor, one per object. Setting, cancelling and taking one costs a map operation.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "base/time.h"

namespace phalanx::sim {

class Timers {
 public:
  // Replaces the object's earlier alarm.
  void set(const api::ObjectKey& key, Time time) {
    cancel(key);
    times_.emplace(key, time);
    queue_.emplace(time, key);
  }

  void cancel(const api::ObjectKey& key) {
    const auto found = times_.find(key);
    if (found == times_.end()) return;
    queue_.erase({found->second, key});
    times_.erase(found);
  }

  // The objects whose time has come, earliest first. Their alarms are off.
  std::vector<api::ObjectKey> take_due(Time now) {
    std::vector<api::ObjectKey> due;
    while (!queue_.empty() && queue_.begin()->first <= now) {
      due.push_back(queue_.begin()->second);
      cancel(due.back());
    }
    return due;
  }

  [[nodiscard]] std::optional<Time> next() const {
    return queue_.empty() ? std::nullopt : std::optional(queue_.begin()->first);
  }

 private:
  std::map<api::ObjectKey, Time> times_;
  std::set<std::pair<Time, api::ObjectKey>> queue_;
};

}  // namespace phalanx::sim
