// phalanx scenario FILE-or-folder...: runs given/when/then files, on the embedded cluster or on a
// real control plane.
#include "sim/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "base/file.h"
#include "cli/command.h"
#include "cli/kubernetes_backend.h"
#include "cli/manifests.h"
#include "core/configuration.h"
#include "sim/document.h"
#include "sim/script_backend.h"

namespace phalanx::cli {
namespace {

struct Arguments {
  std::vector<std::string> paths;
  std::string only = "*";
  std::string part = "1/1";
  std::string configuration;
  std::string feature_gates;
  std::string backend = "embedded";
  kube::AccessOptions access;
  std::string manager_kubeconfig;
  std::string work_folder;
  std::string output = "text";
};

struct Found {
  sim::Scenario scenario;
  std::string file;
  core::Configuration configuration = {};
  std::string configuration_text = {};  // the same, as a manager reads it
  std::string feature_gates = {};
};

class ScenarioCommand {
 public:
  explicit ScenarioCommand(const Arguments& arguments) : arguments_(arguments) {}

  int run() {
    const bool as_json = arguments_.output == "json";
    if (on_kubernetes() &&
        (arguments_.access.kubeconfig.empty() || arguments_.work_folder.empty())) {
      return bad_input(
          "scenario: --backend kubernetes needs --kubeconfig, of a cluster whose objects may be "
          "deleted, and --work-folder",
          as_json);
    }
    if (auto read = read_all(); !read) return bad_input(read.error().message, as_json);
    if (names_.empty()) {
      return bad_input(
          fmt::format("{}: there is no scenario in it; write documents of kind Scenario",
                      fmt::join(arguments_.paths, ", ")),
          as_json);
    }
    if (found_.empty()) {
      return bad_input(fmt::format("--only: no scenario has a name like \"{}\"; there are {}",
                                   arguments_.only, fmt::join(names_, ", ")),
                       as_json);
    }
    if (auto left = keep_part(); !left) return bad_input(left.error().message, as_json);
    int failed = 0;
    json::array results;
    for (const Found& found : found_) {
      const auto outcome = run_one(found);
      if (!outcome) ++failed;
      json::object result{
          {"name", found.scenario.name}, {"file", found.file}, {"passed", outcome.has_value()}};
      if (!outcome) result["failure"] = outcome.error().message;
      results.push_back(std::move(result));
      if (as_json) continue;
      std::cout << (outcome ? fmt::format("ok   {}\n", found.scenario.name)
                            : fmt::format("FAIL {}: {}\n", found.scenario.name,
                                          outcome.error().message))
                << std::flush;  // each may have taken its time
    }
    const auto passed = static_cast<int>(found_.size()) - failed;
    if (as_json) {
      std::cout << json::object{{"passed", passed},
                                {"failed", failed},
                                {"scenarios", std::move(results)}}
                << "\n";
    } else {
      std::cout << fmt::format("{} passed, {} failed\n", passed, failed);
    }
    return failed == 0 ? kDone : kBadInput;
  }

 private:
  [[nodiscard]] bool on_kubernetes() const { return arguments_.backend == "kubernetes"; }

  Result<void> run_one(const Found& found) {
    if (!on_kubernetes()) {
      sim::EmbeddedBackend backend(found.configuration);
      return sim::run_scenario(found.scenario, backend);
    }
    ASSIGN_OR_RETURN(
        const auto backend,
        KubernetesBackend::start({.access = arguments_.access,
                                  .manager_kubeconfig = arguments_.manager_kubeconfig,
                                  .folder = arguments_.work_folder + "/" + found.scenario.name,
                                  .configuration = found.configuration_text,
                                  .feature_gates = found.feature_gates}));
    return sim::run_scenario(found.scenario, *backend);
  }

  // Everything is read before anything runs: a mistake in the last file is told at once.
  Result<void> read_all() {
    std::string file;
    return read_manifests(
        arguments_.paths, [&](const std::string& path) { file = path; },
        [&](const Manifest& manifest) -> Result<void> {
          if (manifest.header.kind != "Scenario") {
            return fail(
                fmt::format("{}: is no Scenario; name only files of scenarios", manifest.origin));
          }
          auto scenario = sim::read_scenario(manifest.value);
          if (!scenario) return within(manifest.origin, scenario.error());
          if (!names_.insert(scenario->name).second) {
            return fail(fmt::format("{}: there is another scenario of this name; give it its own",
                                    manifest.origin));
          }
          if (!sim::matches_glob(arguments_.only, scenario->name)) return {};
          // In real time not everything is worth its time, unless somebody asks for it by name.
          const bool by_name = arguments_.only != "*";
          if (on_kubernetes() && !by_name && !scenario->on_kubernetes) return {};
          if (auto included = include(file, *scenario); !included) {
            return within(manifest.origin, included.error());
          }
          Found found{.scenario = std::move(*scenario), .file = file};
          if (auto configured = configure(found); !configured) {
            return within(manifest.origin, configured.error());
          }
          found_.push_back(std::move(found));
          return {};
        });
  }

  // K/N is every Nth, beginning with the Kth: neighbours, which take about as long as each other,
  // go to different parts.
  Result<void> keep_part() {
    const std::string& text = arguments_.part;
    const size_t slash = std::min(text.find('/'), text.size());
    const auto part = sim::parse_unsigned(text.substr(0, slash));
    const auto parts = sim::parse_unsigned(text.substr(std::min(slash + 1, text.size())));
    if (!part || !parts || *part < 1 || *part > *parts) {
      return fail(
          fmt::format("--part: \"{}\" is no part; write K/N, as in 1/3, 2/3 and 3/3", text));
    }
    std::vector<Found> kept;
    for (size_t i = 0; i < found_.size(); ++i) {
      if (i % *parts == *part - 1) kept.push_back(std::move(found_[i]));
    }
    found_ = std::move(kept);
    return {};
  }

  // Puts the manifests of the files it includes, named from its own folder, before its own.
  static Result<void> include(const std::string& file, sim::Scenario& scenario) {
    const auto folder =
        file == "-" ? std::filesystem::path() : std::filesystem::path(file).parent_path();
    std::vector<json::value> manifests;
    for (const std::string& name : scenario.include) {
      const std::string path = (folder / name).string();
      auto text = read_file(path);
      if (!text) return within("include", text.error());
      auto parsed = parse_manifests(*text, path, [&](Manifest manifest) -> Result<void> {
        manifests.push_back(std::move(manifest.value));
        return {};
      });
      if (!parsed) return within("include", parsed.error());
    }
    scenario.given.insert(scenario.given.begin(), std::make_move_iterator(manifests.begin()),
                          std::make_move_iterator(manifests.end()));
    return {};
  }

  // That of the command for all scenarios, or their own instead; gates of a scenario come last.
  Result<void> configure(Found& found) {
    const sim::Scenario& scenario = found.scenario;
    std::string& text = found.configuration_text;
    text = scenario.configuration;
    std::string name = "config";
    if (text.empty() && !arguments_.configuration.empty()) {
      name = arguments_.configuration;
      ASSIGN_OR_RETURN(text, read_file(name));
    }
    core::Configuration& configuration = found.configuration;
    if (!text.empty()) {
      ASSIGN_OR_RETURN(core::ConfigurationFile file, core::parse_configuration(text, name));
      configuration = std::move(file.configuration);
      warn(file.warnings);
    }
    const auto apply = [&](const char* source, const std::string& gates) -> Result<void> {
      found.feature_gates += (found.feature_gates.empty() ? "" : ",") + gates;
      const auto warnings = core::apply_feature_gates(gates, configuration);
      if (!warnings) return within(source, warnings.error());
      warn(*warnings);
      return {};
    };
    RETURN_IF_ERROR(apply("--feature-gates", arguments_.feature_gates));
    return apply("featureGates", scenario.feature_gates);
  }

  // Each is said once, however many scenarios it concerns.
  void warn(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      if (warned_.insert(warning).second) remark("warning: " + warning);
    }
  }

  const Arguments& arguments_;
  std::set<std::string> names_;  // of all scenarios that were read
  std::vector<Found> found_;     // those to run
  std::set<std::string> warned_;
};

}  // namespace

void add_scenario_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "scenario", "Run given/when/then files in virtual time on an embedded cluster");
  command
      ->add_option("FILE", arguments->paths,
                   "Files or folders with scenarios, YAML or JSON; - is standard input")
      ->required();
  command->add_option("--only", arguments->only,
                      "Run only scenarios whose name is like this (*, ?)");
  command->add_option("--part", arguments->part,
                      "K/N: run every Nth of them, beginning with the Kth");
  command->add_option("--config", arguments->configuration,
                      "Configuration for scenarios that have none of their own");
  command->add_option("--feature-gates", arguments->feature_gates,
                      "Feature gates for all scenarios: A=true,B=false");
  command->add_option("--backend", arguments->backend, "The cluster to run on")
      ->check(CLI::IsMember({"embedded", "kubernetes"}))
      ->capture_default_str();
  command->add_option("--kubeconfig", arguments->access.kubeconfig,
                      "Of a control plane for tests; what is in it is DELETED");
  command->add_option("--manager-kubeconfig", arguments->manager_kubeconfig,
                      "With the rights that managers have; by default those of --kubeconfig");
  command->add_option("--work-folder", arguments->work_folder,
                      "With --backend kubernetes: for logs, one folder for each scenario");
  command->add_option("-o,--output", arguments->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback(
      [arguments, &run] { run = [arguments] { return ScenarioCommand(*arguments).run(); }; });
}

}  // namespace phalanx::cli
