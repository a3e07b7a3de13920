// The state of a running cluster for the offline commands: read, never written.
//
// What is listed kind by kind is not one moment, but close to it: a pod that is bound between two
// lists may be seen without its Workload, say.
#pragma once

#include <functional>
#include <span>

#include "api/kind.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/manifests.h"
#include "kube/cluster_access.h"
#include "sim/cluster_state.h"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace phalanx::cli {

struct LiveArguments {
  kube::AccessOptions access;

  [[nodiscard]] bool given() const { return !access.kubeconfig.empty() || !access.context.empty(); }
};

void add_live_options(CLI::App& command, LiveArguments& arguments);

// Every object of these kinds. Where a kind is not installed there are none of it.
Result<void> read_live(const LiveArguments& arguments, std::span<const api::Kind> kinds,
                       const std::function<Result<void>(Manifest)>& visit);

// The whole cluster as the embedded one would have saved it.
Result<sim::ClusterState> read_live_state(const LiveArguments& arguments, uint64_t seed);

}  // namespace phalanx::cli
