// PodTemplates, and ProvisioningRequests as the cluster autoscaler's CRD has them: a custom
// resource, but not one of ours, so its rules are here and not in deploy/crds.
// tests/kubernetes/provisioningrequests.yaml says the same to a real API server.
#pragma once

#include "base/json.h"
#include "sim/api_error.h"
#include "sim/kind_rules.h"

namespace phalanx::sim {

void default_pod_template(json::value& pod_template);
void check_pod_template(const json::value& pod_template, Problems& problems);

// A request is never changed, only answered in its status.
void check_provisioning_request(const RuleInput& input, const json::value& request,
                                Problems& problems);

}  // namespace phalanx::sim
