// Why a request does not fit, as data: what a person asks first when a job is pending.
//
// An Explanation says what was asked, how much of it fits, what keeps the nodes away and from how
// many, how far the best domains of every level of the search come, and what would make it fit. It
// is plain data without references into the cluster, bounded in size whatever the cluster's
// (kMost... below; what was cut is counted). Text and JSON are made from it in
// placement/explanation_render.h; the one-line text of the same "no" is placement/failure_text.h.
//
// "Node" means a leaf of the topology: one node where the lowest level is the hostname, otherwise
// all nodes that share a path.
//
// Every remedy is exact: carried out on an otherwise unchanged cluster it makes the request fit,
// and a number of nodes is the smallest that does. Where that cannot be promised there is none.
//
// Cost: some passes over the leaves and one over the admitted usage; only paid for a "no".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/topology_request.h"
#include "placement/choose.h"
#include "placement/domain_counts.h"
#include "placement/level_plan.h"
#include "topology/cluster.h"

namespace phalanx::placement {

inline constexpr size_t kMostCauses = 10;    // of the whole topology
inline constexpr size_t kMostDomains = 5;    // per level
inline constexpr size_t kMostUsers = 3;      // per domain
inline constexpr size_t kMostAdditions = 3;  // domains with a number of missing nodes
inline constexpr size_t kMostShares = 10;    // slice domains that these nodes are spread over

using DomainPath = std::vector<std::string>;  // label values, coarsest first; empty: everything

struct ResourceAmount {
  std::string resource;
  int64_t amount = 0;

  bool operator==(const ResourceAmount&) const = default;
};
using ResourceList = std::vector<ResourceAmount>;  // by name

enum class RequestMode : uint8_t { kRequired, kPreferred, kUnconstrained };

struct AskedFor {
  int32_t pods = 0;  // without the leader
  int32_t slices = 0;
  int32_t slice_size = 1;
  RequestMode mode = RequestMode::kUnconstrained;
  std::string level;        // key of the required or preferred level; empty if unconstrained
  std::string slice_level;  // key of the level that a slice stays inside
  std::vector<api::SliceConstraint> slice_layers;  // as asked for, coarsest first
  ResourceList per_pod;                            // without the pod itself
  std::optional<ResourceList> leader;
  bool without_admitted = false;  // counted as if no workload were admitted

  bool operator==(const AskedFor&) const = default;
};

// Nodes that are in no domain of the topology.
struct LeftOut {
  uint32_t not_ready = 0;
  uint32_t unschedulable = 0;
  uint32_t other_flavor = 0;
  std::vector<std::pair<std::string, uint32_t>> lacking_label;  // level key, nodes; none with 0

  bool operator==(const LeftOut&) const = default;
};

enum class CauseKind : uint8_t { kResource, kTaint, kNodeSelector, kAffinity, kConfinement };

// What keeps pods off nodes. Each node counts once, for the first cause that applies: taint, node
// selector, affinity, confinement of a replacement, and then the resource that runs out first.
struct Cause {
  CauseKind kind = CauseKind::kResource;
  bool of_leader = false;    // it is the leader that is kept off, the workers are not asked
  std::string name;          // the resource, or the taint as "key=value:effect"; else empty
  uint32_t nodes = 0;        // that hold no pod because of it
  uint32_t too_small = 0;    // of these: would hold none even if they were empty
  uint32_t partly_used = 0;  // further nodes, that hold some but fewer than if they were empty
  int64_t pods = 0;          // that would fit in addition without it, with nothing else changed

  [[nodiscard]] uint32_t affected() const { return nodes + partly_used; }
  bool operator==(const Cause&) const = default;
};

struct WorkloadUse {
  std::string workload;
  int64_t pods = 0;

  bool operator==(const WorkloadUse&) const = default;
};

// Where one resource of a domain went; host topologies only.
struct ResourceBalance {
  std::string resource;
  int64_t allocatable = 0;
  int64_t used_by_workloads = 0;  // admitted
  int64_t used_by_others = 0;     // other pods, and pod sets of this workload placed before
  int64_t free = 0;

  bool operator==(const ResourceBalance&) const = default;
};

struct DomainReport {
  DomainPath path;
  uint32_t nodes = 0;
  int32_t slices = 0;  // whole slices that fit, beside the leader if it fits
  int32_t pods = 0;    // pods that fit, beside the leader if it fits
  // Slices short of the whole request; at the level of the slices: short of one.
  int32_t missing = 0;
  bool leader_fits = true;    // true without a leader
  int64_t pods_if_empty = 0;  // that its nodes would hold if they were empty and none excluded
  // What affects most nodes here. None: every node is as good as empty, there are too few of them.
  std::optional<Cause> blocking;
  std::optional<ResourceBalance> balance;  // of the blocking resource
  // The admitted workloads that use most of the blocking resource, else of the pods.
  std::vector<WorkloadUse> used_by;
  size_t more_users = 0;

  bool operator==(const DomainReport&) const = default;
};

enum class LevelRole : uint8_t {
  kSearched,  // where the search starts: the requested level
  kAbove,     // coarser than that
  kSlices,    // below it: the level of the slices
};

struct LevelReport {
  std::string level;
  LevelRole role = LevelRole::kSearched;
  uint32_t domains = 0;
  uint32_t holding_some = 0;       // domains that hold at least one slice
  uint32_t holding_all = 0;        // domains that hold the whole request
  std::vector<DomainReport> best;  // leader fits, then slices, then pods, most first; then by path
  uint32_t more = 0;

  bool operator==(const LevelReport&) const = default;
};

// With this many more nodes in this domain the request fits there, with one less it does not. The
// nodes are empty and like another one: same shape, same labels apart from their place, same
// taints.
struct MoreNodes {
  DomainPath domain;
  int64_t nodes = 0;
  std::string like;    // hostname of such a node
  ResourceList shape;  // its allocatable, as far as the request asks for it, `pods` included
  // Where slices are larger than a node it matters in which of their domains the nodes stand: the
  // domains and their nodes. Empty: anywhere inside.
  std::vector<std::pair<DomainPath, int64_t>> spread;
  size_t more_spread_domains = 0;
  int64_t more_spread_nodes = 0;

  bool operator==(const MoreNodes&) const = default;
};

struct FitsAtLevel {
  std::string level;
  DomainPath domain;  // the first one that would be taken
  uint32_t domains = 1;

  bool operator==(const FitsAtLevel&) const = default;
};

struct WithoutAdmitted {
  bool fits = false;
  int32_t pods = 0;  // the largest number that fits, at most those asked for

  bool operator==(const WithoutAdmitted&) const = default;
};

struct Remedies {
  int32_t fewer_pods = 0;                      // the largest number that fits now; 0: none
  std::optional<FitsAtLevel> coarser_level;    // required there it fits now
  std::optional<FitsAtLevel> preferred;        // preferred instead of required it fits now
  std::vector<MoreNodes> more_nodes;           // fewest first
  WithoutAdmitted without_admitted_workloads;  // whether waiting helps

  bool operator==(const Remedies&) const = default;
};

struct Explanation {
  std::string topology;
  std::vector<std::string> level_keys;  // of the topology
  AskedFor asked;
  std::string context;         // under which circumstances, if they are special
  int32_t fits_slices = 0;     // the most that fits in the mode asked for
  std::string searched_level;  // key of the level at which the search ended
  LeftOut left_out;
  DomainReport everything;    // the topology as one domain
  std::vector<Cause> causes;  // over all nodes, the one that affects most first
  size_t more_causes = 0;
  std::vector<LevelReport> levels;  // the requested one, those above it, and that of the slices
  Remedies remedies;

  bool operator==(const Explanation&) const = default;
};

// Of a request that makes no sense in this topology, such as one for a level that it does not have:
// there are no levels to report, only the reason, as context.
std::shared_ptr<const Explanation> explain_unreadable(const topology::DomainTree& tree,
                                                      int32_t pods, std::string_view problem);

// `shortfall` is what choose() said of `counts` and `plan`. The cluster is not changed.
std::shared_ptr<const Explanation> explain(topology::Cluster& cluster, TreeId tree,
                                           const DomainCounts& counts, const LevelPlan& plan,
                                           const Shortfall& shortfall);

}  // namespace phalanx::placement
