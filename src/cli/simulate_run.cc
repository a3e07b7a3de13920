#include "cli/simulate_run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "base/file.h"
#include "cli/command.h"
#include "core/configuration.h"
#include "sim/document.h"
#include "sim/object_fields.h"
#include "sim/state_folder.h"

namespace phalanx::cli {
namespace {

std::unexpected<RunFailure> bad(std::string message) {
  return std::unexpected(RunFailure{false, std::move(message)});
}

std::unexpected<RunFailure> internal(std::string message) {
  return std::unexpected(RunFailure{true, std::move(message)});
}

Result<void> applied(const sim::ApiResult<sim::Stored>& stored, const std::string& origin) {
  if (stored) return {};
  return fail(placed(origin, stored.error().message));
}

// The library takes -1 and what is too large for some number or other.
std::string problem_of_seed(const std::string& text) {
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, seed);
  if (stop == end && code == std::errc()) return "";
  return fmt::format("\"{}\" is no seed; write a whole number from 0 to {}", text,
                     std::numeric_limits<uint64_t>::max());
}

}  // namespace

void add_run_options(CLI::App& command, RunArguments& arguments) {
  command
      .add_option("--nodes", arguments.nodes,
                  "Nodes to make: \"4 blocks x 8 racks x 16 hosts, 8 nvidia.com/gpu\"")
      ->type_name("TEXT");
  command.add_option("--config", arguments.configuration, "Configuration of Phalanx, or of Kueue")
      ->type_name("FILE");
  command.add_option("--feature-gates", arguments.feature_gates, "Gates, as in A=true,B=false")
      ->type_name("TEXT");
  command.add_option("--seed", arguments.seed, "What decides everything random")
      ->check(problem_of_seed)
      ->capture_default_str();
}

void add_load_option(CLI::App& command, RunArguments& arguments) {
  add_live_options(command, arguments.live);
  command
      .add_option("--load", arguments.load,
                  "Go on from a cluster that simulate --save wrote; -f comes on top of it")
      ->type_name("FOLDER")
      ->excludes("--seed", "--kubeconfig", "--context");
}

Result<core::Configuration> read_configuration(const RunArguments& arguments) {
  core::Configuration configuration;
  if (!arguments.configuration.empty()) {
    ASSIGN_OR_RETURN(const std::string text, read_file(arguments.configuration));
    ASSIGN_OR_RETURN(core::ConfigurationFile file,
                     core::parse_configuration(text, arguments.configuration));
    for (const std::string& warning : file.warnings) remark(warning);
    configuration = std::move(file.configuration);
  }
  if (!arguments.feature_gates.empty()) {
    const auto warnings = core::apply_feature_gates(arguments.feature_gates, configuration);
    if (!warnings) return within("--feature-gates", warnings.error());
    for (const std::string& warning : *warnings) remark(warning);
  }
  return configuration;
}

SimulationRun::SimulationRun(sim::EmbeddedOptions options, const RunArguments& arguments)
    : arguments_(arguments), backend_(std::move(options)) {
  auto history = std::make_unique<History>(cluster(), HistoryOptions{});
  history_ = history.get();
  cluster().simulation().add("history", std::move(history));
}

Result<std::unique_ptr<SimulationRun>> SimulationRun::prepare(const RunArguments& arguments) {
  sim::EmbeddedOptions options;
  ASSIGN_OR_RETURN(options.host.configuration, read_configuration(arguments));
  options.seed = arguments.seed;
  if (!arguments.load.empty()) {
    auto saved = sim::load_state(arguments.load);
    if (!saved) return within("--load", saved.error());
    options.saved = std::move(*saved);
  } else if (arguments.live.given()) {
    ASSIGN_OR_RETURN(options.saved, read_live_state(arguments.live, arguments.seed));
  }
  std::unique_ptr<SimulationRun> run(new SimulationRun(std::move(options), arguments));
  RunInput input([&](json::value document, const std::string& origin) {
    return applied(run->cluster().apply(std::move(document)), origin);
  });
  if (arguments.files.empty() && arguments.load.empty() && !arguments.live.given()) {
    RETURN_IF_ERROR(input.add_sample(
        arguments.nodes.empty() ? std::string(kSampleNodes) : arguments.nodes, arguments.seed));
  } else {
    if (!arguments.nodes.empty()) RETURN_IF_ERROR(input.add_nodes(arguments.nodes));
    RETURN_IF_ERROR(input.add_files(arguments.files));
  }
  for (const std::string& text : input.remarks()) remark(text);
  input.count_pods_of(run->cluster().server());
  if (auto pod = input.typical_pod()) run->room_.emplace(std::move(*pod));
  run->appointments_ = input.take_appointments();
  run->appointments_left_ = run->appointments_.size();
  return run;
}

std::string SimulationRun::journal() const {
  std::string text;
  for (const std::string& line : backend_.journal()) text += line + "\n";
  return text;
}

std::vector<std::pair<std::string, Duration>> SimulationRun::jobs_to_come() const {
  std::vector<std::pair<std::string, Duration>> jobs;
  for (size_t i = appointments_.size() - appointments_left_; i < appointments_.size(); ++i) {
    const auto* apply = std::get_if<sim::ApplyAction>(&appointments_[i].action.what);
    if (apply == nullptr) continue;
    for (const json::value& document : apply->documents) {
      if (string_at(document, {"kind"}) != "Job") continue;
      jobs.emplace_back(
          fmt::format("{}/{}", sim::text_or(document, {"metadata", "namespace"}, "default"),
                      string_at(document, {"metadata", "name"})),
          appointments_[i].at);
    }
  }
  return jobs;
}

std::expected<void, RunFailure> SimulationRun::advance(Time time, bool until_quiet,
                                                       const RunPlan& plan) {
  sim::Simulation& simulation = cluster().simulation();
  while (true) {
    if (auto settled = simulation.settle(); !settled) return internal(settled.error().message);
    if (room_) room_->observe(cluster().core().state(), now());
    const auto wake = simulation.next_wake();
    if (until_quiet && !wake) return {};
    const Time next = std::min(wake.value_or(time), time);
    if (plan.before_step && !plan.before_step(next)) {
      interrupted_ = true;
      return {};
    }
    if (auto ran = simulation.run_until(next); !ran) return internal(ran.error().message);
    if (next == time) return {};
  }
}

std::expected<void, RunFailure> SimulationRun::run(const RunPlan& plan) {
  const Time end = start() + plan.until.value_or(kLongestRun);
  std::optional<Time> last;
  for (const Appointment& appointment : appointments_) {
    const Time at = start() + appointment.at;
    if (at > end) break;
    // What happens at the same moment has happened before anybody reacts.
    if (at != last) {
      if (auto advanced = advance(at, false, plan); !advanced) return advanced;
      if (interrupted_) break;
    }
    last = at;
    --appointments_left_;
    if (auto done = sim::perform(appointment.action, backend_); !done) {
      return bad(placed(appointment.origin, done.error().message));
    }
  }
  if (!interrupted_) {
    if (auto advanced = advance(end, !plan.until, plan); !advanced) return advanced;
  }
  history_->close();
  if (room_) room_->close(cluster().core().state(), now());
  faults_ = history_->faults();
  if (auto checked = backend_.check_account(); !checked) {
    faults_.push_back(checked.error().message);
  }
  return {};
}

}  // namespace phalanx::cli
