// The status of a pod at each step of its life, as a kubelet writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"

namespace phalanx::sim {

// The kubelet has taken the pod on; its containers do not run yet.
json::object accepted_status(const json::value& pod, Time now);
// The node cannot hold the pod: "OutOfcpu" and a sentence.
json::object refused_status(const json::value& pod, std::string_view reason,
                            std::string_view message, Time now);
// All containers run, for the first time or again.
json::object running_status(const json::value& pod, Time now);
// All containers have ended, and wait to be started again (phase stays Running).
json::object restarting_status(const json::value& pod, int64_t exit_code, Time now);
// All containers have ended for good: Succeeded with exit code 0, else Failed.
json::object ended_status(const json::value& pod, int64_t exit_code, Time now);

// How often the containers were started again; of the container with the most.
int64_t restart_count(const json::value& pod);

}  // namespace phalanx::sim
