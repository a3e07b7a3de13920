// Defaults and validation of a PodSpec, for pods and for the templates of Jobs.
#pragma once

#include <string>

#include "base/json.h"
#include "sim/api_error.h"

namespace phalanx::sim {

void default_pod_spec(json::object& spec);

// `path` is where the PodSpec is, "spec" or "spec.template.spec".
void check_pod_spec(const json::value* spec, const std::string& path, Problems& problems);

// Labels and annotations of a pod template.
void check_template_metadata(const json::value* metadata, const std::string& path,
                             Problems& problems);

bool is_gated(const json::value& pod);

}  // namespace phalanx::sim
