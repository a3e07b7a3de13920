#include "cli/program.h"

#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include "base/json.h"
#include "cli/command.h"

namespace phalanx::cli {

int bad_input(const std::string& message, bool as_json) {
  std::cerr << "phalanx: " << message << "\n";
  if (as_json) std::cout << json::object{{"error", message}} << "\n";
  return kBadInput;
}

namespace {

void add_help_command(CLI::App& app, Run& run) {
  auto topic = std::make_shared<std::string>();
  CLI::App* help = app.add_subcommand("help", "Show this help, or that of one command");
  help->add_option("COMMAND", *topic, "The command to explain");
  // Now, before anything is parsed: afterwards the library shows only the help of `help`.
  const std::string overview = app.help("", CLI::AppFormatMode::All);
  help->callback([&app, &run, topic, overview] {
    run = [&app, topic, overview]() -> int {
      if (topic->empty()) {
        std::cout << overview;
        return kDone;
      }
      const auto commands = app.get_subcommands([&](CLI::App* a) { return a->check_name(*topic); });
      if (commands.empty()) {
        return bad_input("help: there is no command \"" + *topic + "\"; see phalanx help");
      }
      std::cout << commands.front()->help();
      return kDone;
    };
  });
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App app("Phalanx places groups of pods close together, whole or not at all.", "phalanx");
  app.set_version_flag("--version", std::string("phalanx ") + PHALANX_VERSION);
  app.require_subcommand(1);
  Run run;
  add_place_command(app, run);
  add_simulate_command(app, run);
  add_explain_command(app, run);
  add_demo_command(app, run);
  add_conformance_command(app, run);
  add_scenario_command(app, run);
  add_bench_command(app, run);
  add_help_command(app, run);
  try {
    app.parse(argc, argv);
    const int code = run();
    std::cout.flush();
    if (std::cout) return code;
    std::cerr << "phalanx: standard output could not be written\n";
    return kInternalFault;
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? kDone : kBadInput;
  } catch (const std::exception& problem) {
    std::cerr << "phalanx: internal fault: " << problem.what() << "\n";
    return kInternalFault;
  }
}

}  // namespace phalanx::cli
