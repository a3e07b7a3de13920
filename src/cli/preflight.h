// The command that says whether a cluster of Kueue's can be taken over
// (docs/how-to/migrate-from-kueue.md).
#pragma once

#include "cli/command.h"

namespace phalanx::cli {

void add_preflight_command(CLI::App& app, Run& run);

}  // namespace phalanx::cli
