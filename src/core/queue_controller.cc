#include "core/queue_controller.h"

#include <algorithm>

#include "core/names.h"
#include "core/outbox.h"
#include "quota/fair_share.h"

namespace phalanx::core {
namespace {

// Adds the finalizer to what lives, takes it from what is deleted and no longer in use.
Verdict keep_finalizer(const api::ObjectKey& key, const api::ObjectMeta& meta, bool in_use) {
  const bool has = meta.has_finalizer(names::kInUseFinalizer);
  Verdict verdict;
  if (!meta.deleted && !has) verdict.write = finalizer_patch(key, meta, true);
  if (meta.deleted && has && !in_use) verdict.write = finalizer_patch(key, meta, false);
  return verdict;
}

bool uses(const api::ClusterQueue& queue, const std::string& flavor) {
  return std::ranges::any_of(queue.groups, [&](const api::ResourceGroup& group) {
    return std::ranges::find(group.flavors, flavor, &api::FlavorQuotas::flavor) !=
           group.flavors.end();
  });
}

// Every flavor and resource of the queue, with what is taken of it.
std::vector<api::FlavorUsage> usage_of(const api::ClusterQueue& queue, const quota::Usage& usage,
                                       bool of_cluster_queue) {
  std::vector<api::FlavorUsage> result;
  for (const api::ResourceGroup& group : queue.groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      api::FlavorUsage flavor{quotas.flavor, {}};
      for (const api::ResourceQuota& resource : quotas.resources) {
        const auto found = usage.find({quotas.flavor, resource.resource});
        const int64_t total = found == usage.end() ? 0 : found->second;
        flavor.totals[resource.resource] = total;
        if (!of_cluster_queue || queue.cohort.empty() || total <= resource.nominal) continue;
        flavor.borrowed[resource.resource] = total - resource.nominal;
      }
      result.push_back(std::move(flavor));
    }
  }
  return result;
}

// What its status says of its share; nullopt without fair sharing.
std::optional<int64_t> share_of(const State& state, quota::MemberId member) {
  if (!state.configuration.fair_sharing || !member.valid()) return std::nullopt;
  return quota::share_status(quota::fair_share(state.ledger.tree(), member, quota::Book::kHeld));
}

bool same(const api::QueueStatus& a, const api::QueueStatus& b) {
  return a.pending == b.pending && a.reserving == b.reserving && a.admitted == b.admitted &&
         a.reservation == b.reservation && a.usage == b.usage &&
         a.weighted_share == b.weighted_share && a.recent_usage == b.recent_usage;
}

template <typename Queue>
Verdict write_status(const State& state, const api::ObjectKey& key, const Queue& queue,
                     api::QueueStatus status, const Activity& activity, bool of_cluster_queue) {
  status.conditions = queue.status.conditions;
  const bool changed = api::set_condition(
      status.conditions, {std::string(names::kActive), activity.active, activity.reason,
                          activity.message, queue.meta.generation, state.now});
  if (!changed && same(status, queue.status)) return {};
  Verdict verdict;
  verdict.write = merge_patch(
      key, queue.meta, {{"status", api::queue_status_json(status, queue.status, of_cluster_queue)}},
      true);
  if (changed) {
    verdict.decision = Decision{activity.active ? "activate" : "deactivate",
                                key,
                                {{key.text(), queue.meta.resource_version}},
                                activity.message,
                                {}};
  }
  return verdict;
}

}  // namespace

Verdict reconcile_topology(const State& state, const std::string& name) {
  const auto found = state.topologies.find(name);
  if (found == state.topologies.end()) return {};
  const bool in_use = std::ranges::any_of(
      state.flavors, [&](const auto& entry) { return entry.second.topology_name == name; });
  return keep_finalizer({api::Kind::kTopology, "", name}, found->second.meta, in_use);
}

Verdict reconcile_flavor(const State& state, const std::string& name) {
  const auto found = state.flavors.find(name);
  if (found == state.flavors.end()) return {};
  const bool in_use = std::ranges::any_of(
      state.cluster_queues, [&](const auto& entry) { return uses(entry.second, name); });
  return keep_finalizer({api::Kind::kResourceFlavor, "", name}, found->second.meta, in_use);
}

Verdict reconcile_cohort(const State& state, const std::string& name) {
  const auto found = state.cohorts.find(name);
  if (found == state.cohorts.end() || found->second.meta.deleted) return {};
  const auto share = share_of(state, state.ledger.tree().cohort(name));
  if (share == found->second.weighted_share) return {};
  json::value fair_sharing;
  if (share) fair_sharing = json::object{{"weightedShare", *share}};
  Verdict verdict;
  verdict.write =
      merge_patch({api::Kind::kCohort, "", name}, found->second.meta,
                  {{"status", json::object{{"fairSharing", std::move(fair_sharing)}}}}, true);
  return verdict;
}

Verdict reconcile_cluster_queue(const State& state, const Scheduler& scheduler,
                                const std::string& name) {
  const auto found = state.cluster_queues.find(name);
  if (found == state.cluster_queues.end()) return {};
  const api::ClusterQueue& queue = found->second;
  const api::ObjectKey key{api::Kind::kClusterQueue, "", name};
  const quota::QueueTotals& totals = state.ledger.of_cluster_queue(name);
  Verdict verdict = keep_finalizer(key, queue.meta, totals.reserving_workloads > 0);
  if (verdict.write) return verdict;
  api::QueueStatus status{scheduler.pending_in_cluster_queue(name),
                          totals.reserving_workloads,
                          totals.admitted_workloads,
                          usage_of(queue, totals.reserved, true),
                          usage_of(queue, totals.used, true),
                          {}};
  status.weighted_share = share_of(state, state.ledger.tree().queue(name));
  return write_status(state, key, queue, std::move(status), activity_of(state, queue), true);
}

Verdict reconcile_local_queue(const State& state, const Scheduler& scheduler,
                              const std::string& full_name) {
  const auto found = state.local_queues.find(full_name);
  if (found == state.local_queues.end() || found->second.meta.deleted) return {};
  const api::LocalQueue& queue = found->second;
  const quota::QueueTotals& totals = state.ledger.of_local_queue(full_name);
  api::QueueStatus status{scheduler.pending_in_local_queue(full_name),
                          totals.reserving_workloads,
                          totals.admitted_workloads,
                          {},
                          {},
                          {}};
  status.recent_usage = scheduler.recent_usages().status(full_name);
  const auto cluster_queue = state.cluster_queues.find(queue.cluster_queue);
  if (cluster_queue != state.cluster_queues.end()) {
    status.reservation = usage_of(cluster_queue->second, totals.reserved, false);
    status.usage = usage_of(cluster_queue->second, totals.used, false);
  }
  return write_status(state, key_of(api::Kind::kLocalQueue, full_name), queue, std::move(status),
                      activity_of(state, queue), false);
}

}  // namespace phalanx::core
