#include "sim/script_backend.h"

namespace phalanx::sim {

EmbeddedBackend::EmbeddedBackend(const core::Configuration& configuration)
    : EmbeddedBackend([&] {
        EmbeddedOptions options;
        options.host.configuration = configuration;
        return options;
      }()) {}

EmbeddedBackend::EmbeddedBackend(EmbeddedOptions options) {
  options.host.on_journal = [this,
                             next = std::move(options.host.on_journal)](const std::string& line) {
    journal_.push_back(line);
    if (next) next(line);
  };
  cluster_ = std::make_unique<EmbeddedCluster>(std::move(options));
}

ApiResult<Stored> EmbeddedBackend::apply(const json::value& document) {
  return cluster_->apply(document);
}

ApiResult<Stored> EmbeddedBackend::patch(const api::ObjectKey& key, const json::value& merge_patch,
                                         bool status) {
  return cluster_->server().patch(key, PatchType::kMerge, merge_patch,
                                  {.status = status, .strict_fields = true});
}

ApiResult<void> EmbeddedBackend::remove(const api::ObjectKey& key, Propagation propagation) {
  return cluster_->server().remove(key, {.propagation = propagation});
}

ApiResult<void> EmbeddedBackend::bind(const api::ObjectKey& pod, const std::string& node) {
  return cluster_->server().bind(pod, node);
}

std::vector<Stored> EmbeddedBackend::list(api::Kind kind) const {
  return cluster_->server().list(kind).items;
}

Result<void> EmbeddedBackend::pass(Duration duration) {
  return cluster_->simulation().run_for(duration);
}

void EmbeddedBackend::restart_core() {
  cluster_->host().restart();
}

Result<void> EmbeddedBackend::check_account() {
  return cluster_->check_account();
}

}  // namespace phalanx::sim
