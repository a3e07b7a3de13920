// What LocalQueues used lately: the order of a ClusterQueue with admission fair sharing
// (docs/reference/queueing.md, "Order").
//
// A moving average: what a queue uses now comes in as what it used before fades, by half every half
// life. It is sampled at intervals, and kept in the status of the LocalQueue, so that it survives a
// restart. An admission counts at once with what it will have added at the next sample, or a queue
// could admit everything it has between two samples.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/state.h"

namespace phalanx::core {

class RecentUsages {
 public:
  explicit RecentUsages(const State& state) : state_(state) {}

  // Takes the samples that are due. Returns the LocalQueues whose usage is another one now.
  std::set<std::string> sample();
  // A workload of the LocalQueue was admitted.
  void admitted(const std::string& local_queue, const quota::Usage& usage);

  // By which the LocalQueue is ordered: weighted over resources, divided by its weight.
  [[nodiscard]] double value(const std::string& local_queue) const;
  // For its status, in whole seconds; nullopt if it is not ordered by usage.
  [[nodiscard]] std::optional<api::RecentUsage> status(const std::string& local_queue) const;
  // When the next sample is due.
  [[nodiscard]] std::optional<Time> wake_at() const;

 private:
  struct Recent {
    std::map<std::string, double> consumed;  // by resource
    Time at{};
  };

  [[nodiscard]] bool ordered_by_usage(const api::LocalQueue& queue) const;
  // What is left of old usage after a while.
  [[nodiscard]] double left_after(Duration elapsed) const;

  const State& state_;
  std::map<std::string, Recent> queues_;  // by LocalQueue
};

}  // namespace phalanx::core
