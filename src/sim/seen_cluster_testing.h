// What an onlooker knows of a cluster: the objects of the API server, decoded, and the arithmetic
// of docs/reference/queueing.md done on them once more, the slow way. Of resources only cpu, in
// thousandths.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/queueing.h"
#include "api/workload.h"
#include "base/check.h"
#include "base/quantity.h"
#include "sim/document.h"
#include "sim/informer.h"
#include "sim/object_fields.h"
#include "topology/assignment_encoding.h"

namespace phalanx::sim {

using CpuByFlavor = std::map<std::string, int64_t>;

struct SeenNode {
  std::map<std::string, std::string> labels;
  int64_t cpu = 0;
};

struct SeenPod {
  std::string job;
  std::string node;
  int64_t cpu = 0;
  bool ended = false;
};

struct SeenJob {
  bool deleted = false;
  bool complete = false;
  int64_t succeeded = 0;
};

// The tree of cohorts, by names: "q:" and a ClusterQueue, "c:" and a Cohort.
class SeenQuota {
 public:
  SeenQuota(const std::map<std::string, api::ClusterQueue>& queues,
            const std::map<std::string, api::Cohort>& cohorts) {
    for (const auto& [name, cohort] : cohorts) add("c:" + name, cohort.parent, cohort.groups);
    for (const auto& [name, queue] : queues) add("q:" + name, queue.cohort, queue.groups);
  }

  [[nodiscard]] const std::map<std::string, std::string>& parents() const { return parents_; }
  [[nodiscard]] std::string parent(const std::string& member) const {
    const auto found = parents_.find(member);
    return found == parents_.end() ? "" : found->second;
  }
  [[nodiscard]] std::string root(std::string member) const {
    while (!parent(member).empty()) member = parent(member);
    return member;
  }
  [[nodiscard]] int64_t subtree(const std::string& member, const std::string& flavor) const {
    int64_t sum = quota(member, flavor).nominal;
    for (const std::string& child : children(member)) {
      sum += subtree(child, flavor) - kept(child, flavor);
    }
    return sum;
  }
  [[nodiscard]] int64_t kept(const std::string& member, const std::string& flavor) const {
    const auto limit = quota(member, flavor).lending_limit;
    return limit ? std::max<int64_t>(0, subtree(member, flavor) - *limit) : 0;
  }
  // `reserved` is by ClusterQueue.
  [[nodiscard]] int64_t usage(const std::string& member, const std::string& flavor,
                              const std::map<std::string, CpuByFlavor>& reserved) const {
    if (member.starts_with("q:")) {
      const auto queue = reserved.find(member.substr(2));
      if (queue == reserved.end()) return 0;
      const auto amount = queue->second.find(flavor);
      return amount == queue->second.end() ? 0 : amount->second;
    }
    int64_t sum = 0;
    for (const std::string& child : children(member)) {
      sum += std::max<int64_t>(0, usage(child, flavor, reserved) - kept(child, flavor));
    }
    return sum;
  }
  // The most that it may use; nullopt: whatever those above it have.
  [[nodiscard]] std::optional<int64_t> most(const std::string& member,
                                            const std::string& flavor) const {
    const int64_t own = subtree(member, flavor);
    if (parent(member).empty()) return own;
    const auto limit = quota(member, flavor).borrowing_limit;
    return limit ? std::optional(own + *limit) : std::nullopt;
  }
  // What a ClusterQueue could have if nobody used anything.
  [[nodiscard]] int64_t maximum(const std::string& member, const std::string& flavor) const {
    if (parent(member).empty()) return subtree(member, flavor);
    const int64_t all = kept(member, flavor) + maximum(parent(member), flavor);
    return std::min(all, most(member, flavor).value_or(all));
  }

 private:
  void add(const std::string& member, const std::string& cohort,
           const std::vector<api::ResourceGroup>& groups) {
    parents_[member] = cohort.empty() ? "" : "c:" + cohort;
    if (!cohort.empty()) parents_.try_emplace("c:" + cohort);
    for (const api::ResourceGroup& group : groups) {
      for (const api::FlavorQuotas& quotas : group.flavors) {
        if (const auto* cpu = quotas.find("cpu")) quotas_[{member, quotas.flavor}] = *cpu;
      }
    }
  }
  [[nodiscard]] api::ResourceQuota quota(const std::string& member,
                                         const std::string& flavor) const {
    const auto found = quotas_.find({member, flavor});
    return found == quotas_.end() ? api::ResourceQuota() : found->second;
  }
  [[nodiscard]] std::vector<std::string> children(const std::string& member) const {
    std::vector<std::string> result;
    for (const auto& [child, parent] : parents_) {
      if (parent == member) result.push_back(child);
    }
    return result;
  }

  std::map<std::string, std::string> parents_;
  std::map<std::pair<std::string, std::string>, api::ResourceQuota> quotas_;
};

class SeenCluster {
 public:
  explicit SeenCluster(ApiServer& server)
      : informer_(server, {api::Kind::kNode, api::Kind::kPod, api::Kind::kJob,
                           api::Kind::kResourceFlavor, api::Kind::kCohort, api::Kind::kClusterQueue,
                           api::Kind::kLocalQueue, api::Kind::kWorkload}) {}

  // Reads up to the present; whether there was anything.
  bool follow() {
    const auto changes = informer_.poll();
    for (const Change& change : changes) take_in(change);
    return !changes.empty();
  }

  [[nodiscard]] SeenQuota quota() const { return {cluster_queues, cohorts}; }

  // Whether it has quota reserved. What is over may have pods, but no claims.
  [[nodiscard]] bool reserved(const api::Workload& workload) const {
    return workload.admission && workload.quota_reserved.value_or(false) && !workload.finished &&
           job_of(workload) != nullptr;
  }
  [[nodiscard]] const SeenJob* job_of(const api::Workload& workload) const {
    if (workload.owner_jobs.empty()) return nullptr;
    const auto found = jobs.find(workload.owner_jobs.front());
    return found == jobs.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::string queue_of(const api::Workload& workload) const {
    const auto found = local_queues.find(workload.queue_name);
    return found == local_queues.end() ? "" : found->second.cluster_queue;
  }

  static CpuByFlavor usage_of(const api::Workload& workload) {
    CpuByFlavor usage;
    for (const api::PodSetAssignment& assignment : *workload.admission) {
      const int64_t count = assignment.count.value_or(1);
      const auto done = workload.reclaimable.find(assignment.pod_set);
      const int64_t held = count - (done == workload.reclaimable.end() ? 0 : done->second);
      for (const auto& [resource, flavor] : assignment.flavors) {
        usage[flavor] += assignment.usage.at(resource) / std::max<int64_t>(1, count) *
                         std::max<int64_t>(0, held);
      }
    }
    return usage;
  }
  // What all its pods ask for together.
  static int64_t wanted(const api::Workload& workload) {
    int64_t sum = 0;
    for (const api::WorkloadPodSet& pods : workload.pod_sets) sum += pods.count * per_pod(pods);
    return sum;
  }
  static int64_t per_pod(const api::WorkloadPodSet& pods) {
    const auto& requests = pods.pod_template.spec.requests;
    const auto found = requests.find("cpu");
    return found == requests.end() ? 0 : found->second;
  }
  // How many pods the assignment puts on each host.
  static std::map<std::string, int64_t> hosts_of(const api::PodSetAssignment& assignment) {
    std::map<std::string, int64_t> hosts;
    if (!assignment.topology_assignment) return hosts;
    const auto decoded =
        topology::decode_assignment(*assignment.topology_assignment, assignment.path);
    CHECK(decoded);
    for (const api::DomainAssignment& domain : decoded->domains) {
      hosts[domain.values.back()] += domain.count;
    }
    return hosts;
  }

  std::map<std::string, api::ResourceFlavor> flavors;
  std::map<std::string, api::Cohort> cohorts;
  std::map<std::string, api::ClusterQueue> cluster_queues;
  std::map<std::string, api::LocalQueue> local_queues;  // all are in one namespace
  std::map<std::string, api::Workload> workloads;       // by full name
  std::map<std::string, SeenNode> nodes;
  std::map<std::string, SeenPod> pods;
  std::map<std::string, SeenJob> jobs;

 private:
  template <typename T, typename Read>
  static void put(std::map<std::string, T>& objects, const std::string& name, const Change& change,
                  Read read) {
    if (change.after == nullptr) {
      objects.erase(name);
      return;
    }
    DecodeStatus status;
    objects[name] = read(JsonReader(change.after.get(), "", status));
    CHECK(status.ok());
  }

  void take_in(const Change& change) {
    const std::string& name = change.key.name;
    switch (change.key.kind) {
      case api::Kind::kResourceFlavor:
        return put(flavors, name, change, api::read_resource_flavor);
      case api::Kind::kCohort:
        return put(cohorts, name, change, api::read_cohort);
      case api::Kind::kClusterQueue:
        return put(cluster_queues, name, change, api::read_cluster_queue);
      case api::Kind::kLocalQueue:
        return put(local_queues, name, change, api::read_local_queue);
      case api::Kind::kWorkload:
        return put(workloads, change.key.namespace_ + "/" + name, change, api::read_workload);
      case api::Kind::kNode:
        return put_plain(nodes, name, change, read_node);
      case api::Kind::kPod:
        return put_plain(pods, name, change, read_pod);
      default:
        return put_plain(jobs, name, change, read_job);
    }
  }

  template <typename T, typename Read>
  static void put_plain(std::map<std::string, T>& objects, const std::string& name,
                        const Change& change, Read read) {
    if (change.after == nullptr) {
      objects.erase(name);
    } else {
      objects[name] = read(*change.after);
    }
  }

  static std::map<std::string, std::string> strings_at(const json::value& document,
                                                       FieldPath path) {
    std::map<std::string, std::string> strings;
    const json::object* object = object_at(document, path);
    if (object == nullptr) return strings;
    for (const auto& field : *object) strings[field.key()] = field.value().as_string();
    return strings;
  }
  static SeenNode read_node(const json::value& node) {
    const json::value* cpu = find_at(node, {"status", "allocatable", "cpu"});
    return {strings_at(node, {"metadata", "labels"}),
            cpu == nullptr ? 0 : parse_amount("cpu", quantity_text(*cpu)).value()};
  }
  static SeenPod read_pod(const json::value& pod) {
    SeenPod seen{std::string(string_at(pod, {"metadata", "labels", "job-name"})),
                 std::string(string_at(pod, {"spec", "nodeName"})), 0, is_terminal(pod)};
    for (const json::value& container : list_field(pod, {"spec", "containers"})) {
      if (const json::value* cpu = find_at(container, {"resources", "requests", "cpu"})) {
        seen.cpu += parse_amount("cpu", quantity_text(*cpu)).value();
      }
    }
    return seen;
  }
  static SeenJob read_job(const json::value& job) {
    return {is_deleted(job), condition_is_true(job, "Complete"),
            integer_at(job, {"status", "succeeded"}).value_or(0)};
  }

  Informer informer_;
};

}  // namespace phalanx::sim
