// One run of the embedded cluster on what people hand in: nodes, manifests, timelines.
//
// The cluster is empty, or goes on from where it was saved. Everything but Jobs is there when the
// run begins. Jobs are submitted then, or when their annotation phalanx.dev/submit-at says; a
// Timeline has further actions (sim/script.h), each at its time. All times count from the beginning
// of the run.
//
// The same input and seed give the same run, however fast it is played.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/live_cluster.h"
#include "cli/simulate_history.h"
#include "cli/simulate_input.h"
#include "cli/simulate_placement.h"
#include "sim/script_backend.h"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace phalanx::cli {

inline constexpr std::string_view kSampleNodes = "4 blocks x 4 racks x 16 hosts, 8 nvidia.com/gpu";

struct RunArguments {
  std::vector<std::string> files;
  LiveArguments live = {};  // goes on from a running cluster, as it is now
  std::string load;         // a folder that --save wrote (sim/state_folder.h)
  std::string nodes;        // sim/node_generator.h
  std::string configuration;
  std::string feature_gates;
  uint64_t seed = 1;
};

// The options that name these; -f is left to the command, and --load to those that have it.
void add_run_options(CLI::App& command, RunArguments& arguments);
void add_load_option(CLI::App& command, RunArguments& arguments);
// Configuration file and gates. Remarks go to standard error.
Result<core::Configuration> read_configuration(const RunArguments& arguments);

// Why a run was ended before its time.
struct RunFailure {
  bool internal = false;  // ours; otherwise the input is to blame
  std::string message;
};

struct RunPlan {
  std::optional<Duration> until;  // without it: until nothing moves, at most kLongestRun
  // Called with the time of the next step before the clock goes there: a place to wait or to show
  // progress. The run ends where it is if the answer is no.
  std::function<bool(Time)> before_step;
};

class SimulationRun {
 public:
  // Reads everything and sets the cluster up. Without files and without a saved cluster it is the
  // sample (sim/sample_jobs.h).
  static Result<std::unique_ptr<SimulationRun>> prepare(const RunArguments& arguments);

  std::expected<void, RunFailure> run(const RunPlan& plan);

  [[nodiscard]] sim::EmbeddedCluster& cluster() { return backend_.cluster(); }
  [[nodiscard]] Time now() const { return backend_.now(); }
  [[nodiscard]] Time start() const { return history_->start(); }
  [[nodiscard]] const History& history() const { return *history_; }
  // nullptr if there is no Job whose pods could be the measure.
  [[nodiscard]] const RoomMeter* room() const { return room_ ? &*room_ : nullptr; }
  [[nodiscard]] std::string journal() const;
  [[nodiscard]] const RunArguments& arguments() const { return arguments_; }
  // Whether the run ended because nothing moves any more.
  [[nodiscard]] bool quiet() { return appointments_left_ == 0 && cluster().simulation().quiet(); }
  // Whether before_step ended it.
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  // Jobs that the run ended before, by "namespace/name", with when they would be submitted.
  [[nodiscard]] std::vector<std::pair<std::string, Duration>> jobs_to_come() const;
  // What must never happen: found on the way, and by comparing the account with a rebuilt one.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

 private:
  SimulationRun(sim::EmbeddedOptions options, const RunArguments& arguments);

  std::expected<void, RunFailure> advance(Time time, bool until_quiet, const RunPlan& plan);

  RunArguments arguments_;
  sim::EmbeddedBackend backend_;
  History* history_ = nullptr;  // owned by the simulation
  std::optional<RoomMeter> room_;
  std::vector<Appointment> appointments_;  // by time, then in input order
  size_t appointments_left_ = 0;
  bool interrupted_ = false;
  std::vector<std::string> faults_;
};

}  // namespace phalanx::cli
