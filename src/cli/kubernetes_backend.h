// Scripts on a real control plane, in real time, with a manager of their own.
//
// The cluster is a test bed (tests/kubernetes/control-plane): what is in it is deleted before the
// script begins. Nodes are played by kwok.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "kube/api_client.h"
#include "sim/script.h"

namespace phalanx::cli {

struct KubernetesBackendOptions {
  kube::AccessOptions access;
  std::string manager_kubeconfig;  // the manager's own rights; empty: those of `access`
  std::string folder;         // for configuration, certificates, journal and log of the manager
  std::string configuration;  // a Configuration as text; empty: the default
  std::string feature_gates;
};

class KubernetesBackend : public sim::Backend {
 public:
  // Empties the cluster, installs Phalanx and starts a manager.
  static Result<std::unique_ptr<KubernetesBackend>> start(KubernetesBackendOptions options);
  ~KubernetesBackend() override;

  sim::ApiResult<sim::Stored> apply(const json::value& document) override;
  sim::ApiResult<sim::Stored> patch(const api::ObjectKey& key, const json::value& merge_patch,
                                    bool status) override;
  sim::ApiResult<void> remove(const api::ObjectKey& key, sim::Propagation propagation) override;
  sim::ApiResult<void> bind(const api::ObjectKey& pod, const std::string& node) override;
  [[nodiscard]] std::vector<sim::Stored> list(api::Kind kind) const override;
  [[nodiscard]] Time now() const override;
  Result<void> pass(Duration duration) override;
  void restart_core() override;
  [[nodiscard]] const std::vector<std::string>& journal() const override;
  Result<void> check_account() override;
  Result<void> eventually(const std::function<Result<void>()>& check) override;

 private:
  KubernetesBackend(KubernetesBackendOptions options, kube::ClusterAccess access);

  Result<void> empty_cluster();
  Result<void> install();
  // Somebody who may look at the manager's account.
  Result<void> appoint_observer();
  Result<void> start_manager();
  void end_manager(int signal);
  Result<void> ensure_namespace(const std::string& name);
  void await_nodes() const;
  // Until nothing of what a script looks at changes any more.
  Result<void> settle();
  [[nodiscard]] uint64_t newest_version() const;

  const KubernetesBackendOptions options_;
  mutable kube::ApiClient client_;
  core::Configuration configuration_;
  uint16_t webhook_port_ = 0;
  uint16_t health_port_ = 0;
  uint16_t metrics_port_ = 0;
  kube::ClusterAccess observer_;  // of the manager's account
  pid_t manager_ = -1;
  bool nodes_changed_ = false;  // since they were last waited for
  mutable std::vector<std::string> journal_;
};

}  // namespace phalanx::cli
