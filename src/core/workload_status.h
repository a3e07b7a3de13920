// The status of a Workload: conditions and admission, and the merge patches that write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/event.h"
#include "core/state.h"
#include "quota/flavor_assignment.h"

namespace phalanx::core {

// Of conditions and of what admission checks say.
inline constexpr size_t kLongestMessage = 32'768;

// Collects changes of one Workload's status into one patch.
class StatusChange {
 public:
  StatusChange(const State& state, const WorkloadState& workload);

  // Sets a condition; the time is that of the step.
  void set(std::string_view type, bool holds, std::string_view reason, std::string_view message);
  void remove(std::string_view type);
  // It is evicted, once more. What lies behind the reason is counted apart.
  void evict(std::string_view reason, const std::string& message, std::string_view cause = "");
  void set_admission(json::value admission);
  void clear_admission();
  void set_reclaimable(const std::map<std::string, int32_t>& pods);
  void set_checks(const std::vector<api::AdmissionCheckStatus>& checks);
  void set_requeue(const std::optional<api::RequeueState>& requeue);
  void set_unhealthy_nodes(const std::vector<std::string>& nodes);
  void set_past_execution(int32_t seconds);
  [[nodiscard]] bool any() const { return changed_; }
  // The write; only if there is any change.
  [[nodiscard]] Write write() const;

 private:
  void add_execution();

  const State& state_;
  const WorkloadState& workload_;
  api::Conditions conditions_;
  json::object fields_;
  bool changed_ = false;
};

// status.admission for these choices; the error is an assignment that does not fit into an object.
// `counts` are the pods of each pod set, fewer than it asks for if it is admitted in part.
Result<json::value> admission_json(const WorkloadState& workload, const std::string& cluster_queue,
                                   const std::vector<quota::FlavorChoice>& choices,
                                   const std::vector<int32_t>& counts);

// The admission, written down: quota is reserved, and, with no checks to wait for, admitted.
struct Admission {
  Write write;
  bool admitted = false;
};
Result<Admission> admission_write(const State& state, const WorkloadState& workload,
                                  const api::ClusterQueue& queue,
                                  const std::vector<quota::FlavorChoice>& choices,
                                  const std::vector<int32_t>& counts);
// All checks are ready and all pods have places.
void say_admitted(StatusChange& change);

// Evicted to make room; `reason` says by what right.
Write preemption_write(const State& state, const WorkloadState& workload, std::string_view reason,
                       const std::string& message);

// Evicted, and why.
Write eviction_write(const State& state, const WorkloadState& workload, std::string_view reason,
                     const std::string& message);

// Where its pods are from now on, by pod set, in order: nodes were replaced, or, if `admitted`, it
// has places at last.
Result<Write> placement_write(const State& state, const WorkloadState& workload,
                              const std::vector<std::optional<api::TopologyAssignment>>& places,
                              bool admitted);

// Not admitted, and why; nullopt if the workload says so already.
std::optional<Write> pending_write(const State& state, const WorkloadState& workload,
                                   std::string_view reason, const std::string& message);

// What a workload holds by its status; nullopt if it holds nothing.
std::optional<Holding> holding_of(const State& state, const WorkloadState& workload);
// The same for an admission that is about to be written.
Holding holding_for(const WorkloadState& workload, const std::string& cluster_queue,
                    const std::vector<quota::FlavorChoice>& choices);

}  // namespace phalanx::core
