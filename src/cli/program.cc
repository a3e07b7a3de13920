#include "cli/program.h"

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "cli/command.h"

namespace phalanx::cli {

int bad_input(const std::string& message) {
  std::cerr << "phalanx: " << message << "\n";
  return kBadInput;
}

int run_program(int argc, const char* const* argv) {
  CLI::App app("Phalanx places groups of pods close together, whole or not at all.", "phalanx");
  app.set_version_flag("--version", std::string("phalanx ") + PHALANX_VERSION);
  app.require_subcommand(1);
  Run run;
  add_place_command(app, run);
  add_conformance_command(app, run);
  add_bench_command(app, run);
  CLI::App* help = app.add_subcommand("help", "Show this help");
  help->callback([&] {
    run = [&app] {
      std::cout << app.help("", CLI::AppFormatMode::All);
      return kDone;
    };
  });
  try {
    app.parse(argc, argv);
    const int code = run();
    std::cout.flush();
    return std::cout ? code : kInternalFault;
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? kDone : kBadInput;
  } catch (const std::exception& problem) {
    std::cerr << "phalanx: internal fault: " << problem.what() << "\n";
    return kInternalFault;
  }
}

}  // namespace phalanx::cli
