#include "cli/simulate_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/file.h"
#include "cli/command.h"
#include "core/configuration.h"
#include "jobs/batch_job.h"
#include "sim/document.h"
#include "sim/node_generator.h"
#include "sim/object_fields.h"
#include "sim/sample_jobs.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kTimelineVersion = "phalanx.dev/v1";
constexpr std::string_view kTimelineHelp =
    "write {at: 10m, node: n7, becomes: NotReady} or {at: 1h, apply: {...}}";
// The sample is not endless here.
constexpr Duration kSampleArrivals = std::chrono::hours(2);

std::unexpected<RunFailure> bad(std::string message) {
  return std::unexpected(RunFailure{false, std::move(message)});
}

std::unexpected<RunFailure> internal(std::string message) {
  return std::unexpected(RunFailure{true, std::move(message)});
}

// An origin ends with the object, and a refusal begins with it: it is named once.
std::string placed(const std::string& origin, std::string_view message) {
  const size_t colon = origin.rfind(": ");
  const std::string object = origin.substr(colon == std::string::npos ? 0 : colon + 2) + ": ";
  while (message.starts_with(object)) message.remove_prefix(object.size());
  return fmt::format("{}: {}", origin, message);
}

Result<void> applied(const sim::ApiResult<sim::Stored>& stored, const std::string& origin) {
  if (stored) return {};
  return fail(placed(origin, stored.error().message));
}

Result<Duration> parse_moment(const json::value* value) {
  constexpr std::string_view kHelp = "write a duration since the start, such as 90s, 10m or 1h30m";
  if (value == nullptr || value->is_null()) return fail(fmt::format("is required; {}", kHelp));
  if (!value->is_string()) return fail(fmt::format("must be a text; {}", kHelp));
  auto duration = parse_duration(value->get_string());
  if (!duration) return fail(fmt::format("{}; {}", duration.error().message, kHelp));
  if (*duration > kLongestRun) return fail("is more than 30 days, the longest run");
  return *duration;
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
    ASSIGN_OR_RETURN(const auto warnings,
                     core::apply_feature_gates(arguments.feature_gates, configuration));
    for (const std::string& warning : warnings) remark(warning);
  }
  return configuration;
}

SimulationRun::SimulationRun(sim::EmbeddedOptions options, uint64_t seed)
    : seed_(seed), backend_(std::move(options)), adapters_(jobs::all_adapters()) {
  auto history = std::make_unique<History>(cluster(), HistoryOptions{});
  history_ = history.get();
  cluster().simulation().add("history", std::move(history));
}

Result<std::unique_ptr<SimulationRun>> SimulationRun::prepare(const RunArguments& arguments) {
  sim::EmbeddedOptions options;
  ASSIGN_OR_RETURN(options.host.configuration, read_configuration(arguments));
  options.seed = arguments.seed;
  std::unique_ptr<SimulationRun> run(new SimulationRun(std::move(options), arguments.seed));
  if (arguments.files.empty()) {
    RETURN_IF_ERROR(run->add_sample(arguments.nodes));
  } else {
    if (!arguments.nodes.empty()) RETURN_IF_ERROR(run->add_nodes(arguments.nodes));
    RETURN_IF_ERROR(read_manifests(
        arguments.files, [](const std::string&) {},
        [&](Manifest manifest) { return run->add(std::move(manifest)); }));
  }
  for (const auto& [kind, count] : run->skipped_) {
    remark(fmt::format("skipped {} object{} of kind {}, which the embedded cluster does not have",
                       count, count == 1 ? "" : "s", kind));
  }
  size_t number = 0;
  for (Appointment& appointment : run->appointments_) appointment.number = number++;
  std::ranges::sort(run->appointments_, {}, [](const Appointment& appointment) {
    return std::pair(appointment.at, appointment.number);
  });
  run->appointments_left_ = run->appointments_.size();
  run->choose_typical_pod();
  return run;
}

Result<void> SimulationRun::add_nodes(const std::string& description) {
  const auto plan = sim::parse_node_plan(description);
  if (!plan) return within("--nodes", plan.error());
  for (size_t index = 0; index < plan->count(); ++index) {
    RETURN_IF_ERROR(applied(cluster().apply(plan->node(index)), "--nodes"));
  }
  return {};
}

Result<void> SimulationRun::add_sample(const std::string& description) {
  const std::string text = description.empty() ? std::string(kSampleNodes) : description;
  RETURN_IF_ERROR(add_nodes(text));
  ASSIGN_OR_RETURN(const sim::NodePlan plan, sim::parse_node_plan(text));
  sim::SampleJobs jobs(plan, seed_);
  for (json::value& document : jobs.setup()) {
    RETURN_IF_ERROR(applied(cluster().apply(std::move(document)), "sample"));
  }
  Duration at{};
  while (true) {
    sim::SampleJobs::Arrival arrival = jobs.next();
    at += arrival.after;
    if (at > kSampleArrivals) return {};
    count_pods(arrival.job);
    sim::ApplyAction apply{{std::move(arrival.job)}};
    appointments_.push_back({at, 0, "sample", {std::move(apply), std::nullopt}});
  }
}

Result<void> SimulationRun::add(Manifest manifest) {
  if (manifest.header.group() == "phalanx.dev" && manifest.header.kind == "Timeline") {
    return add_timeline(manifest);
  }
  const auto kind = api::find_kind(manifest.header.api_version, manifest.header.kind);
  if (!kind) {
    ++skipped_[manifest.header.kind];
    return {};
  }
  if (json::object* object = manifest.value.if_object()) {  // an element of a typed list
    (*object)["apiVersion"] = manifest.header.api_version;
    (*object)["kind"] = manifest.header.kind;
  }
  if (*kind == api::Kind::kJob) return add_job(std::move(manifest));
  return applied(cluster().apply(std::move(manifest.value)), manifest.origin);
}

Result<void> SimulationRun::add_job(Manifest manifest) {
  Duration at{};
  const json::object* annotations = sim::object_at(manifest.value, {"metadata", "annotations"});
  if (annotations != nullptr && annotations->contains(kSubmitAtAnnotation)) {
    const auto moment = parse_moment(annotations->if_contains(kSubmitAtAnnotation));
    if (!moment) {
      return fail(fmt::format("{}: metadata.annotations[{}]: {}", manifest.origin,
                              kSubmitAtAnnotation, moment.error().message));
    }
    at = *moment;
  }
  count_pods(manifest.value);
  sim::ApplyAction apply{{std::move(manifest.value)}};
  appointments_.push_back({at, 0, std::move(manifest.origin), {std::move(apply), std::nullopt}});
  return {};
}

Result<void> SimulationRun::add_timeline(const Manifest& manifest) {
  if (manifest.header.api_version != kTimelineVersion) {
    return fail(
        fmt::format("{}: apiVersion: a Timeline has {}", manifest.origin, kTimelineVersion));
  }
  const json::object& document = manifest.value.get_object();
  constexpr std::array<std::string_view, 4> kFields{"apiVersion", "kind", "metadata", "events"};
  if (auto known = sim::check_fields(document, kFields); !known) {
    return within(manifest.origin, known.error());
  }
  const json::value* events = document.if_contains("events");
  if (events == nullptr || !events->is_array()) {
    return fail(fmt::format("{}: events: must be a list; {}", manifest.origin, kTimelineHelp));
  }
  size_t index = 0;
  for (const json::value& event : events->get_array()) {
    const std::string origin = fmt::format("{}: events[{}]", manifest.origin, index++);
    const json::object* fields = event.if_object();
    if (fields == nullptr) return fail(fmt::format("{}: {}", origin, kTimelineHelp));
    const auto at = parse_moment(fields->if_contains("at"));
    if (!at) return fail(fmt::format("{}: at: {}", origin, at.error().message));
    constexpr std::array<std::string_view, 1> kAlso{"at"};
    auto action = sim::read_action(event, kAlso);
    if (!action) return within(origin, action.error());
    if (std::holds_alternative<sim::RunAction>(action->what)) {
      return fail(fmt::format("{}: run: time passes by itself in a timeline; remove it", origin));
    }
    appointments_.push_back({*at, 0, origin, std::move(*action)});
  }
  return {};
}

void SimulationRun::count_pods(const json::value& job) {
  const auto object = core::decode_object(job, adapters_);
  const core::Job* decoded = object ? std::get_if<core::Job>(&object->body) : nullptr;
  if (decoded == nullptr) return;
  for (const core::JobPodSet& pod_set : decoded->pod_sets) {
    pods_[pod_set.pod_template.resources.effective({})] += pod_set.count;
  }
}

void SimulationRun::choose_typical_pod() {
  const auto most = std::ranges::max_element(
      pods_, {}, [](const auto& entry) { return entry.second; });  // the first of equals
  if (most != pods_.end()) room_.emplace(most->first);
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
      if (sim::string_at(document, {"kind"}) != "Job") continue;
      jobs.emplace_back(
          fmt::format("{}/{}", sim::text_or(document, {"metadata", "namespace"}, "default"),
                      sim::string_at(document, {"metadata", "name"})),
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
    if (plan.before_step) plan.before_step(next);
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
    }
    last = at;
    --appointments_left_;
    if (auto done = sim::perform(appointment.action, backend_); !done) {
      return bad(placed(appointment.origin, done.error().message));
    }
  }
  if (auto advanced = advance(end, !plan.until, plan); !advanced) return advanced;
  history_->close();
  if (room_) room_->close(cluster().core().state(), now());
  faults_ = history_->faults();
  if (auto checked = backend_.check_account(); !checked) {
    faults_.push_back(checked.error().message);
  }
  return {};
}

}  // namespace phalanx::cli
