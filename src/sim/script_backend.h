// Scripts on the embedded cluster, in virtual time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "sim/embedded_cluster.h"
#include "sim/script.h"

namespace phalanx::sim {

class EmbeddedBackend : public Backend {
 public:
  explicit EmbeddedBackend(const core::Configuration& configuration = {});
  // With a seed, a start or other actors than the usual ones.
  explicit EmbeddedBackend(EmbeddedOptions options);

  ApiResult<Stored> apply(const json::value& document) override;
  ApiResult<Stored> patch(const api::ObjectKey& key, const json::value& merge_patch,
                          bool status) override;
  ApiResult<void> remove(const api::ObjectKey& key, Propagation propagation) override;
  ApiResult<void> bind(const api::ObjectKey& pod, const std::string& node) override;
  [[nodiscard]] std::vector<Stored> list(api::Kind kind) const override;
  [[nodiscard]] Time now() const override { return cluster_->now(); }
  Result<void> pass(Duration duration) override;
  void restart_core() override;
  [[nodiscard]] const std::vector<std::string>& journal() const override { return journal_; }
  // Compares with a second core that is told every object and decides nothing.
  Result<void> check_account() override;

  [[nodiscard]] EmbeddedCluster& cluster() { return *cluster_; }

 private:
  std::vector<std::string> journal_;
  std::unique_ptr<EmbeddedCluster> cluster_;
};

}  // namespace phalanx::sim
