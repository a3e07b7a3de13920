// What must hold of queueing at every moment, whatever happens, checked on the objects of the API
// server and the decision journal alone (docs/reference/queueing.md).
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "core/configuration.h"
#include "sim/component.h"
#include "sim/seen_cluster_testing.h"

namespace phalanx::sim {

// The cluster goes on and on.
class Restless : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An actor that only looks. It comes after the core, and so sees each batch of its writes.
class QueueingLaws : public Component {
 public:
  QueueingLaws(ApiServer& server, const core::Configuration& configuration)
      : server_(server), configuration_(configuration), seen_(server) {}

  // Throws when the others go on and on: the simulation would wait much longer for them.
  bool react() override {
    look();
    if (std::exchange(now_, server_.clock().now()) != server_.clock().now()) rounds_ = 0;
    if (++rounds_ > kMaxRounds) throw Restless("the cluster does not come to rest");
    admitted_.clear();
    return false;
  }
  [[nodiscard]] std::optional<Time> wake_at() const override { return std::nullopt; }

  void look() {
    if (!seen_.follow()) return;
    check_quota();
    check_nodes();
    for (const auto& [name, workload] : seen_.workloads) {
      if (seen_.reserved(workload)) check_assignment(name, workload);
    }
  }

  // Hears decisions before they are carried out: the objects are those that they were made on.
  void hear(const std::string& line) {
    const json::value decision = json::parse(line);
    const std::string what(string_at(decision, {"decision"}));
    const std::string object(string_at(decision, {"object"}));
    const std::string name = object.substr(object.find(' ') + 1);
    if (what != "admit" && what != "preempt" && what != "nominate" && what != "reserve") return;
    look();
    if (what == "admit") {
      check_order(name);
      admitted_.insert(name);
      ++admissions_;
    } else if (what == "preempt") {
      check_preemption(name, std::string(string_at(decision, {"reason"})),
                       std::string(string_at(decision, {"details", "reason"})));
      if (++preemptions_[name] > kMaxPreemptions) {
        throw Restless(fmt::format("{} is preempted again and again", name));
      }
    } else {
      nominated_.insert(name);
    }
  }

  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }
  [[nodiscard]] const SeenCluster& seen() const { return seen_; }
  [[nodiscard]] int admissions() const { return admissions_; }
  // How often each workload was preempted.
  [[nodiscard]] const std::map<std::string, int>& preemptions() const { return preemptions_; }

 private:
  template <typename... T>
  void broken(fmt::format_string<T...> text, T&&... arguments) {
    broken_.push_back(format_time(server_.clock().now()) + " " +
                      fmt::format(text, std::forward<T>(arguments)...));
  }

  [[nodiscard]] std::map<std::string, CpuByFlavor> reserved() const {
    std::map<std::string, CpuByFlavor> result;
    for (const auto& [name, workload] : seen_.workloads) {
      if (!seen_.reserved(workload)) continue;
      for (const auto& [flavor, cpu] : SeenCluster::usage_of(workload)) {
        result[workload.cluster_queue][flavor] += cpu;
      }
    }
    return result;
  }

  // Nobody has more than it may. What an edit has taken away may be missing, but no more of it.
  void check_quota() {
    int64_t generations = 0;
    for (const auto& [name, queue] : seen_.cluster_queues) generations += queue.meta.generation;
    for (const auto& [name, cohort] : seen_.cohorts) generations += cohort.meta.generation;
    const bool edited = std::exchange(generations_, generations) != generations;
    const SeenQuota quota = seen_.quota();
    const auto usage = reserved();
    for (const auto& [member, parent] : quota.parents()) {
      for (const auto& [flavor, unused] : seen_.flavors) {
        const auto most = quota.most(member, flavor);
        if (!most) continue;
        const int64_t used = quota.usage(member, flavor, usage);
        const int64_t too_much = std::max<int64_t>(0, used - *most);
        int64_t& before = too_much_[{member, flavor}];
        if (!edited && too_much > before) {
          broken("{} uses {} of {}, may use {}", member, used, flavor, *most);
        }
        before = too_much;
      }
    }
  }

  // Places that are promised, and pods that are still there, have room on every node.
  void check_nodes() {
    std::map<std::string, std::map<std::string, int64_t>> taken;  // by node and job
    for (const auto& [name, pod] : seen_.pods) {
      if (!pod.ended && !pod.node.empty()) taken[pod.node][pod.job] += pod.cpu;
    }
    for (const auto& [name, workload] : seen_.workloads) {
      // Who is half done has given places back that nobody can tell from outside.
      if (!seen_.reserved(workload) || seen_.job_of(workload)->succeeded > 0) continue;
      for (size_t i = 0; i < workload.admission->size(); ++i) {
        const int64_t each = SeenCluster::per_pod(workload.pod_sets[i]);
        for (const auto& [host, count] : SeenCluster::hosts_of((*workload.admission)[i])) {
          int64_t& cpu = taken[host][workload.owner_jobs.front()];
          cpu = std::max(cpu, count * each);
        }
      }
    }
    for (const auto& [node, jobs] : taken) {
      int64_t sum = 0;
      std::string who;
      for (const auto& [job, cpu] : jobs) {
        sum += cpu;
        who += fmt::format(" {}={}", job, cpu);
      }
      if (sum > seen_.nodes[node].cpu) broken("{} is over-committed:{}", node, who);
    }
  }

  // The gang is whole, in one domain if it must be, in flavors that it may use.
  void check_assignment(const std::string& name, const api::Workload& workload) {
    for (size_t i = 0; i < workload.admission->size(); ++i) {
      const api::PodSetAssignment& assignment = (*workload.admission)[i];
      const api::WorkloadPodSet& pod_set = workload.pod_sets[i];
      const int64_t count = assignment.count.value_or(-1);
      if (count > pod_set.count || count < pod_set.min_count.value_or(pod_set.count)) {
        broken("{} was admitted with {} pods", name, count);
      }
      const std::string& flavor = assignment.flavors.at("cpu");
      if (!may_use(workload, pod_set, flavor)) broken("{} may not use {}", name, flavor);
      if (seen_.flavors.at(flavor).topology_name.empty()) continue;
      const auto hosts = SeenCluster::hosts_of(assignment);
      int64_t pods = 0;
      std::map<std::string, std::set<std::string>> values;
      for (const auto& [host, pods_there] : hosts) {
        pods += pods_there;
        const SeenNode& node = seen_.nodes[host];
        for (const auto& [key, value] : node.labels) values[key].insert(value);
        for (const auto& [key, value] : seen_.flavors.at(flavor).node_labels) {
          if (!node.labels.contains(key) || node.labels.at(key) != value) {
            broken("{} of {} is not on nodes of {}", name, host, flavor);
          }
        }
      }
      if (pods != count) broken("{}: {} of {} pods have a place", name, pods, count);
      if (pod_set.topology && pod_set.topology->required &&
          values[*pod_set.topology->required].size() != 1) {
        broken("{} is not in one {}", name, *pod_set.topology->required);
      }
    }
  }

 public:
  // Whether pods may take their cpu from the flavor, quota and room left aside.
  [[nodiscard]] bool may_use(const api::Workload& workload, const api::WorkloadPodSet& pod_set,
                             const std::string& flavor) const {
    const auto queue = seen_.cluster_queues.find(seen_.queue_of(workload));
    if (queue == seen_.cluster_queues.end()) return false;
    bool listed = false;
    bool all_placed = true;
    std::set<std::string> keys;
    for (const api::FlavorQuotas& quotas : queue->second.groups.at(0).flavors) {
      listed |= quotas.flavor == flavor;
      all_placed &= !seen_.flavors.at(quotas.flavor).topology_name.empty();
      for (const auto& [key, value] : seen_.flavors.at(quotas.flavor).node_labels) keys.insert(key);
    }
    const bool placed = pod_set.topology.has_value() || all_placed;
    const api::ResourceFlavor& about = seen_.flavors.at(flavor);
    if (!listed || placed == about.topology_name.empty()) return false;
    for (const auto& [key, value] : pod_set.pod_template.spec.node_selector) {
      if (!keys.contains(key)) continue;
      const auto label = about.node_labels.find(key);
      if (label == about.node_labels.end() || label->second != value) return false;
    }
    return true;
  }
  // Whether it is in a queue and could be admitted next.
  [[nodiscard]] bool waits(const std::string& name, const api::Workload& workload) const {
    const SeenJob* job = seen_.job_of(workload);
    if (job == nullptr || job->deleted || job->complete) return false;
    const auto local = seen_.local_queues.find(workload.queue_name);
    return workload.active && !workload.meta.deleted && !workload.finished &&
           !seen_.reserved(workload) && !admitted_.contains(name) &&
           local != seen_.local_queues.end() && local->second.stop_policy == api::StopPolicy::kNone;
  }
  // Then the order of its workloads cannot be told from outside.
  [[nodiscard]] bool ordered_by_usage(const std::string& queue) const {
    return configuration_.admission_fair_sharing &&
           seen_.cluster_queues.at(queue).usage_based_admission;
  }
  static bool comes_before(const api::Workload& a, const api::Workload& b) {
    return std::tuple(-a.priority, a.meta.created, a.name) <
           std::tuple(-b.priority, b.meta.created, b.name);
  }

 private:
  void check_order(const std::string& name) {
    const api::Workload& workload = seen_.workloads.at(name);
    const std::string queue = seen_.queue_of(workload);
    const api::ClusterQueue& about = seen_.cluster_queues.at(queue);
    if (about.stop_policy != api::StopPolicy::kNone)
      broken("{} was admitted by a stopped queue", name);
    if (!waits(name, workload)) broken("{} was admitted, but does not wait", name);
    if (about.strategy != api::QueueingStrategy::kStrictFifo || ordered_by_usage(queue)) return;
    for (const auto& [other, earlier] : seen_.workloads) {
      if (seen_.queue_of(earlier) == queue && waits(other, earlier) &&
          comes_before(earlier, workload)) {
        broken("{} was overtaken by {}", other, name);
      }
    }
  }

  void check_preemption(const std::string& name, const std::string& message,
                        const std::string& reason) {
    static const std::string kBegin = "Makes room for workload ";
    CHECK(message.starts_with(kBegin));
    const std::string by =
        message.substr(kBegin.size(), message.find(' ', kBegin.size()) - kBegin.size());
    if (!seen_.workloads.contains(by)) return broken("{} goes for {}, which is gone", name, by);
    const api::Workload& victim = seen_.workloads.at(name);
    const api::Workload& winner = seen_.workloads.at(by);
    if (!waits(by, winner)) broken("{} goes for {}, which does not wait", name, by);
    if (const std::string why = fault_of(victim, winner, reason); !why.empty()) {
      broken("{} ({}, of {}) goes for {} ({}, of {}) because of {}, but {}", name, victim.priority,
             victim.cluster_queue, by, winner.priority, seen_.queue_of(winner), reason, why);
    }
  }

  // Why the victim should have stayed, as far as one can tell.
  [[nodiscard]] std::string fault_of(const api::Workload& victim, const api::Workload& winner,
                                     const std::string& reason) const {
    using api::PreemptionPolicy;
    const std::string queue = seen_.queue_of(winner);
    const api::Preemption& policy = seen_.cluster_queues.at(queue).preemption;
    const bool lower = victim.priority < winner.priority;
    if (reason == "InClusterQueue") {
      if (victim.cluster_queue != queue) return "it is of another queue";
      const bool newer =
          policy.within_cluster_queue == PreemptionPolicy::kLowerOrNewerEqualPriority &&
          victim.priority == winner.priority && victim.meta.created > winner.meta.created;
      if (policy.within_cluster_queue == PreemptionPolicy::kNever)
        return "the queue preempts nobody";
      return lower || newer ? "" : "it comes first";
    }
    const SeenQuota quota = seen_.quota();
    const std::string root = quota.root("q:" + queue);
    if (victim.cluster_queue == queue) return "it is of the same queue";
    if (quota.root("q:" + victim.cluster_queue) != root) return "they share nothing";
    if (policy.reclaim_within_cohort == PreemptionPolicy::kNever)
      return "the queue reclaims nothing";
    if (policy.reclaim_within_cohort == PreemptionPolicy::kLowerPriority && !lower) {
      return "its priority is not lower";
    }
    if (!may_borrow_in(victim)) return "its queue does not borrow";
    if (reason == "InCohortReclaimWhileBorrowing") {
      if (configuration_.fair_sharing) return "sharing is fair";
      if (!policy.borrow_within_cohort || !lower) return "the winner must not borrow";
      if (policy.max_priority_threshold && victim.priority > *policy.max_priority_threshold) {
        return "it is above the threshold";
      }
    }
    if (reason == "InCohortFairSharing" && !configuration_.fair_sharing)
      return "sharing is not fair";
    return "";
  }

  // Whether its queue uses more than its own of anything the victim uses. Counted with everything
  // that is reserved or promised there: what was leaving already nobody else can tell.
  [[nodiscard]] bool may_borrow_in(const api::Workload& victim) const {
    const SeenQuota quota = seen_.quota();
    auto usage = reserved();
    CpuByFlavor& own = usage[victim.cluster_queue];
    for (const auto& [name, workload] : seen_.workloads) {
      const bool promised = nominated_.contains(name) || admitted_.contains(name);
      if (!promised || !waits_or_admitted(name, workload)) continue;
      if (seen_.queue_of(workload) != victim.cluster_queue) continue;
      for (const auto& [flavor, unused] : seen_.flavors)
        own[flavor] += SeenCluster::wanted(workload);
    }
    for (const auto& [flavor, cpu] : SeenCluster::usage_of(victim)) {
      const std::string member = "q:" + victim.cluster_queue;
      if (cpu > 0 && quota.usage(member, flavor, usage) > quota.subtree(member, flavor))
        return true;
    }
    return false;
  }
  [[nodiscard]] bool waits_or_admitted(const std::string& name,
                                       const api::Workload& workload) const {
    return admitted_.contains(name) || waits(name, workload);
  }

  static constexpr int kMaxRounds = 1000;
  static constexpr int kMaxPreemptions = 40;  // of one workload, whatever happens

  ApiServer& server_;
  Time now_{};
  int rounds_ = 0;  // at this moment
  core::Configuration configuration_;
  SeenCluster seen_;
  std::vector<std::string> broken_;
  int64_t generations_ = 0;
  std::map<std::pair<std::string, std::string>, int64_t> too_much_;  // by member and flavor
  std::set<std::string> admitted_;                                   // in this step of the core
  std::set<std::string> nominated_;                                  // ever
  std::map<std::string, int> preemptions_;
  int admissions_ = 0;
};

}  // namespace phalanx::sim
