// batch/v1 Job as a workload: one pod set, "main", of as many pods as run at the same time.
// KEP-2724, "Integration support", Job.
#pragma once

#include <string>

#include "api/job.h"
#include "core/adapter.h"

namespace phalanx::jobs {

class BatchJobAdapter final : public core::JobAdapter {
 public:
  [[nodiscard]] api::Kind kind() const override { return api::Kind::kJob; }
  [[nodiscard]] core::Job read(const JsonReader& object) const override;
  [[nodiscard]] json::object start_patch(
      const core::Job& job, std::span<const core::Injection> injections) const override;
  [[nodiscard]] json::object suspend_patch() const override;
  [[nodiscard]] json::object reset_patch() const override;
  [[nodiscard]] std::optional<json::object> restore_patch(
      const core::Job& job, std::span<const core::Original> originals) const override;
};

// What is wrong with the annotations by which a Job may be started smaller; "" if nothing is. The
// metadata come apart, because a Job that is still to be named has none of its own.
std::string partial_admission_problem(const api::Job& job, const api::ObjectMeta& meta);

// What is wrong with a pod template that no Workload can hold; "" if nothing is.
std::string template_problem(const json::value& pod_template);

// All adapters that there are.
core::Adapters all_adapters();

}  // namespace phalanx::jobs
