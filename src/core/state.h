// Everything the core knows of the cluster: the objects, decoded, with the indexes that decisions
// need.
//
// It is what the API server said last, nothing else: a core that is thrown away and told everything
// again has the same state. Decisions that are on their way to the API server are in the outbox,
// and what they take is assumed in the ledger and the node account.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/topology_assignment.h"
#include "core/adapter.h"
#include "core/configuration.h"
#include "core/known_objects.h"
#include "core/node_account.h"
#include "core/node_health.h"
#include "core/object.h"
#include "placement/pod_set.h"
#include "quota/ledger.h"

namespace phalanx::core {

// A Workload with what is derived from it.
struct WorkloadState {
  api::Workload object;
  placement::Workload request;  // its pod sets as placement sees them, with namespace defaults
  // By pod set, in order: what quota counts for each pod of it.
  std::vector<api::ResourceAmounts> quota_requests;
  int32_t priority = 0;  // with what its annotation adds, if that counts
  // What decides whether it can be admitted, as text: equal texts get equal answers in one queue.
  std::string shape;
  // By pod set, in order; nullopt where there is none.
  std::vector<std::optional<api::TopologyAssignment>> assignments;
  std::string problem;  // why it can never be admitted as it is; empty: it may

  [[nodiscard]] bool reserved() const {
    return object.admission && object.quota_reserved.value_or(false);
  }
  [[nodiscard]] bool admitted() const { return reserved() && object.admitted.value_or(false); }
  [[nodiscard]] bool evicted() const { return api::holds(object.conditions, "Evicted"); }
  [[nodiscard]] std::string local_queue() const {
    return object.namespace_ + "/" + object.queue_name;
  }
  // Of the job that it belongs to: its controller or, if somebody took that away, what its label
  // says. Empty: it stands alone.
  [[nodiscard]] std::string job_uid() const;
  // The same as an index knows it (see job_id()); empty: it stands alone.
  [[nodiscard]] std::string job_id() const;
};

// A job by its uid, for those of its own namespace only: whoever names the uid of a job elsewhere
// as an owner names nobody.
std::string job_id(const std::string& namespace_, const std::string& uid);

// What a workload holds, for the ledger and the account.
struct Holding {
  quota::Reservation reservation;
  std::vector<HeldPodSet> pod_sets;

  bool operator==(const Holding&) const = default;
};

// Something that could not be created for a Workload. It is tried again when something else would
// be written, or after a while.
struct ProvisioningRefusal {
  std::string workload;
  std::string why;
  uint64_t fingerprint = 0;  // of the document
  int32_t attempts = 0;
  Time again_at{};
};

struct State {
  Time now{};
  Configuration configuration;
  const Adapters* adapters = nullptr;

  KnownObjects known;
  std::map<std::string, api::Namespace> namespaces;
  std::map<std::string, api::LimitRange> limit_ranges;  // by full name
  std::map<std::string, api::PriorityClass> priority_classes;
  std::map<std::string, api::PriorityClass> workload_priority_classes;
  std::map<std::string, api::RuntimeClass> runtime_classes;
  std::map<std::string, Topology> topologies;
  std::map<std::string, api::ResourceFlavor> flavors;
  std::map<std::string, api::Cohort> cohorts;
  std::map<std::string, api::AdmissionCheck> admission_checks;
  std::map<std::string, api::ClusterQueue> cluster_queues;
  std::map<std::string, api::LocalQueue> local_queues;  // by full name, as are the rest
  std::map<std::string, WorkloadState> workloads;
  std::map<std::string, api::ProvisioningRequestConfig> provisioning_configs;  // by name
  std::map<std::string, api::ProvisioningRequest> provisioning_requests;
  // Those that were made for a Workload, by their labels or owners.
  std::map<std::string, api::StoredPodTemplate> pod_templates;
  std::map<std::string, Pod> pods;  // those that carry a workload annotation
  std::map<api::ObjectKey, Job> jobs;

  // Indexes.
  std::map<std::string, std::set<std::string>> workloads_of_job;  // by job_id()
  std::map<std::string, std::set<std::string>> workloads_of_local_queue;
  std::map<std::string, std::set<std::string>> workloads_with_quota_of;  // by ClusterQueue
  std::map<std::string, std::set<std::string>> local_queues_of_cluster_queue;
  std::map<std::string, std::set<std::string>> pods_of_workload;
  std::map<std::string, std::set<std::string>> gated_pods_of_workload;  // of these, by our gate
  std::map<std::string, api::ObjectKey> job_of_id;                      // by job_id()
  std::map<std::string, std::set<std::string>> requests_of_workload;    // by its uid, as the next
  std::map<std::string, std::set<std::string>> templates_of_workload;   // PodTemplates
  // Kept in memory only: after a restart everything is tried again.
  std::map<api::ObjectKey, ProvisioningRefusal> provisioning_refusals;

  quota::Ledger ledger;
  NodeAccount account;
  std::map<std::string, Holding> holdings;  // as booked in both
  NodeHealth health;
  // By workload: hosts of its assignment that are gone, or that something is wrong with.
  std::map<std::string, std::set<std::string>> troubled_hosts;
  // Whom the API server did not let us evict, as they are now: nobody is to wait for them.
  std::set<std::string> immovable;

  // Books what a workload holds in place of what it held; nullopt: nothing any more. Returns
  // whether that changed anything.
  bool hold(const std::string& workload, std::optional<Holding> holding);
  // Books once more what workloads hold that are placed in a flavor whose tree is another one now.
  void hold_again(const std::string& flavor);

  // A node has come or gone, or its health is another. Returns the workloads that are placed there.
  std::vector<std::string> host_changed(const std::string& host);
  // The workload may be placed elsewhere now.
  void places_changed(const std::string& workload);
  [[nodiscard]] bool in_trouble(const std::string& host) const {
    return !account.has_host(host) || health.find(host) != nullptr;
  }

  // Pods of a workload that run or may still run, of one pod set or of all. Those that are being
  // deleted on a node that is gone or not ready are not waited for: nobody is there to end them,
  // and what they take of their node nobody can have either.
  [[nodiscard]] int64_t live_pods(const std::string& workload,
                                  const std::string* pod_set = nullptr) const;

  [[nodiscard]] const api::ResourceFlavor* flavor(const std::string& name) const;
  [[nodiscard]] const api::ClusterQueue* cluster_queue_of(const WorkloadState& workload) const;
  [[nodiscard]] const Job* job_of(const WorkloadState& workload) const;
  // The uid of the job that makes the pods of a workload; empty: one cannot tell, and every pod
  // that names the workload is taken for its own. Who may make pods can name any workload of the
  // namespace in them; that they belong to its Job, too, only the Job's controller lets stand.
  [[nodiscard]] std::string pod_controller_of(const WorkloadState& workload) const;
  // Whether it was made for a job that is no more.
  [[nodiscard]] bool job_is_gone(const WorkloadState& workload) const;
  // Whether it is over or must go: what it still holds is about to be free.
  [[nodiscard]] bool gives_back(const WorkloadState& workload) const;
  [[nodiscard]] const WorkloadState* workload(const std::string& name) const;
  // What containers of a namespace get that say nothing themselves.
  [[nodiscard]] api::ContainerDefaults container_defaults(const std::string& namespace_) const;
};

api::ObjectKey workload_key(const api::Workload& workload);

// Whether a queue admits, and if not why, in the words of its Active condition.
struct Activity {
  bool active = false;
  std::string reason;
  std::string message;
};
Activity activity_of(const State& state, const api::ClusterQueue& queue);
Activity activity_of(const State& state, const api::LocalQueue& queue);
// "a -> b -> a"
std::string circle_text(std::vector<std::string> circle);

// The PriorityClass that its pods name and that is not there: not one pod could be made. nullptr:
// there is none such.
const std::string* missing_priority_class(const State& state, const WorkloadState& workload);

// What to say of a WorkloadPriorityClass that its job's label names and that is not there; nullopt:
// nothing. Anybody may write any label, and only the operator makes classes.
std::optional<std::string> missing_workload_priority_class(const State& state,
                                                           const WorkloadState& workload);

// As for the PriorityClass, for a RuntimeClass.
const std::string* missing_runtime_class(const State& state, const WorkloadState& workload);

// Why a workload is in no queue, whatever is free: its queue is missing, stopped or not for it.
struct QueueProblem {
  std::string reason;
  std::string message;
};
std::optional<QueueProblem> queue_problem(const State& state, const WorkloadState& workload);

// Why a workload may not keep the quota that it has: HoldAndDrain of its queues sends everybody
// away, Hold those that are not admitted yet. nullopt: it may.
struct Stop {
  std::string_view reason;
  std::string_view message;
};
std::optional<Stop> sent_away(const State& state, const WorkloadState& workload);

// Derives everything of a WorkloadState from its object (core/derive_workload.cc).
WorkloadState derive_workload(const State& state, api::Workload object);

}  // namespace phalanx::core
