#include "core/cluster_view.h"

#include <algorithm>

namespace phalanx::core {
namespace {

// Of the queue's flavors. They and those of places that are held are rebuilt now, if they must be:
// an open attempt forbids it.
std::vector<TreeId> trees_of(State& state, const Nominations& nominations,
                             const api::ClusterQueue& queue) {
  for (const auto& [name, nomination] : nominations.all()) {
    for (const HeldPodSet& pod_set : nomination.place.pod_sets) {
      if (const auto tree = state.account.tree_for(pod_set)) state.account.cluster().tree(*tree);
    }
  }
  std::vector<TreeId> trees;
  for (const api::ResourceGroup& group : queue.groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      const auto tree = state.account.tree_of(quotas.flavor);
      if (!tree || std::ranges::find(trees, *tree) != trees.end()) continue;
      state.account.cluster().tree(*tree);
      trees.push_back(*tree);
    }
  }
  return trees;
}

}  // namespace

void lift(topology::Cluster& cluster, std::span<const TreeId> trees, const std::string& workload) {
  for (const topology::LeafUsage& usage : cluster.usage_in(trees, workload)) {
    cluster.charge(usage.tree, usage.leaf, *usage.requests, -usage.count);
  }
}

ClusterView::ClusterView(State& state, const Nominations& nominations,
                         const api::ClusterQueue& queue, const std::string& workload,
                         const Standing& standing)
    : state_(state),
      nominations_(nominations),
      trees_(trees_of(state, nominations, queue)),
      attempt_(state.account.cluster()) {
  for (const auto& [name, nomination] : nominations.all()) {
    const bool ends_before = nomination.reservation && nomination.free_at && standing.ends_by &&
                             *standing.ends_by <= *nomination.free_at;
    // In another queue nobody gets it: whoever went for it would be the first to come back.
    const bool behind =
        name == workload || (nomination.cluster_queue == queue.meta.name && !standing.yields &&
                             standing.comes_before && standing.comes_before(name));
    if (!behind && !ends_before) continue;
    ignored_.push_back(&nomination);
    promise(nomination, -1);
    lift(Nominations::booked_as(name));
  }
  for (const Nomination* nomination : ignored_) {
    for (const auto& [victim, reason] : nomination->victims) {
      if (goes_for_nobody_else(victim)) staying_.insert(victim);
    }
  }
  count_staying(+1);
}

ClusterView::~ClusterView() {
  count_staying(-1);
  for (const Nomination* nomination : ignored_) promise(*nomination, +1);
}

bool ClusterView::goes_for_nobody_else(const std::string& victim) const {
  const WorkloadState* workload = state_.workload(victim);
  if (workload == nullptr || state_.gives_back(*workload) ||
      !state_.ledger.leaving().contains(victim)) {
    return false;
  }
  return std::ranges::none_of(nominations_.all(), [&](const auto& entry) {
    return entry.second.victims.contains(victim) &&
           std::ranges::find(ignored_, &entry.second) == ignored_.end();
  });
}

// What they hold was promised to those who are ignored.
void ClusterView::count_staying(int sign) {
  quota::QuotaTree& tree = state_.ledger.tree();
  for (const std::string& victim : staying_) {
    const quota::Ledger::Booking& booking = state_.ledger.bookings().at(victim);
    const quota::MemberId queue = tree.queue(booking.reservation.cluster_queue);
    if (queue.valid()) tree.add(queue, booking.amounts, sign, quota::Book::kPromised);
  }
}

bool ClusterView::leaves(const std::string& workload) const {
  return state_.ledger.leaving().contains(workload) && !staying_.contains(workload);
}

void ClusterView::look_ahead() {
  for (const std::string& leaving : state_.ledger.leaving()) {
    if (!staying_.contains(leaving)) lift(leaving);
  }
  for (const auto& [name, nomination] : nominations_.all()) {
    if (std::ranges::find(ignored_, &nomination) != ignored_.end()) continue;
    lift(Nominations::booked_as(name));
    put(nomination.place.pod_sets);
  }
}

void ClusterView::lift(const std::string& workload) {
  core::lift(state_.account.cluster(), trees_, workload);
}

void ClusterView::put(const std::vector<HeldPodSet>& pod_sets) {
  topology::Cluster& cluster = state_.account.cluster();
  for (const HeldPodSet& pod_set : pod_sets) {
    const auto tree = state_.account.tree_for(pod_set);
    if (!tree) continue;
    const topology::RequestVector requests = cluster.make_request(pod_set.per_pod);
    for (const api::DomainAssignment& domain : pod_set.assignment->domains) {
      const auto leaf = cluster.find_leaf(*tree, domain.values);
      if (leaf) cluster.charge(*tree, *leaf, requests, domain.count);
    }
  }
}

void ClusterView::promise(const Nomination& nomination, int sign) {
  quota::QuotaTree& tree = state_.ledger.tree();
  const quota::MemberId queue = tree.queue(nomination.cluster_queue);
  if (!queue.valid()) return;
  tree.add(queue, tree.amounts(nomination.place.reservation.usage), sign, quota::Book::kPromised);
}

}  // namespace phalanx::core
