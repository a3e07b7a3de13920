// The account of every node: what admitted workloads were promised plus the pods that are really
// there, each counted exactly once.
//
// A workload that holds its assignment is booked by it, whether its pods exist yet or not; its pods
// are covered by that, one for each slot of their domain. A pod that no slot covers is booked by
// itself: pods of others, pods of workloads that hold nothing (any more), and pods that are in
// another domain than their assignment says. So nothing is given away before the pod that used it
// is gone, and a difference between promise and reality costs capacity instead of hiding: it is
// called drift.
//
// A pod that asks for more than its slot (a sidecar was injected, say) is booked with the
// difference.
//
// Anybody who may make pods in the namespace can name the workload in one. So a pod counts as a
// workload's only if the workload's controller owns it, and a pod that is not bound takes no more
// than the slot that waits for it: of everything else only what is really on a node costs room
// there, whatever pods say of themselves.
//
// Cost: a pod's event costs its node in every tree; holding and releasing cost the workload's
// domains and pods.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/topology_assignment.h"
#include "base/shared_values.h"
#include "base/time.h"
#include "core/object.h"
#include "placement/placer.h"
#include "topology/cluster.h"

namespace phalanx::core {

// A pod set of a workload that holds what it was given.
struct HeldPodSet {
  std::string name;
  api::ResourceAmounts per_pod;
  std::string flavor;  // whose topology it was placed in; empty: by quota alone
  std::optional<api::TopologyAssignment> assignment;  // without pods that are done for good

  bool operator==(const HeldPodSet&) const = default;
};

// Pods of one pod set in one domain, beyond what the assignment holds there.
struct Drift {
  std::string pod_set;
  std::string domain;
  int64_t assigned = 0;
  int64_t actual = 0;

  bool operator==(const Drift&) const = default;
};

class NodeAccount {
 public:
  NodeAccount();

  // Of nodes with one hostname the one that came first takes part, then the first by name. The
  // error is for another one: it is left out until the hostname is free.
  Result<void> put_node(const api::Node& node, Time created = {});
  void remove_node(const std::string& name);

  // The domain tree of a flavor; nullopt takes it away. Returns whether anything changed; then
  // workloads that are placed in the flavor must be held anew.
  bool set_tree(const std::string& flavor, std::optional<topology::TreeSpec> spec);
  [[nodiscard]] std::optional<TreeId> tree_of(const std::string& flavor) const;
  // Where the places of a pod set are booked: by host, or in the tree of its flavor; nullopt if it
  // has none.
  [[nodiscard]] std::optional<TreeId> tree_for(const HeldPodSet& pod_set) const;

  void hold(const std::string& workload, const std::vector<HeldPodSet>& pod_sets);
  void release(const std::string& workload);

  // Whose pods are the workload's: those of the controller with this uid; empty: all that name it.
  void set_controller(const std::string& workload, const std::string& uid);

  void put_pod(const std::string& key, const Pod& pod);
  void remove_pod(const std::string& key);
  // It is being ended because it is in the wrong place: that is no drift to speak of.
  void mark_ending(const std::string& key);

  // Pods of a pod set that a domain holds for it: a hostname, or the values of all levels with a /
  // between them.
  [[nodiscard]] int64_t slots(const std::string& workload, const std::string& pod_set,
                              const std::string& domain) const;
  // Of a pod that is to take a place on a host, the first resource of which it asks for more than
  // the place has and the node has left; nullopt: it may go there.
  std::optional<std::string> excess_of(const std::string& pod, const std::string& host);
  // Workloads that hold a place on the host.
  [[nodiscard]] std::vector<std::string> workloads_on(const std::string& host) const;
  // Workloads that have pods on the node, wherever their places are.
  [[nodiscard]] std::set<std::string> workloads_with_pods_on(const std::string& node) const;
  // Whether there is a node of this hostname, and which.
  [[nodiscard]] bool has_host(const std::string& host) const {
    return cluster_.node_with_host(host).valid();
  }
  [[nodiscard]] std::optional<api::Node> node_with_host(const std::string& host) const {
    return cluster_.node(cluster_.node_with_host(host));
  }
  // The hostname of a node, also of one that is gone.
  [[nodiscard]] std::string host_of(const std::string& node) const {
    return cluster_.hostname_of(node);
  }
  // A node's value of a label, empty if it has none or is gone.
  [[nodiscard]] std::string label_of_host(const std::string& host, const std::string& label) const {
    return has_host(host) ? label_of(cluster_.node_with_host(host), label) : "";
  }
  // Pods of the workload that run or may still run: not terminal, and bound or free to be bound.
  [[nodiscard]] int64_t live_pods(const std::string& workload) const;
  [[nodiscard]] int64_t live_pods(const std::string& workload, const std::string& pod_set) const;
  [[nodiscard]] std::vector<Drift> drift(const std::string& workload) const;
  // Workloads whose drift changed since the last call.
  std::set<std::string> take_drifted() { return std::exchange(drifted_, {}); }
  void look_again(const std::string& workload) { drifted_.insert(workload); }

  topology::Cluster& cluster() { return cluster_; }
  placement::Placer& placer() { return placer_; }

 private:
  struct Slot {
    int64_t assigned = 0;
    int64_t covered = 0;  // live pods that it stands for
  };
  struct PodSetSlots {
    api::ResourceAmounts per_pod;
    std::vector<std::string> levels;
    bool placed = false;  // false: by quota alone, no pod is covered
    std::map<std::string, Slot> domains;

    [[nodiscard]] bool by_host() const {
      return !levels.empty() && levels.back() == api::kHostnameLabel;
    }
  };
  struct WorkloadEntry {
    bool holds = false;
    std::string controller;  // that owns its pods; empty: whoever names it is its pod
    std::map<std::string, PodSetSlots> pod_sets;
    std::set<std::string> pods;
    std::set<std::string> uncovered;      // of these: counted in no slot
    std::map<std::string, int64_t> live;  // by pod set
  };
  struct PodEntry {
    std::string workload;
    std::string pod_set;
    std::string controller;
    std::string node;  // empty: it takes up no room, or nobody knows where
    std::string host;
    std::string domain;  // of its assignment, where it is counted
    SharedValues<api::ResourceAmounts>::Handle requests;
    bool live = false;
    bool bound = false;  // to the node; otherwise it is free to be bound there
    bool covered = false;
    bool ending = false;
    // By itself, because it is bound; of a covered one: with what it asks for beyond its slot.
    bool booked = false;
  };

  using Claim = std::pair<Time, std::string>;     // when the node came, and its name
  using Waiting = std::pair<std::string, Claim>;  // for this hostname

  [[nodiscard]] std::string node_for(const Pod& pod) const;
  [[nodiscard]] bool is_own(const PodEntry& pod) const;
  // The pods of a node whose place in the topologies is another one now.
  void count_again(const std::string& node);
  // Whose the hostname is.
  [[nodiscard]] std::optional<Claim> claim_to(const std::string& host) const;
  void note_created(const std::string& node, Time created);
  void wait(const std::string& host, const Claim& claim, const api::Node& node);
  // Returns the node if it waited.
  std::optional<api::Node> stop_waiting(const std::string& node);
  // Gives a hostname that is free to who waits for it longest.
  void promote(const std::string& host);
  void put_foreign_pod(const std::string& key, const Pod& pod);
  [[nodiscard]] std::string label_of(NodeId node, const std::string& label) const;
  [[nodiscard]] std::string label_of(const Waiting& waiting, const std::string& label) const;
  [[nodiscard]] std::string domain_of(const PodEntry& pod, const PodSetSlots& slots) const;
  // Counts a pod that takes up room; a covered or booked one is first uncounted.
  void count(const std::string& key, PodEntry& pod);
  void uncount(const std::string& key, PodEntry& pod);
  [[nodiscard]] const PodSetSlots* slots_of(const PodEntry& pod) const;
  Slot* slot_of(const PodEntry& pod);
  // Gives the room that a slot has to a pod of its own that was booked by itself.
  void cover_another(const PodEntry& gone);
  void book_excess(const std::string& key, PodEntry& pod, const api::ResourceAmounts& per_pod);
  void forget_if_empty(const std::string& workload);

  topology::Cluster cluster_;
  placement::Placer placer_;
  TreeId hosts_;                         // every host: where usage is booked by hostname
  std::map<std::string, TreeId> trees_;  // by flavor
  std::vector<Time> created_;            // by NodeId, of nodes that take part
  // Nodes that are left out, by the hostname that is another's; and each one's place there.
  std::map<std::string, std::map<Claim, api::Node>> waiting_;
  std::map<std::string, Waiting> waiting_for_;
  // Pods of workloads. Others are in the cluster alone.
  std::map<std::string, std::set<std::string>> pods_on_node_;
  std::map<std::string, WorkloadEntry> workloads_;
  std::map<std::string, PodEntry> pods_;
  SharedValues<api::ResourceAmounts> requests_;
  std::set<std::string> drifted_;
};

}  // namespace phalanx::core
