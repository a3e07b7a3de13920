// What a scenario says about the cluster at one moment, read into something that can be asked.
//
//   object: Workload ml/job-train-*       exactly one object, with
//     has: {path: value}                    these values
//     contains: {path: text}                texts that hold these
//     lacks: [path]                         nothing there
//     conditions: {Type: "True Reason"}     these conditions; the reason may be left out
//   count: 4 pods ml/train-*              where: {path: value}
//   absent: Job ml/gone
//   placed: ml/train                      where the pods of a Job are (sim/scenario_placement.h)
//   event: {about, reason, message, type, count}
//   journal: {decision, object, reason, count}
//   no-overcommit: true
//   account: true
//
// A path is names joined by dots; names with dots in them stand in brackets. In a list a name means
// the element whose name, type or key it is, and a number means the element of this index.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "sim/script.h"

namespace phalanx::sim {

// Asks the cluster; the error says what is otherwise than expected.
using Expectation = std::function<Result<void>(Backend&)>;

// The error begins with the path of the field that is wrong.
Result<Expectation> read_expectation(const json::value& document);

using ValuePath = std::vector<std::string>;
Result<ValuePath> parse_value_path(std::string_view text);
// The value at the path, or nullptr.
const json::value* find_value(const json::value& document, const ValuePath& path);

}  // namespace phalanx::sim
