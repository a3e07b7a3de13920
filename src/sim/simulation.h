// The run loop of the embedded cluster: one clock, one API server, and the actors in a fixed order.
//
// Time here is virtual: nothing happens between two timers, so the clock jumps from one to the
// next. Real and scaled time are driven from outside, by calling run_until with times taken from
// the wall clock. The same start, seed, components and calls give the same history, write for
// write.
//
// Cost: a round asks every component once; a component without anything to do costs one read of the
// watch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/strong_id.h"
#include "sim/api_server.h"
#include "sim/clock.h"
#include "sim/cluster_state.h"
#include "sim/component.h"

namespace phalanx::sim {

using ComponentId = StrongId<struct ComponentTag>;

class Simulation {
 public:
  static constexpr int kMaxRounds = 100'000;

  Simulation(Time start, uint64_t seed);
  // Goes on from a saved cluster (sim/state_folder.h), without any component.
  explicit Simulation(ClusterState saved);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] ApiServer& server() { return server_; }
  [[nodiscard]] const ApiServer& server() const { return server_; }
  [[nodiscard]] Time now() const { return clock_.now(); }

  // Components act in the order they were added. The name is for error messages.
  ComponentId add(std::string name, std::unique_ptr<Component> component);
  // Puts another component in the place of one, which is handed back: a crash and a restart in one
  // step. With nullptr the place stays empty until the next replacement.
  std::unique_ptr<Component> replace(ComponentId id, std::unique_ptr<Component> component);

  // Lets everybody act, round after round, until nobody has anything to do at this moment. An error
  // if that does not come about within `max_rounds`; it names who kept acting.
  Result<void> settle(int max_rounds = kMaxRounds);
  // Settles, and moves the clock from timer to timer up to `time`, which it reaches.
  Result<void> run_until(Time time);
  Result<void> run_for(Duration duration) { return run_until(now() + duration); }
  // Runs until it is quiet, or up to `limit`; returns whether it is quiet.
  Result<bool> run_until_quiet(Time limit);

  // The earliest timer of any component; nullopt: there is none.
  [[nodiscard]] std::optional<Time> next_wake() const;
  // Whether there is nothing to do now, and will not be unless somebody writes.
  [[nodiscard]] bool quiet() const;

 private:
  struct Place {
    std::string name;
    std::unique_ptr<Component> component;
  };

  [[nodiscard]] bool settled() const;
  // Settles, then moves to the next timer up to `time`; whether there was one.
  Result<bool> step(Time time);

  Clock clock_;
  ApiServer server_;
  std::vector<Place> places_;
  // The version up to which everybody has reacted; nullopt: somebody has not been asked yet.
  std::optional<uint64_t> settled_at_;
};

}  // namespace phalanx::sim
