// Names and amounts of resources, as people write them in pods, nodes and limit ranges.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "sim/api_error.h"

namespace phalanx::sim {

// What is wrong with the name of a resource that pods ask for or nodes have, and what may have been
// meant; "" if all is well. Without a domain there are only those of Kubernetes.
std::string problem_of_resource_name(std::string_view name);

// Amounts that do not fit 64 bits, and parts of what is counted whole. What is no quantity at all
// is for the reader of the object to say.
void check_amounts(const JsonReader& reader, std::string_view field, Problems& problems);

}  // namespace phalanx::sim
