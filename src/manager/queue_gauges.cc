#include "manager/queue_gauges.h"

#include "base/saturating.h"
#include "core/names.h"
#include "quota/fair_share.h"

namespace phalanx::manager {
namespace {

namespace names = core::names;

// Kueue counts processors, the account thousandths of them.
double shown(const std::string& resource, int64_t amount) {
  return resource == "cpu" ? static_cast<double>(amount) * 1e-3 : static_cast<double>(amount);
}

Labels with(Labels labels, std::initializer_list<Labels::value_type> more) {
  for (const auto& [name, value] : more) labels[name] = value;
  return labels;
}

double number(auto value) {
  return static_cast<double>(value);
}

class QueueGauges {
 public:
  QueueGauges(const core::Core& core, Role role, Gauges& gauges)
      : state_(core.state()),
        scheduler_(core.scheduler()),
        tree_(state_.ledger.tree()),
        role_(label_of(role)),
        gauges_(gauges) {}

  void add_all() {
    count_workloads();
    for (const auto& [name, queue] : state_.cluster_queues) add_cluster_queue(name, queue);
    for (const auto& [name, queue] : state_.local_queues) add_local_queue(name, queue);
    std::set<std::string> cohorts;
    for (const auto& [name, unused] : state_.cohorts) cohorts.insert(name);
    for (const auto& [name, queue] : state_.cluster_queues) {
      if (!queue.cohort.empty()) cohorts.insert(queue.cohort);
      quota::MemberId above = tree_.queue(name);
      while (above.valid() && (above = tree_.parent(above)).valid()) {
        admitted_below_[above] += state_.ledger.of_cluster_queue(name).admitted_workloads;
      }
    }
    for (const std::string& name : cohorts) add_cohort(name);
  }

 private:
  // What one look at all Workloads tells of a queue.
  struct Counts {
    int64_t finished = 0;
    std::map<std::string, int64_t> unadmitted;  // by reason
    std::map<std::string, int64_t> pending;     // by resource
  };

  void set(const std::string& name, const std::string& help, const Labels& labels, double value) {
    gauges_.set("kueue_" + name, help, with(labels, {{"replica_role", role_}}), value);
  }

  void count_workloads() {
    for (const auto& [name, workload] : state_.workloads) {
      const auto local = state_.local_queues.find(workload.local_queue());
      std::string queue = workload.object.cluster_queue;
      if (queue.empty() && local != state_.local_queues.end()) queue = local->second.cluster_queue;
      Counts& of_cluster_queue = cluster_queues_[queue];
      Counts& of_local_queue = local_queues_[workload.local_queue()];
      if (workload.object.finished) {
        ++of_cluster_queue.finished;
        ++of_local_queue.finished;
        continue;
      }
      if (workload.admitted()) continue;
      const std::string reason = reason_of(workload);
      ++of_cluster_queue.unadmitted[reason];
      ++of_local_queue.unadmitted[reason];
      if (!workload.reserved()) add_wanted(workload, of_cluster_queue);
    }
  }

  // Why it is not admitted, as its conditions say.
  static std::string reason_of(const core::WorkloadState& workload) {
    const auto type = workload.reserved() ? names::kAdmitted : names::kQuotaReserved;
    const api::Condition* condition = api::find_condition(workload.object.conditions, type);
    if (condition != nullptr && !condition->holds) return condition->reason;
    return workload.reserved() ? "UnsatisfiedAdmissionChecks" : "PendingEvaluation";
  }

  static void add_wanted(const core::WorkloadState& workload, Counts& counts) {
    for (size_t i = 0; i < workload.quota_requests.size(); ++i) {
      const int64_t pods = workload.object.pod_sets[i].count;
      for (const auto& [resource, amount] : workload.quota_requests[i]) {
        int64_t& sum = counts.pending[resource];
        sum = saturating_add(sum, saturating_multiply(amount, pods));
      }
    }
  }

  void add_cluster_queue(const std::string& name, const api::ClusterQueue& queue) {
    const Labels labels{{"cluster_queue", name}};
    const quota::QueueTotals& totals = state_.ledger.of_cluster_queue(name);
    const Counts& counts = cluster_queues_[name];
    const core::PendingQueue* pending = scheduler_.queue(name);
    const int64_t all = scheduler_.pending_in_cluster_queue(name);
    const int64_t parked = pending == nullptr ? 0 : static_cast<int64_t>(pending->parked());
    set("pending_workloads", "Workloads that wait; inadmissible: until something changes.",
        with(labels, {{"status", "active"}}), number(all - parked));
    set("pending_workloads", "", with(labels, {{"status", "inadmissible"}}), number(parked));
    set("reserving_active_workloads", "Workloads that have quota.", labels,
        number(totals.reserving_workloads));
    set("admitted_active_workloads", "Workloads that are admitted and not finished.", labels,
        number(totals.admitted_workloads));
    set("finished_workloads", "Workloads that are finished and not deleted.", labels,
        number(counts.finished));
    for (const auto& [reason, count] : counts.unadmitted) {
      set("unadmitted_workloads", "Workloads that are not admitted, by reason.",
          with(labels, {{"reason", reason}, {"underlying_cause", ""}}), number(count));
    }
    for (const auto& [resource, amount] : counts.pending) {
      set("cluster_queue_resource_pending", "What the workloads without quota ask for.",
          with(labels, {{"resource", resource}}), shown(resource, amount));
    }
    const core::Activity activity = core::activity_of(state_, queue);
    const std::string status = queue.meta.deleted ? "terminating"
                               : activity.active  ? "active"
                                                  : "pending";
    for (const std::string candidate : {"active", "pending", "terminating"}) {
      set("cluster_queue_status", "1 for the state in which the queue is.",
          with(labels, {{"status", candidate}}), candidate == status ? 1 : 0);
    }
    add_quotas(name, queue, totals);
    const quota::MemberId member = tree_.queue(name);
    set("cluster_queue_info", "Where the queue stands among cohorts; always 1.",
        with(labels, {{"parent_cohort", queue.cohort}, {"root_cohort", root_of(member)}}), 1);
    if (!state_.configuration.fair_sharing || !member.valid()) return;
    set("cluster_queue_weighted_share", "What the queue borrows, by fair sharing.",
        with(labels, {{"cohort", queue.cohort}}), share_of(member));
  }

  void add_quotas(const std::string& name, const api::ClusterQueue& queue,
                  const quota::QueueTotals& totals) {
    for (const api::ResourceGroup& group : queue.groups) {
      for (const api::FlavorQuotas& flavor : group.flavors) {
        for (const api::ResourceQuota& quota : flavor.resources) {
          const Labels labels{{"cohort", queue.cohort},
                              {"cluster_queue", name},
                              {"flavor", flavor.flavor},
                              {"resource", quota.resource}};
          const auto amount = [&](const std::string& metric, const std::string& help,
                                  int64_t value) {
            set(metric, help, labels, shown(quota.resource, value));
          };
          const quota::FlavorResource what{flavor.flavor, quota.resource};
          amount("cluster_queue_nominal_quota", "The queue's own quota.", quota.nominal);
          if (quota.borrowing_limit) {
            amount("cluster_queue_borrowing_limit", "What it may borrow at most.",
                   *quota.borrowing_limit);
          }
          if (quota.lending_limit) {
            amount("cluster_queue_lending_limit", "What it lends at most.", *quota.lending_limit);
          }
          amount("cluster_queue_resource_reservation", "What workloads with quota hold.",
                 found_in(totals.reserved, what));
          amount("cluster_queue_resource_usage", "What admitted workloads hold.",
                 found_in(totals.used, what));
        }
      }
    }
  }

  void add_local_queue(const std::string& full_name, const api::LocalQueue& queue) {
    const Labels labels{{"name", queue.meta.name}, {"namespace", queue.meta.namespace_}};
    const quota::QueueTotals& totals = state_.ledger.of_local_queue(full_name);
    const Counts& counts = local_queues_[full_name];
    set("local_queue_pending_workloads", "Workloads that wait.",
        with(labels, {{"status", "active"}}), number(scheduler_.pending_in_local_queue(full_name)));
    set("local_queue_reserving_active_workloads", "Workloads that have quota.", labels,
        number(totals.reserving_workloads));
    set("local_queue_admitted_active_workloads", "Workloads that are admitted and not finished.",
        labels, number(totals.admitted_workloads));
    set("local_queue_finished_workloads", "Workloads that are finished and not deleted.", labels,
        number(counts.finished));
    const bool active = core::activity_of(state_, queue).active;
    for (const std::string candidate : {"True", "False"}) {
      set("local_queue_status", "1 for whether the queue admits.",
          with(labels, {{"active", candidate}}), (candidate == "True") == active ? 1 : 0);
    }
    for (const auto& [reason, count] : counts.unadmitted) {
      set("local_queue_unadmitted_workloads", "Workloads that are not admitted, by reason.",
          with(labels, {{"cluster_queue", queue.cluster_queue},
                        {"reason", reason},
                        {"underlying_cause", ""}}),
          number(count));
    }
    const auto amounts = [&](const std::string& name, const std::string& help,
                             const quota::Usage& usage) {
      for (const auto& [what, amount] : usage) {
        set(name, help, with(labels, {{"flavor", what.flavor}, {"resource", what.resource}}),
            shown(what.resource, amount));
      }
    };
    amounts("local_queue_resource_reservation", "What workloads with quota hold.", totals.reserved);
    amounts("local_queue_resource_usage", "What admitted workloads hold.", totals.used);
    if (scheduler_.recent_usages().status(full_name)) {
      set("local_queue_admission_fair_sharing_usage", "What the queue used lately, weighted.",
          with(labels, {{"cluster_queue", queue.cluster_queue}}),
          scheduler_.recent_usages().value(full_name));
    }
  }

  void add_cohort(const std::string& name) {
    const Labels labels{{"cohort", name}};
    const quota::MemberId member = tree_.cohort(name);
    if (!member.valid()) return;
    const quota::MemberId parent = tree_.parent(member);
    set("cohort_info", "Where the cohort stands among others; always 1.",
        with(labels, {{"parent_cohort", parent.valid() ? tree_.name(parent) : ""},
                      {"root_cohort", root_of(member)}}),
        1);
    for (size_t i = 0; i < tree_.flavor_resources(); ++i) {
      const quota::FlavorResourceId id(i);
      const quota::FlavorResource& what = tree_.what(id);
      const Labels of_resource =
          with(labels, {{"flavor", what.flavor}, {"resource", what.resource}});
      const int64_t quota = tree_.subtree_quota(member, id);
      const int64_t used = tree_.usage(member, id, quota::Book::kHeld);
      if (quota == 0 && used == 0) continue;
      set("cohort_subtree_quota", "The quota of the cohort and of all below it.", of_resource,
          shown(what.resource, quota));
      set("cohort_subtree_resource_reservations", "What workloads below the cohort hold of it.",
          of_resource, shown(what.resource, used));
    }
    set("cohort_subtree_admitted_active_workloads",
        "Workloads below the cohort that are admitted and not finished.", labels,
        number(admitted_below_[member]));
    if (!state_.configuration.fair_sharing) return;
    set("cohort_weighted_share", "What the cohort borrows, by fair sharing.", labels,
        share_of(member));
  }

  static int64_t found_in(const quota::Usage& usage, const quota::FlavorResource& what) {
    const auto found = usage.find(what);
    return found == usage.end() ? 0 : found->second;
  }

  [[nodiscard]] std::string root_of(quota::MemberId member) const {
    if (!member.valid()) return "";
    const quota::MemberId root = tree_.root(member);
    return root == tree_.queue(tree_.name(member)) && root == member ? "" : tree_.name(root);
  }

  [[nodiscard]] double share_of(quota::MemberId member) const {
    return number(quota::share_status(quota::fair_share(tree_, member, quota::Book::kHeld)));
  }

  const core::State& state_;
  const core::Scheduler& scheduler_;
  const quota::QuotaTree& tree_;
  const std::string role_;
  Gauges& gauges_;
  std::map<std::string, Counts> cluster_queues_;
  std::map<std::string, Counts> local_queues_;
  std::map<quota::MemberId, int64_t> admitted_below_;
};

}  // namespace

void Gauges::set(const std::string& name, const std::string& help, const Labels& labels,
                 double value) {
  const auto [place, is_new] = place_of_.emplace(name, families_.size());
  if (is_new) families_.push_back({name, help, prometheus::MetricType::Gauge, {}});
  prometheus::ClientMetric metric;
  for (const auto& [label, text] : labels) metric.label.push_back({label, text});
  metric.gauge.value = value;
  families_[place->second].metric.push_back(std::move(metric));
}

void add_queue_gauges(const core::Core& core, Role role, Gauges& gauges) {
  QueueGauges(core, role, gauges).add_all();
}

}  // namespace phalanx::manager
