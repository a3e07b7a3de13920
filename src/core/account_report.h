// The account as a document: what is free in every place of every topology, and what every workload
// and queue holds. For people who look into a running process, and to check it: the account that
// was kept must be the one that a fresh core builds from the objects.
//
//   {"flavors": {"gpu": {"block-a/rack-1/node-7": {"nvidia.com/gpu": 8}}},
//    "workloads": {"ml/job-train-a1b2c": "in team-a/ml/main admitted gpu/nvidia.com/gpu=16"},
//    "queues": {"ClusterQueue team-a": "1 reserving 1 admitted gpu/nvidia.com/gpu=16"}}
#pragma once

#include "base/error.h"
#include "base/json.h"
#include "core/nominations.h"
#include "core/state.h"

namespace phalanx::core {

// Linear in the nodes and workloads.
// Places that are held for others are not in it: they are plans, and a rebuild may make others.
json::object account_of(State& state, const Nominations& nominations);

// The same of a fresh core that is told these objects and decides nothing.
json::object rebuilt_account(const Configuration& configuration, const Adapters& adapters, Time now,
                             std::vector<Object> objects);

// The error says where they differ first.
Result<void> compare_accounts(const json::object& kept, const json::object& rebuilt);

}  // namespace phalanx::core
