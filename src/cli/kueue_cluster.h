// Reads from a running cluster what it has of Kueue, for whoever wants to know whether Phalanx can
// take its place (admission/kueue_presence.h, admission/preflight.h). Nothing is written.
#pragma once

#include "admission/kueue_presence.h"
#include "admission/preflight.h"
#include "base/error.h"
#include "kube/api_client.h"

namespace phalanx::cli {

// Some small requests. If somebody holds Kueue's lease, it is watched until that one renews it (two
// seconds) or it runs out (fifteen, after a manager that could not give it up).
Result<admission::KueueDocuments> read_kueue(kube::ApiClient& client);

// All of that, and everything that Kueue manages. Kueue has to be running if the cluster stores an
// older version than v1beta2: its conversion webhook is asked.
Result<admission::PreflightDocuments> read_preflight(kube::ApiClient& client);

}  // namespace phalanx::cli
