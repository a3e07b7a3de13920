// What a run of `phalanx simulate` says at its end, for people and as one JSON document
// (docs/reference/simulate.md).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/simulate_run.h"

namespace phalanx::cli {

// Columns as wide as their widest cell, two spaces apart; the first row is the heading. The columns
// in `right` are flush right. Control characters are escaped.
std::string draw_table(std::vector<std::vector<std::string>> rows,
                       const std::vector<size_t>& right = {});

// "1h2m3s", to the second where it is more than one.
std::string short_duration(Duration duration);
std::string event_line(const HistoryEvent& event, Time start);

// At most `max_lines` events and as many workloads; how many were left out is said.
std::string simulation_text(SimulationRun& run, size_t max_lines);
json::object simulation_json(SimulationRun& run);

}  // namespace phalanx::cli
