#include "cli/soak_core_laws.h"

#include <fmt/format.h>

#include "core/pods_ready.h"

namespace phalanx::cli {
namespace {

std::optional<std::string> check_one(core::Core& core, const std::string& workload,
                                     const std::string& cluster_queue) {
  core::Scheduler& scheduler = core.scheduler();
  if (scheduler.nominations().find(workload) != nullptr) return std::nullopt;
  const core::WorkloadState* state = core.state().workload(workload);
  if (state == nullptr) return fmt::format("Workload {} is in a queue, but is gone", workload);
  const api::ClusterQueue& queue = core.state().cluster_queues.at(cluster_queue);
  if (!scheduler.fits_now(*state, queue)) return std::nullopt;
  const core::No* no = scheduler.queue(cluster_queue)->no_of(workload);
  return fmt::format("Workload {} waits in ClusterQueue {} though it fits; it was told: {}",
                     workload, cluster_queue, no == nullptr ? "nothing" : no->message);
}

bool should_wait(const core::State& state, const core::WorkloadState& workload) {
  const api::Workload& object = workload.object;
  return object.active && !object.meta.deleted && !object.finished && !workload.reserved() &&
         !state.job_is_gone(workload) && !core::queue_problem(state, workload) &&
         !core::backs_off(object, state.now);
}

}  // namespace

std::optional<std::string> check_heads(core::Core& core) {
  for (const auto& [name, queue] : core.state().cluster_queues) {
    const core::PendingQueue* pending = core.scheduler().queue(name);
    if (pending == nullptr || pending->first() == nullptr) continue;
    if (auto broken = check_one(core, pending->first()->workload, name)) return broken;
  }
  return std::nullopt;
}

std::optional<std::string> check_all_waiting(core::Core& core) {
  for (const auto& [name, workload] : core.state().workloads) {
    if (!should_wait(core.state(), workload)) continue;
    const api::ClusterQueue& queue = *core.state().cluster_queue_of(workload);
    const core::PendingQueue* pending = core.scheduler().queue(queue.meta.name);
    if (pending == nullptr || !pending->contains(name)) {
      return fmt::format("Workload {} waits, but is in no queue", name);
    }
    if (queue.strategy == api::QueueingStrategy::kStrictFifo) continue;
    if (auto broken = check_one(core, name, queue.meta.name)) return broken;
  }
  return std::nullopt;
}

}  // namespace phalanx::cli
