#include "cli/command.h"
namespace phalanx::cli {
void add_place_command(CLI::App&, Run&) {}
}  // namespace phalanx::cli
