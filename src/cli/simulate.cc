// phalanx simulate -f FILE...: what would happen to these Jobs on this cluster, hour by hour.
//
// Virtual time, as fast as it goes, or --speed times the real one. See docs/reference/simulate.md.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>

#include "base/file.h"
#include "cli/command.h"
#include "cli/simulate_report.h"
#include "cli/simulate_run.h"
#include "cli/stop_signals.h"
#include "sim/state_folder.h"

namespace phalanx::cli {
namespace {

using WallClock = std::chrono::steady_clock;

struct Arguments {
  RunArguments run;
  std::string until;
  double speed = 0;
  std::string output = "text";
  std::string journal;
  std::string save;
  size_t max_lines = 200;
};

// Waits before each step until its time has come, if the run has a speed, and shows how far the run
// is, if somebody is there to see it.
class Pace {
 public:
  Pace(Time start, double speed, const StopSignals& signals)
      : start_(start), speed_(speed), signals_(signals), shows_(::isatty(STDERR_FILENO) == 1) {}

  // Whether to go on: nobody wants it to end.
  bool before_step(Time next) {
    show(next);
    if (speed_ <= 0) return signals_.received() == 0;
    const std::chrono::duration<double, std::milli> due(
        static_cast<double>((next - start_).count()) / speed_);
    return !signals_.wait_until(begun_ + std::chrono::duration_cast<WallClock::duration>(due));
  }

  void clear() const {
    if (dirty_) std::cerr << "\r\x1b[K";
  }

 private:
  void show(Time next) {
    const WallClock::time_point now = WallClock::now();
    if (!shows_ || now - shown_ < std::chrono::seconds(1)) return;
    shown_ = now;
    std::cerr << fmt::format("\rphalanx: {} of cluster time", short_duration(next - start_))
              << std::flush;
    dirty_ = true;
  }

  Time start_;
  double speed_;
  const StopSignals& signals_;
  bool shows_;
  bool dirty_ = false;
  WallClock::time_point begun_ = WallClock::now();
  WallClock::time_point shown_ = begun_;
};

// A run that takes long should not end with a typing error.
Result<void> check_results(const Arguments& arguments) {
  if (!arguments.journal.empty()) {
    if (auto writable = check_writable(arguments.journal); !writable) {
      return within("--journal", writable.error());
    }
  }
  if (!arguments.save.empty()) {
    if (auto saveable = sim::check_saveable(arguments.save); !saveable) {
      return within("--save", saveable.error());
    }
  }
  return {};
}

Result<void> write_results(SimulationRun& run, const Arguments& arguments) {
  if (!arguments.journal.empty()) {
    RETURN_IF_ERROR(write_file(arguments.journal, run.journal()));
  }
  if (!arguments.save.empty()) {
    RETURN_IF_ERROR(sim::save_state(run.cluster().server().state(), arguments.save));
  }
  return {};
}

// `signal` is the one that ended the run before its time; 0: none.
std::expected<void, RunFailure> play(SimulationRun& run, RunPlan plan, double speed, int& signal) {
  const StopSignals signals;
  Pace pace(run.start(), speed, signals);
  plan.before_step = [&](Time next) { return pace.before_step(next); };
  auto ran = run.run(plan);
  pace.clear();
  if (run.interrupted()) signal = signals.received();
  return ran;
}

int run_simulate(const Arguments& arguments) {
  const bool as_json = arguments.output == "json";
  if (!std::isfinite(arguments.speed)) {
    return bad_input("--speed: must be a number, such as 60", as_json);
  }
  RunPlan plan;
  if (!arguments.until.empty()) {
    const auto until = parse_duration(arguments.until);
    if (!until) return bad_input("--until: " + until.error().message, as_json);
    if (*until > kLongestRun) return bad_input("--until: at most 720h (30 days)", as_json);
    plan.until = *until;
  }
  if (const auto checked = check_results(arguments); !checked) {
    return bad_input(checked.error().message, as_json);
  }
  auto run = SimulationRun::prepare(arguments.run);
  if (!run) return bad_input(run.error().message, as_json);
  int signal = 0;
  const auto ran = play(**run, std::move(plan), arguments.speed, signal);
  if (!ran && !ran.error().internal) return bad_input(ran.error().message, as_json);
  if (!ran) {
    (void)bad_input("internal fault: " + ran.error().message, as_json);
    return kInternalFault;
  }
  if (const auto written = write_results(**run, arguments); !written) {
    return bad_input(written.error().message, as_json);
  }
  if (as_json) {
    std::cout << pretty_json(simulation_json(**run)) << "\n";
  } else {
    std::cout << simulation_text(**run, arguments.max_lines);
  }
  if (!(*run)->faults().empty()) return kInternalFault;
  return signal == 0 ? kDone : kEndedBySignal + signal;
}

}  // namespace

void add_simulate_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Run Jobs on an embedded cluster in virtual time, and say what happened");
  command
      ->add_option("-f,--filename", arguments->run.files,
                   "Manifests and Timelines: files, folders, - for stdin; without it, a sample")
      ->type_name("FILE");
  add_run_options(*command, arguments->run);
  add_load_option(*command, arguments->run);
  command
      ->add_option(
          "--until", arguments->until,
          "Cluster time to run for, at most 720h; without it, until nothing moves any more")
      ->type_name("DURATION");
  command
      ->add_option("--speed", arguments->speed,
                   "Times as fast as real time; without it, as fast as it goes")
      ->type_name("X")
      ->check(CLI::Range(0.001, 1e9).description(""));
  command->add_option("-o,--output", arguments->output, "How to answer")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("--journal", arguments->journal, "Write the decision journal here")
      ->type_name("FILE");
  command->add_option("--save", arguments->save, "Save the cluster, as it is at the end")
      ->type_name("FOLDER");
  command->add_option("--max-lines", arguments->max_lines, "Events and workloads shown, at most")
      ->type_name("N")
      ->check(CLI::Range(2, 1'000'000).description(""))
      ->capture_default_str();
  command->footer(
      "Exit codes: 0 the run ended as it should, 1 bad input, 3 an internal fault, 128 and more a\n"
      "signal ended it. Everything else is in docs/reference/simulate.md.");
  command->callback([arguments, &run] { run = [arguments] { return run_simulate(*arguments); }; });
}

}  // namespace phalanx::cli
