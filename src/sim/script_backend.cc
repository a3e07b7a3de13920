#include "sim/script_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>

#include "base/check.h"
#include "base/quantity.h"
#include "core/object.h"
#include "jobs/batch_job.h"

namespace phalanx::sim {
namespace {

// Amounts by resource, of every place in a flavor's tree that has a ready node.
using Amounts = std::map<std::string, int64_t>;
using Leaves = std::map<std::string, Amounts>;

std::optional<Leaves> free_of(core::State& state, const std::string& flavor) {
  const auto id = state.account.tree_of(flavor);
  if (!id) return std::nullopt;
  topology::Cluster& cluster = state.account.cluster();
  const topology::DomainTree& tree = cluster.tree(*id);
  Leaves leaves;
  for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    if (!tree.leaf_active(leaf)) continue;
    Amounts& amounts =
        leaves[fmt::format("{}", fmt::join(cluster.path(tree, tree.lowest(), leaf), "/"))];
    for (size_t i = 0; i < cluster.resource_count(); ++i) {
      const ResourceId resource(i);
      const auto column = tree.free(resource);
      if (leaf < column.size() && column[leaf] != 0) {
        amounts[cluster.resource_name(resource)] = column[leaf];
      }
    }
  }
  return leaves;
}

int64_t amount(const Leaves& leaves, const std::string& leaf, const std::string& resource) {
  const auto found = leaves.find(leaf);
  if (found == leaves.end()) return 0;
  const auto entry = found->second.find(resource);
  return entry == found->second.end() ? 0 : entry->second;
}

Result<void> compare(const std::string& flavor, const std::optional<Leaves>& booked,
                     const std::optional<Leaves>& rebuilt) {
  if (booked == rebuilt) return {};
  if (!booked || !rebuilt) {
    return fail(fmt::format("account: flavor {}: has {} tree, but rebuilt from the objects it {}",
                            flavor, booked ? "a" : "no", rebuilt ? "has one" : "has none"));
  }
  std::map<std::string, Amounts> all = *booked;
  for (const auto& [leaf, amounts] : *rebuilt) all[leaf].insert(amounts.begin(), amounts.end());
  for (const auto& [leaf, amounts] : all) {
    if (!booked->contains(leaf) || !rebuilt->contains(leaf)) {
      return fail(fmt::format("account: flavor {}: {} is {} in the account but {} by the objects",
                              flavor, leaf, booked->contains(leaf) ? "there" : "missing",
                              rebuilt->contains(leaf) ? "there" : "missing"));
    }
    for (const auto& [resource, unused] : amounts) {
      const int64_t ours = amount(*booked, leaf, resource);
      const int64_t theirs = amount(*rebuilt, leaf, resource);
      if (ours == theirs) continue;
      return fail(fmt::format("account: flavor {}: {}: {} free {}, but rebuilt from the objects {}",
                              flavor, leaf, resource, ours, theirs));
    }
  }
  return {};
}

std::string text_of(const quota::Reservation* reservation) {
  if (reservation == nullptr) return "nothing";
  std::string text = fmt::format("in {}/{}{}", reservation->cluster_queue, reservation->local_queue,
                                 reservation->admitted ? " admitted" : "");
  for (const auto& [what, held] : reservation->usage) {
    text += fmt::format(" {}/{}={}", what.flavor, what.resource, held);
  }
  return text;
}

Result<void> compare(const quota::Ledger& booked, const quota::Ledger& rebuilt) {
  std::map<std::string, quota::Reservation> all = booked.reservations();
  all.insert(rebuilt.reservations().begin(), rebuilt.reservations().end());
  for (const auto& [workload, unused] : all) {
    const quota::Reservation* ours = booked.find(workload);
    const quota::Reservation* theirs = rebuilt.find(workload);
    const bool same = ours != nullptr && theirs != nullptr && *ours == *theirs;
    if (same) continue;
    return fail(fmt::format("account: Workload {} holds {}, but rebuilt from the objects {}",
                            workload, text_of(ours), text_of(theirs)));
  }
  return {};
}

Result<void> compare_totals(const std::string& queue, const quota::QueueTotals& ours,
                            const quota::QueueTotals& theirs) {
  if (ours.reserved == theirs.reserved && ours.used == theirs.used &&
      ours.reserving_workloads == theirs.reserving_workloads &&
      ours.admitted_workloads == theirs.admitted_workloads) {
    return {};
  }
  return fail(
      fmt::format("account: the totals of {} are not the sum of what its workloads hold", queue));
}

}  // namespace

EmbeddedBackend::EmbeddedBackend(const core::Configuration& configuration)
    : EmbeddedBackend([&] {
        EmbeddedOptions options;
        options.host.configuration = configuration;
        return options;
      }()) {}

EmbeddedBackend::EmbeddedBackend(EmbeddedOptions options)
    : configuration_(options.host.configuration), adapters_(jobs::all_adapters()) {
  options.host.on_journal = [this,
                             next = std::move(options.host.on_journal)](const std::string& line) {
    journal_.push_back(line);
    if (next) next(line);
  };
  cluster_ = std::make_unique<EmbeddedCluster>(std::move(options));
}

ApiResult<Stored> EmbeddedBackend::apply(const json::value& document) {
  return cluster_->apply(document);
}

ApiResult<Stored> EmbeddedBackend::patch(const api::ObjectKey& key, const json::value& merge_patch,
                                         bool status) {
  return cluster_->server().patch(key, PatchType::kMerge, merge_patch,
                                  {.status = status, .strict_fields = true});
}

ApiResult<void> EmbeddedBackend::remove(const api::ObjectKey& key, Propagation propagation) {
  return cluster_->server().remove(key, {.propagation = propagation});
}

ApiResult<void> EmbeddedBackend::bind(const api::ObjectKey& pod, const std::string& node) {
  return cluster_->server().bind(pod, node);
}

std::vector<Stored> EmbeddedBackend::list(api::Kind kind) const {
  return cluster_->server().list(kind).items;
}

Result<void> EmbeddedBackend::pass(Duration duration) {
  return cluster_->simulation().run_for(duration);
}

void EmbeddedBackend::restart_core() {
  cluster_->host().restart();
}

Result<void> EmbeddedBackend::check_account() {
  core::Core rebuilt(configuration_, adapters_);
  std::vector<core::Event> events;
  for (const api::Kind kind : rebuilt.watched_kinds()) {
    for (const Stored& document : list(kind)) {
      auto object = core::decode_object(*document, adapters_);
      CHECK(object);
      events.emplace_back(core::ObjectChanged{std::move(*object)});
    }
  }
  // Not Synced: it takes everything in and decides nothing.
  (void)rebuilt.step(now(), std::move(events));
  core::State& ours = cluster_->core().state();
  core::State& theirs = rebuilt.state();
  for (const auto& [flavor, unused] : ours.flavors) {
    RETURN_IF_ERROR(compare(flavor, free_of(ours, flavor), free_of(theirs, flavor)));
  }
  RETURN_IF_ERROR(compare(ours.ledger, theirs.ledger));
  for (const auto& [name, unused] : ours.cluster_queues) {
    RETURN_IF_ERROR(compare_totals("ClusterQueue " + name, ours.ledger.of_cluster_queue(name),
                                   theirs.ledger.of_cluster_queue(name)));
  }
  for (const auto& [name, unused] : ours.local_queues) {
    RETURN_IF_ERROR(compare_totals("LocalQueue " + name, ours.ledger.of_local_queue(name),
                                   theirs.ledger.of_local_queue(name)));
  }
  return {};
}

}  // namespace phalanx::sim
