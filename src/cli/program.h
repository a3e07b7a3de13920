// The one binary: parses the command line and runs the subcommand.
#pragma once

namespace phalanx::cli {
int run_program(int argc, const char* const* argv);
}  // namespace phalanx::cli
