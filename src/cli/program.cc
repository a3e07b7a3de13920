#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <span>
#include <string>

#include "base/json.h"
#include "base/printable.h"
#include "base/spelling.h"
#include "cli/command.h"
#include "cli/preflight.h"

namespace phalanx::cli {

void remark(const std::string& text) {
  std::cerr << "phalanx: " << printable(text) << "\n";
}

int bad_input(const std::string& message, bool as_json) {
  remark(message);
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
      std::cout << commands.front()->help(app.get_name());
      return kDone;
    };
  });
}

using Words = std::span<const char* const>;

// Whether JSON was asked for, in arguments that may make no sense otherwise.
bool asks_for_json(Words words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::string_view next = i + 1 < words.size() ? words[i + 1] : "";
    if (word == "--json" || word == "-ojson" || word == "--output=json") return true;
    if ((word == "-o" || word == "--output") && next == "json") return true;
  }
  return false;
}

// What is wrong with the command that the first word names; "" if nothing is.
std::string command_problem(const CLI::App& app, Words words) {
  const auto first =
      std::ranges::find_if(words, [](std::string_view word) { return !word.starts_with('-'); });
  if (first == words.end()) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::ranges::find(names, *first) != names.end()) return "";
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return fmt::format("there is no command \"{}\"{}", *first, suggestion(*first, candidates));
}

// An option that was given without anything is a mistake, most likely an empty shell variable.
std::string empty_value(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      if (std::ranges::find(option->results(), "") == option->results().end()) continue;
      return fmt::format("{}: is empty; give it a value{}",
                         option->get_positional() ? option->get_name(true) : option->get_name(),
                         option->get_required() ? "" : ", or leave it out");
    }
    if (std::string inside = empty_value(*command); !inside.empty()) return inside;
  }
  return "";
}

// The library's sentence, with the command it is about and where to read on.
std::string misuse(const CLI::App& app, const std::string& problem) {
  const auto commands = app.get_subcommands();
  if (commands.empty()) return "name a command; see phalanx help";
  const std::string name = commands.front()->get_name();
  return fmt::format("{}: {}; see phalanx help {}", name, problem, name);
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
  add_manager_command(app, run);
  add_install_command(app, run);
  add_preflight_command(app, run);
  add_account_command(app, run);
  add_conformance_command(app, run);
  add_scenario_command(app, run);
  add_bench_command(app, run);
  add_help_command(app, run);
  const Words words = Words(argv, static_cast<size_t>(argc)).subspan(1);
  try {
    if (const std::string problem = command_problem(app, words); !problem.empty()) {
      return bad_input(problem, asks_for_json(words));
    }
    app.parse(argc, argv);
    if (const std::string problem = empty_value(app); !problem.empty()) {
      return bad_input(problem, asks_for_json(words));
    }
    const int code = run();
    std::cout.flush();
    if (std::cout) return code;
    remark("standard output could not be written");
    return kInternalFault;
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);  // somebody asked for help
    return bad_input(misuse(app, problem.what()), asks_for_json(words));
  } catch (const std::exception& problem) {
    remark(std::string("internal fault: ") + problem.what());
    return kInternalFault;
  }
}

}  // namespace phalanx::cli
