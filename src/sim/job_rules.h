// Jobs (batch/v1): defaults, the generated selector, validation, and what may change when.
#pragma once

#include "base/json.h"
#include "sim/api_error.h"
#include "sim/kind_rules.h"

namespace phalanx::sim {

void default_job(const RuleInput& input, json::value& job);

void check_job(const RuleInput& input, const json::value& job, Problems& problems);

// What may change: parallelism, suspend, limits in time; completions together with parallelism
// where both are equal; and while the Job is suspended and has not started also where its pods may
// run (node selector, node affinity, tolerations, scheduling gates) and their labels and
// annotations.
void check_job_update(const json::value& old_job, const json::value& job, Problems& problems);

// Counters, conditions and times of the status.
void check_job_status(const json::value* old_job, const json::value& job, Problems& problems);

}  // namespace phalanx::sim
