#include "core/node_account.h"

#include "base/check.h"

namespace phalanx::core {
namespace {

const std::string& hostname_label() {
  static const std::string kLabel(api::kHostnameLabel);
  return kLabel;
}

}  // namespace

NodeAccount::NodeAccount()
    : placer_(cluster_), hosts_(cluster_.add_tree({"hosts", {hostname_label()}, {}, {}})) {}

Result<void> NodeAccount::put_node(const api::Node& node) {
  const std::string host_before = cluster_.hostname_of(node.name);
  auto result = cluster_.put_node(node);
  left_out_.erase(node.name);
  if (!result) {
    cluster_.remove_node(node.name);
    left_out_[node.name] = node;
  }
  const auto label = node.labels.find(hostname_label());
  if (const auto old = host_of_node_.find(node.name); old != host_of_node_.end()) {
    node_of_host_.erase(old->second);
    host_of_node_.erase(old);
  }
  if (result && label != node.labels.end()) {
    node_of_host_[label->second] = node.name;
    host_of_node_[node.name] = label->second;
  }
  if (cluster_.hostname_of(node.name) != host_before) count_again(node.name);
  if (!node_of_host_.contains(host_before)) take_in(host_before);
  return result;
}

void NodeAccount::take_in(const std::string& host) {
  for (const auto& [name, node] : left_out_) {
    const auto label = node.labels.find(hostname_label());
    if (label == node.labels.end() || label->second != host) continue;
    const api::Node candidate = node;
    [[maybe_unused]] const auto taken = put_node(candidate);
    return;
  }
}

// Slots are of hosts: under another hostname a node's pods are covered by others, or by none.
void NodeAccount::count_again(const std::string& node) {
  const std::string host = cluster_.hostname_of(node);
  for (auto& [key, pod] : pods_) {
    if (pod.node != node || !pod.bound) continue;
    uncount(key, pod);
    pod.host = host;
    count(key, pod);
  }
}

void NodeAccount::remove_node(const std::string& name) {
  cluster_.remove_node(name);
  left_out_.erase(name);
  const auto found = host_of_node_.find(name);
  if (found == host_of_node_.end()) return;
  const std::string host = found->second;
  node_of_host_.erase(host);
  host_of_node_.erase(found);
  take_in(host);
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
    slots.by_host = held.assignment->levels.back() == api::kHostnameLabel;
    const auto tree = slots.by_host ? std::optional(hosts_) : tree_of(held.flavor);
    if (!tree) continue;  // no such topology any more: its pods are counted where they are
    slots.placed = true;
    slots.per_pod = held.per_pod;
    std::vector<topology::DomainUsage> usage;
    for (const api::DomainAssignment& domain : held.assignment->domains) {
      usage.push_back({domain.values, domain.count});
      if (slots.by_host) slots.hosts[domain.values.back()].assigned += domain.count;
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
  const auto node = node_of_host_.find(host->second);
  return node == node_of_host_.end() ? "" : node->second;
}

void NodeAccount::put_pod(const std::string& key, const Pod& pod) {
  const std::string node = node_for(pod);
  if (const auto found = pods_.find(key); found != pods_.end()) {
    const PodEntry& known = found->second;
    if (known.node == node && known.bound == !pod.node_name.empty() &&
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
  PodEntry& stored = pods_.emplace(key, std::move(entry)).first->second;
  if (!stored.workload.empty()) {
    WorkloadEntry& owner = workloads_[stored.workload];
    owner.pods.insert(key);
    if (!node.empty()) ++owner.live[stored.pod_set];
  }
  if (!node.empty()) count(key, stored);
}

void NodeAccount::remove_pod(const std::string& key) {
  const auto found = pods_.find(key);
  if (found == pods_.end()) return;
  const PodEntry gone = found->second;
  const bool was_covered = gone.covered;
  uncount(key, found->second);
  pods_.erase(found);
  if (gone.workload.empty()) return;
  WorkloadEntry& owner = workloads_.at(gone.workload);
  owner.pods.erase(key);
  if (!gone.node.empty() && --owner.live[gone.pod_set] == 0) owner.live.erase(gone.pod_set);
  if (was_covered) cover_another(gone);
  forget_if_empty(gone.workload);
}

NodeAccount::Slot* NodeAccount::slot_of(const PodEntry& pod) {
  const auto owner = workloads_.find(pod.workload);
  if (owner == workloads_.end() || !owner->second.holds) return nullptr;
  const auto slots = owner->second.pod_sets.find(pod.pod_set);
  if (slots == owner->second.pod_sets.end() || !slots->second.by_host) return nullptr;
  const auto slot = slots->second.hosts.find(pod.host);
  return slot == slots->second.hosts.end() ? nullptr : &slot->second;
}

void NodeAccount::count(const std::string& key, PodEntry& pod) {
  uncount(key, pod);
  if (!pod.workload.empty()) {
    WorkloadEntry& owner = workloads_.at(pod.workload);
    const auto slots = owner.pod_sets.find(pod.pod_set);
    const bool placed = owner.holds && slots != owner.pod_sets.end() && slots->second.placed;
    if (placed && !slots->second.by_host) {
      pod.covered = true;
      return;
    }
    if (Slot* slot = slot_of(pod); slot != nullptr && slot->covered < slot->assigned) {
      ++slot->covered;
      pod.covered = true;
      return book_excess(key, pod, slots->second.per_pod);
    }
    if (placed) drifted_.insert(pod.workload);
    owner.uncovered.insert(key);
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
    PodEntry& pod = pods_.at(key);
    if (pod.pod_set != gone.pod_set || pod.host != gone.host) continue;
    const std::string found = key;  // counting it takes it out of the set
    return count(found, pod);
  }
}

int64_t NodeAccount::slots(const std::string& workload, const std::string& pod_set,
                           const std::string& host) const {
  const auto owner = workloads_.find(workload);
  if (owner == workloads_.end()) return 0;
  const auto slots = owner->second.pod_sets.find(pod_set);
  if (slots == owner->second.pod_sets.end()) return 0;
  const auto slot = slots->second.hosts.find(host);
  return slot == slots->second.hosts.end() ? 0 : slot->second.assigned;
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
    if (pod.covered || pod.booked) ++actual[{pod.pod_set, pod.host}];
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
