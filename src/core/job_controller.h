// Keeps a job and its Workload in step: the job is suspended until the Workload is admitted, then
// started with what the admission says, and stopped and brought back to what it was when the
// admission goes. One step at a time; each is decided from what the API server holds, so that being
// interrupted between any two of them does no harm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/state.h"
#include "core/verdict.h"

namespace phalanx::core {

// Whether the job is ours to manage: it names a queue, or jobs without one are managed where it is.
// Jobs that belong to another managed object, or that another controller runs, are not.
bool is_managed(const State& state, const api::ObjectKey& key, const Job& job);

// How long its label says that it runs at most; nullopt if there is none, or none that makes sense.
std::optional<int32_t> maximum_execution_seconds(const api::ObjectMeta& job);

// The name of a job's Workload: "job-<name>-<five characters>", the same whenever it is asked for.
std::string workload_name(const api::ObjectKey& key, const Job& job);

// The Workload by which the job runs, of those that name it: the one of the name above, or else
// that which somebody made before; nullptr if there is none.
const WorkloadState* workload_of(const State& state, const api::ObjectKey& key, const Job& job);

// The Workload for a job, as it is created.
json::object workload_document(const State& state, const api::ObjectKey& key, const Job& job);

// The next step for a job.
Verdict reconcile_job(const State& state, const api::ObjectKey& key);

}  // namespace phalanx::core
