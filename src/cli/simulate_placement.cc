#include "cli/simulate_placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "topology/assignment_encoding.h"

namespace phalanx::cli {
namespace {

constexpr Duration kBetweenLooks = std::chrono::minutes(1);

std::string counted(size_t count, const std::string& word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

// The lowest domains that its pods are in, hosts as a rule.
std::set<std::string> places_of(const api::Workload& workload) {
  std::set<std::string> places;
  if (!workload.admission) return places;
  for (const api::PodSetAssignment& assignment : *workload.admission) {
    if (!assignment.topology_assignment) continue;
    const auto decoded = topology::decode_assignment(*assignment.topology_assignment, "");
    if (!decoded) continue;
    for (const auto& domain : decoded->domains) places.insert(domain.values.back());
  }
  return places;
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  const std::span shown = std::span(names).first(std::min(names.size(), kMost));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

std::string summary_of(topology::Cluster& cluster, TreeId id,
                       const api::TopologyAssignment& assignment) {
  const topology::DomainTree& tree = cluster.tree(id);
  std::vector<std::set<uint32_t>> domains(tree.level_count());
  for (const api::DomainAssignment& domain : assignment.domains) {
    const auto leaf = cluster.find_leaf(id, domain.values);
    if (!leaf) continue;  // its node is gone
    for (int level = 0; level < tree.level_count(); ++level) {
      domains[level].insert(tree.ancestor(tree.lowest(), *leaf, level));
    }
  }
  std::string text;
  for (int level = 0; level < tree.level_count(); ++level) {
    const std::string word = level_word(tree.level_key(level));
    const bool one = domains[level].size() == 1;
    // The lowest domain that holds all of it says the most.
    if (one && (level == tree.lowest() || domains[level + 1].size() != 1)) {
      text = fmt::format("{} {}{}", word, cluster.text(tree.value(level, *domains[level].begin())),
                         level == tree.lowest() ? "" : ": ");
    } else if (!one) {
      text += text.empty() || text.ends_with(": ") ? "" : ", ";
      text += counted(domains[level].size(), word);
    }
  }
  return text;
}

std::string summary_of(core::State& state, const api::PodSetAssignment& assignment) {
  std::set<std::string> flavors;
  for (const auto& [resource, flavor] : assignment.flavors) flavors.insert(flavor);
  if (assignment.topology_assignment) {
    const auto decoded =
        topology::decode_assignment(*assignment.topology_assignment, assignment.path);
    for (const std::string& flavor : flavors) {
      const auto tree = state.account.tree_of(flavor);
      if (tree && decoded) return summary_of(state.account.cluster(), *tree, *decoded);
    }
  }
  std::string text;
  for (const std::string& flavor : flavors) text += (text.empty() ? "flavor " : ", ") + flavor;
  return text;
}

void add(std::vector<LevelRoom>& sum, const std::vector<LevelRoom>& rooms, double times) {
  sum.resize(rooms.size());
  for (size_t i = 0; i < rooms.size(); ++i) {
    sum[i].level = rooms[i].level;
    sum[i].largest += rooms[i].largest * times;
    sum[i].largest_if_empty += rooms[i].largest_if_empty * times;
    sum[i].total += rooms[i].total * times;
    sum[i].fragmentation += rooms[i].fragmentation * times;
  }
}

}  // namespace

std::string level_word(std::string_view key) {
  std::string_view word = key.substr(key.rfind('/') + 1);  // npos + 1 is 0: all of it
  constexpr std::string_view kPrefix = "topology-";
  if (word.starts_with(kPrefix) && word.size() > kPrefix.size()) {
    word.remove_prefix(kPrefix.size());
  }
  return word == "hostname" ? "host" : std::string(word);
}

std::string placement_summary(core::State& state, const api::Workload& workload) {
  if (!workload.admission) return "";
  std::string text;
  for (const api::PodSetAssignment& assignment : *workload.admission) {
    text += text.empty() ? "" : "; ";
    if (workload.admission->size() > 1) text += assignment.pod_set + ": ";
    text += summary_of(state, assignment);
  }
  return text;
}

std::string move_summary(const api::Workload& before, const api::Workload& after) {
  const std::set<std::string> old = places_of(before);
  const std::set<std::string> now = places_of(after);
  std::vector<std::string> left;
  std::vector<std::string> got;
  std::ranges::set_difference(old, now, std::back_inserter(left));
  std::ranges::set_difference(now, old, std::back_inserter(got));
  if (left.empty() || got.empty()) return "";
  return fmt::format("from {} to {}", some_of(left), some_of(got));
}

std::vector<LevelRoom> room_of(core::State& state, const std::string& flavor,
                               const api::ResourceAmounts& pod) {
  const auto id = state.account.tree_of(flavor);
  if (!id) return {};
  topology::Cluster& cluster = state.account.cluster();
  const topology::DomainTree& tree = cluster.tree(*id);
  const topology::RequestVector request = cluster.make_request(pod);
  // Pods by domain of the present level: now, and without admitted workloads.
  std::vector<int64_t> now(tree.leaf_count());
  std::vector<int64_t> empty(tree.leaf_count());
  for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    if (!tree.leaf_active(leaf)) continue;
    int64_t fits = INT64_MAX;
    int64_t fits_empty = INT64_MAX;
    for (const topology::Request& need : request) {
      if (need.amount <= 0) continue;
      const auto at = [leaf](std::span<const int64_t> column) {
        return leaf < column.size() ? column[leaf] : 0;
      };
      const int64_t free = std::max<int64_t>(0, at(tree.free(need.resource)));
      const int64_t used = std::max<int64_t>(0, at(tree.used(need.resource)));
      fits = std::min(fits, free / need.amount);
      fits_empty = std::min(fits_empty, (free + used) / need.amount);
    }
    now[leaf] = fits == INT64_MAX ? 0 : fits;
    empty[leaf] = fits_empty == INT64_MAX ? 0 : fits_empty;
  }
  std::vector<LevelRoom> rooms(tree.level_count());
  for (int level = tree.lowest(); level >= 0; --level) {
    LevelRoom& room = rooms[level];
    room.level = tree.level_key(level);
    std::vector<int64_t> now_of(tree.size(level));
    std::vector<int64_t> empty_of(tree.size(level));
    for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
      const uint32_t domain = tree.ancestor(tree.lowest(), leaf, level);
      now_of[domain] += now[leaf];
      empty_of[domain] += empty[leaf];
      room.total += static_cast<double>(now[leaf]);
    }
    if (now_of.empty()) continue;
    room.largest = static_cast<double>(std::ranges::max(now_of));
    room.largest_if_empty = static_cast<double>(std::ranges::max(empty_of));
    const double possible = std::min(room.total, room.largest_if_empty);
    if (possible > 0) room.fragmentation = 1 - room.largest / possible;
  }
  return rooms;
}

void RoomMeter::observe(core::State& state, Time now) {
  if (!looked_ || now - *looked_ >= kBetweenLooks) look(state, now);
}

void RoomMeter::look(core::State& state, Time now) {
  looked_ = now;
  for (const auto& [flavor, unused] : state.flavors) {
    const auto id = state.account.tree_of(flavor);
    if (!id) continue;
    const topology::DomainTree& tree = state.account.cluster().tree(*id);
    Entry& entry = entries_[flavor];
    if (!entry.last.empty() && entry.structure == tree.structure() &&
        entry.position == tree.position()) {
      continue;
    }
    if (!entry.last.empty()) {
      const auto passed = static_cast<double>((now - entry.since).count());
      if (entry.sum.size() != entry.last.size()) entry.sum.clear();  // another topology now
      add(entry.sum, entry.last, passed);
      entry.milliseconds += passed;
    }
    entry.last = room_of(state, flavor, pod_);
    entry.structure = tree.structure();
    entry.position = tree.position();
    entry.since = now;
  }
}

void RoomMeter::close(core::State& state, Time now) {
  look(state, now);
  for (auto& [flavor, entry] : entries_) {
    const auto passed = static_cast<double>((now - entry.since).count());
    if (entry.sum.size() != entry.last.size()) entry.sum.clear();
    add(entry.sum, entry.last, passed);
    entry.milliseconds += passed;
    entry.since = now;
  }
}

std::map<std::string, RoomMeter::OfFlavor> RoomMeter::by_flavor() const {
  std::map<std::string, OfFlavor> result;
  for (const auto& [flavor, entry] : entries_) {
    OfFlavor& of_flavor = result[flavor];
    of_flavor.last = entry.last;
    if (entry.milliseconds > 0) {
      add(of_flavor.average, entry.sum, 1 / entry.milliseconds);
    } else {
      of_flavor.average = entry.last;
    }
  }
  return result;
}

}  // namespace phalanx::cli
