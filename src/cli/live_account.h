// The account of a running cluster: rebuilt from its objects, and as its manager keeps it.
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"
#include "core/configuration.h"
#include "kube/api_client.h"

namespace phalanx::cli {

// Lists everything that decides. A cluster that changes meanwhile gives an account of no moment:
// whoever compares asks again.
Result<json::object> rebuild_live_account(kube::ApiClient& client,
                                          const core::Configuration& configuration);

// From a manager's --metrics-address: its server, whom to trust, and a token that may get
// /debug/account.
Result<json::object> fetch_account(const kube::ClusterAccess& manager);

}  // namespace phalanx::cli
