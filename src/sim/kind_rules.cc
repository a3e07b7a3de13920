#include "sim/kind_rules.h"

#include "admission/built_in_kinds.h"
#include "sim/cluster_rules.h"
#include "sim/job_rules.h"
#include "sim/limit_range_rules.h"
#include "sim/pod_rules.h"
#include "sim/provisioning_rules.h"

namespace phalanx::sim {

ApiResult<void> check_fields(const api::ObjectKey& key, const json::value& object,
                             bool strict_fields) {
  Problems problems;
  for (const admission::Problem& problem :
       admission::built_in_kinds().check(key.kind, object, strict_fields)) {
    problems.add(problem.path, problem.message);
  }
  if (problems.none()) return {};
  return bad_request(key.text() + ": " + problems.text());
}

ApiResult<void> apply_defaults(const RuleInput& input, api::Kind kind, json::value& object) {
  switch (kind) {
    case api::Kind::kNamespace:
      default_namespace(object);
      return {};
    case api::Kind::kPod:
      return default_pod(input, object);
    case api::Kind::kLimitRange:
      default_limit_range(object);
      return {};
    case api::Kind::kPodTemplate:
      default_pod_template(object);
      return {};
    case api::Kind::kJob:
      default_job(input, object);
      return {};
    default:
      return {};
  }
}

void check_object(const RuleInput& input, api::Kind kind, const json::value& object,
                  Problems& problems) {
  switch (kind) {
    case api::Kind::kNode:
      return check_node(object, problems);
    case api::Kind::kPod:
      return check_pod(input, object, problems);
    case api::Kind::kLimitRange:
      return check_limit_range(object, problems);
    case api::Kind::kPodTemplate:
      return check_pod_template(object, problems);
    case api::Kind::kProvisioningRequest:
      return check_provisioning_request(input, object, problems);
    case api::Kind::kPriorityClass:
      return check_priority_class(input, object, problems);
    case api::Kind::kRuntimeClass:
      return check_runtime_class(input, object, problems);
    case api::Kind::kJob:
      return check_job(input, object, problems);
    case api::Kind::kEvent:
      return check_event(object, problems);
    default:
      return;
  }
}

ApiResult<void> enforce_policies(const RuleInput& input, const api::ObjectKey& key,
                                 const json::value& object) {
  if (key.kind != api::Kind::kPod || input.old_object != nullptr) return {};
  return enforce_limit_ranges(input.store, key, object);
}

}  // namespace phalanx::sim
