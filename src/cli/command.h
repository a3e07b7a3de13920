// What all subcommands share: exit codes, and where output goes.
//
// With --json or -o json standard output holds exactly one JSON document; progress and remarks go
// to standard error, always.
#pragma once

#include <functional>
#include <string>

// Its header is one of the slowest to compile; only those that read options need it.
namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace phalanx::cli {

enum ExitCode : int {
  kDone = 0,
  kBadInput = 1,
  kExplainedNo = 2,
  kInternalFault = 3,
  kEndedBySignal = 128,  // and its number on top, as shells have it
};

// Prints "phalanx: <text>" to standard error, on one line: control characters are escaped.
void remark(const std::string& text);
// A remark that ends the command; gives kBadInput. Whoever asked for JSON finds
// {"error": "<message>"} on standard output as well.
int bad_input(const std::string& message, bool as_json = false);

// Each registers its subcommand; `run` is set to what the chosen one does.
using Run = std::function<int()>;
void add_place_command(CLI::App& app, Run& run);
void add_conformance_command(CLI::App& app, Run& run);
void add_bench_command(CLI::App& app, Run& run);
void add_scenario_command(CLI::App& app, Run& run);
void add_simulate_command(CLI::App& app, Run& run);
void add_explain_command(CLI::App& app, Run& run);
void add_demo_command(CLI::App& app, Run& run);
void add_manager_command(CLI::App& app, Run& run);
void add_install_command(CLI::App& app, Run& run);
void add_account_command(CLI::App& app, Run& run);

}  // namespace phalanx::cli
