// LimitRange: its own defaults and validation, and what it does to new pods of its namespace.
#pragma once

#include <string>

#include "base/json.h"
#include "sim/api_error.h"
#include "sim/store.h"

namespace phalanx::sim {

void default_limit_range(json::value& limit_range);
void check_limit_range(const json::value& limit_range, Problems& problems);

// Gives the containers of a new pod the requests and limits that the namespace has as defaults.
void apply_limit_ranges(const Store& store, const std::string& namespace_name, json::value& pod);
// Holds the containers and the whole pod against minimum and maximum. Call it on pods that are
// valid otherwise.
ApiResult<void> enforce_limit_ranges(const Store& store, const api::ObjectKey& key,
                                     const json::value& pod);

}  // namespace phalanx::sim
