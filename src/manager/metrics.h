// What a process has done, in the text format of Prometheus.
#pragma once

#include <string>

#include "core/core.h"
#include "manager/api_side.h"

namespace phalanx::manager {

struct ProcessMeasures {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
};
ProcessMeasures measure_process();

std::string render_metrics(const ApiMeasures& api, size_t unfinished_writes,
                           const ProcessMeasures& process);

}  // namespace phalanx::manager
