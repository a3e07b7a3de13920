#include "cli/command.h"
namespace phalanx::cli {
void add_bench_command(CLI::App&, Run&) {}
}  // namespace phalanx::cli
