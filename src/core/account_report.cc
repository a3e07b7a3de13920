#include "core/account_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cluster_view.h"
#include "core/core.h"

namespace phalanx::core {
namespace {

// nullopt: the flavor has no topology.
std::optional<json::object> free_in(State& state, const std::string& flavor) {
  const auto id = state.account.tree_of(flavor);
  if (!id) return std::nullopt;
  topology::Cluster& cluster = state.account.cluster();
  const topology::DomainTree& tree = cluster.tree(*id);
  json::object leaves;
  for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    if (!tree.leaf_active(leaf)) continue;
    json::object amounts;
    for (size_t i = 0; i < cluster.resource_count(); ++i) {
      const ResourceId resource(i);
      const auto column = tree.free(resource);
      if (leaf < column.size() && column[leaf] != 0) {
        amounts[cluster.resource_name(resource)] = column[leaf];
      }
    }
    leaves[fmt::format("{}", fmt::join(cluster.path(tree, tree.lowest(), leaf), "/"))] =
        std::move(amounts);
  }
  return leaves;
}

template <typename Amounts>
std::string text_of(const Amounts& amounts) {
  std::string text;
  for (const auto& [what, amount] : amounts) {
    if (amount != 0) text += fmt::format(" {}/{}={}", what.flavor, what.resource, amount);
  }
  return text;
}

std::string text_of(const quota::Reservation& reservation) {
  return fmt::format("in {}/{}{}{}", reservation.cluster_queue, reservation.local_queue,
                     reservation.admitted ? " admitted" : "", text_of(reservation.usage));
}

std::string text_of(const quota::QueueTotals& totals) {
  return fmt::format("{} reserving{}; {} admitted{}", totals.reserving_workloads,
                     text_of(totals.reserved), totals.admitted_workloads, text_of(totals.used));
}

std::string shown(const json::value* value) {
  if (value == nullptr) return "not there";
  if (value->is_string()) return std::string(value->get_string());
  return json::serialize(*value);
}

// Names of both, each once, in order.
std::set<std::string> names_of(const json::object& a, const json::object& b) {
  std::set<std::string> names;
  for (const json::object* object : {&a, &b}) {
    for (const auto& entry : *object) names.emplace(entry.key());
  }
  return names;
}

Result<void> compare(const std::string& path, const json::value* kept, const json::value* rebuilt) {
  if (kept != nullptr && rebuilt != nullptr) {
    if (*kept == *rebuilt) return {};
    if (kept->is_object() && rebuilt->is_object()) {
      for (const std::string& name : names_of(kept->get_object(), rebuilt->get_object())) {
        RETURN_IF_ERROR(compare(path + ": " + name, kept->get_object().if_contains(name),
                                rebuilt->get_object().if_contains(name)));
      }
      return {};
    }
  }
  return fail(fmt::format("{}: is {} in the account, but rebuilt from the objects {}", path,
                          shown(kept), shown(rebuilt)));
}

}  // namespace

json::object account_of(State& state, const Nominations& nominations) {
  std::vector<TreeId> trees;
  for (const auto& [name, unused] : state.flavors) {
    const auto tree = state.account.tree_of(name);
    if (!tree) continue;
    state.account.cluster().tree(*tree);
    trees.push_back(*tree);
  }
  const topology::Attempt attempt(state.account.cluster());
  for (const auto& [workload, unused] : nominations.all()) {
    lift(state.account.cluster(), trees, Nominations::booked_as(workload));
  }
  json::object flavors;
  for (const auto& [name, unused] : state.flavors) {
    auto leaves = free_in(state, name);
    if (leaves) flavors[name] = std::move(*leaves);
  }
  json::object workloads;
  for (const auto& [name, booking] : state.ledger.bookings()) {
    workloads[name] = text_of(booking.reservation);
  }
  json::object queues;
  for (const auto& [name, unused] : state.cluster_queues) {
    queues["ClusterQueue " + name] = text_of(state.ledger.of_cluster_queue(name));
  }
  for (const auto& [name, unused] : state.local_queues) {
    queues["LocalQueue " + name] = text_of(state.ledger.of_local_queue(name));
  }
  return {{"flavors", std::move(flavors)},
          {"workloads", std::move(workloads)},
          {"queues", std::move(queues)}};
}

json::object rebuilt_account(const Configuration& configuration, const Adapters& adapters, Time now,
                             std::vector<Object> objects) {
  Core core(configuration, adapters);
  std::vector<Event> events;
  for (Object& object : objects) events.emplace_back(ObjectChanged{std::move(object)});
  // Not Synced: it takes everything in and decides nothing.
  [[maybe_unused]] const Output output = core.step(now, std::move(events));
  return account_of(core.state(), core.scheduler().nominations());
}

Result<void> compare_accounts(const json::object& kept, const json::object& rebuilt) {
  const json::value ours(kept);
  const json::value theirs(rebuilt);
  return compare("account", &ours, &theirs);
}

}  // namespace phalanx::core
