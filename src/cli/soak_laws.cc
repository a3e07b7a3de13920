#include "cli/soak_laws.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/queueing.h"
#include "base/check.h"

namespace phalanx::cli {
namespace {

using Amounts = std::map<std::pair<std::string, std::string>, int64_t>;  // by flavor and resource

const std::string& domain_of(const SoakView& view, const SoakPod& pod, SoakLevel level) {
  return view.nodes().at(pod.node).domains[static_cast<size_t>(level)];
}

// Whether the pod counts for where its gang is: what is being deleted is on its way out.
bool stays(const SoakPod& pod) {
  return pod.bound() && !pod.deleted;
}

void add(Amounts& sum, const std::vector<api::FlavorUsage>& usages) {
  for (const api::FlavorUsage& usage : usages) {
    for (const auto& [resource, amount] : usage.totals) sum[{usage.flavor, resource}] += amount;
  }
}

// What one ClusterQueue reserves beyond its own and what it may borrow.
std::optional<std::string> excess_of(const api::ClusterQueue& queue, const Amounts& reserved) {
  for (const auto& [what, amount] : reserved) {
    const api::ResourceGroup* group = queue.group_of(what.second);
    for (const api::FlavorQuotas& quotas : group->flavors) {
      const api::ResourceQuota* quota = quotas.find(what.second);
      if (quotas.flavor != what.first || quota == nullptr || !quota->borrowing_limit) continue;
      if (amount <= quota->nominal + *quota->borrowing_limit) continue;
      return fmt::format("ClusterQueue {} has reserved {} {} of flavor {}, but may have {}",
                         queue.meta.name, amount, what.second, what.first,
                         quota->nominal + *quota->borrowing_limit);
    }
  }
  return std::nullopt;
}

}  // namespace

SoakWholeness wholeness_of(const SoakView& view, const SoakGang& gang) {
  SoakWholeness result;
  result.wanted = std::min(gang.parallelism, gang.completions - gang.succeeded);
  for (const api::ObjectKey& key : gang.pods) {
    const SoakPod& pod = view.pods().at(key);
    result.running += pod.running && !pod.ended && !pod.deleted;
  }
  return result;
}

std::optional<std::string> SoakLaws::check(const SoakView::Touched& touched) {
  for (const std::string& node : touched.nodes) {
    if (auto broken = check_node(node)) return broken;
  }
  for (const std::string& gang : touched.gangs) {
    if (auto broken = check_domains(gang)) return broken;
    follow_wholeness(gang);
  }
  for (const std::string& workload : touched.workloads) follow_workload(workload);
  if (auto broken = check_wholeness()) return broken;
  if (auto broken = check_workloads()) return broken;
  return touched.cluster_queues.empty() ? std::nullopt : check_quota();
}

SoakLaws::Broken SoakLaws::check_node(const std::string& name) const {
  const SoakNode& node = view_.nodes().at(name);
  if (!node.exists) return std::nullopt;
  for (const auto& [resource, used] : node.load.used()) {
    const int64_t there = sim::amount_of(node.load.allocatable(), resource);
    if (used <= there) continue;
    std::string who;
    for (const auto& [key, pod] : view_.pods()) {
      if (pod.bound() && pod.node == name) {
        who += fmt::format(" {}/{}{}", key.namespace_, key.name, pod.deleted ? " (leaving)" : "");
      }
    }
    return fmt::format("Node {} is over-committed: its pods take {} {}, it has {}:{}", name, used,
                       resource, there, who);
  }
  return std::nullopt;
}

SoakLaws::Broken SoakLaws::check_domains(const std::string& name) const {
  const auto found = view_.gangs().find(name);
  if (found == view_.gangs().end() || !found->second.exists) return std::nullopt;
  const SoakGang& gang = found->second;
  if (gang.required) {
    std::map<std::string, std::string> pods;  // by domain: one of them
    for (const api::ObjectKey& key : gang.pods) {
      const SoakPod& pod = view_.pods().at(key);
      if (stays(pod)) pods.emplace(domain_of(view_, pod, *gang.required), key.name);
    }
    if (pods.size() > 1) {
      return fmt::format("Job {} must be in one {}, but {} is in {} and {} in {}", name,
                         name_of(*gang.required), pods.begin()->second, pods.begin()->first,
                         pods.rbegin()->second, pods.rbegin()->first);
    }
  }
  return gang.slice ? check_slices(name, gang) : std::nullopt;
}

SoakLaws::Broken SoakLaws::check_slices(const std::string& name, const SoakGang& gang) const {
  std::map<int64_t, std::pair<std::string, int64_t>> slices;  // domain and rank, by slice
  for (const api::ObjectKey& key : gang.pods) {
    const SoakPod& pod = view_.pods().at(key);
    if (!stays(pod) || !pod.rank) continue;
    const std::string& domain = domain_of(view_, pod, *gang.slice);
    const int64_t slice = *pod.rank / gang.slice_size;
    const auto [first, added] = slices.emplace(slice, std::pair(domain, *pod.rank));
    if (added || first->second.first == domain) continue;
    return fmt::format("Job {}: slice {} must be in one {}, but rank {} is in {} and rank {} in {}",
                       name, slice, name_of(*gang.slice), first->second.second, first->second.first,
                       *pod.rank, domain);
  }
  return std::nullopt;
}

void SoakLaws::follow_wholeness(const std::string& name) {
  const auto found = view_.gangs().find(name);
  const SoakWorkload* workload =
      found == view_.gangs().end() ? nullptr : view_.workload_of(found->second);
  const bool must_run = workload != nullptr && workload->admitted && !workload->evicted &&
                        !workload->finished && found->second.wants_to_run();
  if (!must_run) {
    incomplete_.erase(name);
    started_.erase(name);
  } else if (wholeness_of(view_, found->second).whole()) {
    incomplete_.erase(name);
    started_.insert(name);
  } else {
    incomplete_.try_emplace(name, Incomplete{view_.now(), started_.contains(name)});
  }
}

SoakLaws::Broken SoakLaws::check_wholeness() const {
  for (const auto& [name, incomplete] : incomplete_) {
    const Duration limit = incomplete.had_started ? limits_.recovery : limits_.start;
    if (view_.now() - incomplete.since <= limit + limits_.tolerance) continue;
    const SoakWholeness now = wholeness_of(view_, view_.gangs().at(name));
    return fmt::format(
        "Job {} is admitted, but {} of {} pods have been running since {}, longer than the {} it "
        "has to {}",
        name, now.running, now.wanted, format_time(incomplete.since), format_duration(limit),
        incomplete.had_started ? "recover" : "start");
  }
  return std::nullopt;
}

void SoakLaws::follow_workload(const std::string& name) {
  const auto found = view_.workloads().find(name);
  const bool watch = found != view_.workloads().end() && found->second.reserved &&
                     !found->second.finished && !found->second.deleted &&
                     (!found->second.admitted || found->second.evicted);
  if (watch) {
    watched_.insert(name);
  } else {
    watched_.erase(name);
  }
}

SoakLaws::Broken SoakLaws::check_workloads() const {
  const auto late = [&](Time since, Duration limit) {
    return view_.now() - since > limit + limits_.tolerance;
  };
  for (const std::string& name : watched_) {
    const SoakWorkload& workload = view_.workloads().at(name);
    if (workload.evicted) {
      if (!late(*workload.evicted, limits_.leaving)) continue;
      return fmt::format("Workload {} was evicted at {} and still holds its quota", name,
                         format_time(*workload.evicted));
    }
    if (workload.checks_ready &&
        late(std::max(*workload.reserved, *workload.checks_ready), limits_.second_pass)) {
      return fmt::format("Workload {} passed its checks at {} and has neither places nor left",
                         name, format_time(*workload.checks_ready));
    }
    if (!late(*workload.reserved, limits_.provisioning)) continue;
    return fmt::format("Workload {} has had its quota since {} and is not admitted", name,
                       format_time(*workload.reserved));
  }
  return std::nullopt;
}

SoakLaws::Broken SoakLaws::check_quota() const {
  std::map<std::string, Amounts> reserved;  // by cohort
  std::map<std::string, Amounts> nominal;
  for (const auto& [name, document] : view_.cluster_queues()) {
    DecodeStatus status;
    const api::ClusterQueue queue = api::read_cluster_queue(JsonReader(document.get(), "", status));
    CHECK(status.ok());
    Amounts own;
    add(own, queue.status.reservation);
    if (auto excess = excess_of(queue, own)) return excess;
    const std::string root = queue.cohort.empty() ? "ClusterQueue " + name : queue.cohort;
    add(reserved[root], queue.status.reservation);
    for (const api::ResourceGroup& group : queue.groups) {
      for (const api::FlavorQuotas& quotas : group.flavors) {
        for (const api::ResourceQuota& quota : quotas.resources) {
          nominal[root][{quotas.flavor, quota.resource}] += quota.nominal;
        }
      }
    }
  }
  for (const auto& [root, amounts] : reserved) {
    for (const auto& [what, amount] : amounts) {
      const int64_t there = nominal[root][what];
      if (amount <= there) continue;
      return fmt::format("the queues of {} have reserved {} {} of flavor {}, but have {}", root,
                         amount, what.second, what.first, there);
    }
  }
  return std::nullopt;
}

}  // namespace phalanx::cli
