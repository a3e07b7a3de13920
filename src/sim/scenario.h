// Scenarios: given a cluster, when something happens, then this is so. Files of users and our own
// main form of test; docs/reference/scenario.md is the reference.
//
// A scenario is a list of steps on an empty cluster. After every step everybody reacts until all is
// at rest, and no node may be over-committed; at the end the core's account must be what the
// objects say. The same scenario gives the same history, write for write.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "sim/scenario_expectation.h"
#include "sim/script.h"

namespace phalanx::sim {

using Step = std::variant<Action, std::vector<Expectation>>;

struct Scenario {
  std::string name;
  std::string description;
  std::string configuration;         // a Configuration as JSON text; empty: the default
  std::string feature_gates;         // on top of it: "A=true,B=false"
  bool on_kubernetes = false;        // worth its real time on a real control plane, too
  std::vector<std::string> include;  // files with manifests, which come before `given`
  std::vector<json::value> given;    // nodes that were described in one line come first
  std::vector<Step> steps;
};

// The error names the step and the field.
Result<Scenario> read_scenario(const json::value& document);

// Runs it on an empty cluster. The error begins with the step that went wrong: "step 3: ...".
Result<void> run_scenario(const Scenario& scenario, Backend& backend);

}  // namespace phalanx::sim
