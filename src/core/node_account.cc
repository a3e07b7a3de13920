#include "core/node_account.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

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

// Whether it runs, or nothing keeps it from being bound.
bool is_live(const Pod& pod) {
  return !pod.terminal() && (!pod.node_name.empty() || (!pod.gated && !pod.terminating));
}

}  // namespace

NodeAccount::NodeAccount()
    : placer_(cluster_), hosts_(cluster_.add_tree({"hosts", {hostname_label()}, {}, {}})) {}

Result<void> NodeAccount::put_node(const api::Node& node, Time created) {
  const auto label = node.labels.find(hostname_label());
  const std::string host = label == node.labels.end() ? "" : label->second;
  const std::string host_before = cluster_.hostname_of(node.name);
  const auto waited = stop_waiting(node.name);
  const Claim claim{created, node.name};
  const auto other = host.empty() ? std::nullopt : claim_to(host);
  if (other && other->second != node.name && claim < *other) {
    wait(host, *other, cluster_.node(cluster_.find_node(other->second)).value());
    cluster_.remove_node(other->second);
    count_again(other->second);
  }
  const auto result = cluster_.put_node(node);
  bool moved = !waited || waited->labels != node.labels;
  if (result) {
    note_created(node.name, created);
    moved = *result;
  } else {
    wait(host, claim, node);
    cluster_.remove_node(node.name);
  }
  if (moved || cluster_.hostname_of(node.name) != host_before) count_again(node.name);
  if (host_before != host) promote(host_before);
  if (!result) return std::unexpected(result.error());
  return {};
}

std::optional<NodeAccount::Claim> NodeAccount::claim_to(const std::string& host) const {
  const NodeId node = cluster_.node_with_host(host);
  if (!node.valid()) return std::nullopt;
  return Claim{created_[node.value], cluster_.node_name(node)};
}

void NodeAccount::note_created(const std::string& node, Time created) {
  const NodeId id = cluster_.find_node(node);
  if (id.value >= created_.size()) created_.resize(id.value + 1);
  created_[id.value] = created;
}

void NodeAccount::wait(const std::string& host, const Claim& claim, const api::Node& node) {
  waiting_[host].emplace(claim, node);
  waiting_for_[claim.second] = {host, claim};
}

std::optional<api::Node> NodeAccount::stop_waiting(const std::string& node) {
  const auto found = waiting_for_.find(node);
  if (found == waiting_for_.end()) return std::nullopt;
  const auto waiting = waiting_.find(found->second.first);
  auto waited = waiting->second.extract(found->second.second);
  if (waiting->second.empty()) waiting_.erase(waiting);
  waiting_for_.erase(found);
  return std::move(waited.mapped());
}

void NodeAccount::promote(const std::string& host) {
  const auto waiting = waiting_.find(host);
  if (waiting == waiting_.end() || claim_to(host)) return;
  const Claim claim = waiting->second.begin()->first;
  const auto taken = cluster_.put_node(stop_waiting(claim.second).value());
  CHECK(taken);
  note_created(claim.second, claim.first);
  count_again(claim.second);
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
  stop_waiting(name);
  cluster_.remove_node(name);
  promote(cluster_.hostname_of(name));
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

std::optional<TreeId> NodeAccount::tree_for(const HeldPodSet& pod_set) const {
  if (!pod_set.assignment || pod_set.assignment->levels.empty()) return std::nullopt;
  if (pod_set.assignment->levels.back() == api::kHostnameLabel) return hosts_;
  return tree_of(pod_set.flavor);
}

void NodeAccount::hold(const std::string& workload, const std::vector<HeldPodSet>& pod_sets) {
  release(workload);
  WorkloadEntry& entry = workloads_[workload];
  entry.holds = true;
  for (const HeldPodSet& held : pod_sets) {
    PodSetSlots& slots = entry.pod_sets[held.name];
    if (held.assignment) slots.levels = held.assignment->levels;
    const auto tree = tree_for(held);
    if (!tree) continue;  // no such topology any more: its pods are counted where they are
    slots.placed = true;
    slots.per_pod = held.per_pod;
    std::vector<topology::DomainUsage> usage;
    for (const api::DomainAssignment& domain : held.assignment->domains) {
      usage.push_back({domain.values, domain.count});
      const std::string name = slots.by_host() ? domain.values.back() : joined(domain.values);
      slots.domains[name].assigned += domain.count;
    }
    cluster_.add_usage(workload, *tree, cluster_.make_usage(held.per_pod), usage);
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
  const NodeId node = cluster_.node_with_host(host->second);
  return node.valid() ? cluster_.node_name(node) : "";
}

void NodeAccount::put_pod(const std::string& key, const Pod& pod) {
  if (pod.workload.empty()) return put_foreign_pod(key, pod);
  const std::string node = node_for(pod);
  if (const auto found = pods_.find(key); found != pods_.end()) {
    PodEntry& known = found->second;
    if (pod.terminating && !std::exchange(known.ending, true)) drifted_.insert(known.workload);
    if (known.node == node && known.bound == !pod.node_name.empty() && known.live == is_live(pod) &&
        known.workload == pod.workload && known.pod_set == pod.pod_set &&
        known.controller == pod.controller && *known.requests == pod.requests) {
      return;
    }
  }
  remove_pod(key);
  PodEntry entry;
  entry.workload = pod.workload;
  entry.pod_set = pod.pod_set;
  entry.controller = pod.controller;
  entry.node = node;
  entry.bound = !pod.node_name.empty();
  entry.host = cluster_.hostname_of(node.empty() ? pod.node_name : node);
  entry.requests = requests_.take(pod.requests);
  entry.live = is_live(pod);
  entry.ending = pod.terminating;
  PodEntry& stored = pods_.emplace(key, std::move(entry)).first->second;
  WorkloadEntry& owner = workloads_[stored.workload];
  owner.pods.insert(key);
  if (stored.live && is_own(stored)) ++owner.live[stored.pod_set];
  if (node.empty()) return;
  if (stored.bound) pods_on_node_[node].insert(key);
  count(key, stored);
}

// It takes up room on its node, and there is nothing else to know about it.
void NodeAccount::put_foreign_pod(const std::string& key, const Pod& pod) {
  if (pods_.contains(key)) remove_pod(key);  // it was of a workload
  const std::string node = node_for(pod);
  if (node.empty()) {
    cluster_.remove_pod(key);
  } else {
    cluster_.put_pod(key, node, pod.requests);
  }
}

void NodeAccount::mark_ending(const std::string& key) {
  const auto found = pods_.find(key);
  if (found == pods_.end()) return;
  found->second.ending = true;
  drifted_.insert(found->second.workload);
}

void NodeAccount::remove_pod(const std::string& key) {
  const auto found = pods_.find(key);
  if (found == pods_.end()) return cluster_.remove_pod(key);
  const PodEntry gone = found->second;
  const bool was_covered = gone.covered;
  const bool was_counted = gone.live && is_own(gone);
  uncount(key, found->second);
  pods_.erase(found);
  requests_.give_back(gone.requests);
  if (const auto on_node = pods_on_node_.find(gone.node); on_node != pods_on_node_.end()) {
    on_node->second.erase(key);
    if (on_node->second.empty()) pods_on_node_.erase(on_node);
  }
  WorkloadEntry& owner = workloads_.at(gone.workload);
  owner.pods.erase(key);
  if (was_counted && --owner.live[gone.pod_set] == 0) owner.live.erase(gone.pod_set);
  if (was_covered) cover_another(gone);
  forget_if_empty(gone.workload);
}

bool NodeAccount::is_own(const PodEntry& pod) const {
  const std::string& controller = workloads_.at(pod.workload).controller;
  return controller.empty() || controller == pod.controller;
}

void NodeAccount::set_controller(const std::string& workload, const std::string& uid) {
  const auto found = workloads_.find(workload);
  if ((found == workloads_.end() ? "" : found->second.controller) == uid) return;
  WorkloadEntry& entry = workloads_[workload];
  for (const std::string& key : entry.pods) uncount(key, pods_.at(key));
  entry.controller = uid;
  entry.live.clear();
  for (const std::string& key : entry.pods) {
    PodEntry& pod = pods_.at(key);
    if (pod.live && is_own(pod)) ++entry.live[pod.pod_set];
    if (!pod.node.empty()) count(key, pod);
  }
  forget_if_empty(workload);
}

const NodeAccount::PodSetSlots* NodeAccount::slots_of(const PodEntry& pod) const {
  const auto owner = workloads_.find(pod.workload);
  if (owner == workloads_.end() || !owner->second.holds || !is_own(pod)) return nullptr;
  const auto slots = owner->second.pod_sets.find(pod.pod_set);
  return slots == owner->second.pod_sets.end() || !slots->second.placed ? nullptr : &slots->second;
}

NodeAccount::Slot* NodeAccount::slot_of(const PodEntry& pod) {
  if (slots_of(pod) == nullptr) return nullptr;
  auto& domains = workloads_.at(pod.workload).pod_sets.at(pod.pod_set).domains;
  const auto slot = domains.find(pod.domain);
  return slot == domains.end() ? nullptr : &slot->second;
}

std::string NodeAccount::domain_of(const PodEntry& pod, const PodSetSlots& slots) const {
  if (slots.by_host()) return pod.host;
  const auto waits = waiting_for_.find(pod.node);
  const NodeId node = cluster_.find_node(pod.node);
  if (waits == waiting_for_.end() && !cluster_.present(node)) {
    return pod.domain;  // where it was when its node was there
  }
  std::vector<std::string> values;
  for (const std::string& level : slots.levels) {
    values.push_back(waits == waiting_for_.end() ? label_of(node, level)
                                                 : label_of(waits->second, level));
  }
  return joined(values);
}

std::string NodeAccount::label_of(NodeId node, const std::string& label) const {
  const StringId key = cluster_.find_string(label);
  const StringId value = key.valid() ? cluster_.label(node, key) : StringId();
  return value.valid() ? cluster_.text(value) : "";
}

std::string NodeAccount::label_of(const Waiting& waiting, const std::string& label) const {
  const auto& labels = waiting_.at(waiting.first).at(waiting.second).labels;
  const auto found = labels.find(label);
  return found == labels.end() ? "" : found->second;
}

void NodeAccount::count(const std::string& key, PodEntry& pod) {
  uncount(key, pod);
  if (const PodSetSlots* slots = slots_of(pod)) {
    pod.domain = domain_of(pod, *slots);
    if (Slot* slot = slot_of(pod); slot != nullptr && slot->covered < slot->assigned) {
      ++slot->covered;
      pod.covered = true;
      if (pod.bound) book_excess(key, pod, slots->per_pod);
      return;
    }
    drifted_.insert(pod.workload);
  }
  workloads_.at(pod.workload).uncovered.insert(key);
  if (!pod.bound) return;
  cluster_.put_pod(key, pod.node, *pod.requests);
  pod.booked = true;
}

void NodeAccount::book_excess(const std::string& key, PodEntry& pod,
                              const api::ResourceAmounts& per_pod) {
  api::ResourceAmounts excess;
  for (const auto& [resource, amount] : *pod.requests) {
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
  if (pod.covered) {
    if (Slot* slot = slot_of(pod)) --slot->covered;
    pod.covered = false;
  } else if (WorkloadEntry& owner = workloads_.at(pod.workload); owner.uncovered.erase(key) > 0) {
    if (owner.holds) drifted_.insert(pod.workload);
  }
  if (!pod.booked) return;
  cluster_.remove_pod(key);
  pod.booked = false;
}

void NodeAccount::cover_another(const PodEntry& gone) {
  const Slot* slot = slot_of(gone);
  if (slot == nullptr || slot->covered >= slot->assigned) return;
  for (const std::string& key : workloads_.at(gone.workload).uncovered) {
    const auto pod = pods_.find(key);
    if (pod->second.pod_set != gone.pod_set || pod->second.domain != gone.domain ||
        !is_own(pod->second)) {
      continue;
    }
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

std::optional<std::string> NodeAccount::excess_of(const std::string& key, const std::string& host) {
  const auto found = pods_.find(key);
  const auto leaf = cluster_.find_leaf(hosts_, std::vector{host});
  if (found == pods_.end() || !leaf) return std::nullopt;
  const PodSetSlots* slots = slots_of(found->second);
  if (slots == nullptr) return std::nullopt;
  for (const auto& [resource, amount] : *found->second.requests) {
    const auto promised = slots->per_pod.find(resource);
    const int64_t more = amount - (promised == slots->per_pod.end() ? 0 : promised->second);
    if (more <= 0) continue;
    const ResourceId id = cluster_.find_resource(resource);
    const auto free = id.valid() ? cluster_.tree(hosts_).free(id) : std::span<const int64_t>();
    if (more > (*leaf < free.size() ? free[*leaf] : 0)) return resource;
  }
  return std::nullopt;
}

std::vector<std::string> NodeAccount::workloads_on(const std::string& host) const {
  std::vector<std::string> found;
  if (!cluster_.host_in_use(host)) return found;
  for (const auto& [workload, entry] : workloads_) {
    const bool there = std::ranges::any_of(entry.pod_sets, [&](const auto& pod_set) {
      return pod_set.second.by_host() && pod_set.second.domains.contains(host);
    });
    if (there) found.push_back(workload);
  }
  return found;
}

std::set<std::string> NodeAccount::workloads_with_pods_on(const std::string& node) const {
  std::set<std::string> found;
  const auto pods = pods_on_node_.find(node);
  if (pods == pods_on_node_.end()) return found;
  for (const std::string& key : pods->second) found.insert(pods_.at(key).workload);
  return found;
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
    if (pod.ending || !is_own(pod)) continue;
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
  if (found != workloads_.end() && !found->second.holds && found->second.pods.empty() &&
      found->second.controller.empty()) {
    workloads_.erase(found);
  }
}

}  // namespace phalanx::core
