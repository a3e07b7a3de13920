// The smaller built-in kinds: Namespace, Node, PriorityClass, RuntimeClass, Event; and conditions,
// which many kinds have.
#pragma once

#include "base/json.h"
#include "sim/api_error.h"
#include "sim/kind_rules.h"

namespace phalanx::sim {

void default_namespace(json::value& object);

void check_node(const json::value& node, Problems& problems);
void check_priority_class(const RuleInput& input, const json::value& priority_class,
                          Problems& problems);
void check_runtime_class(const RuleInput& input, const json::value& runtime_class,
                         Problems& problems);
void check_event(const json::value& event, Problems& problems);

// status.conditions: every one has a type, once, and a status.
void check_conditions(const json::value& object, Problems& problems);

}  // namespace phalanx::sim
