// What the built-in kinds allow: their defaults and their validation, as the API server of
// Kubernetes has them compiled in. The kinds of kueue.x-k8s.io are custom resources and come in
// through the hooks of the server (sim/api_server.h); those of others are built in here.
#pragma once

#include "api/kind.h"
#include "base/json.h"
#include "base/time.h"
#include "sim/api_error.h"
#include "sim/store.h"

namespace phalanx::sim {

// One write, and what else counts for it.
struct RuleInput {
  const Store& store;  // limit ranges and priority classes
  Time now;
  bool status = false;                      // through the status subresource
  const json::value* old_object = nullptr;  // of an update
};

// What decoding finds: fields of wrong types, and unknown ones if asked for. Before defaults, which
// take every field for what it should be.
ApiResult<void> check_fields(const api::ObjectKey& key, const json::value& object,
                             bool strict_fields);

// Fills in what the client left out. Runs again after hooks changed the object, so it must change
// nothing the second time.
ApiResult<void> apply_defaults(const RuleInput& input, api::Kind kind, json::value& object);

// Everything that is wrong with the object, and with the change if it is one.
void check_object(const RuleInput& input, api::Kind kind, const json::value& object,
                  Problems& problems);

// What an administrator allows in the namespace; for new objects that were found good.
ApiResult<void> enforce_policies(const RuleInput& input, const api::ObjectKey& key,
                                 const json::value& object);

}  // namespace phalanx::sim
