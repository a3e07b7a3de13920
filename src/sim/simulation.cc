#include "sim/simulation.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace phalanx::sim {

Simulation::Simulation(Time start, uint64_t seed) : clock_(start), server_(clock_, seed) {}

Simulation::Simulation(ClusterState saved) : clock_(saved.now), server_(clock_, 0) {
  server_.restore(std::move(saved));
}

ComponentId Simulation::add(std::string name, std::unique_ptr<Component> component) {
  settled_at_.reset();
  places_.push_back({std::move(name), std::move(component)});
  return ComponentId(places_.size() - 1);
}

std::unique_ptr<Component> Simulation::replace(ComponentId id,
                                               std::unique_ptr<Component> component) {
  CHECK(id.value < places_.size());
  settled_at_.reset();
  return std::exchange(places_[id.value].component, std::move(component));
}

Result<void> Simulation::settle(int max_rounds) {
  std::string busy;
  for (int round = 0; round < max_rounds; ++round) {
    busy.clear();
    for (const Place& place : places_) {
      if (place.component == nullptr || !place.component->react()) continue;
      busy += (busy.empty() ? "" : ", ") + place.name;
    }
    if (busy.empty()) {
      settled_at_ = server_.resource_version();
      return {};
    }
  }
  return fail(fmt::format(
      "the cluster does not come to rest at {}: after {} rounds these still act, probably on each "
      "other's writes: {}",
      format_micro_time(now()), max_rounds, busy));
}

Result<bool> Simulation::step(Time time) {
  RETURN_IF_ERROR(settle());
  const auto wake = next_wake();
  if (!wake || *wake > time) return false;
  if (*wake <= now()) {
    for (const Place& place : places_) {
      if (place.component == nullptr || place.component->wake_at() != wake) continue;
      return fail(fmt::format(
          "{} asks to be woken at {}, which has passed, but does nothing when it is asked at {}",
          place.name, format_micro_time(*wake), format_micro_time(now())));
    }
  }
  clock_.advance_to(*wake);
  settled_at_.reset();
  return true;
}

Result<void> Simulation::run_until(Time time) {
  CHECK(time >= now());
  while (true) {
    ASSIGN_OR_RETURN(const bool moved, step(time));
    if (!moved) break;
  }
  clock_.advance_to(time);
  return {};
}

Result<bool> Simulation::run_until_quiet(Time limit) {
  CHECK(limit >= now());
  while (true) {
    ASSIGN_OR_RETURN(const bool moved, step(limit));
    if (!moved) return quiet();
  }
}

std::optional<Time> Simulation::next_wake() const {
  std::optional<Time> earliest;
  for (const Place& place : places_) {
    if (place.component == nullptr) continue;
    const auto wake = place.component->wake_at();
    if (wake && (!earliest || *wake < *earliest)) earliest = wake;
  }
  return earliest;
}

bool Simulation::settled() const {
  return settled_at_ == server_.resource_version();
}

bool Simulation::quiet() const {
  return settled() && !next_wake();
}

}  // namespace phalanx::sim
