#include "core/node_account.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"

namespace phalanx::core {
namespace {

const std::string& hostname_label() {
  static const std::string kLabel(api::kHostnameLabel);
  return kLabel;
}

std::string joined(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, "/"));
}

bool same_capacity(const api::Node& a, const api::Node& b) {
  return a.allocatable == b.allocatable && a.taints == b.taints &&
         a.unschedulable == b.unschedulable && a.ready == b.ready;
}

// Whether it runs, or nothing keeps it from being bound.
bool is_live(const Pod& pod) {
  return !pod.terminal() && (!pod.node_name.empty() || (!pod.gated && !pod.terminating));
}

}  // namespace

NodeAccount::NodeAccount()
    : placer_(cluster_), hosts_(cluster_.add_tree({"hosts", {hostname_label()}, {}, {}})) {}

Result<void> NodeAccount::put_node(const api::Node& node, Time created) {
  const std::string host_before = cluster_.hostname_of(node.name);
  const auto label = node.labels.find(hostname_label());
  const std::string host = label == node.labels.end() ? "" : label->second;
  const auto known = nodes_.find(node.name);
  const bool moved = known == nodes_.end() || known->second.node.labels != node.labels;
  // What says nothing new, like most of what kubelets write, must wake nobody.
  if (!moved && known->second.created == created && same_capacity(known->second.node, node) &&
      host_before == host) {
    return {};
  }
  withdraw_claim(node.name);
  nodes_[node.name] = {node, created, host};
  if (!host.empty()) claims_[host].insert({created, node.name});
  if (!host.empty() && claims_.at(host).begin()->second == node.name) {
    for (const auto& [time, other] : claims_.at(host)) {
      if (other == node.name || cluster_.hostname_of(other) != host) continue;
      cluster_.remove_node(other);
      count_again(other);
    }
  }
  auto result = cluster_.put_node(node);
  if (!result) cluster_.remove_node(node.name);
  if (moved || cluster_.hostname_of(node.name) != host_before) count_again(node.name);
  if (host_before != host) promote(host_before);
  return result;
}

void NodeAccount::withdraw_claim(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second.host.empty()) return;
  const auto claims = claims_.find(found->second.host);
  claims->second.erase({found->second.created, node});
  if (claims->second.empty()) claims_.erase(claims);
}

void NodeAccount::promote(const std::string& host) {
  const auto claims = claims_.find(host);
  if (claims == claims_.end()) return;
  const std::string& first = claims->second.begin()->second;
  if (cluster_.hostname_of(first) == host) return;
  const auto taken = cluster_.put_node(nodes_.at(first).node);
  CHECK(taken);
  count_again(first);
}

// Slots are of domains: elsewhere a node's pods are covered by others, or by none.
void NodeAccount::count_again(const std::string& node) {
  const auto found = pods_on_node_.find(node);
  if (found == pods_on_node_.end()) return;
  const std::string host = cluster_.hostname_of(node);
  std::vector<PodEntry> before;
  for (const std::string& key : found->second) {
    PodEntry& pod = pods_.at(key);
    if (pod.covered) before.push_back(pod);
    uncount(key, pod);
    pod.host = host;
  }
  for (const std::string& key : found->second) count(key, pods_.at(key));
  for (const PodEntry& pod : before) cover_another(pod);
}

void NodeAccount::remove_node(const std::string& name) {
  cluster_.remove_node(name);
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  const std::string host = found->second.host;
  withdraw_claim(name);
  nodes_.erase(found);
  promote(host);
}

bool NodeAccount::set_tree(const std::string& flavor, std::optional<topology::TreeSpec> spec) {
  const auto found = trees_.find(flavor);
  if (found != trees_.end()) {
    if (spec) {
      const topology::TreeSpec& known = cluster_.tree(found->second).spec();
      if (known.name == spec->name && known.levels == spec->levels &&
          known.node_labels == spec->node_labels && known.tolerations == spec->tolerations) {
        return false;
      }
    }
    cluster_.remove_tree(found->second);
    placer_.units().forget();
    trees_.erase(found);
  } else if (!spec) {
    return false;
  }
  if (spec) trees_[flavor] = cluster_.add_tree(std::move(*spec));
  return true;
}

std::optional<TreeId> NodeAccount::tree_of(const std::string& flavor) const {
  const auto found = trees_.find(flavor);
  if (found == trees_.end()) return std::nullopt;
  return found->second;
}

void NodeAccount::hold(const std::string& workload, const std::vector<HeldPodSet>& pod_sets) {
  release(workload);
  WorkloadEntry& entry = workloads_[workload];
  entry.holds = true;
  for (const HeldPodSet& held : pod_sets) {
    PodSetSlots& slots = entry.pod_sets[held.name];
    if (!held.assignment || held.assignment->levels.empty()) continue;
    slots.levels = held.assignment->levels;
    const auto tree = slots.by_host() ? std::optional(hosts_) : tree_of(held.flavor);
    if (!tree) continue;  // no such topology any more: its pods are counted where they are
    slots.placed = true;
    slots.per_pod = held.per_pod;
    std::vector<topology::DomainUsage> usage;
    for (const api::DomainAssignment& domain : held.assignment->domains) {
      usage.push_back({domain.values, domain.count});
      const std::string name = slots.by_host() ? domain.values.back() : joined(domain.values);
      slots.domains[name].assigned += domain.count;
    }
    cluster_.add_usage(workload, *tree, cluster_.make_request(held.per_pod), usage);
  }
  for (const std::string& key : entry.pods) {
    PodEntry& pod = pods_.at(key);
    if (!pod.node.empty()) count(key, pod);
  }
}

void NodeAccount::release(const std::string& workload) {
  const auto found = workloads_.find(workload);
  if (found == workloads_.end() || !found->second.holds) return;
  WorkloadEntry& entry = found->second;
  for (const std::string& key : entry.pods) uncount(key, pods_.at(key));
  cluster_.remove_usage(workload);
  entry.holds = false;
  entry.pod_sets.clear();
  for (const std::string& key : entry.pods) {
    PodEntry& pod = pods_.at(key);
    if (!pod.node.empty()) count(key, pod);
  }
  forget_if_empty(workload);
}

std::string NodeAccount::node_for(const Pod& pod) const {
  if (pod.terminal()) return "";
  if (!pod.node_name.empty()) return pod.node_name;
  if (pod.workload.empty() || pod.gated) return "";
  // Free to be bound, and where to is known already.
  const auto host = pod.node_selector.find(hostname_label());
  if (host == pod.node_selector.end()) return "";
  const auto claims = claims_.find(host->second);
  return claims == claims_.end() ? "" : claims->second.begin()->second;
}

void NodeAccount::put_pod(const std::string& key, const Pod& pod) {
  const std::string node = node_for(pod);
  if (const auto found = pods_.find(key); found != pods_.end()) {
    const PodEntry& known = found->second;
    if (known.node == node && known.bound == !pod.node_name.empty() && known.live == is_live(pod) &&
        known.workload == pod.workload && known.pod_set == pod.pod_set &&
        known.requests == pod.requests) {
      return;
    }
  }
  remove_pod(key);
  if (node.empty() && pod.workload.empty()) return;
  PodEntry entry;
  entry.workload = pod.workload;
  entry.pod_set = pod.pod_set;
  entry.node = node;
  entry.bound = !pod.node_name.empty();
  entry.host = cluster_.hostname_of(node.empty() ? pod.node_name : node);
  entry.requests = pod.requests;
  entry.live = is_live(pod);
  PodEntry& stored = pods_.emplace(key, std::move(entry)).first->second;
  if (!stored.workload.empty()) {
    WorkloadEntry& owner = workloads_[stored.workload];
    owner.pods.insert(key);
    if (stored.live) ++owner.live[stored.pod_set];
  }
  if (node.empty()) return;
  if (stored.bound) pods_on_node_[node].insert(key);
  count(key, stored);
}

void NodeAccount::remove_pod(const std::string& key) {
  const auto found = pods_.find(key);
  if (found == pods_.end()) return;
  const PodEntry gone = found->second;
  const bool was_covered = gone.covered;
  uncount(key, found->second);
  pods_.erase(found);
  if (const auto on_node = pods_on_node_.find(gone.node); on_node != pods_on_node_.end()) {
    on_node->second.erase(key);
    if (on_node->second.empty()) pods_on_node_.erase(on_node);
  }
  if (gone.workload.empty()) return;
  WorkloadEntry& owner = workloads_.at(gone.workload);
  owner.pods.erase(key);
  if (gone.live && --owner.live[gone.pod_set] == 0) owner.live.erase(gone.pod_set);
  if (was_covered) cover_another(gone);
  forget_if_empty(gone.workload);
}

NodeAccount::PodSetSlots* NodeAccount::slots_of(const PodEntry& pod) {
  const auto owner = workloads_.find(pod.workload);
  if (owner == workloads_.end() || !owner->second.holds) return nullptr;
  const auto slots = owner->second.pod_sets.find(pod.pod_set);
  return slots == owner->second.pod_sets.end() || !slots->second.placed ? nullptr : &slots->second;
}

NodeAccount::Slot* NodeAccount::slot_of(const PodEntry& pod) {
  PodSetSlots* slots = slots_of(pod);
  if (slots == nullptr) return nullptr;
  const auto slot = slots->domains.find(pod.domain);
  return slot == slots->domains.end() ? nullptr : &slot->second;
}

std::string NodeAccount::domain_of(const PodEntry& pod, const PodSetSlots& slots) const {
  if (slots.by_host()) return pod.host;
  const auto node = nodes_.find(pod.node);
  if (node == nodes_.end()) return pod.domain;  // where it was when its node was there
  std::vector<std::string> values;
  for (const std::string& level : slots.levels) {
    const auto label = node->second.node.labels.find(level);
    values.push_back(label == node->second.node.labels.end() ? "" : label->second);
  }
  return joined(values);
}

void NodeAccount::count(const std::string& key, PodEntry& pod) {
  uncount(key, pod);
  if (!pod.workload.empty()) {
    if (const PodSetSlots* slots = slots_of(pod)) {
      pod.domain = domain_of(pod, *slots);
      if (Slot* slot = slot_of(pod); slot != nullptr && slot->covered < slot->assigned) {
        ++slot->covered;
        pod.covered = true;
        return book_excess(key, pod, slots->per_pod);
      }
      drifted_.insert(pod.workload);
    }
    workloads_.at(pod.workload).uncovered.insert(key);
  }
  cluster_.put_pod(key, pod.node, pod.requests);
  pod.booked = true;
}

void NodeAccount::book_excess(const std::string& key, PodEntry& pod,
                              const api::ResourceAmounts& per_pod) {
  api::ResourceAmounts excess;
  for (const auto& [resource, amount] : pod.requests) {
    const auto promised = per_pod.find(resource);
    const int64_t more = amount - (promised == per_pod.end() ? 0 : promised->second);
    if (more > 0) excess[resource] = more;
  }
  if (excess.empty()) return;
  excess["pods"] -= 1;  // the pod itself is counted by its slot
  cluster_.put_pod(key, pod.node, excess);
  pod.booked = true;
}

void NodeAccount::uncount(const std::string& key, PodEntry& pod) {
  const bool was_covered = pod.covered;
  if (pod.covered) {
    if (Slot* slot = slot_of(pod)) --slot->covered;
    pod.covered = false;
  }
  if (!pod.booked) return;
  cluster_.remove_pod(key);
  pod.booked = false;
  if (was_covered || pod.workload.empty()) return;
  WorkloadEntry& owner = workloads_.at(pod.workload);
  owner.uncovered.erase(key);
  if (owner.holds) drifted_.insert(pod.workload);
}

void NodeAccount::cover_another(const PodEntry& gone) {
  const Slot* slot = slot_of(gone);
  if (slot == nullptr || slot->covered >= slot->assigned) return;
  for (const std::string& key : workloads_.at(gone.workload).uncovered) {
    const auto pod = pods_.find(key);
    if (pod->second.pod_set != gone.pod_set || pod->second.domain != gone.domain) continue;
    return count(pod->first, pod->second);  // which takes it out of the set
  }
}

int64_t NodeAccount::slots(const std::string& workload, const std::string& pod_set,
                           const std::string& domain) const {
  const auto owner = workloads_.find(workload);
  if (owner == workloads_.end()) return 0;
  const auto slots = owner->second.pod_sets.find(pod_set);
  if (slots == owner->second.pod_sets.end()) return 0;
  const auto slot = slots->second.domains.find(domain);
  return slot == slots->second.domains.end() ? 0 : slot->second.assigned;
}

int64_t NodeAccount::live_pods(const std::string& workload) const {
  const auto owner = workloads_.find(workload);
  if (owner == workloads_.end()) return 0;
  int64_t total = 0;
  for (const auto& [pod_set, live] : owner->second.live) total += live;
  return total;
}

int64_t NodeAccount::live_pods(const std::string& workload, const std::string& pod_set) const {
  const auto owner = workloads_.find(workload);
  if (owner == workloads_.end()) return 0;
  const auto live = owner->second.live.find(pod_set);
  return live == owner->second.live.end() ? 0 : live->second;
}

std::vector<Drift> NodeAccount::drift(const std::string& workload) const {
  const auto owner = workloads_.find(workload);
  if (owner == workloads_.end() || !owner->second.holds) return {};
  std::map<std::pair<std::string, std::string>, int64_t> actual;
  bool any = false;
  for (const std::string& key : owner->second.pods) {
    const PodEntry& pod = pods_.at(key);
    const auto slots = owner->second.pod_sets.find(pod.pod_set);
    if (slots == owner->second.pod_sets.end() || !slots->second.placed) continue;
    if (pod.covered || pod.booked) ++actual[{pod.pod_set, pod.domain}];
    any |= pod.booked && !pod.covered;
  }
  std::vector<Drift> result;
  if (!any) return result;
  for (const auto& [where, pods] : actual) {
    const int64_t assigned = slots(workload, where.first, where.second);
    if (pods > assigned) result.push_back({where.first, where.second, assigned, pods});
  }
  return result;
}

void NodeAccount::forget_if_empty(const std::string& workload) {
  const auto found = workloads_.find(workload);
  if (found != workloads_.end() && !found->second.holds && found->second.pods.empty()) {
    workloads_.erase(found);
  }
}

}  // namespace phalanx::core
