#include "core/nominations.h"

#include <algorithm>
#include <utility>

#include "base/saturating.h"

namespace phalanx::core {
namespace {

// What pods take, leaf by leaf.
struct Leaf {
  TreeId tree;
  std::vector<std::string> values;

  auto operator<=>(const Leaf&) const = default;
};
using Taken = std::map<Leaf, std::map<ResourceId, int64_t>>;

void add(State& state, const std::vector<HeldPodSet>& pod_sets, int sign, Taken& taken) {
  topology::Cluster& cluster = state.account.cluster();
  for (const HeldPodSet& pod_set : pod_sets) {
    const auto tree = state.account.tree_for(pod_set);
    if (!tree) continue;
    const bool by_host = cluster.tree(*tree).by_host();
    const topology::RequestVector requests = cluster.make_request(pod_set.per_pod);
    for (const api::DomainAssignment& domain : pod_set.assignment->domains) {
      Leaf leaf{*tree, by_host ? std::vector{domain.values.back()} : domain.values};
      // Where nothing is to be taken nothing can be left over.
      if (sign < 0 && !taken.contains(leaf)) continue;
      auto& amounts = taken[std::move(leaf)];
      for (const topology::Request& request : requests) {
        int64_t& amount = amounts[request.resource];
        amount = saturating_add(amount,
                                saturating_multiply(request.amount, int64_t{sign} * domain.count));
      }
    }
  }
}

}  // namespace

std::string Nominations::booked_as(const std::string& workload) {
  return workload + " (to come)";
}

void Nominations::put(const std::string& workload, Nomination nomination) {
  drop(workload);
  const Nomination& put = nominations_[workload] = std::move(nomination);
  state_.ledger.promise(workload, put.cluster_queue, put.place.reservation.usage);
  for (const auto& [victim, reason] : put.victims) {
    ++victims_[victim];
    state_.ledger.set_leaving(victim, true);
  }
  book(workload, put);
}

void Nominations::drop(const std::string& workload) {
  const auto found = nominations_.find(workload);
  if (found == nominations_.end()) return;
  const auto victims = std::move(found->second.victims);
  nominations_.erase(found);
  state_.account.cluster().remove_usage(booked_as(workload));
  state_.ledger.withdraw(workload);
  for (const auto& [victim, reason] : victims) release(victim);
}

void Nominations::release(const std::string& victim) {
  if (--victims_[victim] > 0) return;
  victims_.erase(victim);
  const WorkloadState* state = state_.workload(victim);
  const bool leaves = state == nullptr || state_.gives_back(*state);
  state_.ledger.set_leaving(victim, leaves);
  if (leaves) return;
  for (const auto& [workload, nomination] : nominations_) {
    if (nomination.awaited.contains(victim)) in_vain_.insert(workload);
  }
}

const Nomination* Nominations::find(const std::string& workload) const {
  const auto found = nominations_.find(workload);
  return found == nominations_.end() ? nullptr : &found->second;
}

std::vector<std::string> Nominations::follow() {
  std::vector<std::string> nearer;
  const std::set<std::string> changed = std::exchange(changed_, {});
  if (changed.empty()) return nearer;
  for (auto& [workload, nomination] : nominations_) {
    bool concerned = false;
    for (const std::string& other : changed) {
      if (!nomination.awaited.contains(other)) continue;
      concerned = true;
      if (state_.holdings.contains(other)) continue;
      nomination.awaited.erase(other);
      // If it comes back, elsewhere, it is not asked to go once more.
      if (nomination.victims.erase(other) > 0) release(other);
    }
    if (!concerned) continue;
    nearer.push_back(workload);
    state_.account.cluster().remove_usage(booked_as(workload));
    book(workload, nomination);
  }
  return nearer;
}

void Nominations::book(const std::string& workload, const Nomination& nomination) {
  Taken taken;
  add(state_, nomination.place.pod_sets, +1, taken);
  for (const std::string& awaited : nomination.awaited) {
    const auto holding = state_.holdings.find(awaited);
    if (holding != state_.holdings.end()) add(state_, holding->second.pod_sets, -1, taken);
  }
  // Leaves with the same rest are booked together.
  std::map<std::pair<TreeId, topology::RequestVector>, std::vector<topology::DomainUsage>> rests;
  for (const auto& [leaf, amounts] : taken) {
    topology::RequestVector rest;
    for (const auto& [resource, amount] : amounts) {
      if (amount > 0) rest.push_back({resource, amount});
    }
    if (!rest.empty()) rests[{leaf.tree, std::move(rest)}].push_back({leaf.values, 1});
  }
  for (const auto& [what, domains] : rests) {
    state_.account.cluster().add_usage(booked_as(workload), what.first, what.second, domains);
  }
}

bool Nominations::broken(const std::string& workload, const Nomination& nomination) const {
  const quota::QuotaTree& tree = state_.ledger.tree();
  const quota::MemberId queue = tree.queue(nomination.cluster_queue);
  if (!queue.valid()) return true;
  for (size_t i = 0; i < tree.flavor_resources(); ++i) {
    const quota::FlavorResourceId what(i);
    const auto wanted = nomination.place.reservation.usage.find(tree.what(what));
    if (wanted == nomination.place.reservation.usage.end()) continue;
    if (tree.available(queue, what, quota::Book::kPromised) < 0) return true;
  }
  topology::Cluster& cluster = state_.account.cluster();
  for (const HeldPodSet& pod_set : nomination.place.pod_sets) {
    const auto tree_id = state_.account.tree_for(pod_set);
    if (!tree_id) continue;
    const TreeId ids[] = {*tree_id};
    cluster.tree(*tree_id);
    for (const topology::LeafUsage& usage : cluster.usage_in(ids, booked_as(workload))) {
      for (const topology::Request& request : *usage.requests) {
        const auto free = cluster.tree(*tree_id).free(request.resource);
        if (!free.empty() && free[usage.leaf] < 0) return true;
      }
    }
  }
  return false;
}

bool Nominations::lost(const Nomination& nomination) const {
  topology::Cluster& cluster = state_.account.cluster();
  for (const HeldPodSet& pod_set : nomination.place.pod_sets) {
    const auto tree = state_.account.tree_for(pod_set);
    if (!tree) continue;
    for (const api::DomainAssignment& domain : pod_set.assignment->domains) {
      const auto leaf = cluster.find_leaf(*tree, domain.values);
      if (!leaf || !cluster.tree(*tree).leaf_active(*leaf)) return true;
    }
  }
  return false;
}

std::vector<std::string> Nominations::drop_vain() {
  for (const auto& [workload, nomination] : nominations_) {
    if (lost(nomination)) in_vain_.insert(workload);
  }
  std::vector<std::string> dropped;
  while (!in_vain_.empty()) {
    const std::string workload = in_vain_.extract(in_vain_.begin()).value();
    if (!nominations_.contains(workload)) continue;
    drop(workload);
    dropped.push_back(workload);
  }
  return dropped;
}

std::vector<std::string> Nominations::drop_broken(const std::vector<std::string>& workloads) {
  std::vector<std::string> dropped;
  for (const std::string& workload : workloads) {
    const Nomination* nomination = find(workload);
    if (nomination != nullptr && broken(workload, *nomination)) dropped.push_back(workload);
  }
  for (const std::string& workload : dropped) drop(workload);
  return dropped;
}

}  // namespace phalanx::core
