// Pods: their defaults, what a new one must be, and the little that may change afterwards.
#pragma once

#include "base/json.h"
#include "sim/api_error.h"
#include "sim/kind_rules.h"

namespace phalanx::sim {

// Also resolves the priority class and the defaults of the namespace's LimitRanges.
ApiResult<void> default_pod(const RuleInput& input, json::value& pod);

void check_pod(const RuleInput& input, const json::value& pod, Problems& problems);

// What of a pod's spec may change: images, a shorter activeDeadlineSeconds, further tolerations,
// fewer scheduling gates; while it is gated also a narrower choice of nodes. Its node is set by
// binding only.
void check_pod_update(const json::value& old_pod, const json::value& pod, Problems& problems);

}  // namespace phalanx::sim
