// The cases of quota/victim_testing.h, and what VictimSearch works on.
#include "quota/victim_testing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"

namespace phalanx::quota::testing {
namespace {

Time seconds(int count) {
  return Time(std::chrono::seconds(count));
}

}  // namespace

api::Node tiny_node(const std::string& block, const std::string& rack, int number,
                    const api::ResourceAmounts& allocatable) {
  api::Node node;
  node.name = fmt::format("{}-{}", rack, number);
  node.labels = {{"block", block}, {"rack", rack}, {std::string(api::kHostnameLabel), node.name}};
  node.allocatable = allocatable;
  node.allocatable["pods"] = 100;
  return node;
}

Usage usage_of(const TinyHolder& holder) {
  int64_t pods = holder.pods_elsewhere;
  for (const auto& [host, count] : holder.pods) pods += count;
  Usage usage;
  for (const auto& [resource, amount] : holder.per_pod) {
    usage[{holder.flavor, resource}] = amount * pods;
  }
  return usage;
}

Usage wanted_by(const VictimCase& tiny) {
  Usage wanted;
  for (const placement::PodSet& pod_set : tiny.pod_sets) {
    for (const auto& [resource, amount] : pod_set.requests) {
      wanted[{kFlavor, resource}] += amount * pod_set.count;
    }
  }
  return wanted;
}

TreeId load_nodes(const VictimCase& tiny, topology::Cluster& cluster) {
  for (const api::Node& node : tiny.nodes) CHECK(cluster.put_node(node).has_value());
  topology::TreeSpec spec;
  spec.levels = {"block", "rack", std::string(api::kHostnameLabel)};
  return cluster.add_tree(spec);
}

void load_usage(const TinyHolder& holder, TreeId tree, topology::Cluster& cluster) {
  std::vector<topology::DomainUsage> domains;
  for (const auto& [host, count] : holder.pods) domains.push_back({{host}, count});
  if (domains.empty()) return;
  cluster.add_usage(holder.name, tree, cluster.make_request(holder.per_pod), domains);
}

PlacerRoom::PlacerRoom(topology::Cluster& cluster, TreeId tree,
                       const std::vector<placement::PodSet>& pods)
    : cluster_(cluster), tree_(tree), workload_{"preemptor", pods, {}, false}, placer_(cluster) {}

bool PlacerRoom::fits() {
  return std::ranges::all_of(placer_.place(tree_, workload_, options_),
                             [](const auto& result) { return result.assignment.has_value(); });
}

placement::Unit PlacerRoom::unit() const {
  const placement::PodSet& pods = workload_.pod_sets.front();
  return {&pods, nullptr, pods.count, pods.topology, std::nullopt};
}

std::optional<OneDomain> PlacerRoom::one_domain() {
  if (workload_.pod_sets.size() != 1) return std::nullopt;
  question_ = placer_.units().one_domain(tree_, unit(), options_);
  if (!question_) return std::nullopt;
  return OneDomain{tree_, question_->level(),
                   cluster_.make_request(workload_.pod_sets.front().requests), question_->pods()};
}

std::vector<uint32_t> PlacerRoom::fitting_domains() {
  return placer_.units().fitting_domains(*question_);
}

bool PlacerRoom::fits_in(uint32_t domain) {
  return placer_.units().fits_in(*question_, domain);
}

Obstacles obstacles_of(const VictimCase& tiny) {
  SlowTree slow(tiny.queues, tiny.cohorts);
  topology::Cluster cluster;
  const TreeId tree = load_nodes(tiny, cluster);
  for (const TinyHolder& holder : tiny.holders) {
    slow.add(holder.queue, usage_of(holder), +1);
    load_usage(holder, tree, cluster);
  }
  for (const auto& [queue, usage] : tiny.promised) slow.add(queue, usage, +1);
  Obstacles obstacles;
  obstacles.room = !PlacerRoom(cluster, tree, tiny.pod_sets).fits();
  for (const auto& [what, amount] : wanted_by(tiny)) {
    if (amount == 0) continue;
    const bool lacks = slow.available(tiny.queue, what) < amount;
    obstacles.quota |= lacks;
    if (lacks || obstacles.room) obstacles.contested.push_back(what);
  }
  return obstacles;
}

VictimBed::VictimBed(const VictimCase& tiny) {
  tree_.set_members(tiny.queues, tiny.cohorts);
  topology_ = load_nodes(tiny, cluster_);
  const Obstacles obstacles = obstacles_of(tiny);
  for (const TinyHolder& tiny_holder : tiny.holders) {
    load_usage(tiny_holder, topology_, cluster_);
    const Holder& holder = holders_.emplace_back(
        tiny_holder.name, tree_.queue(tiny_holder.queue), tiny_holder.priority,
        seconds(tiny_holder.created), seconds(tiny_holder.reserved),
        tree_.amounts(usage_of(tiny_holder)), obstacles.room && !tiny_holder.pods.empty());
    for (const Book book : kBooks) tree_.add(holder.queue, holder.usage, +1, book);
  }
  for (const auto& [queue, usage] : tiny.promised) {
    tree_.add(tree_.queue(queue), tree_.amounts(usage), +1, Book::kPromised);
  }
  preemptor_.queue = tree_.queue(tiny.queue);
  preemptor_.priority = tiny.priority;
  preemptor_.created = seconds(tiny.created);
  preemptor_.wanted = tree_.amounts(wanted_by(tiny));
  preemptor_.policy = tiny.policy;
  for (const FlavorResource& what : obstacles.contested) {
    preemptor_.contested.push_back(tree_.id(what));
  }
  cluster_.tree(topology_);
  room_.emplace(cluster_, topology_, tiny.pod_sets);
}

std::optional<Victims> VictimBed::find(const Court& court, size_t steps) {
  const topology::Attempt attempt(cluster_);
  VictimSearch search(tree_, cluster_, *room_, preemptor_, holders_, {steps});
  auto victims = search.find(court.judgement, court.strategies);
  steps_ = search.steps();
  return victims;
}

std::string VictimBed::state() {
  std::string text;
  const topology::DomainTree& tree = cluster_.tree(topology_);
  for (size_t i = 0; i < cluster_.resource_count(); ++i) {
    const auto column = tree.free(ResourceId(i));
    std::vector<int64_t> free(column.begin(), column.end());
    free.resize(tree.leaf_count());  // a column in which nothing was ever free is not there
    text += fmt::format("{}: {}\n", cluster_.resource_name(ResourceId(i)), fmt::join(free, " "));
  }
  for (size_t i = 0; i < tree_.size(); ++i) {
    for (size_t what = 0; what < tree_.flavor_resources(); ++what) {
      text += fmt::format("{}: {} {}\n", tree_.name(MemberId(i)),
                          tree_.usage(MemberId(i), FlavorResourceId(what), Book::kHeld),
                          tree_.usage(MemberId(i), FlavorResourceId(what), Book::kPromised));
    }
  }
  return text;
}

std::vector<std::string> VictimBed::names(const Victims& victims) const {
  std::vector<std::string> names;
  for (const size_t index : victims.holders) names.push_back(holders_[index].workload);
  return names;
}

}  // namespace phalanx::quota::testing
