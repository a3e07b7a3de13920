// The feature gates, by Kueue's names. Those of Kueue that change nothing here are known, too, so
// that a file or a command line that names them is understood.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/configuration.h"

namespace phalanx::core {

std::vector<std::string_view> feature_gate_names();

// A text that is not empty is a warning. An error for an unknown gate names the nearest known one.
Result<std::string> set_feature_gate(std::string_view name, bool on, Configuration& configuration);

}  // namespace phalanx::core
