// An Explanation for people and for programs.
//
// The JSON is an interface: docs/reference/explanation.md describes every field. Amounts of
// resources are Kubernetes quantities ("8", "64Gi", "500m"), paths are lists of label values from
// the coarsest level down, and lists that were cut short stand next to the number left off.
#pragma once

#include <string>

#include "base/json.h"
#include "placement/explanation.h"

namespace phalanx::placement {

json::value explanation_json(const Explanation& explanation);

// Lines, each with its end of line. Short: what was asked, the domain that comes nearest, the main
// causes and what would help. Full: also the best domains of every level.
std::string explanation_text(const Explanation& explanation, bool full);

}  // namespace phalanx::placement
