#include "topology/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/saturating.h"

namespace phalanx::topology {
namespace {

constexpr std::string_view kPods = "pods";

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

RequestVector Cluster::make_request(const api::ResourceAmounts& per_pod) {
  api::ResourceAmounts amounts = per_pod;  // a map: sorted by name
  int64_t& pods = amounts[std::string(kPods)];
  pods = saturating_add(pods, 1);
  RequestVector request;
  request.reserve(amounts.size());
  for (const auto& [name, amount] : amounts) request.push_back({resources_.intern(name), amount});
  return request;
}

StringId Cluster::label(NodeId node, StringId key) const {
  const auto& labels = nodes_[node.value].labels;
  const auto found =
      std::ranges::lower_bound(labels, key, {}, [](const auto& l) { return l.first; });
  return found == labels.end() || found->first != key ? StringId() : found->second;
}

Result<void> Cluster::put_node(const api::Node& node) {
  const NodeId id = intern_node(node.name);
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

  NodeRecord& record = nodes_[id.value];
  attach_everywhere(id, -1);
  if (record.host.valid()) host_nodes_[record.host.value] = NodeId();

  std::vector<std::pair<StringId, StringId>> labels;
  for (const auto& [key, value] : node.labels) {
    labels.emplace_back(strings_.intern(key), strings_.intern(value));
  }
  std::ranges::sort(labels);
  const TaintSetId taints = intern_taints(node.taints);
  if (!record.present || labels != record.labels || taints != record.taints) ++label_version_;
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
    slot(allocatable_, resources_.intern(name), id.value) = amount;
  }
  attach_everywhere(id, +1);
  return {};
}

void Cluster::remove_node(std::string_view name) {
  const NodeId id = node_names_.find(name);
  if (!id.valid() || !nodes_[id.value].present) return;
  attach_everywhere(id, -1);
  NodeRecord& record = nodes_[id.value];
  if (record.host.valid()) host_nodes_[record.host.value] = NodeId();
  record = NodeRecord();
  for (auto& column : allocatable_) {
    if (id.value < column.size()) column[id.value] = 0;
  }
}

bool Cluster::in_flavor(const DomainTree& tree, const NodeRecord& node) const {
  return std::ranges::all_of(tree.spec_.node_labels, [&](const auto& wanted) {
    const std::pair label{strings_.find(wanted.first), strings_.find(wanted.second)};
    return label.first.valid() && label.second.valid() &&
           std::ranges::binary_search(node.labels, label);
  });
}

std::vector<StringId> Cluster::node_path(const DomainTree& tree, const NodeRecord& node) const {
  std::vector<StringId> path;
  if (!in_flavor(tree, node)) return path;
  for (const std::string& key : tree.spec_.levels) {
    const StringId id = strings_.find(key);
    const auto found =
        std::ranges::lower_bound(node.labels, id, {}, [](const auto& l) { return l.first; });
    if (!id.valid() || found == node.labels.end() || found->first != id) return {};
    path.push_back(found->second);
  }
  return path;
}

bool Cluster::path_is(const DomainTree& tree, uint32_t leaf,
                      const std::vector<StringId>& path) const {
  for (int level = tree.lowest(); level >= 0; --level) {
    if (tree.value(level, leaf) != path[level]) return false;
    if (level > 0) leaf = tree.parent(level, leaf);
  }
  return true;
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
  remove_pod(key);
  PodRecord record{intern_node(node_name), make_request(requests)};
  add_other(record.node, record.requests, +1);
  pods_.emplace(key, std::move(record));
}

void Cluster::remove_pod(const std::string& key) {
  const auto found = pods_.find(key);
  if (found == pods_.end()) return;
  add_other(found->second.node, found->second.requests, -1);
  pods_.erase(found);
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
  }
}

void Cluster::add_used_host(HostId host, ResourceId resource, int64_t amount) {
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
  }
}

void Cluster::add_used_leaf(TreeId id, uint32_t leaf, ResourceId resource, int64_t amount) {
  DomainTree& tree = *trees_[id.value];
  DomainTree::add(tree.free_, resource, leaf, tree.leaf_count(), -amount);
  DomainTree::add(tree.used_, resource, leaf, tree.leaf_count(), amount);
  tree.log_change(leaf);
}

void Cluster::take(TreeId id, uint32_t leaf, ResourceId resource, int64_t amount) {
  DomainTree& view = *trees_[id.value];
  DomainTree::add(view.free_, resource, leaf, view.leaf_count(), -amount);
  view.log_change(leaf);
  if (!view.by_host()) return;
  const NodeId node = view.leaf_node(leaf);
  for (const auto& tree : trees_) {
    const auto other_leaf = tree->leaf_of(node);
    if (tree.get() == &view || tree->stale_ || !other_leaf) continue;
    DomainTree::add(tree->free_, resource, *other_leaf, tree->leaf_count(), -amount);
    tree->log_change(*other_leaf);
  }
}

void Cluster::charge(TreeId id, uint32_t leaf, const RequestVector& requests, int64_t count) {
  CHECK(open_attempts_ > 0);
  for (const Request& request : requests) {
    const int64_t amount = saturating_multiply(request.amount, count);
    take(id, leaf, request.resource, amount);
    undo_.push_back({id, leaf, request.resource, amount});
  }
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
  usages_[workload].push_back(std::move(usage));
}

void Cluster::remove_usage(const std::string& workload) {
  CHECK(open_attempts_ == 0);
  const auto found = usages_.find(workload);
  if (found == usages_.end()) return;
  for (const UsageRecord& usage : found->second) apply_usage(usage, -1);
  usages_.erase(found);
}

void Cluster::apply_usage(const UsageRecord& usage, int sign) {
  for (const auto& [host, count] : usage.hosts) {
    for (const Request& request : usage.requests) {
      add_used_host(host, request.resource, sign * saturating_multiply(request.amount, count));
    }
  }
  const DomainTree& tree = *trees_[usage.tree.value];
  if (tree.stale_) return;  // counted when it is rebuilt
  for (const auto& [values, count] : usage.paths) {
    const auto leaf = find_path(tree, values);
    if (!leaf) continue;
    for (const Request& request : usage.requests) {
      add_used_leaf(usage.tree, *leaf, request.resource,
                    sign * saturating_multiply(request.amount, count));
    }
  }
}

TreeId Cluster::add_tree(TreeSpec spec) {
  CHECK(!spec.levels.empty() && spec.levels.size() <= 16);
  auto tree = std::make_unique<DomainTree>();
  tree->by_host_ = spec.levels.back() == api::kHostnameLabel;
  tree->spec_ = std::move(spec);
  trees_.push_back(std::move(tree));
  return TreeId(trees_.size() - 1);
}

const DomainTree& Cluster::tree(TreeId id) {
  if (trees_[id.value]->stale_) rebuild(id);
  return *trees_[id.value];
}

void Cluster::rebuild(TreeId id) {
  CHECK(open_attempts_ == 0);
  DomainTree& tree = *trees_[id.value];
  build_structure(tree);
  tree.stale_ = false;
  tree.free_.clear();
  tree.used_.clear();
  tree.leaf_nodes_.assign(tree.leaf_count(), 0);
  tree.active_leaves_ = 0;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (active(nodes_[node])) attach(tree, NodeId(node), +1);
  }
  CHECK(!tree.stale_);
  if (!tree.by_host_) {
    for (const auto& [workload, usages] : usages_) {
      for (UsageRecord usage : usages) {
        if (usage.tree != id) continue;
        usage.hosts.clear();  // those are part of the nodes' own accounts
        apply_usage(usage, +1);
      }
    }
  }
  tree.log_base_ += tree.log_.size();
  tree.log_.clear();
  ++tree.structure_;
}

// Sorts the paths of all active nodes by text and lays the domains out in that order.
void Cluster::build_structure(DomainTree& tree) {
  const size_t level_count = tree.spec_.levels.size();
  struct Entry {
    std::vector<StringId> path;
    NodeId node;
  };
  std::vector<Entry> entries;
  std::vector<StringId> values;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (!active(nodes_[node])) continue;
    std::vector<StringId> path = node_path(tree, nodes_[node]);
    if (path.empty()) continue;
    values.insert(values.end(), path.begin(), path.end());
    entries.push_back({std::move(path), NodeId(node)});
  }
  // Comparing ranks instead of strings: each distinct value is compared as text only once.
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::ranges::sort(values, {}, [&](StringId id) -> const std::string& { return text(id); });
  boost::unordered_flat_map<uint32_t, uint32_t> rank;
  for (size_t index = 0; index < values.size(); ++index) {
    rank[values[index].value] = static_cast<uint32_t>(index);
  }
  for (Entry& entry : entries) {
    for (StringId& id : entry.path) id = StringId(rank[id.value]);
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.path != b.path ? a.path < b.path : a.node < b.node;
  });

  tree.levels_.assign(level_count, {});
  tree.node_of_leaf_.clear();
  tree.leaf_of_node_.assign(nodes_.size(), NodeId::kNone);
  const std::vector<StringId>* previous = nullptr;
  for (const Entry& entry : entries) {
    size_t level = 0;
    while (previous != nullptr && level < level_count && (*previous)[level] == entry.path[level]) {
      ++level;
    }
    for (; level < level_count; ++level) {
      if (level + 1 < level_count) {
        tree.levels_[level].first_child.push_back(
            static_cast<uint32_t>(tree.levels_[level + 1].values.size()));
      }
      if (level > 0) {
        tree.levels_[level].parents.push_back(
            static_cast<uint32_t>(tree.levels_[level - 1].values.size() - 1));
      }
      tree.levels_[level].values.push_back(values[entry.path[level].value]);
      if (level + 1 == level_count && tree.by_host_) tree.node_of_leaf_.push_back(entry.node);
    }
    tree.leaf_of_node_[entry.node.value] = tree.leaf_count() - 1;
    previous = &entry.path;
  }
  for (size_t level = 0; level + 1 < level_count; ++level) {
    tree.levels_[level].first_child.push_back(
        static_cast<uint32_t>(tree.levels_[level + 1].values.size()));
  }
}

std::optional<uint32_t> Cluster::find_leaf(TreeId id, std::span<const std::string> values) {
  const DomainTree& view = tree(id);
  std::optional<uint32_t> leaf;
  if (!view.by_host()) {
    leaf = find_path(view, values);
  } else if (!values.empty()) {
    const HostId host = host_names_.find(values.back());
    if (host.valid() && host_nodes_[host.value].valid()) {
      leaf = view.leaf_of(host_nodes_[host.value]);
    }
  }
  if (leaf && !view.leaf_active(*leaf)) return std::nullopt;
  return leaf;
}

std::optional<uint32_t> Cluster::find_path(const DomainTree& tree,
                                           std::span<const std::string> values) const {
  if (values.size() != tree.spec_.levels.size()) return std::nullopt;
  uint32_t domain = 0;
  for (int level = 0; level < tree.level_count(); ++level) {
    auto [begin, end] = tree.children(level - 1, domain);
    const auto value_of = [&](uint32_t index) -> const std::string& {
      return text(tree.value(level, index));
    };
    while (begin < end) {  // siblings are sorted by value
      const uint32_t middle = begin + (end - begin) / 2;
      if (value_of(middle) < values[level]) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    if (begin >= tree.children(level - 1, domain).end || value_of(begin) != values[level]) {
      return std::nullopt;
    }
    domain = begin;
  }
  return domain;
}

std::vector<std::string> Cluster::path(const DomainTree& tree, int level, uint32_t domain) const {
  std::vector<std::string> values(level + 1);
  for (; level >= 0; --level) {
    values[level] = text(tree.value(level, domain));
    if (level > 0) domain = tree.parent(level, domain);
  }
  return values;
}

std::string Cluster::hostname_of(std::string_view node_name) const {
  const NodeId id = node_names_.find(node_name);
  if (!id.valid() || !nodes_[id.value].host.valid()) return std::string(node_name);
  return host_names_.text(nodes_[id.value].host);
}

LeftOutNodes Cluster::left_out(TreeId id) const {
  const DomainTree& tree = *trees_[id.value];
  LeftOutNodes result;
  result.lacking_level.assign(tree.spec_.levels.size(), 0);
  for (const NodeRecord& node : nodes_) {
    if (!node.present) continue;
    if (!in_flavor(tree, node)) {
      ++result.other_flavor;
      continue;
    }
    size_t lacking = 0;
    for (; lacking < tree.spec_.levels.size(); ++lacking) {
      const StringId key = strings_.find(tree.spec_.levels[lacking]);
      const auto found =
          std::ranges::lower_bound(node.labels, key, {}, [](const auto& l) { return l.first; });
      if (!key.valid() || found == node.labels.end() || found->first != key) break;
    }
    if (lacking < tree.spec_.levels.size()) {
      ++result.lacking_level[lacking];
    } else if (!node.ready) {
      ++result.not_ready;
    } else if (!node.schedulable) {
      ++result.unschedulable;
    }
  }
  return result;
}

std::vector<std::pair<std::string, int64_t>> Cluster::workloads_on(TreeId id, uint32_t leaf) {
  const DomainTree& view = tree(id);
  const HostId host = view.by_host() ? nodes_[view.leaf_node(leaf).value].host : HostId();
  std::vector<std::pair<std::string, int64_t>> result;
  for (const auto& [workload, usages] : usages_) {
    int64_t pods = 0;
    for (const UsageRecord& usage : usages) {
      for (const auto& [used_host, count] : usage.hosts) {
        if (used_host == host) pods += count;
      }
      if (usage.tree != id) continue;
      for (const auto& [values, count] : usage.paths) {
        if (find_path(view, values) == leaf) pods += count;
      }
    }
    if (pods > 0) result.emplace_back(workload, pods);
  }
  return result;
}

std::vector<LeafUsers> Cluster::workloads_in(TreeId id, std::span<const LeafUse> uses,
                                             size_t at_most) {
  const DomainTree& view = tree(id);
  std::vector<LeafUsers> result(uses.size());
  std::vector<WorkloadShare> shares(uses.size());
  std::vector<int64_t> per_pod(uses.size());
  const auto add = [&](uint32_t leaf, int64_t count) {
    for (size_t use = 0; use < uses.size(); ++use) {
      const auto [begin, end] = uses[use].leaves;
      if (leaf < begin || leaf >= end || per_pod[use] == 0) continue;
      shares[use].pods += count;
      shares[use].amount =
          saturating_add(shares[use].amount, saturating_multiply(per_pod[use], count));
    }
  };
  for (const auto& [workload, usages] : usages_) {
    shares.assign(uses.size(), {});
    for (const UsageRecord& usage : usages) {
      for (size_t use = 0; use < uses.size(); ++use) {
        const auto need = std::ranges::find(usage.requests, uses[use].resource, &Request::resource);
        per_pod[use] = need == usage.requests.end() ? 0 : need->amount;
      }
      for (const auto& [host, count] : usage.hosts) {
        const NodeId node = host_nodes_[host.value];
        if (!node.valid() || !active(nodes_[node.value])) continue;
        if (const auto leaf = view.leaf_of(node)) add(*leaf, count);
      }
      if (usage.tree != id) continue;
      for (const auto& [values, count] : usage.paths) {
        if (const auto leaf = find_path(view, values)) add(*leaf, count);
      }
    }
    for (size_t use = 0; use < uses.size(); ++use) {
      if (shares[use].amount <= 0) continue;
      shares[use].workload = workload;
      auto& most = result[use].most;  // workloads come in name order, so equals stay in it
      most.insert(std::ranges::upper_bound(most, shares[use].amount, std::ranges::greater(),
                                           &WorkloadShare::amount),
                  std::move(shares[use]));
      if (most.size() <= at_most) continue;
      most.pop_back();
      ++result[use].others;
    }
  }
  return result;
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
    cluster_.take(entry.tree, entry.leaf, entry.resource, -entry.amount);
  }
}

}  // namespace phalanx::topology
