#include "core/recent_usage.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace phalanx::core {
namespace {

constexpr std::string_view kCpu = "cpu";

Time whole_seconds(Time time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

}  // namespace

bool RecentUsages::ordered_by_usage(const api::LocalQueue& queue) const {
  if (!state_.configuration.admission_fair_sharing) return false;
  const auto found = state_.cluster_queues.find(queue.cluster_queue);
  return found != state_.cluster_queues.end() && found->second.usage_based_admission;
}

double RecentUsages::left_after(Duration elapsed) const {
  const Duration half_life = state_.configuration.admission_fair_sharing->half_life;
  if (half_life.count() <= 0) return 0;
  return std::exp2(-static_cast<double>(elapsed.count()) / static_cast<double>(half_life.count()));
}

std::set<std::string> RecentUsages::sample() {
  std::set<std::string> changed;
  std::erase_if(queues_, [&](const auto& entry) {
    const auto queue = state_.local_queues.find(entry.first);
    return queue == state_.local_queues.end() || !ordered_by_usage(queue->second);
  });
  for (const auto& [name, queue] : state_.local_queues) {
    if (!ordered_by_usage(queue)) continue;
    const auto [entry, is_new] = queues_.try_emplace(name);
    Recent& recent = entry->second;
    if (is_new) {
      recent.at = whole_seconds(state_.now);
      if (const auto& known = queue.status.recent_usage) {
        recent.at = std::min(recent.at, known->at);
        for (const auto& [resource, amount] : known->consumed) {
          recent.consumed[resource] = static_cast<double>(amount);
        }
      }
      changed.insert(name);
    }
    const auto& settings = *state_.configuration.admission_fair_sharing;
    const Duration elapsed = state_.now - recent.at;
    if (elapsed < settings.sampling_interval) continue;
    const double left = left_after(elapsed);
    for (auto& [resource, consumed] : recent.consumed) consumed *= left;
    for (const auto& [what, amount] : state_.ledger.of_local_queue(name).reserved) {
      recent.consumed[what.resource] += (1 - left) * static_cast<double>(amount);
    }
    recent.at = whole_seconds(state_.now);
    changed.insert(name);
  }
  return changed;
}

void RecentUsages::admitted(const std::string& local_queue, const quota::Usage& usage) {
  const auto found = queues_.find(local_queue);
  if (found == queues_.end()) return;
  const double counts =
      1 - left_after(state_.configuration.admission_fair_sharing->sampling_interval);
  for (const auto& [what, amount] : usage) {
    found->second.consumed[what.resource] += counts * static_cast<double>(amount);
  }
}

double RecentUsages::value(const std::string& local_queue) const {
  const auto found = queues_.find(local_queue);
  const auto queue = state_.local_queues.find(local_queue);
  if (found == queues_.end() || queue == state_.local_queues.end()) return 0;
  const auto& weights = state_.configuration.admission_fair_sharing->resource_weights;
  double value = 0;
  for (const auto& [resource, consumed] : found->second.consumed) {
    const auto weight = weights.find(resource);
    // Of cpu thousandths are counted.
    const double units = resource == kCpu ? consumed / 1000 : consumed;
    value += units * (weight == weights.end() ? 1 : weight->second);
  }
  if (value == 0) return 0;
  if (queue->second.weight_milli == 0) return std::numeric_limits<double>::infinity();
  return value * 1000 / static_cast<double>(queue->second.weight_milli);
}

std::optional<api::RecentUsage> RecentUsages::status(const std::string& local_queue) const {
  const auto found = queues_.find(local_queue);
  if (found == queues_.end()) return std::nullopt;
  api::RecentUsage status{{}, found->second.at};
  for (const auto& [resource, consumed] : found->second.consumed) {
    status.consumed[resource] = std::llround(consumed);
  }
  return status;
}

std::optional<Time> RecentUsages::wake_at() const {
  std::optional<Time> next;
  for (const auto& [name, recent] : queues_) {
    const Time due = recent.at + state_.configuration.admission_fair_sharing->sampling_interval;
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

}  // namespace phalanx::core
