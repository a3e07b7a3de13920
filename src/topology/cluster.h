// One account of every node: what it offers, what pods and admitted workloads take of it, and the
// domain trees that are views of it.
//
//   free = allocatable of ready, schedulable nodes - other pods - admitted usage
//
// (Kueue's topology-aware scheduling guide, "Capacity calculation"). A change to one node costs its
// leaf in every tree; only a node with a new place in a topology makes that tree be rebuilt, at its
// next use. Anything charged inside an Attempt can be undone without copying.
//
// Admitted usage is booked by hostname, or, for topologies whose lowest level is above the host,
// by domain of one tree. It may come before its node and outlives it. `pods` is a resource.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/node.h"
#include "api/pod.h"
#include "base/error.h"
#include "base/interner.h"
#include "base/shared_values.h"
#include "base/strong_id.h"
#include "topology/domain_tree.h"
#include "topology/stray_pods.h"

namespace phalanx::topology {

// One pod's needs, sorted by resource name, `pods` included.
struct Request {
  ResourceId resource;
  int64_t amount = 0;

  auto operator<=>(const Request&) const = default;
};
using RequestVector = std::vector<Request>;

using HostId = StrongId<struct HostTag>;
using TaintSetId = StrongId<struct TaintSetTag>;

// What an admitted workload takes in one domain of the lowest level: `count` pods of `requests`.
struct DomainUsage {
  std::vector<std::string> values;  // the hostname alone, or the whole path
  int64_t count = 0;
};

// What a workload uses in one leaf of a tree: `count` pods of `requests`.
struct LeafUsage {
  TreeId tree;
  uint32_t leaf = 0;
  const RequestVector* requests = nullptr;
  int64_t count = 0;
};

// Nodes that are in no domain of a tree, by the first reason that applies.
struct LeftOutNodes {
  uint32_t not_ready = 0;
  uint32_t unschedulable = 0;
  uint32_t other_flavor = 0;            // lacks a label of the ResourceFlavor
  std::vector<uint32_t> lacking_level;  // by level: lacks its label
};

// Who uses a resource of some leaves: the question, and the answer.
struct LeafUse {
  DomainRange leaves;
  ResourceId resource;
};
struct WorkloadShare {
  std::string workload;
  int64_t pods = 0;    // that use the resource
  int64_t amount = 0;  // of the resource
};
struct LeafUsers {
  std::vector<WorkloadShare> most;
  size_t others = 0;
};

class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Nodes. Putting a node that exists changes it. Two nodes may not share a hostname label. Returns
  // whether that changed its place: it is new, or it has other labels.
  Result<bool> put_node(const api::Node& node);
  void remove_node(std::string_view name);

  // Pods that were not placed through an admitted workload. `key` identifies the pod. Those on a
  // node that does not exist (yet) count as soon as it does.
  void put_pod(const std::string& key, std::string_view node_name,
               const api::ResourceAmounts& requests);
  void remove_pod(const std::string& key);

  // Usage of an admitted workload. Several calls for one workload add up; remove takes all back.
  // Domains that do not exist (yet) count as soon as they do.
  void add_usage(const std::string& workload, TreeId tree, const RequestVector& requests,
                 const std::vector<DomainUsage>& domains);
  void remove_usage(const std::string& workload);

  // What an admitted workload uses that these trees see, each leaf once: where several see a node,
  // the first. Holds until usage changes.
  [[nodiscard]] std::vector<LeafUsage> usage_in(std::span<const TreeId> trees,
                                                const std::string& workload) const;
  // The same, put behind what is there.
  void add_usage_in(std::span<const TreeId> trees, const std::string& workload,
                    std::vector<LeafUsage>& usage) const;

  TreeId add_tree(TreeSpec spec);
  // Its id may come back for another tree. Usage that is booked by its domains stays with the
  // workload, but counts nowhere.
  void remove_tree(TreeId id);
  // The tree, rebuilt first if nodes came that it has no place for.
  const DomainTree& tree(TreeId id);
  [[nodiscard]] LeftOutNodes left_out(TreeId id) const;

  // Without what it asks nothing of. Resources that no node offers, beyond some, are one resource
  // that nobody has.
  RequestVector make_request(const api::ResourceAmounts& per_pod);
  // The same of what has been admitted, which nodes did offer: every name counts for itself, as its
  // node may still be to come.
  RequestVector make_usage(const api::ResourceAmounts& per_pod);

  // Takes `count` pods' worth out of a leaf (gives it back if negative), in every tree that sees
  // the node. Only within an Attempt, and undone with it. It is no admitted usage: an emptied
  // cluster has less free by it, too.
  void charge(TreeId tree, uint32_t leaf, const RequestVector& requests, int64_t count);
  // The same for whoever takes it back himself before the Attempt ends: nothing is kept for undoing
  // it, which is cheaper for what goes to and fro.
  void shift(TreeId tree, uint32_t leaf, const RequestVector& requests, int64_t count);

  // The leaf that an assignment's values name: the hostname, or one value for each level.
  std::optional<uint32_t> find_leaf(TreeId tree, std::span<const std::string> values);
  // The same, also of nodes that take no pods now.
  std::optional<uint32_t> find_any_leaf(TreeId tree, std::span<const std::string> values);
  // A node that took no pods where it is now has no leaf yet: it gets one.
  void need_leaf(TreeId tree, std::string_view hostname);
  std::vector<std::string> path(const DomainTree& tree, int level, uint32_t domain) const;

  [[nodiscard]] const std::string& text(StringId id) const { return strings_.text(id); }
  [[nodiscard]] StringId find_string(std::string_view text) const { return strings_.find(text); }
  [[nodiscard]] const std::string& resource_name(ResourceId id) const {
    return resources_.text(id);
  }
  [[nodiscard]] ResourceId find_resource(std::string_view name) const {
    return resources_.find(name);
  }
  [[nodiscard]] size_t resource_count() const { return resources_.size(); }
  [[nodiscard]] const std::string& node_name(NodeId id) const { return node_names_.text(id); }
  // Invalid if it was never put.
  [[nodiscard]] NodeId find_node(std::string_view name) const { return node_names_.find(name); }
  // The node that has the hostname label, invalid if none has.
  [[nodiscard]] NodeId node_with_host(std::string_view hostname) const;
  [[nodiscard]] bool present(NodeId id) const { return id.valid() && nodes_[id.value].present; }
  // Whether admitted workloads use anything of the host, be it there or not.
  [[nodiscard]] bool host_in_use(std::string_view hostname) const;
  // As it was put, but without what it has nothing of; nullopt if it is not there.
  [[nodiscard]] std::optional<api::Node> node(NodeId id) const;

  // The hostname label that a node has or had last, else its name: what assignments call it.
  [[nodiscard]] std::string hostname_of(std::string_view node_name) const;
  // A node's value of a label, invalid if it has none.
  [[nodiscard]] StringId label(NodeId node, StringId key) const;
  [[nodiscard]] TaintSetId taint_set(NodeId node) const { return nodes_[node.value].taints; }
  [[nodiscard]] const std::vector<api::Taint>& taints(TaintSetId id) const {
    return *taint_sets_[id.value];
  }
  [[nodiscard]] size_t taint_set_count() const { return taint_sets_.size(); }
  // Grows with every change of labels or taints of any node: what was derived from them is stale.
  [[nodiscard]] uint64_t label_version() const { return label_version_; }
  [[nodiscard]] int64_t allocatable(NodeId node, ResourceId resource) const {
    return at(allocatable_, resource, node.value);
  }

  // Who uses ranges of leaves, all in one pass over the admitted usage: for each range the
  // `at_most` workloads that use most of its resource there, most first.
  std::vector<LeafUsers> workloads_in(TreeId tree, std::span<const LeafUse> uses, size_t at_most);

 private:
  friend class Attempt;
  using Columns = std::vector<std::vector<int64_t>>;

  struct NodeRecord {
    std::vector<std::pair<StringId, StringId>> labels;  // sorted by key
    HostId host;
    HostId last_host;  // of a node that was deleted: workloads still name it
    TaintSetId taints;
    bool present = false;
    bool ready = false;
    bool schedulable = false;
  };
  struct PodRecord {
    NodeId node;
    SharedValues<RequestVector>::Handle requests;
  };
  struct UsageRecord {
    TreeId tree;  // meaningful for aggregate topologies
    RequestVector requests;
    std::vector<std::pair<HostId, int64_t>> hosts;                    // host topologies
    std::vector<std::pair<std::vector<std::string>, int64_t>> paths;  // aggregate topologies
  };
  // What was taken is undo_amounts_ from `first` on.
  struct UndoEntry {
    TreeId tree;
    uint32_t leaf = 0;
    size_t first = 0;
  };

  [[nodiscard]] static int64_t at(const Columns& columns, ResourceId resource, size_t index);
  static int64_t& slot(Columns& columns, ResourceId resource, size_t index);
  [[nodiscard]] bool has_capacity(NodeId id, const api::Node& node) const;
  NodeId intern_node(std::string_view name);
  HostId intern_host(std::string_view name);
  TaintSetId intern_taints(const std::vector<api::Taint>& taints);
  ResourceId resource_asked_for(std::string_view name);
  [[nodiscard]] bool active(const NodeRecord& node) const {
    return node.present && node.ready && node.schedulable;
  }
  [[nodiscard]] bool in_flavor(const DomainTree& tree, const NodeRecord& node) const;
  [[nodiscard]] static StringId label(const NodeRecord& node, StringId key);
  // The node's path of value ids in the tree; empty if it lacks a level or is not of the flavor.
  [[nodiscard]] std::vector<StringId> node_path(const DomainTree& tree,
                                                const NodeRecord& node) const;
  [[nodiscard]] bool path_is(const DomainTree& tree, uint32_t leaf,
                             const std::vector<StringId>& path) const;
  void rebuild(TreeId id);
  void build_structure(DomainTree& tree);
  void attach(DomainTree& tree, NodeId node, int sign);
  void attach_everywhere(NodeId node, int sign);
  void take(TreeId tree, uint32_t leaf, std::span<const Request> requests, int64_t count);
  static void take_from(DomainTree& tree, uint32_t leaf, std::span<const Request> requests,
                        int64_t count);
  void add_used_host(HostId host, ResourceId resource, int64_t amount);
  void add_used_leaf(TreeId tree, uint32_t leaf, ResourceId resource, int64_t amount);
  void add_other(NodeId node, const RequestVector& requests, int sign);
  void apply_usage(const UsageRecord& usage, int sign);
  std::optional<uint32_t> find_path(const DomainTree& tree,
                                    std::span<const std::string> values) const;

  Interner<StringId> strings_;
  Interner<ResourceId> resources_;
  Interner<NodeId> node_names_;
  Interner<HostId> host_names_;
  std::map<std::vector<api::Taint>, TaintSetId> taint_ids_;
  std::vector<const std::vector<api::Taint>*> taint_sets_;
  std::vector<NodeRecord> nodes_;   // by NodeId
  std::vector<NodeId> host_nodes_;  // by HostId: the present node with that hostname
  Columns allocatable_;             // by resource, NodeId
  Columns other_;                   // pods outside admitted workloads; by resource, NodeId
  Columns used_;                    // admitted usage; by resource, HostId
  SharedValues<RequestVector> pod_requests_;
  boost::unordered_flat_map<std::string, PodRecord> pods_;
  StrayPods strays_;  // names of nodes are interned for life; pods may name any
  std::map<std::string, std::vector<UsageRecord>> usages_;
  // Of the same, for finding: the choice of victims asks for thousands.
  boost::unordered_flat_map<std::string_view, const std::vector<UsageRecord>*> usage_index_;
  std::vector<std::unique_ptr<DomainTree>> trees_;
  std::vector<UndoEntry> undo_;
  std::vector<Request> undo_amounts_;
  int open_attempts_ = 0;
  uint64_t label_version_ = 0;
};

// Everything charged to the cluster while it lives is taken back when it ends. Attempts nest;
// while one is open, only `charge` and `shift` may change the cluster. What is to stay is booked
// with add_usage.
class Attempt {
 public:
  explicit Attempt(Cluster& cluster);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  // Takes back what was charged so far, and goes on.
  void roll_back();

 private:
  Cluster& cluster_;
  size_t start_;
};

}  // namespace phalanx::topology
