#include "topology/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/saturating.h"

namespace phalanx::topology {
namespace {

constexpr std::string_view kPods = "pods";

// What nobody has, and so small that sums of thousands still fit 64 bits: a sum that ends there
// cannot be taken back, and whoever asks for 2^63 of something must change nothing for the others.
constexpr int64_t kMostOfPod = int64_t{1} << 48;
constexpr int64_t kMostOfNode = int64_t{1} << 54;
constexpr int64_t kMostOfWorkload = int64_t{1} << 58;  // on one node
constexpr size_t kMostResources = 128;
// Stands for all names beyond those. No resource can be called that: nothing is ever free of it.
constexpr std::string_view kOtherResource = "(resources that no node offers)";

int64_t most_of_node(int64_t amount) {
  return std::min(amount, kMostOfNode);
}

int64_t most_of_workload(int64_t per_pod, int64_t pods) {
  return std::min(saturating_multiply(per_pod, pods), kMostOfWorkload);
}

}  // namespace

int64_t Cluster::at(const Columns& columns, ResourceId resource, size_t index) {
  if (resource.value >= columns.size() || index >= columns[resource.value].size()) return 0;
  return columns[resource.value][index];
}

int64_t& Cluster::slot(Columns& columns, ResourceId resource, size_t index) {
  if (resource.value >= columns.size()) columns.resize(resource.value + 1);
  auto& column = columns[resource.value];
  if (index >= column.size()) column.resize(index + 1);
  return column[index];
}

NodeId Cluster::intern_node(std::string_view name) {
  const NodeId id = node_names_.intern(name);
  if (id.value == nodes_.size()) nodes_.emplace_back();
  return id;
}

HostId Cluster::intern_host(std::string_view name) {
  const HostId id = host_names_.intern(name);
  if (id.value == host_nodes_.size()) host_nodes_.emplace_back();
  return id;
}

TaintSetId Cluster::intern_taints(const std::vector<api::Taint>& taints) {
  const auto [entry, is_new] = taint_ids_.emplace(taints, TaintSetId(taint_sets_.size()));
  if (is_new) taint_sets_.push_back(&entry->first);
  return entry->second;
}

// Names are interned for life, and anybody may ask for any resource: those that no node offers are
// told apart only up to a number. Invalid: one of the others.
ResourceId Cluster::resource_asked_for(std::string_view name) {
  const ResourceId known = resources_.find(name);
  if (known.valid() || (resources_.size() >= kMostResources && name != kPods)) return known;
  return resources_.intern(name);
}

RequestVector Cluster::make_request(const api::ResourceAmounts& per_pod) {
  api::ResourceAmounts amounts = per_pod;  // a map: sorted by name
  int64_t& pods = amounts[std::string(kPods)];
  pods = saturating_add(pods, 1);
  RequestVector request;
  int64_t most_of_others = 0;
  for (const auto& [name, amount] : amounts) {
    if (amount == 0) continue;  // fits everywhere and takes nothing: it needs no column
    const ResourceId resource = resource_asked_for(name);
    if (resource.valid()) {
      request.push_back({resource, amount});
    } else {
      most_of_others = std::max(most_of_others, amount);
    }
  }
  if (most_of_others > 0) request.push_back({resources_.intern(kOtherResource), most_of_others});
  return request;
}

RequestVector Cluster::make_usage(const api::ResourceAmounts& per_pod) {
  for (const auto& [name, amount] : per_pod) {
    if (amount != 0) resources_.intern(name);
  }
  return make_request(per_pod);
}

StringId Cluster::label(NodeId node, StringId key) const {
  return label(nodes_[node.value], key);
}

StringId Cluster::label(const NodeRecord& node, StringId key) {
  const auto found =
      std::ranges::lower_bound(node.labels, key, {}, [](const auto& l) { return l.first; });
  return found == node.labels.end() || found->first != key ? StringId() : found->second;
}

NodeId Cluster::node_with_host(std::string_view hostname) const {
  const HostId host = host_names_.find(hostname);
  return host.valid() ? host_nodes_[host.value] : NodeId();
}

bool Cluster::host_in_use(std::string_view hostname) const {
  const HostId host = host_names_.find(hostname);
  return host.valid() && std::ranges::any_of(used_, [&](const auto& column) {
           return host.value < column.size() && column[host.value] != 0;
         });
}

std::optional<api::Node> Cluster::node(NodeId id) const {
  if (!present(id)) return std::nullopt;
  const NodeRecord& record = nodes_[id.value];
  api::Node node;
  node.name = node_name(id);
  for (const auto& [key, value] : record.labels) node.labels[text(key)] = text(value);
  for (size_t index = 0; index < resources_.size(); ++index) {
    const int64_t amount = allocatable(id, ResourceId(index));
    if (amount != 0) node.allocatable[resource_name(ResourceId(index))] = amount;
  }
  node.taints = taints(record.taints);
  node.unschedulable = !record.schedulable;
  node.ready = record.ready;
  return node;
}

// Whether it offers just what the node says.
bool Cluster::has_capacity(NodeId id, const api::Node& node) const {
  const NodeRecord& record = nodes_[id.value];
  if (record.ready != node.ready || record.schedulable == node.unschedulable) return false;
  for (const auto& [name, amount] : node.allocatable) {
    const ResourceId resource = resources_.find(name);
    if (most_of_node(amount) != (resource.valid() ? allocatable(id, resource) : 0)) return false;
  }
  for (size_t index = 0; index < resources_.size(); ++index) {
    const ResourceId resource(index);
    if (allocatable(id, resource) != 0 && !node.allocatable.contains(resource_name(resource))) {
      return false;
    }
  }
  return true;
}

Result<bool> Cluster::put_node(const api::Node& node) {
  const NodeId id = intern_node(node.name);
  for (const auto& [key, requests] : strays_.take(node.name)) put_pod(key, node.name, requests);
  const auto hostname = node.labels.find(std::string(api::kHostnameLabel));
  const HostId host = hostname == node.labels.end() ? HostId() : intern_host(hostname->second);
  if (host.valid()) {
    const NodeId holder = host_nodes_[host.value];
    if (holder.valid() && holder != id) {
      return fail(fmt::format(
          "Node {}: metadata.labels[{}]: \"{}\" is also the hostname of node {}; hostnames must be "
          "unique, correct the label of one of them",
          node.name, api::kHostnameLabel, hostname->second, node_names_.text(holder)));
    }
  }

  std::vector<std::pair<StringId, StringId>> labels;
  for (const auto& [key, value] : node.labels) {
    labels.emplace_back(strings_.intern(key), strings_.intern(value));
  }
  std::ranges::sort(labels);
  const TaintSetId taints = intern_taints(node.taints);
  NodeRecord& record = nodes_[id.value];
  const bool moved = !record.present || labels != record.labels;
  // What says nothing new, like most of what kubelets write, must wake nobody.
  if (!moved && taints == record.taints && has_capacity(id, node)) return false;

  attach_everywhere(id, -1);
  if (record.host.valid()) host_nodes_[record.host.value] = NodeId();
  if (moved || taints != record.taints) ++label_version_;
  record.labels = std::move(labels);
  record.labels.shrink_to_fit();
  record.taints = taints;
  record.host = host;
  record.present = true;
  record.ready = node.ready;
  record.schedulable = !node.unschedulable;
  if (host.valid()) host_nodes_[host.value] = id;
  for (auto& column : allocatable_) {
    if (id.value < column.size()) column[id.value] = 0;
  }
  for (const auto& [name, amount] : node.allocatable) {
    slot(allocatable_, resources_.intern(name), id.value) = most_of_node(amount);
  }
  attach_everywhere(id, +1);
  return moved;
}

void Cluster::remove_node(std::string_view name) {
  const NodeId id = node_names_.find(name);
  if (!id.valid() || !nodes_[id.value].present) return;
  attach_everywhere(id, -1);
  NodeRecord& record = nodes_[id.value];
  if (record.host.valid()) host_nodes_[record.host.value] = NodeId();
  const HostId last_host = record.host;
  record = NodeRecord();
  record.last_host = last_host;
  for (auto& column : allocatable_) {
    if (id.value < column.size()) column[id.value] = 0;
  }
}

void Cluster::attach_everywhere(NodeId node, int sign) {
  CHECK(open_attempts_ == 0);
  if (!active(nodes_[node.value])) return;
  for (const auto& tree : trees_) {
    if (!tree->stale_) attach(*tree, node, sign);
  }
}

// Adds (or takes away) an active node's contribution to its leaf. A node that has no leaf in the
// tree, or another one than its labels say, leaves the tree to be rebuilt.
void Cluster::attach(DomainTree& tree, NodeId node, int sign) {
  const NodeRecord& record = nodes_[node.value];
  if (node.value >= tree.leaf_of_node_.size()) {
    tree.leaf_of_node_.resize(node.value + 1, NodeId::kNone);
  }
  uint32_t& leaf = tree.leaf_of_node_[node.value];
  if (sign > 0) {
    const std::vector<StringId> path = node_path(tree, record);
    if (path.empty()) {
      leaf = NodeId::kNone;
      return;
    }
    ++tree.gains_;
    if (leaf == NodeId::kNone || !path_is(tree, leaf, path)) {
      tree.stale_ = true;
      return;
    }
  } else if (leaf == NodeId::kNone) {
    return;
  }
  const uint32_t before = tree.leaf_nodes_[leaf];
  tree.leaf_nodes_[leaf] = before + static_cast<uint32_t>(sign);
  if (before == 0) ++tree.active_leaves_;
  if (before == 1 && sign < 0) --tree.active_leaves_;
  for (size_t index = 0; index < resources_.size(); ++index) {
    const ResourceId resource(index);
    const int64_t used = record.host.valid() ? at(used_, resource, record.host.value) : 0;
    const int64_t free =
        saturating_subtract(saturating_subtract(at(allocatable_, resource, node.value),
                                                at(other_, resource, node.value)),
                            used);
    if (free != 0) DomainTree::add(tree.free_, resource, leaf, tree.leaf_count(), sign * free);
    if (used != 0) DomainTree::add(tree.used_, resource, leaf, tree.leaf_count(), sign * used);
  }
  tree.log_change(leaf);
}

void Cluster::put_pod(const std::string& key, std::string_view node_name,
                      const api::ResourceAmounts& requests) {
  const NodeId node = node_names_.find(node_name);
  if (!node.valid()) {
    remove_pod(key);
    strays_.put(key, node_name, requests);
    return;
  }
  strays_.remove(key);
  // Of what no node offers nothing can be short: beyond the number it is not counted.
  api::ResourceAmounts known;
  for (const auto& [name, amount] : requests) {
    if (amount == 0 || !resource_asked_for(name).valid()) continue;
    known[name] = std::min(amount, kMostOfPod);
  }
  RequestVector request = make_request(known);
  const auto found = pods_.find(key);
  if (found != pods_.end()) {
    if (found->second.node == node && *found->second.requests == request) return;
    remove_pod(key);
  }
  const PodRecord record{node, pod_requests_.take(std::move(request))};
  add_other(node, *record.requests, +1);
  pods_.emplace(key, record);
}

void Cluster::remove_pod(const std::string& key) {
  if (strays_.remove(key)) return;
  const auto found = pods_.find(key);
  if (found == pods_.end()) return;
  const PodRecord record = found->second;
  pods_.erase(found);
  add_other(record.node, *record.requests, -1);
  pod_requests_.give_back(record.requests);
}

void Cluster::add_other(NodeId node, const RequestVector& requests, int sign) {
  CHECK(open_attempts_ == 0);
  for (const Request& request : requests) {
    int64_t& other = slot(other_, request.resource, node.value);
    other = saturating_add(other, sign * request.amount);
  }
  for (const auto& tree : trees_) {
    const auto leaf = tree->leaf_of(node);
    if (tree->stale_ || !leaf || !active(nodes_[node.value])) continue;
    for (const Request& request : requests) {
      DomainTree::add(tree->free_, request.resource, *leaf, tree->leaf_count(),
                      -sign * request.amount);
    }
    tree->log_change(*leaf);
    if (sign < 0) ++tree->gains_;
  }
}

void Cluster::add_used_host(HostId host, ResourceId resource, int64_t amount) {
  if (amount == 0) return;
  int64_t& used = slot(used_, resource, host.value);
  used = saturating_add(used, amount);
  const NodeId node = host_nodes_[host.value];
  if (!node.valid() || !active(nodes_[node.value])) return;
  for (const auto& tree : trees_) {
    const auto leaf = tree->leaf_of(node);
    if (tree->stale_ || !leaf) continue;
    DomainTree::add(tree->free_, resource, *leaf, tree->leaf_count(), -amount);
    DomainTree::add(tree->used_, resource, *leaf, tree->leaf_count(), amount);
    tree->log_change(*leaf);
    if (amount < 0) ++tree->gains_;
  }
}

void Cluster::add_used_leaf(TreeId id, uint32_t leaf, ResourceId resource, int64_t amount) {
  if (amount == 0) return;
  DomainTree& tree = *trees_[id.value];
  DomainTree::add(tree.free_, resource, leaf, tree.leaf_count(), -amount);
  DomainTree::add(tree.used_, resource, leaf, tree.leaf_count(), amount);
  tree.log_change(leaf);
  if (amount < 0) ++tree.gains_;
}

void Cluster::take_from(DomainTree& tree, uint32_t leaf, std::span<const Request> requests,
                        int64_t count) {
  for (const Request& request : requests) {
    const int64_t amount = saturating_multiply(request.amount, -count);
    if (request.resource.value < tree.free_.size() && !tree.free_[request.resource.value].empty()) {
      int64_t& free = tree.free_[request.resource.value][leaf];
      free = saturating_add(free, amount);
    } else if (amount != 0) {
      DomainTree::add(tree.free_, request.resource, leaf, tree.leaf_count(), amount);
    }
  }
  tree.log_change(leaf);
}

void Cluster::take(TreeId id, uint32_t leaf, std::span<const Request> requests, int64_t count) {
  DomainTree& view = *trees_[id.value];
  take_from(view, leaf, requests, count);
  if (!view.by_host() || trees_.size() == 1) return;
  const NodeId node = view.leaf_node(leaf);
  for (const auto& tree : trees_) {
    const auto other_leaf = tree->leaf_of(node);
    if (tree.get() == &view || tree->stale_ || !other_leaf) continue;
    take_from(*tree, *other_leaf, requests, count);
  }
}

void Cluster::charge(TreeId id, uint32_t leaf, const RequestVector& requests, int64_t count) {
  shift(id, leaf, requests, count);
  undo_.push_back({id, leaf, undo_amounts_.size()});
  for (const Request& request : requests) {
    undo_amounts_.push_back({request.resource, saturating_multiply(request.amount, count)});
  }
}

void Cluster::shift(TreeId id, uint32_t leaf, const RequestVector& requests, int64_t count) {
  CHECK(open_attempts_ > 0);
  take(id, leaf, requests, count);
}

void Cluster::add_usage(const std::string& workload, TreeId tree, const RequestVector& requests,
                        const std::vector<DomainUsage>& domains) {
  CHECK(open_attempts_ == 0);
  UsageRecord usage{tree, requests, {}, {}};
  for (const DomainUsage& domain : domains) {
    if (trees_[tree.value]->by_host()) {
      usage.hosts.emplace_back(intern_host(domain.values.back()), domain.count);
    } else {
      usage.paths.emplace_back(domain.values, domain.count);
    }
  }
  apply_usage(usage, +1);
  const auto [entry, is_new] = usages_.try_emplace(workload);
  entry->second.push_back(std::move(usage));
  if (is_new) usage_index_.emplace(entry->first, &entry->second);
}

void Cluster::remove_usage(const std::string& workload) {
  CHECK(open_attempts_ == 0);
  const auto found = usages_.find(workload);
  if (found == usages_.end()) return;
  for (const UsageRecord& usage : found->second) apply_usage(usage, -1);
  usage_index_.erase(found->first);
  usages_.erase(found);
}

void Cluster::apply_usage(const UsageRecord& usage, int sign) {
  for (const auto& [host, count] : usage.hosts) {
    for (const Request& request : usage.requests) {
      add_used_host(host, request.resource, sign * most_of_workload(request.amount, count));
    }
  }
  const DomainTree& tree = *trees_[usage.tree.value];
  if (tree.stale_) return;  // counted when it is rebuilt
  for (const auto& [values, count] : usage.paths) {
    const auto leaf = find_path(tree, values);
    if (!leaf) continue;
    for (const Request& request : usage.requests) {
      add_used_leaf(usage.tree, *leaf, request.resource,
                    sign * most_of_workload(request.amount, count));
    }
  }
}

std::vector<LeafUsage> Cluster::usage_in(std::span<const TreeId> trees,
                                         const std::string& workload) const {
  std::vector<LeafUsage> result;
  add_usage_in(trees, workload, result);
  return result;
}

void Cluster::add_usage_in(std::span<const TreeId> trees, const std::string& workload,
                           std::vector<LeafUsage>& result) const {
  const auto found = usage_index_.find(workload);
  if (found == usage_index_.end()) return;
  for (const UsageRecord& usage : *found->second) {
    for (const auto& [host, count] : usage.hosts) {
      const NodeId node = host_nodes_[host.value];
      if (!node.valid()) continue;
      for (const TreeId id : trees) {
        const DomainTree& tree = *trees_[id.value];
        const auto leaf = tree.leaf_of(node);
        if (!leaf) continue;
        // A leaf that is one node knows whether that is active: it need not be fetched.
        const bool counts = tree.by_host() ? tree.leaf_active(*leaf) : active(nodes_[node.value]);
        if (counts) result.push_back({id, *leaf, &usage.requests, count});
        break;
      }
    }
    if (std::ranges::find(trees, usage.tree) == trees.end()) continue;
    for (const auto& [values, count] : usage.paths) {
      const auto leaf = find_path(*trees_[usage.tree.value], values);
      if (leaf) result.push_back({usage.tree, *leaf, &usage.requests, count});
    }
  }
}

Attempt::Attempt(Cluster& cluster) : cluster_(cluster), start_(cluster.undo_.size()) {
  ++cluster_.open_attempts_;
}

Attempt::~Attempt() {
  roll_back();
  --cluster_.open_attempts_;
}

void Attempt::roll_back() {
  while (cluster_.undo_.size() > start_) {
    const Cluster::UndoEntry entry = cluster_.undo_.back();
    cluster_.undo_.pop_back();
    cluster_.take(entry.tree, entry.leaf, std::span(cluster_.undo_amounts_).subspan(entry.first),
                  -1);
    cluster_.undo_amounts_.resize(entry.first);
  }
}

}  // namespace phalanx::topology
