// The core: a deterministic state machine without I/O and without a clock.
//
// The host feeds it what it saw and carries out what comes back:
//
//   core::Core core(configuration, adapters);
//   core::Output output = core.step(now, events);   // again and again
//
// All truth is in the API server: a new core that is told all objects, then Synced, goes on where
// an old one stopped, whenever that was. The same events at the same times give the same outputs.
//
// One step takes in all its events, then asks the controllers of everything these touched, then
// runs the scheduling pass, until nobody has anything more to say. It never blocks.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/event.h"
#include "core/journal.h"
#include "core/outbox.h"
#include "core/probe.h"
#include "core/scheduler.h"
#include "core/state.h"
#include "core/ungater.h"
#include "core/verdict.h"

namespace phalanx::core {

class Core {
 public:
  Core(Configuration configuration, const Adapters& adapters);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  Output step(Time now, std::vector<Event> events);

  // Tells this one from now on how long things take; nullptr: nobody. It has to outlive the core.
  void set_probe(Probe* probe) {
    probe_ = probe;
    scheduler_.set_probe(probe);
  }

  // Kinds whose objects it wants to hear of.
  [[nodiscard]] std::vector<api::Kind> watched_kinds() const;

  // For those who look on: views, explanations, invariant checkers.
  [[nodiscard]] const State& state() const { return state_; }
  State& state() { return state_; }
  [[nodiscard]] const Scheduler& scheduler() const { return scheduler_; }
  Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] const Journal& journal() const { return journal_; }
  // Nothing of ours is under way.
  [[nodiscard]] bool idle() const { return outbox_.under_way() == 0; }

 private:
  void take_in(Event& event);
  void write_finished(const WriteFinished& result);
  void decide_again(const api::ObjectKey& key);
  void workload_moves_again(const std::string& name);
  void pod_settled(const api::ObjectKey& key, const std::string& name);
  void tell_refusal(const Write& write, const std::string& message);
  void forget_object(const ObjectDeleted& deleted);
  void object_deleted(const api::ObjectKey& key);

  // One for each kind: puts the object into the state and marks what it concerns.
  void put(const api::ObjectKey& key, const Unreadable& body);
  void put(const api::ObjectKey& key, api::Namespace body);
  void put(const api::ObjectKey& key, Node body);
  void put(const api::ObjectKey& key, Pod body);
  void put(const api::ObjectKey& key, api::LimitRange body);
  void put(const api::ObjectKey& key, api::PriorityClass body);
  void put(const api::ObjectKey& key, api::RuntimeClass body);
  void put(const api::ObjectKey& key, Job body);
  void put(const api::ObjectKey& key, Topology body);
  void put(const api::ObjectKey& key, api::ResourceFlavor body);
  void put(const api::ObjectKey& key, api::Cohort body);
  void put(const api::ObjectKey& key, api::AdmissionCheck body);
  void put(const api::ObjectKey& key, api::ClusterQueue body);
  void put(const api::ObjectKey& key, api::LocalQueue body);
  void put(const api::ObjectKey& key, api::Workload body);
  void put(const api::ObjectKey& key, api::ProvisioningRequestConfig body);
  void put(const api::ObjectKey& key, api::ProvisioningRequest body);
  void put(const api::ObjectKey& key, api::StoredPodTemplate body);
  void remove_pod(const std::string& name);
  void remove_workload(const std::string& name);
  void remove_job(const api::ObjectKey& key);

  void workload_changed(const std::string& name);
  void workloads_of_namespace_changed(const std::string& namespace_, bool derive_anew);
  void local_queue_changed(const std::string& full_name);
  void cluster_queue_changed(const std::string& name);
  void cohort_changed(const std::string& name);
  void tell_circles(const std::string& changed);
  void admission_check_changed(const std::string& name);
  void runtime_class_changed(const std::string& name);
  void flavor_changed(const std::string& name);
  void topology_changed(const std::string& name);
  void priority_classes_changed();
  // Of core_provisioning.cc.
  // Returns when to be asked again, though nothing changes.
  std::optional<Time> provision(const std::string& workload);
  void provisioning_config_changed(const std::string& name);
  void made_object_seen(const api::ObjectKey& key);
  void forget_made_object(const api::ObjectKey& key);
  void made_object_deleted(const api::ObjectKey& key);
  void mark_workload_of(const api::ObjectMeta& made_for_it);
  void name_settled(const api::ObjectKey& key);
  void creation_finished(const Write& write, const WriteFinished& result);
  void try_provisioning_again(const std::string& workload);
  void provisioning_is_served();
  void mark(api::Kind kind, const std::string& name);
  void mark_queues_of(const std::string& workload);
  void mark_job_of(const WorkloadState& workload);

  void run_controllers();
  [[nodiscard]] Verdict reconcile(const api::ObjectKey& key);
  void carry_out(Verdict verdict);
  // Asks about the object again at this time; nullopt: only when something changes.
  void set_alarm(const api::ObjectKey& key, std::optional<Time> at);
  void ring_alarms();
  void node_changed(const std::string& host, const std::string& node);
  void follow_health(const std::string& host);
  void remove_node(const std::string& name);
  void end_misplaced_pods();
  void tell_problem_of_job(const api::ObjectKey& key);
  void run_ungater();
  bool must_wait(const std::string& workload, const std::string& pod, const std::string& host);
  void report_drift();

  const Adapters& adapters_;
  State state_;
  Journal journal_;
  Outbox outbox_;
  Scheduler scheduler_;
  Probe* probe_ = nullptr;
  bool synced_ = false;
  bool members_changed_ = true;  // ClusterQueues or Cohorts: the ledger is to be told
  std::set<api::ObjectKey> dirty_;
  std::set<std::string> to_ungate_;     // workloads
  std::set<std::string> pods_changed_;  // workloads: looked at once a step, however many pods
  std::set<std::string> to_check_;      // pods: their place may be another's now
  std::map<api::ObjectKey, Time> alarms_;
  std::set<std::pair<Time, api::ObjectKey>> alarms_by_time_;
  Expected expected_;  // pods that are being un-gated, with their domains
  // Workloads, by an object that they want to write while another write of it is under way.
  std::map<api::ObjectKey, std::set<std::string>> waiting_for_write_;
  std::set<std::string> rank_warned_;
  // Pods that ask for too much, and workloads that have such: looked at again in every step.
  std::map<std::string, std::string> told_too_large_;
  std::set<std::string> held_back_;
  std::map<api::ObjectKey, std::string> told_problems_;  // of jobs
  std::map<std::string, std::string> told_circles_;      // by Cohort
  std::map<std::string, std::string> left_out_;          // nodes, and why, as told
  std::map<std::string, std::vector<Drift>> reported_drift_;
};

}  // namespace phalanx::core
