// What an autoscaler is to be asked for one admission check of a Workload: the ProvisioningRequest
// and the PodTemplates that it names, as they are to be written now. Pure functions of the state;
// the cost is that of copying the pod templates.
//
// The same Workload gives the same names (core/provisioning_names.h), so that whoever is killed
// between two writes finds what it wrote before.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/state.h"

namespace phalanx::core {

// One entry of the request: pods that are alike.
struct PlannedPods {
  std::string template_name;
  int32_t count = 0;
  json::value pod_template;           // see core/provisioning_template.h
  std::string fingerprint = {};       // of the template
  std::vector<std::string> pod_sets;  // more than one if they were merged
};

struct ProvisioningPlan {
  std::string name;  // of the request
  std::string class_name;
  std::vector<PlannedPods> pods;  // empty: there is nothing to ask for
  std::map<std::string, std::string> parameters;
};

// The workload must have its quota reserved. `attempt` counts from 1; `taken` are PodTemplates that
// other checks of the workload are about to have.
ProvisioningPlan plan_provisioning(const State& state, const WorkloadState& workload,
                                   const api::ProvisioningRequestConfig& config,
                                   const std::string& check, int64_t attempt,
                                   const std::set<std::string>& taken = {});

// The documents to be created.
json::object request_document(const WorkloadState& workload, const ProvisioningPlan& plan);
json::object template_document(const WorkloadState& workload, const PlannedPods& pods);

// Why no request can have the parameters of the plan; empty: one can. `config`: its name.
std::string problem_of_parameters(const ProvisioningPlan& plan, const std::string& config);

// Whether a request asks for what the plan says.
bool asks_for(const api::ProvisioningRequest& request, const ProvisioningPlan& plan);
// Since when the workload has its quota, as text: a request that names another time is of an
// earlier reservation.
std::string reservation_of(const WorkloadState& workload);

}  // namespace phalanx::core
