// Gang trees: groups of pods with children, minima and a topology wish at every group, placed whole
// or not at all (KAI's topology-aware scheduling design, stage 2; design: one model for KAI's
// sub-groups, Grove's hierarchy and joint pod sets).
//
// The search is exact within a step budget: it backtracks over the domains of every group, over the
// order in which siblings were served, over which children are left out where a minimum allows it,
// and over the nodes of every pod set. A "no" says whether it is proven or the budget ran out.
// Steps are counted, not timed, so the same input always gives the same answer.
//
// It first tries to place every pod. If that fails it places the minimum and then grows, pod by pod
// (or slice by slice), without leaving the domains chosen. Pods that run already bind their groups:
// a required level stays in the domain where they are, a preferred one tries it first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/topology_assignment.h"
#include "base/error.h"
#include "placement/explanation.h"
#include "placement/node_filter.h"
#include "placement/pod_set.h"
#include "topology/cluster.h"

namespace phalanx::placement {

struct GangPods {
  int32_t count = 1;
  std::optional<int32_t> minimum;  // absent: all of them
  api::ResourceAmounts requests;
  std::map<std::string, std::string> node_selector;
  std::vector<api::Toleration> tolerations;
  api::NodeAffinity affinity;
  std::vector<api::SliceConstraint> slices;  // layers, coarsest first
  std::map<std::string, int32_t> running;    // by hostname; they hold their capacity already
  // What other pods ask of a node, to be heeded as well: a leader goes where its workers may.
  std::vector<NodePredicates> also;
};

struct GangGroup {
  std::string name;
  std::string topology;                  // empty: the one of the nearest group above that has one
  std::optional<std::string> required;   // level key
  std::optional<std::string> preferred;  // level key
  std::vector<GangGroup> children;       // of an inner group
  std::optional<int32_t> min_children;   // absent: all of them
  std::optional<int32_t> min_pods;       // of all pods below; absent: what the minima add up to
  std::optional<GangPods> pods;          // of a leaf
};

struct Gang {
  std::string name;
  GangGroup root;
};

struct GangOptions {
  int64_t step_budget = 1'000'000;
};

// Where one pod set's new pods go.
struct GangLeafResult {
  std::string path;  // names from below the root, joined with "/"
  int32_t wanted = 0;
  int32_t running = 0;
  int32_t placed = 0;
  api::TopologyAssignment assignment;  // of the new pods, in rank order
  TreeId tree;                         // that the assignment is in
  topology::RequestVector requests;    // of one pod
};

// Which domain a constrained group got.
struct GangGroupResult {
  std::string path;
  std::string topology;
  std::string level;                // empty: it is spread over more than one domain
  std::vector<std::string> domain;  // values from the highest level down
};

struct GangResult {
  bool placed = false;    // at least the minimum
  bool complete = false;  // every pod
  bool proven = true;     // of a "no": no placement exists; else the budget ran out
  int64_t steps = 0;
  std::vector<GangLeafResult> leaves;
  std::vector<GangGroupResult> groups;
  std::vector<std::string> remarks;  // what a user should know of the input
  std::string failure;
  std::shared_ptr<const Explanation> explanation;  // of a "no": of the group in its way
};

// Topologies by name; the first of `topologies` is the default. Errors are about the gang itself:
// unknown topologies or levels, minima above counts, slices that do not divide.
Result<GangResult> place_gang(topology::Cluster& cluster,
                              const std::vector<std::pair<std::string, TreeId>>& topologies,
                              const Gang& gang, const GangOptions& options);

}  // namespace phalanx::placement
