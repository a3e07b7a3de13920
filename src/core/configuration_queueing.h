// The parts of the configuration that are about queueing: what quota counts, fair sharing, places
// that are held, and how long pods may take to be ready (docs/reference/queueing.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "core/configuration.h"

namespace phalanx::core {

// Whose file it is: ours has fields that Kueue's does not, and in Kueue's a field that nobody here
// knows is no error.
enum class Dialect : uint8_t { kOurs, kKueue, kKueueV1Beta1 };

// Problems are reported to the reader's status; `unused` gets the paths of fields of Kueue's that
// mean nothing here.
void read_queueing(const JsonReader& reader, Dialect dialect, Configuration& configuration,
                   std::vector<std::string>& unused);

}  // namespace phalanx::core
