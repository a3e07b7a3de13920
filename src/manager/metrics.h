// What a process has done, in the text format of Prometheus.
#pragma once

#include <string>

#include "core/core.h"
#include "manager/api_side.h"

namespace phalanx::manager {

std::string render_metrics(const ApiMeasures& api, size_t unfinished_writes);

}  // namespace phalanx::manager
