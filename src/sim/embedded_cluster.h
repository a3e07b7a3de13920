// A whole cluster in one process: API server with our admission, the actors of Kubernetes, and the
// core with its host, on one clock.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "admission/kueue_admission.h"
#include "core/adapter.h"
#include "sim/cluster_actors.h"
#include "sim/core_host.h"
#include "sim/simulation.h"

namespace phalanx::sim {

struct EmbeddedOptions {
  uint64_t seed = 1;
  Time start = Time(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1));
  // Goes on from there instead; seed and start have no say then.
  std::optional<ClusterState> saved;
  ClusterOptions actors;
  CoreHostOptions host;
};

class EmbeddedCluster {
 public:
  explicit EmbeddedCluster(EmbeddedOptions options = {});
  EmbeddedCluster(const EmbeddedCluster&) = delete;
  EmbeddedCluster& operator=(const EmbeddedCluster&) = delete;

  [[nodiscard]] Simulation& simulation() { return simulation_; }
  [[nodiscard]] ApiServer& server() { return simulation_.server(); }
  [[nodiscard]] CoreHost& host() { return *host_; }
  [[nodiscard]] core::Core& core() { return host_->core(); }
  [[nodiscard]] Time now() const { return simulation_.now(); }

  // Takes a manifest in, as kubectl apply does: creates the object, or changes it to what the
  // manifest says. Fields that the kind does not have are refused. A namespace that is missing is
  // created, and a status that the manifest carries (of a node, say) is written, too. What is
  // generated, missing or wrong in it is dealt with by sim/manifest.h.
  ApiResult<Stored> apply(json::value document);

  // Whether what the core has booked is what a second core makes that is told every object and
  // decides nothing; the error says where it is not. Linear in the objects.
  Result<void> check_account();

 private:
  ApiResult<void> admit_kueue(AdmissionRequest& request);
  ApiResult<void> default_job(AdmissionRequest& request);
  static ApiResult<void> validate_job(AdmissionRequest& request);
  ApiResult<void> ensure_namespace(const api::ObjectKey& key);

  admission::KueueAdmission kueue_;
  core::Adapters adapters_;
  core::Configuration configuration_;
  Simulation simulation_;
  CoreHost* host_ = nullptr;  // owned by the simulation
};

}  // namespace phalanx::sim
